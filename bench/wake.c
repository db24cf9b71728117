/* wake.c - measures the time from a commit to the wake-up of another process: one process submits a
 * job every few milliseconds, the other sleeps on its listener and records when it was woken.
 *
 *   wake URL TIMES
 */
#include "store/driver/url.h"
#include "store/store.h"

#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define LOST_US 3000000

struct shared {
    _Atomic int64_t committed_at, woken_at;
    _Atomic int listening;
};

static struct shared *shared;

static void must(int rc, const struct err *err)
{
    if (!rc)
        return;
    fprintf(stderr, "wake: %s\n", err->msg);
    exit(1);
}

static void on_point(void *arg, const char *where)
{
    (void)arg;
    if (where[0] == 'c' && where[6] == 't') /* "committed" */
        atomic_store(&shared->committed_at, clock_boot_us());
}

static void listen_for_ever(const char *url)
{
    struct env env = {0};
    struct db_url *u = NULL;
    struct listener *l = NULL;
    struct err err = ERR_INIT;

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    must(url_parse(url, NULL, &u, &err), &err);
    must(u->driver->listen(u, &env, WAKE_JOBS, &l, &err), &err);
    atomic_store(&shared->listening, 1);
    for (;;) {
        struct pollfd p = {.fd = l->fd, .events = POLLIN};
        int64_t now;

        if (poll(&p, 1, l->poll_ms) <= 0)
            continue;
        now = clock_boot_us();
        if (l->drain(l) & WAKE_JOBS)
            atomic_store(&shared->woken_at, now);
    }
}

static int submit_one(struct turn *t, void *arg, struct err *err)
{
    struct submission s = {.kind = KIND_EXEC, .name = "exec::noop", .task_index = -1};

    (void)arg;
    return op_submit(t, &s, 1, err);
}

static int by_time(const void *a, const void *b)
{
    const int64_t *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

/* Commits once and waits until the other process was woken; returns µs, or LOST_US. */
static int64_t measure(struct store *s)
{
    struct err err = ERR_INIT;
    int64_t began;

    atomic_store(&shared->woken_at, 0);
    must(store_turn(s, submit_one, NULL, &err), &err);
    began = clock_boot_us();
    while (!atomic_load(&shared->woken_at))
        if (clock_boot_us() - began > LOST_US)
            return LOST_US;
        else
            clock_sleep_us(100);
    return atomic_load(&shared->woken_at) - atomic_load(&shared->committed_at);
}

int main(int argc, char **argv)
{
    struct env env = {.point = on_point};
    struct store_options options = {.env = &env};
    struct store *s = NULL;
    struct err err = ERR_INIT;
    int64_t *took;
    size_t n, i, lost = 0;
    pid_t listener;

    if (argc != 3) {
        fprintf(stderr, "usage: wake URL TIMES\n");
        return 2;
    }
    n = strtoul(argv[2], NULL, 10);
    took = calloc(n, sizeof(*took));
    shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED || !took)
        return 1;
    listener = fork(); /* before any database is open */
    if (!listener)
        listen_for_ever(argv[1]);
    must(store_open(argv[1], NULL, &options, &s, &err), &err);
    while (!atomic_load(&shared->listening))
        clock_sleep_us(1000);
    (void)measure(s); /* not counted: it connects and prepares */
    for (i = 0; i < n; i++) {
        clock_sleep_us(5000);
        took[i] = measure(s);
        lost += took[i] >= LOST_US;
    }
    qsort(took, n, sizeof(*took), by_time);
    printf(
        "{\"what\":\"wake\",\"times\":%zu,\"lost\":%zu,\"p50_us\":%lld,\"p99_us\":%lld,\"max_us\":%lld}\n",
        n, lost, (long long)took[n / 2], (long long)took[n * 99 / 100], (long long)took[n - 1]);
    kill(listener, SIGKILL);
    waitpid(listener, NULL, 0);
    store_close(&s);
    free(took);
    return lost != 0;
}
