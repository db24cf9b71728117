/* lives.c - whole lives of jobs per second: submit, claim, started, settle, each a turn of its own
 * with one commit, five events a job. Several connections are several processes, each with its own
 * queue.
 *
 *   lives URL BATCH CONNECTIONS JOBS
 *
 * prints one JSON line. The database is made and dropped by the caller. */
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
    int64_t worker;
    struct lane_queue serves;
    struct submission *submissions;
    struct job_list jobs;
    struct start *starts;
    struct settlement *settlements;
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
                      .max = w->n};
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
    int rc = op_started(t, w->worker, w->starts, w->jobs.n, err);

    return rc ? rc : op_settle(t, w->worker, w->settlements, w->jobs.n, err);
}

/* What the processes gave to write(2) and its like: on SQLite that is the WAL and its checkpoints.
 */
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

static long long *written; /* shared by all processes: bytes, and turns that were redone */

static void on_note(void *arg, const char *sentence)
{
    (void)arg;
    (void)sentence;
    __atomic_fetch_add(&written[1], 1, __ATOMIC_SEQ_CST);
}

static void run(const char *url, size_t batch, size_t jobs, int number, int ready, int go)
{
    static char queue[32];
    struct env env = {.note = on_note};
    struct store_options options = {.env = &env};
    struct store *s = NULL;
    struct err err = ERR_INIT;
    struct work w = {.n = batch, .worker = 1000 + number};
    size_t i, done = 0;
    char c = 0;

    snprintf(queue, sizeof(queue), "q%d", number);
    w.serves = (struct lane_queue){"process", queue};
    w.submissions = calloc(batch, sizeof(*w.submissions));
    w.starts = calloc(batch, sizeof(*w.starts));
    w.settlements = calloc(batch, sizeof(*w.settlements));
    for (i = 0; i < batch; i++)
        w.submissions[i] = (struct submission){.kind = KIND_EXEC,
                                               .name = "exec::noop",
                                               .queue = queue,
                                               .task_index = -1,
                                               .input = "{\"argv\":[\"true\"]}"};
    must(store_open(url, NULL, &options, &s, &err), &err);
    if (write(ready, &c, 1) != 1 || read(go, &c, 1) < 0)
        exit(1);
    while (done < jobs) {
        must(store_turn(s, submit_all, &w, &err), &err);
        must(store_turn(s, claim_all, &w, &err), &err);
        if (w.jobs.n != batch) {
            fprintf(stderr, "lives: claimed %zu of %zu\n", w.jobs.n, batch);
            exit(1);
        }
        must(store_turn(s, settle_all, &w, &err), &err);
        for (i = 0; i < batch; i++)
            if (w.settlements[i].lease.rc) {
                fprintf(stderr, "lives: a settle was refused\n");
                exit(1);
            }
        done += batch;
    }
    __atomic_fetch_add(&written[0], bytes_written(), __ATOMIC_SEQ_CST);
    store_close(&s);
    free(w.submissions);
    free(w.starts);
    free(w.settlements);
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

    if (argc != 5) {
        fprintf(stderr, "usage: lives URL BATCH CONNECTIONS JOBS\n");
        return 2;
    }
    batch = strtoul(argv[2], NULL, 10);
    connections = (int)strtol(argv[3], NULL, 10);
    jobs = strtoul(argv[4], NULL, 10) / (size_t)connections / batch * batch;
    written =
        mmap(NULL, 2 * sizeof(*written), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (written == MAP_FAILED || pipe(ready) || pipe(go))
        return 1;
    for (i = 0; i < connections; i++)
        if (fork() == 0) {
            close(go[1]);
            run(argv[1], batch, jobs, i, ready[1], go[0]);
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
        "{\"what\":\"lives\",\"batch\":%zu,\"connections\":%d,\"jobs\":%zu,\"seconds\":%.3f,\"lives_per_s\":%.0f,"
        "\"written_per_job\":%lld,\"redone\":%lld}\n",
        batch, connections, jobs * (size_t)connections, took,
        (double)(jobs * (size_t)connections) / took,
        written[0] / (long long)(jobs * (size_t)connections), written[1]);
    return failed != 0;
}
