/* test_custom_executor_faults.c - custom executors of an embedder when something goes wrong: their
 * worker dies, a lease is lost, more output is reported than is kept, and many threads report at
 * once. */
#include "api/custom_executor.h"
#include "attempts_fixture.h"
#include "base/mem.h"
#include "custom_executor_fixture.h"

#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

TEST_THREADED;

/* ---- dead workers ---- */

TEST(attempt_that_died_with_its_worker_is_lost_and_retried)
{
    struct recorder recorder = {0};
    struct pawl_executor x = recorder_executor(&recorder);
    struct engine_run w = open_run(&x, NULL);
    int64_t id =
        put(&w, (struct pawl_job){.max_attempts = 2, .spec = "{\"retry\":{\"delay\":1000}}"});

    UNTIL(&w, recorder.nbegun == 1);
    pawl_engine_close(w.e); /* without a stop, as if the worker had died */
    open_engine(&w, &x);
    UNTIL(&w, recorder.nbegun == 2);
    CHECK_EQ(recorder.begun[1].attempt, 2);
    CHECK(strstr(history(w.s, id), "lease_expired adopted retry_scheduled"));
    done(recorder.begun[1], NULL);
    UNTIL(&w, status_of(w.s, id) == S_SUCCEEDED);
    close_run(&w);
}

TEST(attempt_that_outlives_its_worker_is_reattached_by_the_next_worker)
{
    struct recorder recorder = {0};
    struct pawl_executor x = recorder_executor(&recorder);
    struct engine_run w;
    int64_t id;
    int epoch;

    x.outlives_worker = true;
    x.find = recorder_reattach;
    x.forget = recorder_forget;
    w = open_run(&x, NULL);
    id = put_one(&w);
    UNTIL(&w, recorder.nbegun == 1);
    epoch = recorder.epoch;
    pawl_engine_stop(w.e, true);
    CHECK(pawl_engine_idle(w.e));
    CHECK_EQ(recorder.cancelled, 0);
    CHECK_EQ(recorder.forgotten, 1);
    pawl_engine_close(w.e);
    CHECK_EQ(status_of(w.s, id), S_RUNNING);
    open_engine(&w, &x);
    UNTIL(&w, recorder.nfound == 1);
    CHECK_EQ(recorder.found[0].execution, id);
    CHECK_EQ(recorder.found[0].attempt, 1);
    CHECK_EQ(recorder.epoch, epoch + 1);
    pawl_report_started(recorder.found[0], SECOND);
    done(recorder.found[0], "1");
    UNTIL(&w, status_of(w.s, id) == S_SUCCEEDED);
    CHECK_EQ(recorder.nbegun, 1);
    close_run(&w);
}

/* A dispatcher without an engine, so that a test can lose leases at will. */
struct lone_dispatcher {
    struct dispatch *d;
    struct idmap attempts;
    struct recorder recorder;
    int started, ended;
    struct outcome last;
};

static void on_report(void *arg, struct attempt *a, const struct report *r)
{
    struct lone_dispatcher *k = arg;

    (void)a;
    k->started += r->kind == REPORT_STARTED;
    if (r->kind != REPORT_ENDED)
        return;
    k->ended++;
    k->last = r->outcome;
    k->last.error = NULL;
}

static void open_dispatcher(struct lone_dispatcher *k,
                            void (*forget)(void *data, struct pawl_attempt a))
{
    struct dispatch_options o = {.attempts = &k->attempts, .report = on_report, .arg = k};
    struct pawl_executor x = recorder_executor(&k->recorder);
    struct err e = ERR_INIT;

    x.forget = forget;
    CHECK_OK_ERR(dispatch_new(&o, &k->d, &e), &e);
    CHECK_OK_ERR(
        api_executor_add(k->d, &x,
                         &(struct custom_executor_options){.slots = 1, .env = fixture_env()}, &e),
        &e);
}

static struct job task_of(int64_t execution, int epoch)
{
    static const struct spec spec;

    return (struct job){.execution = execution,
                        .root = execution,
                        .attempt = 1,
                        .max_attempts = 1,
                        .epoch = epoch,
                        .name = "exec::lab",
                        .spec = &spec};
}

