/* main.c - pawl-server: serves Pawl over HTTP. `pawl serve` starts it with the options that it has
 * checked. */
#include "base/env.h"
#include "base/fd.h"
#include "base/thread.h"
#include "server/server.h"
#include "server/watch.h"
#include "server/worker.h"

#include <getopt.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define DRAIN_US \
    (10 * 1000000LL) /* µs that requests under way get to finish when the server is stopped */

#define EXIT_US   (20 * 1000000LL) /* µs until it exits even if the database does not answer */

#define LOOK_MS   5000  /* ms between two searches for clients that are too slow */
#define SLOTS_MAX 10000 /* as pawl serve allows */

static void note(void *arg, const char *sentence)
{
    (void)arg;
    fprintf(stderr, "pawl-server: %s\n", sentence);
}

static void trace(void *arg, const char *statement, int64_t took, long rows)
{
    (void)arg;
    fprintf(stderr, "trace: %-24s %9.3f ms %6ld rows\n", statement, (double)took / 1000, rows);
}

/* The tracing of all handles of the server, as PAWL_TRACE asks for it; NULL if none. */
static void (*tracing(void))(void *, const char *, int64_t, long)
{
    const char *asked = getenv("PAWL_TRACE");

    return asked && *asked && strcmp(asked, "0") ? trace : NULL;
}

int server_open(struct server *s, const char *tenant, bool writes, struct pawl **out,
                struct pawl_error *err)
{
    struct pawl_options o = {.url = s->options.db,
                             .tenant = *tenant ? tenant : s->options.tenant,
                             .config = s->options.config,
                             .must_exist = true,
                             .patience = 2000000,
                             .one_connection = !writes,
                             .trace = tracing(),
                             .note = note};

    return pawl_open(&o, out, err);
}

/* Creates the database if it does not exist, and upgrades it. */
static int prepare_database(struct server *s, struct pawl_error *err)
{
    struct pawl_options o = {.url = s->options.db,
                             .tenant = s->options.tenant,
                             .config = s->options.config,
                             .note = note};
    struct pawl *p;
    int rc = pawl_open(&o, &p, err);

    if (!rc) {
        s->url = mem_strdup(pawl_url(p));
        pawl_close(p);
    }
    return rc;
}

/* Notifies systemd that the server is ready, or that it is stopping. */
static void notify_supervisor(const char *state)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    const char *path = getenv("NOTIFY_SOCKET");
    AUTO_FD fd = -1;

    if (!path || strlen(path) >= sizeof(a.sun_path))
        return;
    snprintf(a.sun_path, sizeof(a.sun_path), "%s", path);
    if (*path == '@')
        a.sun_path[0] = '\0';
    fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    (void)!sendto(fd, state, strlen(state), MSG_NOSIGNAL, (const struct sockaddr *)&a,
                  (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(path)));
}

static void print_ready(const struct server *s)
{
    if (s->is_unix)
        fprintf(stderr, "pawl-server: ready on %s, %s\n",
                s->options.listen ? s->options.listen : "a unix socket", s->url);
    else
        fprintf(stderr, "pawl-server: ready on port %d, %s\n", s->port, s->url);
    if (s->console_token[0])
        fprintf(stderr, "pawl-server: open http://127.0.0.1:%d/#token=%s\n", s->port,
                s->console_token);
    notify_supervisor("READY=1");
}

/* Raises the limit of descriptors, because every idle stream needs one. */
static void raise_descriptor_limit(void)
{
    struct rlimit l;

    if (!getrlimit(RLIMIT_NOFILE, &l)) {
        l.rlim_cur = l.rlim_max < 65536 ? l.rlim_max : 65536;
        (void)setrlimit(RLIMIT_NOFILE, &l);
    }
}

static int block_signals(void)
{
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    sigprocmask(SIG_BLOCK, &set, NULL);
    signal(SIGPIPE, SIG_IGN);
    return signalfd(-1, &set, SFD_CLOEXEC);
}

/* A statement on a connection that hangs takes long to fail. The server keeps nothing, so it need
 * not wait for that. */
static void *exit_in_time(void *drained)
{
    clock_sleep_us(EXIT_US);
    if (__atomic_load_n((bool *)drained, __ATOMIC_ACQUIRE))
        return NULL;
    fprintf(stderr, "pawl-server: the database does not answer: stopping without an answer to the "
                    "requests that wait for it\n");
    _exit(err_exit_code(E_UNAVAILABLE));
}

/* Accepts no more connections, lets the requests under way finish, and ends streams. */
static void drain(struct server *s)
{
    static bool drained;
    int64_t until = clock_boot_us() + DRAIN_US;
    pthread_t timer;

    if (s->unlink)
        unlink(s->unlink);
    if (!thread_start(&timer, exit_in_time, &drained))
        pthread_detach(timer);
    notify_supervisor("STOPPING=1");
    __atomic_store_n(&s->stopping, true, __ATOMIC_RELEASE);
    MHD_quiesce_daemon(s->daemon);
    watches_stop(s);
    planes_stop(s);
    while (__atomic_load_n(&s->open_requests, __ATOMIC_ACQUIRE) && clock_boot_us() < until)
        clock_sleep_us(1000);
    http_stop(s);
    planes_free(s);
    watches_free(s);
    __atomic_store_n(&drained, true, __ATOMIC_RELEASE);
}

