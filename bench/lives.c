/* lives.c - measures whole lives of jobs per second: submit, claim, started, settle, with five
 * events per job. Each connection is a separate process with its own queue.
 *
 *   lives URL BATCH CONNECTIONS JOBS [push]
 *
 * Without push a life takes three turns, as if submitter, claimer and worker were independent:
 * submit; claim; started and settle. With push it runs as in an engine that gets jobs from its own
 * process: each turn settles the previous batch, submits the next one and claims it.
 *
 * Prints one JSON line. The caller creates and drops the database. */
#include "store/store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define LEASE 30000000LL

struct work {
    size_t n;
    bool push;
    size_t settled; /* jobs of the previous batch that a turn with push settles */
    int64_t worker;
    struct lane_queue serves;
    struct submission *submissions;
    struct job_list jobs;
    struct start *starts, *next_starts;
    struct settlement *settlements, *next_settlements;
};

static void must(int rc, const struct err *err)
{
    if (!rc)
        return;
    fprintf(stderr, "lives: %s\n", err->msg);
    exit(1);
}

static int submit_all(struct turn *t, void *arg, struct err *err)
{
    struct work *w = arg;

    return op_submit(t, w->submissions, w->n, err);
}

static int claim_all(struct turn *t, void *arg, struct err *err)
{
    struct work *w = arg;
    struct claim c = {.worker = w->worker,
                      .folder = "bench",
                      .lease = LEASE,
                      .serves = &w->serves,
                      .nserves = 1,
                      .max = w->n,
                      .push = w->push};
    int rc = op_claim(t, &c, &w->jobs, err);
    size_t i;

    for (i = 0; !rc && i < w->jobs.n; i++) {
        struct lease_ref ref = {.execution = w->jobs.at[i]->id,
                                .root = w->jobs.at[i]->root,
                                .epoch = w->jobs.at[i]->epoch};

        w->starts[i] = (struct start){.lease = ref, .ago = 3};
        w->settlements[i] = (struct settlement){
            .lease = ref,
            .outcome = {
                .kind = OUTCOME_OK, .has_exit_code = true, .duration = 10, .retry_delay = -1}};
    }
    return rc;
}

static int settle_all(struct turn *t, void *arg, struct err *err)
{
    struct work *w = arg;
    int rc = op_record_starts(t, w->worker, w->starts, w->n, err);

    return rc ? rc : op_settle(t, w->worker, w->settlements, w->n, err);
}

/* The claim overwrites the arguments of the settle, and a repeated turn must find them unchanged.
 */
static int push_all(struct turn *t, void *arg, struct err *err)
{
    struct work *w = arg;
    struct start *starts = w->starts;
    struct settlement *settlements = w->settlements;
    int rc;

    if ((w->settled && (rc = settle_all(t, w, err))) || (rc = submit_all(t, w, err)))
        return rc;
    w->starts = w->next_starts;
    w->settlements = w->next_settlements;
    rc = claim_all(t, w, err);
    w->starts = starts;
    w->settlements = settlements;
    return rc;
}

static void swap_batches(struct work *w)
{
    struct start *starts = w->starts;
    struct settlement *settlements = w->settlements;

    w->starts = w->next_starts;
    w->settlements = w->next_settlements;
    w->next_starts = starts;
    w->next_settlements = settlements;
}

/* The bytes that the processes passed to write(2) and its variants: on SQLite the WAL and its
 * checkpoints. */
static long long bytes_written(void)
{
    FILE *f = fopen("/proc/self/io", "r");
    long long n = 0, v;
    char key[32];

    while (f && fscanf(f, "%31s %lld", key, &v) == 2)
        if (!strcmp(key, "wchar:"))
            n = v;
    if (f)
        fclose(f);
    return n;
}

static long long *written; /* shared by all processes: bytes, and repeated turns */

static void on_note(void *arg, const char *sentence)
{
    (void)arg;
    (void)sentence;
    __atomic_fetch_add(&written[1], 1, __ATOMIC_SEQ_CST);
}

static void check_batch(const struct work *w, bool claimed, bool settled)
{
    size_t i;

    if (claimed && w->jobs.n != w->n) {
        fprintf(stderr, "lives: claimed %zu of %zu\n", w->jobs.n, w->n);
        exit(1);
    }
    for (i = 0; settled && i < w->n; i++)
        if (w->settlements[i].lease.rc) {
            fprintf(stderr, "lives: a settle was refused\n");
            exit(1);
        }
}

