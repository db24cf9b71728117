/* measure.c - the parts of `pawl bench`, each limited in time: a read, a durable disk write, a
 * single submit, submits in batches, running all of them, and how soon an idle worker starts a
 * job. */
#include "cli/bench/bench.h"

#include "base/env.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>

#define QUEUE        "bench"
#define BATCH        1000
#define MAX_WAITING  50000 /* maximum number of jobs waiting to be run */
#define JOB_PAUSE_US 10000 /* pause between two jobs for an idle worker */

/* ---- times ---- */

static int by_size(const void *a, const void *b)
{
    const int64_t *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

static void times_sort(struct bench_times *t)
{
    if (t->us.n)
        qsort(t->us.at, t->us.n, sizeof(*t->us.at), by_size);
}

int64_t times_at(const struct bench_times *t, int percent)
{
    return t->us.n ? t->us.at[(t->us.n - 1) * (size_t)percent / 100] : 0;
}

/* Whether a signal asked the benchmark to stop. */
static bool is_interrupted(struct bench *b)
{
    struct signalfd_siginfo info;

    if (!b->signal && read(b->signals, &info, sizeof(info)) == (ssize_t)sizeof(info))
        b->signal = (int)info.ssi_signo;
    return b->signal != 0;
}

/* Repeats an operation for the span, but at least three times. */
static int repeat(struct bench *b, struct bench_times *t,
                  int (*once)(void *arg, struct pawl_error *err), void *arg, struct pawl_error *err)
{
    int64_t end = clock_boot_us() + b->span, start;
    int rc = 0;

    while (!rc && !is_interrupted(b) && (t->us.n < 3 || clock_boot_us() < end)) {
        start = clock_boot_us();
        rc = once(arg, err);
        *vec_add(&t->us) = clock_boot_us() - start;
    }
    times_sort(t);
    return rc;
}

/* ---- the machine ---- */

static int sync_once(void *arg, struct pawl_error *err)
{
    static const char page[4096];

    (void)err;
    return pwrite(*(int *)arg, page, sizeof(page), 0) < 0 || fdatasync(*(int *)arg) ? -1 : 0;
}

/* Measures the disk. A disk that can't be measured is left out of the results. */
static void measure_disk(struct bench *b)
{
    int fd = b->disk ? open(b->disk, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600) : -1;

    if (fd >= 0 && repeat(b, &b->times[BENCH_SYNC], sync_once, &fd, NULL))
        vec_release(&b->times[BENCH_SYNC].us);
    if (fd >= 0)
        close(fd);
}

static int read_once(void *arg, struct pawl_error *err)
{
    int64_t id;

    return pawl_last(arg, &id, err);
}

/* ---- submitting ---- */

static const struct pawl_job job_template = {
    .name = "exec::bench", .queue = QUEUE, .lane = "function:bench"};

static int submit_once(void *arg, struct pawl_error *err)
{
    struct pawl_job job = job_template;

    return pawl_submit(arg, &job, 1, err);
}

static int submit_many(struct bench *b, struct pawl *p, size_t *n, struct pawl_error *err)
{
    struct pawl_job *jobs = mem_alloc(BATCH * sizeof(*jobs));
    int64_t start = clock_boot_us();
    int rc = 0;

    while (!rc && !is_interrupted(b) && *n < MAX_WAITING &&
           (!*n || clock_boot_us() < start + b->span)) {
        for (int i = 0; i < BATCH; i++)
            jobs[i] = job_template;
        rc = pawl_submit(p, jobs, BATCH, err);
        *n += BATCH;
    }
    b->submits = (double)*n * 1e6 / (double)(clock_boot_us() - start);
    free(jobs);
    return rc;
}

/* ---- running ---- */

/* State shared by the function and the submitter. */
struct shared {
    struct bench *b;
    pthread_mutex_t lock;
    atomic_bool over; /* the measurement is over: submit no more jobs */
    size_t ended;     /* used only by the engine's thread */
    size_t sent;      /* written by the submitter; read after the submitter has ended */
    int rc;
    struct pawl_error err;
};

/* A job whose input is the time of its submission measures the delay until its start. */
static int run_job(struct pawl_call *c, void *arg)
{
    struct shared *w = arg;
    int64_t now = clock_boot_us();

    if (!c->input)
        return 0;
    pthread_mutex_lock(&w->lock);
    *vec_add(&w->b->times[BENCH_START].us) = now - strtoll(c->input, NULL, 10);
    pthread_mutex_unlock(&w->lock);
    return 0;
}

static void on_status(void *arg, int64_t execution, const char *status)
{
    (void)execution;
    ((struct shared *)arg)->ended += status != NULL;
}

static double processor_us(void)
{
    struct rusage u;

    getrusage(RUSAGE_SELF, &u);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1e6 +
           (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

static int run_all(struct bench *b, struct pawl_engine *e, struct shared *w, size_t n,
                   struct pawl_error *err)
{
    double used = processor_us(), took;
    int64_t start = clock_boot_us();
    int rc = 0;

    while (!rc && w->ended < n && !is_interrupted(b))
        rc = pawl_engine_step(e, 100, err);
    took = (double)(clock_boot_us() - start);
    b->busy = (processor_us() - used) / took;
    b->runs = (double)w->ended * 1e6 / took;
    b->lives = 1 / (1 / b->submits + 1 / b->runs);
    return rc;
}

/* Submits one job at a time, with pauses, from a thread and handle of its own, so that the worker
 * is asleep when each job arrives. */
static void *submit_periodically(void *arg)
{
    struct shared *w = arg;
    struct pawl *p = NULL;
    char input[32];
    int64_t end;

    w->rc = pawl_open(&w->b->options, &p, &w->err);
    end = clock_boot_us() + w->b->span;
    while (!w->rc && !atomic_load(&w->over) && (w->sent < 3 || clock_boot_us() < end)) {
        struct pawl_job job = job_template;

        clock_sleep_us(JOB_PAUSE_US);
        snprintf(input, sizeof(input), "%lld", (long long)clock_boot_us());
        job.input = input;
        w->rc = pawl_submit(p, &job, 1, &w->err);
        w->sent += !w->rc;
    }
    pawl_close(p);
    atomic_store(&w->over, true);
    return NULL;
}

static int measure_start(struct bench *b, struct pawl_engine *e, struct shared *w,
                         struct pawl_error *err)
{
    size_t before = w->ended;
    pthread_t thread;
    int rc = 0;

    if (pthread_create(&thread, NULL, submit_periodically, w))
        return 0; /* this measurement is left out of the results */
    while (!rc && !is_interrupted(b) && !atomic_load(&w->over))
        rc = pawl_engine_step(e, 100, err);
    atomic_store(&w->over, true);
    pthread_join(thread, NULL);
    while (!rc && !w->rc && !is_interrupted(b) && w->ended - before < w->sent)
        rc = pawl_engine_step(e, 100, err);
    if (!rc && w->rc) {
        *err = w->err;
        rc = w->rc;
    }
    return rc;
}

static int run(struct bench *b, struct pawl *p, size_t n, struct pawl_error *err)
{
    static const char *const queues[] = {QUEUE, NULL};
    struct pawl_engine_options o = {.queues = queues, .state = b->state};
    struct shared w = {.b = b, .lock = PTHREAD_MUTEX_INITIALIZER};
    struct pawl_engine *e;
    int rc;

    TRY(pawl_engine_open(p, &o, &e, err));
    pawl_engine_watch(e, on_status, &w);
    if (!(rc = pawl_engine_register(e, "bench", run_job, &w, err)) &&
        !(rc = run_all(b, e, &w, n, err)))
        rc = measure_start(b, e, &w, err);
    pawl_engine_close(e);
    times_sort(&b->times[BENCH_START]);
    return rc;
}

int bench_run(struct bench *b, struct pawl_error *err)
{
    struct pawl *p;
    size_t n = 0;
    int rc;

    measure_disk(b);
    TRY(pawl_open(&b->options, &p, err));
    if (!(rc = repeat(b, &b->times[BENCH_SUBMIT], submit_once, p, err)) &&
        !(rc = repeat(b, &b->times[BENCH_READ], read_once, p, err)) &&
        !(rc = submit_many(b, p, &n, err)) && !is_interrupted(b))
        rc = run(b, p, n + b->times[BENCH_SUBMIT].us.n, err);
    pawl_close(p);
    return rc;
}

void bench_release(struct bench *b)
{
    for (size_t i = 0; i < BENCH_TIMES; i++)
        vec_release(&b->times[i].us);
}
