/* latency.c - measures the time from the call that submits a job to the job's first instruction, in
 * an idle system: one process submits, another is an idle worker.
 *
 *   latency URL STATE TIMES function|process
 *
 * The time includes the submitter's commit, the wake-up, the worker's claim and its commit, and the
 * start of the function, or of a program under its shim. The time that the submitter waited for its
 * own commit is also reported separately, and so is the time that the disk alone needs, when used
 * as rarely, for what an SQLite commit writes. Prints one JSON line. */
#include "kit.h"

#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#define PAUSE_US 10000
#define LOST_US  5000000

static struct shared {
    _Atomic int64_t started_at; /* at the start of the file, where bench/mark writes it */
    _Atomic int ready, ended;
} * shared;

static int mark_start(struct function_call *c, void *arg)
{
    (void)c;
    (void)arg;
    atomic_store(&shared->started_at, clock_boot_us());
    return 0;
}

static void work(struct kit k)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    k.function = mark_start;
    k.threads = 1;
    k.slots = 1;
    kit_open(&k);
    kit_settle_down(&k);
    atomic_store(&shared->ready, 1);
    for (;;) {
        kit_step(&k, -1);
        atomic_store(&shared->ended, (int)k.ended);
    }
}

/* Submits a job and waits until it has started and ended; returns the µs from the call to the
 * start. */
static int64_t measure(const struct kit *k, struct store *s, const struct submission *job,
                       int64_t *accepted)
{
    int ended = atomic_load(&shared->ended);
    int64_t began = clock_boot_us();

    atomic_store(&shared->started_at, 0);
    kit_submit(k, s, job, 1);
    *accepted = clock_boot_us() - began;
    while (!atomic_load(&shared->started_at) || atomic_load(&shared->ended) == ended) {
        if (clock_boot_us() - began > LOST_US)
            return LOST_US;
        clock_sleep_us(200);
    }
    return atomic_load(&shared->started_at) - began;
}

/* The median in µs of overwriting ten existing pages and making them durable. */
static int64_t measure_disk(const char *path, int64_t *took, size_t n)
{
    static char pages[10 * 4096];
    int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    size_t i;

    if (fd < 0 || pwrite(fd, pages, sizeof(pages), 0) < 0 || fsync(fd))
        exit(1);
    for (i = 0; i < n; i++) {
        int64_t began;

        clock_sleep_us(PAUSE_US);
        began = clock_boot_us();
        if (pwrite(fd, pages, sizeof(pages), 0) < 0 || fdatasync(fd))
            exit(1);
        took[i] = clock_boot_us() - began;
    }
    close(fd);
    qsort(took, n, sizeof(*took), kit_by_time);
    return took[n / 2];
}

static void map_shared(const char *path)
{
    int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    if (fd < 0 || ftruncate(fd, sizeof(*shared)))
        exit(1);
    shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (shared == MAP_FAILED)
        exit(1);
}

int main(int argc, char **argv)
{
    struct kit k = {.program = "latency"};
    struct submission s = {.kind = KIND_EXEC, .name = "exec::mark", .task_index = -1};
    struct store *store = NULL;
    struct err err = ERR_INIT;
    char mark[4096], spec[9000];
    int64_t *took, *accepted;
    size_t n, i;
    pid_t worker;

    if (argc != 5) {
        fprintf(stderr, "usage: latency URL STATE TIMES function|process\n");
        return 2;
    }
    k.url = argv[1];
    k.state = argv[2];
    n = strtoul(argv[3], NULL, 10);
    took = calloc(n + 1, sizeof(*took));
    accepted = calloc(n + 1, sizeof(*accepted));
    if (!n || !took || !accepted)
        return 1;
    snprintf(mark, sizeof(mark), "%s.mark", k.state);
    snprintf(spec, sizeof(spec), "{\"argv\":[\"%s\",\"%s\"]}", kit_sibling("bench/mark"), mark);
    if (!strcmp(argv[4], "function"))
        s.lane = "function:bench";
    else
        s.spec = spec;
    map_shared(mark);
    worker = fork(); /* before any database is open */
    if (!worker)
        work(k);
    while (!atomic_load(&shared->ready))
        clock_sleep_us(1000);
    kit_must(&k, store_open(k.url, NULL, NULL, &store, &err), &err);
    (void)measure(&k, store, &s, accepted); /* not counted: it connects and prepares */
    for (i = 0; i < n; i++) {
        clock_sleep_us(PAUSE_US);
        took[i] = measure(&k, store, &s, &accepted[i]);
    }
    qsort(took, n, sizeof(*took), kit_by_time);
    qsort(accepted, n, sizeof(*accepted), kit_by_time);
    printf("{\"what\":\"latency\",\"of\":\"%s\",\"times\":%zu,\"p50_us\":%lld,\"p99_us\":%lld,"
           "\"max_us\":%lld,\"accepted_p50_us\":%lld,",
           argv[4], n, (long long)took[n / 2], (long long)took[n * 99 / 100],
           (long long)took[n - 1], (long long)accepted[n / 2]);
    kill(worker, SIGTERM);
    waitpid(worker, NULL, 0);
    store_close(&store);
    i = took[n - 1] >= LOST_US;
    printf("\"disk_p50_us\":%lld}\n", (long long)measure_disk(mark, accepted, n));
    unlink(mark);
    free(took);
    free(accepted);
    return i != 0;
}
