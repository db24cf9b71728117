/* listen.c - the socket that the server listens on: ADDRESS:PORT, unix:PATH, or one that systemd
 * passes. */
#include "base/fd.h"
#include "base/text.h"
#include "server/server.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define DEFAULT_LISTEN "127.0.0.1:7295"
#define BACKLOG        1024
#define SYSTEMD_FD     3

/* Whether systemd passed exactly one socket to this process. */
static bool is_inherited(void)
{
    const char *pid = getenv("LISTEN_PID"), *n = getenv("LISTEN_FDS");

    return pid && n && atol(pid) == (long)getpid() && !strcmp(n, "1");
}

/* Finds out what kind of socket was inherited or opened, and whether only this host can reach
 * it. */
static int inspect(struct server *s, struct err *err)
{
    struct sockaddr_storage a;
    socklen_t len = sizeof(a);

    if (getsockname(s->listener, (struct sockaddr *)&a, &len))
        return err_set(err, E_INVALID, "the socket to listen on can't be used: %s",
                       strerror(errno));
    s->is_unix = a.ss_family == AF_UNIX;
    if (a.ss_family == AF_INET) {
        const struct sockaddr_in *in = (const void *)&a;

        s->port = ntohs(in->sin_port);
        s->is_loopback = ntohl(in->sin_addr.s_addr) >> 24 == 127;
    } else if (a.ss_family == AF_INET6) {
        const struct sockaddr_in6 *in = (const void *)&a;

        s->port = ntohs(in->sin6_port);
        s->is_loopback = IN6_IS_ADDR_LOOPBACK(&in->sin6_addr);
    }
    return 0;
}

/* Removes a socket file that no process listens on any more. */
static void remove_stale(const struct sockaddr_un *a)
{
    AUTO_FD fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct stat st;

    if (!lstat(a->sun_path, &st) && S_ISSOCK(st.st_mode) &&
        connect(fd, (const struct sockaddr *)a, sizeof(*a)) && errno == ECONNREFUSED)
        unlink(a->sun_path);
}

/* Opens a unix socket to which only the user of the server can connect: that user needs no token
 * there. With a trusted proxy all users can connect, and others than these two need a token, as on
 * a port of this host. */
static int open_unix(struct server *s, const char *path, struct err *err)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    mode_t mask;
    int failed;

    if (!*path || strlen(path) >= sizeof(a.sun_path))
        return err_set(err, E_INVALID,
                       "the path of a unix socket has from 1 to %zu bytes, but %.200s has %zu",
                       sizeof(a.sun_path) - 1, path, strlen(path));
    snprintf(a.sun_path, sizeof(a.sun_path), "%s", path);
    s->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    remove_stale(&a);
    mask = umask(proxies_need_socket(s) ? 0111 : 0177);
    failed = bind(s->listener, (const struct sockaddr *)&a, sizeof(a));
    umask(mask);
    if (failed || listen(s->listener, BACKLOG))
        return err_set(err, E_INVALID, "can't listen on unix:%s: %s", path, strerror(errno));
    s->unlink = path;
    return 0;
}

static int bind_address(struct server *s, const struct addrinfo *a)
{
    int on = 1;

    s->listener = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (s->listener < 0)
        return -1;
    (void)setsockopt(s->listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    return bind(s->listener, a->ai_addr, a->ai_addrlen) || listen(s->listener, BACKLOG) ? -1 : 0;
}

static int open_tcp(struct server *s, const char *text, struct err *err)
{
    struct addrinfo hints = {.ai_family = AF_UNSPEC,
                             .ai_socktype = SOCK_STREAM,
                             .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE},
                    *found;
    AUTO_FREE char *copy = mem_strdup(text);
    char *host = copy, *port = strrchr(copy, ':');
    int rc;

    if (!port)
        return err_set(
            err, E_INVALID,
            "'%.100s' is not an address to listen on: write ADDRESS:PORT, such as %s, or unix:PATH",
            text, DEFAULT_LISTEN);
    *port++ = '\0';
    if (*host == '[' && port[-2] == ']') { /* [::1]:7295 */
        port[-2] = '\0';
        host++;
    }
    if ((rc = getaddrinfo(!strcmp(host, "localhost") ? "127.0.0.1" : host, port, &hints, &found)))
        return err_set(
            err, E_INVALID,
            "'%.100s' is not an address to listen on (%s): write a numeric ADDRESS:PORT, such as %s",
            text, gai_strerror(rc), DEFAULT_LISTEN);
    rc = bind_address(s, found);
    freeaddrinfo(found);
    if (rc)
        return err_set(err, E_INVALID, "can't listen on %s: %s", text, strerror(errno));
    return 0;
}

int listen_open(struct server *s, struct err *err)
{
    const char *where = s->options.listen ? s->options.listen : DEFAULT_LISTEN;

    if (!s->options.listen && is_inherited()) {
        s->listener = SYSTEMD_FD;
        (void)fcntl(SYSTEMD_FD, F_SETFD, FD_CLOEXEC);
        (void)fcntl(SYSTEMD_FD, F_SETFL, fcntl(SYSTEMD_FD, F_GETFL) | O_NONBLOCK);
    } else if (!strncmp(where, "unix:", 5)) {
        TRY(open_unix(s, where + 5, err));
    } else {
        TRY(open_tcp(s, where, err));
    }
    return inspect(s, err);
}