static void live_by_turns(struct store *s, struct work *w, size_t jobs)
{
    struct err err = ERR_INIT;
    size_t done;

    for (done = 0; done < jobs; done += w->n) {
        must(store_turn(s, submit_all, w, &err), &err);
        must(store_turn(s, claim_all, w, &err), &err);
        check_batch(w, true, false);
        must(store_turn(s, settle_all, w, &err), &err);
        check_batch(w, false, true);
    }
}

static void live_by_push(struct store *s, struct work *w, size_t jobs)
{
    struct err err = ERR_INIT;
    size_t done;

    for (done = 0; done < jobs; done += w->n) {
        must(store_turn(s, push_all, w, &err), &err);
        check_batch(w, true, w->settled > 0);
        swap_batches(w);
        w->settled = w->n;
    }
    must(store_turn(s, settle_all, w, &err), &err);
    check_batch(w, false, true);
}

static void run(const char *url, struct work w, size_t jobs, int number, int ready, int go)
{
    static char queue[32];
    struct env env = {.note = on_note};
    struct store_options options = {.env = &env};
    struct store *s = NULL;
    struct err err = ERR_INIT;
    size_t i;
    char c = 0;

    w.worker = 1000 + number;
    snprintf(queue, sizeof(queue), "q%d", number);
    w.serves = (struct lane_queue){"process", queue};
    w.submissions = calloc(w.n, sizeof(*w.submissions));
    w.starts = calloc(w.n, sizeof(*w.starts));
    w.next_starts = calloc(w.n, sizeof(*w.starts));
    w.settlements = calloc(w.n, sizeof(*w.settlements));
    w.next_settlements = calloc(w.n, sizeof(*w.settlements));
    for (i = 0; i < w.n; i++)
        w.submissions[i] = (struct submission){.kind = KIND_EXEC,
                                               .name = "exec::noop",
                                               .queue = queue,
                                               .task_index = -1,
                                               .input = "{\"argv\":[\"true\"]}"};
    must(store_open(url, NULL, &options, &s, &err), &err);
    if (write(ready, &c, 1) != 1 || read(go, &c, 1) < 0)
        exit(1);
    if (w.push)
        live_by_push(s, &w, jobs);
    else
        live_by_turns(s, &w, jobs);
    __atomic_fetch_add(&written[0], bytes_written(), __ATOMIC_SEQ_CST);
    store_close(&s);
    free(w.submissions);
    free(w.starts);
    free(w.next_starts);
    free(w.settlements);
    free(w.next_settlements);
}

static double now(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
    int ready[2], go[2], i, status, failed = 0;
    int connections;
    size_t batch, jobs;
    double began, took;
    char c;

    if (argc != 5 && !(argc == 6 && !strcmp(argv[5], "push"))) {
        fprintf(stderr, "usage: lives URL BATCH CONNECTIONS JOBS [push]\n");
        return 2;
    }
    batch = strtoul(argv[2], NULL, 10);
    connections = (int)strtol(argv[3], NULL, 10);
    jobs = connections > 0 && batch
               ? strtoul(argv[4], NULL, 10) / (size_t)connections / batch * batch
               : 0;
    if (!jobs) {
        fprintf(stderr, "lives: JOBS must be at least BATCH times CONNECTIONS\n");
        return 2;
    }
    written =
        mmap(NULL, 2 * sizeof(*written), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (written == MAP_FAILED || pipe(ready) || pipe(go))
        return 1;
    for (i = 0; i < connections; i++)
        if (fork() == 0) {
            close(go[1]);
            run(argv[1], (struct work){.n = batch, .push = argc == 6}, jobs, i, ready[1], go[0]);
            exit(0);
        }
    for (i = 0; i < connections; i++)
        if (read(ready[0], &c, 1) != 1)
            return 1;
    began = now();
    close(go[1]);
    close(go[0]);
    for (i = 0; i < connections; i++) {
        wait(&status);
        failed |= status;
    }
    took = now() - began;
    printf(
        "{\"what\":\"%s\",\"batch\":%zu,\"connections\":%d,\"jobs\":%zu,\"seconds\":%.3f,\"lives_per_s\":%.0f,"
        "\"written_per_job\":%lld,\"redone\":%lld}\n",
        argc == 6 ? "push" : "lives", batch, connections, jobs * (size_t)connections, took,
        (double)(jobs * (size_t)connections) / took,
        written[0] / (long long)(jobs * (size_t)connections), written[1]);
    return failed != 0;
}