static void start_job(struct lone_dispatcher *k, const struct job *t)
{
    struct outcome failed;
    struct err e = ERR_INIT;

    attempts_put(&k->attempts, t);
    CHECK_OK_ERR(dispatch_start(k->d, "lab", t, &failed, &e), &e);
}

static void reattach_job(struct lone_dispatcher *k, const struct job *t)
{
    struct err e = ERR_INIT;

    attempts_put(&k->attempts, t);
    CHECK_OK_ERR(dispatch_reattach(k->d, "lab", t, &e), &e);
}

static void close_dispatcher(struct lone_dispatcher *k)
{
    dispatch_free(k->d);
    attempts_release(&k->attempts);
}

static int capacity_of(struct lone_dispatcher *k)
{
    size_t n;

    return dispatch_lane_groups(k->d, &n)->can_start;
}

TEST(attempt_whose_lease_was_lost_is_cancelled_and_keeps_its_slot_until_it_ends)
{
    struct lone_dispatcher k = {0};
    struct job t = task_of(7, 1);

    open_dispatcher(&k, NULL);
    start_job(&k, &t);
    dispatch_forget(k.d, 7, 1);
    CHECK_EQ(k.recorder.cancelled, 1);
    CHECK_EQ(capacity_of(&k), 0);
    pawl_report_ended(k.recorder.begun[0], &(struct pawl_end){.outcome = PAWL_CANCELLED});
    dispatch_poll(k.d);
    CHECK_EQ(k.ended, 0);
    CHECK_EQ(capacity_of(&k), 1);
    close_dispatcher(&k);
    CHECK_EQ(k.recorder.freed, 1);
}

TEST(attempt_adopted_again_by_its_own_worker_is_not_lost_while_it_runs)
{
    struct lone_dispatcher k = {0};
    struct job t = task_of(7, 1), again = task_of(7, 3), other = task_of(8, 2);

    open_dispatcher(&k, NULL);
    start_job(&k, &t);
    dispatch_forget(k.d, 7, 1);
    reattach_job(&k, &again);
    dispatch_poll(k.d);
    CHECK_EQ(k.ended, 0);
    pawl_report_started(k.recorder.begun[0], 0);
    pawl_report_ended(k.recorder.begun[0], &(struct pawl_end){.outcome = PAWL_CANCELLED});
    dispatch_poll(k.d);
    CHECK_EQ(k.started, 1);
    CHECK_EQ(k.ended, 1);
    /* no user cancelled it: it stopped because of the lost lease */
    CHECK_EQ(k.last.kind, OUTCOME_LOST);
    reattach_job(&k, &other);
    dispatch_poll(k.d);
    CHECK_EQ(k.ended, 2);
    CHECK_EQ(k.last.kind, OUTCOME_LOST);
    CHECK_EQ(k.started, 1);
    close_dispatcher(&k);
}

TEST(attempt_adopted_again_by_its_own_worker_can_be_cancelled)
{
    struct lone_dispatcher k = {.recorder = {.obeys = true}};
    struct job t = task_of(7, 1), again = task_of(7, 3);

    open_dispatcher(&k, recorder_forget);
    start_job(&k, &t);
    dispatch_forget(k.d, 7, 1);
    CHECK_EQ(k.recorder.forgotten, 1);
    CHECK_EQ(k.recorder.cancelled, 0);
    again.cancel = true;
    reattach_job(&k, &again);
    CHECK_EQ(k.recorder.cancelled, 1);
    dispatch_poll(k.d);
    CHECK_EQ(k.ended, 1);
    CHECK_EQ(k.last.kind, OUTCOME_CANCELLED);
    close_dispatcher(&k);
}

/* ---- load ---- */