/* Waits for a signal, or until the worker can't continue. */
static void wait_for_stop(struct server *s, int signals)
{
    struct pollfd fds[] = {{.fd = signals, .events = POLLIN},
                           {.fd = worker_failed_fd(s), .events = POLLIN}};

    while (poll(fds, 2, LOOK_MS) <= 0)
        clients_close_slow(s);
    fprintf(stderr, "pawl-server: %s: finishing open requests, stopping\n",
            fds[0].revents ? "received a signal" : "the worker can't continue");
}

static int serve(struct server *s, struct err *err)
{
    struct pawl_error e = {0};
    int rc, signals = block_signals();

    raise_descriptor_limit();
    TRY(proxies_open(s, err));
    TRY(listen_open(s, err));
    if ((rc = prepare_database(s, &e)))
        return err_set(err, (enum error_code) - rc, "%s", e.message);
    TRY(guard_open(s, err));
    TRY(planes_start(s, err));
    TRY(watches_start(s, err));
    TRY(worker_start(s, err));
    s->openapi = openapi_text();
    TRY(http_start(s, err));
    print_ready(s);
    wait_for_stop(s, signals);
    drain(s);
    return worker_stop(s, err);
}

/* ---- options ---- */

enum {
    OPT_DB = 256,
    OPT_TENANT,
    OPT_LISTEN,
    OPT_HOST,
    OPT_TOKEN_FILE,
    OPT_TRUSTED_PROXY,
    OPT_PROXY_SCOPE,
    OPT_READ_ONLY,
    OPT_WEB,
    OPT_CONFIG,
    OPT_PRINT_OPENAPI,
    OPT_WORKER
};

static const struct option long_options[] = {
    {"db", required_argument, NULL, OPT_DB},
    {"tenant", required_argument, NULL, OPT_TENANT},
    {"listen", required_argument, NULL, OPT_LISTEN},
    {"host", required_argument, NULL, OPT_HOST},
    {"token-file", required_argument, NULL, OPT_TOKEN_FILE},
    {"trusted-proxy", required_argument, NULL, OPT_TRUSTED_PROXY},
    {"proxy-scope", required_argument, NULL, OPT_PROXY_SCOPE},
    {"read-only", no_argument, NULL, OPT_READ_ONLY},
    {"web", required_argument, NULL, OPT_WEB},
    {"config", required_argument, NULL, OPT_CONFIG},
    {"worker", required_argument, NULL, OPT_WORKER},
    {"print-openapi", no_argument, NULL, OPT_PRINT_OPENAPI},
    {0},
};

static void print_openapi(void)
{
    AUTO_FREE char *text = openapi_text();

    puts(text);
}

static bool read_slots(const char *text, int *slots)
{
    char *end;
    long n = strtol(text, &end, 10);

    *slots = (int)n;
    return !*end && n >= 1 && n <= SLOTS_MAX;
}

static bool read_option(struct server_options *o, int option, const char ***hosts,
                        const char ***proxies)
{
    switch (option) {
    case OPT_DB:
        o->db = optarg;
        break;
    case OPT_TENANT:
        o->tenant = optarg;
        break;
    case OPT_LISTEN:
        o->listen = optarg;
        break;
    case OPT_HOST:
        *(*hosts)++ = optarg;
        break;
    case OPT_TOKEN_FILE:
        o->token_file = optarg;
        break;
    case OPT_TRUSTED_PROXY:
        *(*proxies)++ = optarg;
        break;
    case OPT_PROXY_SCOPE:
        o->proxy_scopes = optarg;
        break;
    case OPT_READ_ONLY:
        o->read_only = true;
        break;
    case OPT_WEB:
        o->web = optarg;
        break;
    case OPT_CONFIG:
        o->config = optarg;
        break;
    case OPT_WORKER:
        return read_slots(optarg, &o->worker);
    case OPT_PRINT_OPENAPI: /* used to generate the documentation */
        print_openapi();
        exit(0);
    default:
        return false;
    }
    return true;
}

int main(int argc, char **argv)
{
    struct server s = {.listener = -1};
    struct err err = ERR_INIT;
    const char **hosts = mem_zalloc((size_t)(argc + 1) * sizeof(*hosts));
    const char **proxies = mem_zalloc((size_t)(argc + 1) * sizeof(*proxies));
    int option, rc = 0;
    bool ok = true;

    s.options.hosts = hosts;
    s.options.proxies = proxies;
    while (ok && (option = getopt_long(argc, argv, "", long_options, NULL)) >= 0)
        ok = read_option(&s.options, option, &hosts, &proxies);
    if (!ok || optind < argc) {
        fprintf(stderr, "pawl-server: wrong options: start it with `pawl serve`\n");
        return 2;
    }
    if ((rc = serve(&s, &err)))
        fprintf(stderr, "pawl-server: %s\n", err.msg);
    free((void *)s.options.hosts);
    free((void *)s.options.proxies);
    free(s.proxies);
    free(s.url);
    free(s.openapi);
    return rc ? err_exit_code(err.code) : 0;
}
