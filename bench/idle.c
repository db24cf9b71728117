/* idle.c - counts the statements of idle workers: WORKERS processes with a listener each and
 * nothing to do, for SECONDS. Prints how many statements they sent, by name, from the driver's
 * trace; bench/run also counts them in the server's log.
 *
 *   idle URL WORKERS SECONDS
 */
#include "store/driver/url.h"
#include "store/store.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define TICK_US 10000000

static struct counts {
    int statements, framing; /* framing: BEGIN, COMMIT, the lock */
} * counts;

static void must(int rc, const struct err *err)
{
    if (!rc)
        return;
    fprintf(stderr, "idle: %s\n", err->msg);
    exit(1);
}

static void on_statement(void *arg, const char *what, int64_t took, long rows)
{
    bool framing =
        !strcasecmp(what, "begin") || !strcasecmp(what, "commit") || !strcmp(what, "lock");

    (void)arg;
    (void)took;
    (void)rows;
    __atomic_fetch_add(framing ? &counts->framing : &counts->statements, 1, __ATOMIC_SEQ_CST);
}

static int register_worker(struct turn *t, void *arg, struct err *err)
{
    return op_worker_register(t, arg, err);
}

static int tick(struct turn *t, void *arg, struct err *err)
{
    const struct worker *w = arg;
    struct tick k;

    return op_worker_tick(t, w, &k, err);
}

static void idle(const char *url, int seconds)
{
    struct env env = {0};
    struct store_options options = {.env = &env};
    struct worker w = {.id = env_random_id(),
                       .host = "bench",
                       .folder = "bench",
                       .version = "bench",
                       .pid = (int)getpid(),
                       .capacity = 1};
    struct store *s = NULL;
    struct listener *l = NULL;
    struct err err = ERR_INIT;
    int64_t end, next;

    must(store_open(url, NULL, &options, &s, &err), &err);
    must(store_turn(s, register_worker, &w, &err), &err);
    must(store_url(s)->driver->listen(store_url(s), &env, WAKE_JOBS, &l, &err), &err);
    env.trace = on_statement;
    end = clock_boot_us() + (int64_t)seconds * 1000000;
    for (next = clock_boot_us() + TICK_US; clock_boot_us() < end;) {
        struct pollfd p = {.fd = l->fd, .events = POLLIN};
        int64_t left = (next < end ? next : end) - clock_boot_us();

        if (left > 0 && poll(&p, 1, (int)(left / 1000) + 1) > 0)
            l->drain(l);
        if (clock_boot_us() < next)
            continue;
        must(store_light_turn(s, tick, &w, &err), &err);
        next += TICK_US;
    }
    env.trace = NULL;
    l->close(l);
    store_close(&s);
}

int main(int argc, char **argv)
{
    int workers, seconds, i, status, failed = 0;

    if (argc != 4) {
        fprintf(stderr, "usage: idle URL WORKERS SECONDS\n");
        return 2;
    }
    workers = (int)strtol(argv[2], NULL, 10);
    seconds = (int)strtol(argv[3], NULL, 10);
    counts = mmap(NULL, sizeof(*counts), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (counts == MAP_FAILED)
        return 1;
    for (i = 0; i < workers; i++)
        if (fork() == 0) {
            idle(argv[1], seconds);
            exit(0);
        }
    for (i = 0; i < workers; i++) {
        wait(&status);
        failed |= status;
    }
    printf("{\"what\":\"idle\",\"workers\":%d,\"seconds\":%d,\"statements\":%d,\"framing\":%d,"
           "\"statements_per_worker_and_10s\":%.2f}\n",
           workers, seconds, counts->statements, counts->framing,
           counts->statements * 10.0 / workers / seconds);
    return failed != 0;
}
