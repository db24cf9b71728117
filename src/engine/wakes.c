/* wakes.c - wake-ups of an engine: those that its turns send, and those that it receives. On SQLite
 * the driver does both. On PostgreSQL the heartbeat thread does, on its own connection: NOTIFY must
 * not delay turns, and a connection for LISTEN alone would be idle nearly always. The engine's own
 * listener then only takes over the wake-ups that the thread has received. */
#include "engine/engine_internal.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define ALL_WAKES (WAKE_JOBS | WAKE_CANCEL | WAKE_TIMERS | WAKE_ORPHANS | WAKE_SUBMISSIONS)
#define RETRY_US  1000000LL
#define MAX_LOCK  2000000LL /* µs that a NOTIFY may wait for its lock */
#define MIN_LOCK  50000LL

/* ---- the engine's side ---- */

struct engine_listener {
    struct listener base;
    struct engine *e;
    int poll_ms; /* the channel's poll_ms when base.poll_ms was last set */
};

static unsigned take_received(struct listener *base)
{
    struct engine_listener *l = (struct engine_listener *)base;
    struct heartbeat *b = &l->e->heartbeat;
    eventfd_t count;
    unsigned received;

    (void)eventfd_read(base->fd, &count);
    pthread_mutex_lock(&b->lock);
    received = b->received;
    b->received = 0;
    if (l->poll_ms != b->poll_ms)
        base->poll_ms = l->poll_ms = b->poll_ms;
    pthread_mutex_unlock(&b->lock);
    return received;
}

static void close_engine_listener(struct listener *base)
{
    struct engine_listener *l = (struct engine_listener *)base;

    if (base->fd >= 0)
        close(base->fd);
    l->e->heartbeat.channel->close(l->e->heartbeat.channel);
    l->e->heartbeat.channel = NULL;
    free(l);
}

int wakes_open(struct engine *e, struct err *err)
{
    const struct db_driver *driver = store_db(e->store)->driver;
    struct heartbeat *b = &e->heartbeat;
    struct engine_listener *l;

    if (!e->server)
        return driver->listen(store_url(e->store), e->env, ALL_WAKES, &e->listener, err);
    TRY(driver->listen(store_url(e->store), e->env, ALL_WAKES, &b->channel, err));
    b->poll_ms = b->channel->poll_ms;
    l = mem_zalloc(sizeof(*l));
    *l = (struct engine_listener){.base = {.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK),
                                           .poll_ms = b->poll_ms,
                                           .drain = take_received,
                                           .close = close_engine_listener},
                                  .e = e,
                                  .poll_ms = b->poll_ms};
    e->listener = &l->base;
    if (l->base.fd < 0)
        return err_set(err, E_UNAVAILABLE, "can't create a descriptor for wake-ups: %s",
                       strerror(errno));
    return 0;
}

void wakes_close(struct engine *e)
{
    if (e->listener)
        e->listener->close(e->listener);
    e->listener = NULL;
}

void engine_wake(void *engine, unsigned what)
{
    struct heartbeat *b = &((struct engine *)engine)->heartbeat;

    pthread_mutex_lock(&b->lock);
    b->wakes.bits |= what;
    heartbeat_call(b);
    pthread_mutex_unlock(&b->lock);
}

/* Sends the wake-ups of the turns that were made to close the engine, after the heartbeat thread
 * had ended. */
void wakes_send_last(struct engine *e)
{
    struct heartbeat *b = &e->heartbeat;
    struct err ignored = ERR_INIT;

    if (b->channel && b->wakes.bits) /* if sending fails, no harm is done: listeners also poll */
        (void)!b->channel->db->driver->notify(b->channel->db, b->wakes.bits, MAX_LOCK, &ignored);
    b->wakes.bits = 0;
}

/* ---- the thread's side ---- */

void wakes_receive(struct engine *e, int64_t us)
{
    struct heartbeat *b = &e->heartbeat;
    struct pollfd fds[] = {{.fd = b->requests, .events = POLLIN},
                           {.fd = b->channel->fd, .events = POLLIN}};
    int64_t ms = us <= 0 ? 0 : us / 1000 + 1;
    eventfd_t count;
    unsigned bits;

    if (ms > b->channel->poll_ms) /* don't sleep longer than the channel allows: `drain` reopens a
                                     lost connection */
        ms = b->channel->poll_ms;
    pthread_mutex_unlock(&b->lock);
    (void)poll(fds, 2, (int)ms);
    (void)eventfd_read(b->requests, &count);
    bits = b->channel->drain(b->channel);
    pthread_mutex_lock(&b->lock);
    b->received |= bits;
    if (bits || b->poll_ms != b->channel->poll_ms)
        (void)eventfd_write(e->listener->fd, 1); /* fails only if the eventfd is readable already */
    b->poll_ms = b->channel->poll_ms;
}

int64_t wakes_due(const struct heartbeat *b)
{
    int64_t at, now = clock_boot_us();

    if (!b->wakes.bits)
        return INT64_MAX;
    at = wake_queue_due(&b->wakes);
    if (at < b->wakes_retry_at)
        at = b->wakes_retry_at;
    return at > now ? at - now : 0;
}

/* How long a NOTIFY may wait for its lock, so that it does not delay the next heartbeat. A server
 * that is silent for longer would not answer the heartbeat either. */
static int64_t lock_limit(const struct engine *e)
{
    int64_t us = e->heartbeat.next - engine_now(e);

    if (us > e->o.lease / 6)
        us = e->o.lease / 6;
    return us < MIN_LOCK ? MIN_LOCK : us > MAX_LOCK ? MAX_LOCK : us;
}

void wakes_send(struct engine *e)
{
    struct heartbeat *b = &e->heartbeat;
    struct db *db = b->channel->db;
    struct err ignored = ERR_INIT;
    int64_t limit = lock_limit(e);
    unsigned bits;
    int rc;

    if (wakes_due(b) > 0 || !(bits = wake_queue_take(&b->wakes, clock_boot_us(), false)))
        return;
    pthread_mutex_unlock(&b->lock);
    rc = db->driver->notify(db, bits, limit, &ignored);
    pthread_mutex_lock(&b->lock);
    if (rc) { /* `drain` or the next heartbeat reconnects; the heartbeat reports errors */
        b->wakes.bits |= bits;
        b->wakes_retry_at = clock_boot_us() + RETRY_US;
    }
}
