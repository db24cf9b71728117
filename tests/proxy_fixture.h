/* proxy_fixture.h - a proxy between a store and the server that loses commits or blocks all
 * connections. */
#ifndef TESTS_PROXY_FIXTURE_H
#define TESTS_PROXY_FIXTURE_H

#include "base/mem.h"
#include "fixture.h"
#include "server_fixture.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum cut {
    DROP_ANSWER,      /* forwards COMMIT, and disconnects when its answer comes */
    DROP_COMMIT,      /* disconnects instead of forwarding it */
    CUT_AFTER_COMMIT, /* forwards it, and disconnects without waiting for the server */
    CUTS
};

static struct {
    _Atomic int once;    /* 1 + how the next COMMIT is lost; 0 if it is not */
    _Atomic int every;   /* loses one of this many COMMITs, in each way in turn; 0 loses none */
    _Atomic int shut;    /* all connections are blocked */
    _Atomic int last;    /* blocks all connections after the next COMMIT */
    _Atomic int commits; /* counted while some are lost */
    _Atomic int cuts;
} * proxy;

static inline int connect_to(int port)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (connect(fd, (struct sockaddr *)&to, sizeof(to)))
        _exit(0); /* the server is down */
    return fd;
}

/* How to treat the bytes that came from the client; -1 to forward them. */
static inline int cut_of(const char *bytes, size_t n)
{
    if ((!proxy->once && !proxy->every && !proxy->last) ||
        !memmem(bytes, n, "COMMIT", 7)) /* with its NUL, so that READ COMMITTED does not match */
        return -1;
    if (proxy->once) {
        proxy->cuts++;
        return atomic_exchange(&proxy->once, 0) - 1;
    }
    if (proxy->last) {
        proxy->shut = 1;
        return CUT_AFTER_COMMIT;
    }
    return ++proxy->commits % proxy->every ? -1 : proxy->cuts++ % CUTS;
}

/* Forwards until one side closes or a COMMIT is to be lost. */
static inline void forward(int client, int server)
{
    struct pollfd fds[] = {{.fd = client, .events = POLLIN}, {.fd = server, .events = POLLIN}};
    char bytes[65536];
    int cut = -1;

    while (!proxy->shut) {
        if (poll(fds, 2, 20) <= 0)
            continue;
        for (int side = 0; side < 2; side++) {
            ssize_t n;

            if (!fds[side].revents)
                continue;
            if ((n = read(fds[side].fd, bytes, sizeof(bytes))) <= 0)
                return;
            if (side == 1 && cut == DROP_ANSWER)
                return;
            if (side == 0 && cut < 0 && (cut = cut_of(bytes, (size_t)n)) == DROP_COMMIT)
                return;
            if (write(fds[!side].fd, bytes, (size_t)n) != n || cut == CUT_AFTER_COMMIT)
                return;
        }
    }
}

static inline void proxy_lose_next(enum cut how)
{
    proxy->once = (int)how + 1;
}

/* Call before anything is open. Returns the URL of the proxy, which the caller frees. */
static inline char *proxy_start(pid_t *pid)
{
    struct sockaddr_in at = {.sin_family = AF_INET};
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), port;
    socklen_t len = sizeof(at);

    fixture_url();
    port = server_port();
    proxy = shared_memory(sizeof(*proxy));
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    CHECK_OK(bind(listener, (struct sockaddr *)&at, sizeof(at)));
    CHECK_OK(listen(listener, 100));
    CHECK_OK(getsockname(listener, (struct sockaddr *)&at, &len));
    *pid = fork();
    CHECK(*pid >= 0);
    signal(SIGCHLD, *pid ? SIG_DFL : SIG_IGN);
    while (*pid == 0) {
        int client = accept4(listener, NULL, NULL, SOCK_CLOEXEC);

        if (fork() == 0) {
            forward(client, connect_to(port));
            _exit(0);
        }
        close(client);
    }
    close(listener);
    return mem_printf("%.*s:%d/postgres?sslmode=disable",
                      (int)(strrchr(server_url(), ':') - server_url()), server_url(),
                      ntohs(at.sin_port));
}

static inline void proxy_stop(pid_t pid)
{
    proxy->shut = 1;
    CHECK_OK(kill(pid, SIGKILL));
    CHECK_EQ(waitpid(pid, NULL, 0), pid);
}

#endif
