/* slow.c - closes connections whose client is too slow. libmicrohttpd only limits the time without
 * any byte, so a client that sends one byte a second could keep a connection for days, and a few
 * thousand such connections would keep all other clients out.
 *
 * Each connection has a time by which its client must have sent the head of a request, then the
 * body, and then received the answer. The main thread checks the connections periodically. Streams,
 * and requests that are being carried out, have no such time. */
#include "base/env.h"
#include "server/server.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <sys/socket.h>

#define PATIENCE_US (60 * 1000000LL) /* µs for each part of a request or answer, however short */
#define VANISHED_S  60 /* s until a connection ends whose client does not acknowledge anything */
#define RATE        (32 << 10) /* bytes per second; longer parts get more time, at this rate */

struct client {
    struct client *next, **at; /* in server.clients */
    int fd;
    int64_t until; /* CLOCK_BOOTTIME, µs; 0 if there is no limit; accessed atomically */
};

struct clients {
    pthread_mutex_t mutex; /* protects the list, and keeps the descriptors in it open */
    struct client *first;
};

void clients_open(struct server *s)
{
    s->clients = mem_zalloc(sizeof(*s->clients));
    pthread_mutex_init(&s->clients->mutex, NULL);
}

void clients_free(struct server *s)
{
    pthread_mutex_destroy(&s->clients->mutex);
    free(s->clients);
    s->clients = NULL;
}

static void set_limit(struct client *c, int64_t bytes)
{
    __atomic_store_n(&c->until, clock_boot_us() + PATIENCE_US + bytes * 1000000 / RATE,
                     __ATOMIC_RELAXED);
}

static struct client *add_client(struct clients *all, int fd)
{
    struct client *c = mem_zalloc(sizeof(*c));

    c->fd = fd;
    set_limit(c, 0);
    pthread_mutex_lock(&all->mutex);
    c->next = all->first;
    c->at = &all->first;
    if (c->next)
        c->next->at = &c->next;
    all->first = c;
    pthread_mutex_unlock(&all->mutex);
    return c;
}

static void remove_client(struct clients *all, struct client *c)
{
    pthread_mutex_lock(&all->mutex);
    *c->at = c->next;
    if (c->next)
        c->next->at = c->at;
    pthread_mutex_unlock(&all->mutex);
    free(c);
}

/* Lets the kernel notice a client whose host has vanished: without an acknowledgement for
 * VANISHED_S the connection ends. Streams and requests that wait have no other limit. */
static void limit_silence(int fd)
{
    const int on = 1, idle = VANISHED_S / 2, interval = VANISHED_S / 6, probes = 3;
    const unsigned unacknowledged = VANISHED_S * 1000;

    if (setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on)))
        return;
    (void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof(idle));
    (void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval, sizeof(interval));
    (void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof(probes));
    (void)setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &unacknowledged, sizeof(unacknowledged));
}

static void client_started(struct server *s, struct MHD_Connection *connection,
                           struct client **client)
{
    int fd = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;

    *client = add_client(s->clients, fd);
    if (!s->is_unix)
        limit_silence(fd);
}

void client_notice(void *server, struct MHD_Connection *connection, void **client,
                   enum MHD_ConnectionNotificationCode code)
{
    struct server *s = server;

    if (code == MHD_CONNECTION_NOTIFY_STARTED)
        client_started(s, connection, (struct client **)client);
    else
        remove_client(s->clients, *client);
}

static struct client *client_of(const struct request *r)
{
    return MHD_get_connection_info(r->connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT)
        ->socket_context;
}

void client_limit(struct request *r, int64_t bytes)
{
    set_limit(client_of(r), bytes);
}

void client_wait(struct request *r)
{
    __atomic_store_n(&client_of(r)->until, 0, __ATOMIC_RELAXED);
}

void clients_close_slow(struct server *s)
{
    int64_t now = clock_boot_us();

    pthread_mutex_lock(&s->clients->mutex);
    for (struct client *c = s->clients->first; c; c = c->next) {
        int64_t until = __atomic_load_n(&c->until, __ATOMIC_RELAXED);

        if (until && now > until)
            (void)shutdown(c->fd, SHUT_RDWR); /* libmicrohttpd then closes the connection */
    }
    pthread_mutex_unlock(&s->clients->mutex);
}