TEST(excess_log_output_is_dropped_from_the_middle)
{
    struct recorder recorder = {0};
    struct pawl_executor x = recorder_executor(&recorder);
    struct engine_run w = open_run(&x, NULL);
    int64_t id = put_one(&w), at = 0;
    struct pawl_log_page page = {0};
    char line[65], *text = mem_alloc(4 << 20);
    size_t len = 0;
    int i;

    UNTIL(&w, recorder.nbegun == 1);
    for (i = 0; i < 50000; i++) { /* 64 bytes each */
        snprintf(line, sizeof(line), "%063d\n", i);
        pawl_report_log(recorder.begun[0], line, 64);
        if (i == 100)
            step(&w); /* part of it is read before the rest is reported */
    }
    done(recorder.begun[0], NULL);
    UNTIL(&w, recorder.settled == 1);
    do {
        OK(pawl_log(w.p, &(struct pawl_log_place){.execution = id, .from = at}, text + len,
                    (4 << 20) - len, &page, &err));
        len += page.len;
        at = page.next;
    } while (page.len);
    CHECK_EQ(len, 1 << 20);
    CHECK(!memcmp(text + 62, "0\n", 2));
    CHECK(!memcmp(text + (8191 * 64) + 59, "8191\n", 5));
    CHECK(!memcmp(text + (8192 * 64) + 58, "41808\n", 6));
    CHECK(!memcmp(text + len - 6, "49999\n", 6));
    free(text);
    close_run(&w);
}

struct pipe_lab {
    int fds[2];
    struct pawl_attempt at;
};

static int pipe_start(void *data, const struct pawl_task *t, struct pawl_error *e)
{
    struct pipe_lab *l = data;

    (void)e;
    l->at = t->id;
    return write(l->fds[1], "x", 1) == 1 ? 0 : -PAWL_E_INTERNAL;
}

static int pipe_fd(void *data)
{
    return ((struct pipe_lab *)data)->fds[0];
}

static void pipe_poll(void *data)
{
    struct pipe_lab *l = data;
    char c;

    CHECK_EQ(read(l->fds[0], &c, 1), 1);
    done(l->at, "\"turned\"");
}

TEST(executor_without_threads_is_called_when_its_descriptor_is_readable)
{
    struct pipe_lab recorder;
    struct pawl_executor x = {
        .key = "lab", .data = &recorder, .start = pipe_start, .fd = pipe_fd, .poll = pipe_poll};
    struct engine_run w;
    int64_t id;

    CHECK_EQ(pipe2(recorder.fds, O_CLOEXEC), 0);
    w = open_run(&x, NULL);
    id = put_one(&w);
    UNTIL(&w, status_of(w.s, id) == S_SUCCEEDED);
    CHECK_STR(get(w.s, id).result, "\"turned\"");
    close_run(&w);
    close(recorder.fds[0]);
    close(recorder.fds[1]);
}

/* An executor that runs each attempt in its own thread, which logs a lot and ends. */
struct threaded {
    pthread_t threads[MOST];
    int n;
};

static void *report_a_lot(void *arg)
{
    struct pawl_attempt a = *(struct pawl_attempt *)arg;
    int i;

    free(arg);
    pawl_report_started(a, 0);
    for (i = 0; i < 200; i++)
        pawl_report_log(a, "la\n", 3);
    done(a, "\"la\"");
    pawl_report_log(a, "too late\n", 9);
    return NULL;
}

static int threaded_start(void *data, const struct pawl_task *t, struct pawl_error *e)
{
    struct threaded *c = data;
    struct pawl_attempt *a = mem_alloc(sizeof(*a));

    (void)e;
    *a = t->id;
    CHECK(c->n < MOST);
    return pthread_create(&c->threads[c->n++], NULL, report_a_lot, a) ? -PAWL_E_REFUSED : 0;
}

static void threaded_free(void *data)
{
    struct threaded *c = data;

    while (c->n)
        pthread_join(c->threads[--c->n], NULL);
}

TEST(concurrent_reports_from_many_threads_are_all_kept)
{
    struct threaded threaded = {0};
    struct pawl_executor x = {.key = "lab",
                              .data = &threaded,
                              .slots = 8,
                              .start = threaded_start,
                              .free = threaded_free};
    struct engine_run w =
        open_run(&x, "executors: {process: {enabled: false}}\nworker: {slots: 8}\n");
    struct pawl_job jobs[MOST];
    int i;

    for (i = 0; i < MOST; i++)
        jobs[i] = (struct pawl_job){.name = "exec::lab", .lane = "lab"};
    OK(pawl_submit(w.p, jobs, MOST, &err));
    UNTIL(&w,
          sql_number(w.s, "SELECT count(*) FROM executions WHERE finished_at IS NOT NULL") == MOST);
    CHECK_EQ(sql_number(w.s, "SELECT sum(raw) FROM attempt_logs"), MOST * 600);
    close_run(&w);
}
