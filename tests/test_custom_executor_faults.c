/* test_custom_executor_faults.c - executors of those who embed Pawl when something goes wrong:
 * their worker dies, a lease is lost, more is said than anybody can keep, and on many threads at
 * once. */
#include "api/custom_executor.h"
#include "base/mem.h"
#include "custom_executor_fixture.h"

#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

TEST_THREADED;

/* ---- workers that are gone ---- */

TEST(work_that_lives_in_its_worker_is_lost_with_it_and_tried_again)
{
    struct lab lab = {0};
    struct pawl_executor x = lab_executor(&lab);
    struct world w = open_world(&x, NULL);
    int64_t id =
        put(&w, (struct pawl_job){.max_attempts = 2, .spec = "{\"retry\":{\"delay\":1000}}"});

    UNTIL(&w, lab.nbegun == 1);
    pawl_engine_close(w.e); /* without a word to anybody: as if it had died */
    open_engine(&w, &x);
    UNTIL(&w, lab.nbegun == 2);
    CHECK_EQ(lab.begun[1].attempt, 2);
    CHECK(strstr(history(w.s, id), "lease_expired adopted retry_scheduled"));
    done(lab.begun[1], NULL);
    UNTIL(&w, status_of(w.s, id) == S_SUCCEEDED);
    close_world(&w);
}

TEST(work_that_outlives_its_worker_is_found_by_the_next)
{
    struct lab lab = {0};
    struct pawl_executor x = lab_executor(&lab);
    struct world w;
    int64_t id;
    int epoch;

    x.outlives_worker = true;
    x.find = lab_find;
    x.forget = lab_forget;
    w = open_world(&x, NULL);
    id = put_one(&w);
    UNTIL(&w, lab.nbegun == 1);
    epoch = lab.epoch;
    pawl_engine_stop(w.e, true);
    CHECK(pawl_engine_idle(w.e));
    CHECK_EQ(lab.cancelled, 0);
    CHECK_EQ(lab.forgotten, 1);
    pawl_engine_close(w.e);
    CHECK_EQ(status_of(w.s, id), S_RUNNING);
    open_engine(&w, &x);
    UNTIL(&w, lab.nfound == 1);
    CHECK_EQ(lab.found[0].execution, id);
    CHECK_EQ(lab.found[0].attempt, 1);
    CHECK_EQ(lab.epoch, epoch + 1);
    pawl_report_started(lab.found[0], SECOND);
    done(lab.found[0], "1");
    UNTIL(&w, status_of(w.s, id) == S_SUCCEEDED);
    CHECK_EQ(lab.nbegun, 1);
    close_world(&w);
}

/* A dispatcher alone, so that leases can be lost at will. */
struct desk {
    struct dispatch *d;
    struct lab lab;
    int started, ended;
    struct outcome last;
};

static void on_report(void *arg, const struct report *r)
{
    struct desk *k = arg;

    k->started += r->kind == REPORT_STARTED;
    if (r->kind != REPORT_ENDED)
        return;
    k->ended++;
    k->last = r->outcome;
    k->last.error = NULL;
}

static void open_desk(struct desk *k, void (*forget)(void *data, struct pawl_attempt a))
{
    struct dispatch_options o = {.env = fixture_env(), .report = on_report, .arg = k};
    struct pawl_executor x = lab_executor(&k->lab);
    struct err e = ERR_INIT;

    x.forget = forget;
    CHECK_OK_ERR(dispatch_new(&o, &k->d, &e), &e);
    CHECK_OK_ERR(api_executor_add(k->d, &x, 1, fixture_env(), &e), &e);
}

static struct task task_of(int64_t execution, int epoch)
{
    static const struct spec spec;

    return (struct task){.execution = execution,
                         .root = execution,
                         .attempt = 1,
                         .max_attempts = 1,
                         .epoch = epoch,
                         .name = "exec::lab",
                         .spec = &spec};
}

static int room_of(struct desk *k)
{
    size_t n;

    return dispatch_lane_groups(k->d, &n)->can_start;
}

TEST(work_whose_lease_is_lost_is_told_to_stop_and_keeps_its_slot_until_it_has)
{
    struct desk k = {0};
    struct task t = task_of(7, 1);

    open_desk(&k, NULL);
    dispatch_start(k.d, "lab", &t);
    dispatch_forget(k.d, 7, 1);
    CHECK_EQ(k.lab.cancelled, 1);
    CHECK_EQ(room_of(&k), 0);
    pawl_report_ended(k.lab.begun[0], &(struct pawl_end){.outcome = PAWL_CANCELLED});
    dispatch_poll(k.d);
    CHECK_EQ(k.ended, 0);
    CHECK_EQ(room_of(&k), 1);
    dispatch_free(k.d);
    CHECK_EQ(k.lab.freed, 1);
}

TEST(work_that_still_runs_here_is_never_taken_for_lost)
{
    struct desk k = {0};
    struct task t = task_of(7, 1), again = task_of(7, 3), other = task_of(8, 2);
    struct err e = ERR_INIT;

    open_desk(&k, NULL);
    dispatch_start(k.d, "lab", &t);
    dispatch_forget(k.d, 7, 1);
    CHECK_OK_ERR(dispatch_reattach(k.d, "lab", &again, &e), &e);
    dispatch_poll(k.d);
    CHECK_EQ(k.ended, 0);
    pawl_report_started(k.lab.begun[0], 0);
    pawl_report_ended(k.lab.begun[0], &(struct pawl_end){.outcome = PAWL_CANCELLED});
    dispatch_poll(k.d);
    CHECK_EQ(k.started, 1);
    CHECK_EQ(k.ended, 1);
    CHECK_EQ(k.last.kind, OUTCOME_LOST); /* nobody cancelled it: it stopped for the lease */
    CHECK_OK_ERR(dispatch_reattach(k.d, "lab", &other, &e), &e);
    dispatch_poll(k.d);
    CHECK_EQ(k.ended, 2);
    CHECK_EQ(k.last.kind, OUTCOME_LOST);
    CHECK_EQ(k.started, 1);
    dispatch_free(k.d);
}

TEST(what_was_forgotten_and_came_back_can_still_be_cancelled)
{
    struct desk k = {.lab = {.obeys = true}};
    struct task t = task_of(7, 1), again = task_of(7, 3);
    struct err e = ERR_INIT;

    open_desk(&k, lab_forget);
    dispatch_start(k.d, "lab", &t);
    dispatch_forget(k.d, 7, 1);
    CHECK_EQ(k.lab.forgotten, 1);
    CHECK_EQ(k.lab.cancelled, 0);
    again.cancel = true;
    CHECK_OK_ERR(dispatch_reattach(k.d, "lab", &again, &e), &e);
    CHECK_EQ(k.lab.cancelled, 1);
    dispatch_poll(k.d);
    CHECK_EQ(k.ended, 1);
    CHECK_EQ(k.last.kind, OUTCOME_CANCELLED);
    dispatch_free(k.d);
}

/* ---- much at once ---- */

TEST(of_a_flood_of_output_the_beginning_and_the_end_are_kept)
{
    struct lab lab = {0};
    struct pawl_executor x = lab_executor(&lab);
    struct world w = open_world(&x, NULL);
    int64_t id = put_one(&w), at = 0;
    struct pawl_log_page page = {0};
    char line[65], *text = mem_alloc(4 << 20);
    size_t len = 0;
    int i;

    UNTIL(&w, lab.nbegun == 1);
    for (i = 0; i < 50000; i++) { /* 64 bytes each */
        snprintf(line, sizeof(line), "%063d\n", i);
        pawl_report_log(lab.begun[0], line, 64);
        if (i == 100)
            step(&w); /* some of it is on its way before */
    }
    done(lab.begun[0], NULL);
    UNTIL(&w, lab.settled == 1);
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
    close_world(&w);
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

static void pipe_turn(void *data)
{
    struct pipe_lab *l = data;
    char c;

    CHECK_EQ(read(l->fds[0], &c, 1), 1);
    done(l->at, "\"turned\"");
}

TEST(one_without_threads_is_called_when_its_descriptor_is_readable)
{
    struct pipe_lab lab;
    struct pawl_executor x = {
        .key = "lab", .data = &lab, .start = pipe_start, .fd = pipe_fd, .turn = pipe_turn};
    struct world w;
    int64_t id;

    CHECK_EQ(pipe2(lab.fds, O_CLOEXEC), 0);
    w = open_world(&x, NULL);
    id = put_one(&w);
    UNTIL(&w, status_of(w.s, id) == S_SUCCEEDED);
    CHECK_STR(get(w.s, id).result, "\"turned\"");
    close_world(&w);
    close(lab.fds[0]);
    close(lab.fds[1]);
}

/* Each attempt has a thread of its own, which says a lot and ends. */
struct crowd {
    pthread_t threads[MOST];
    int n;
};

static void *chatter(void *arg)
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

static int crowd_start(void *data, const struct pawl_task *t, struct pawl_error *e)
{
    struct crowd *c = data;
    struct pawl_attempt *a = mem_alloc(sizeof(*a));

    (void)e;
    *a = t->id;
    CHECK(c->n < MOST);
    return pthread_create(&c->threads[c->n++], NULL, chatter, a) ? -PAWL_E_REFUSED : 0;
}

static void crowd_free(void *data)
{
    struct crowd *c = data;

    while (c->n)
        pthread_join(c->threads[--c->n], NULL);
}

TEST(many_threads_may_report_at_once)
{
    struct crowd crowd = {0};
    struct pawl_executor x = {
        .key = "lab", .data = &crowd, .slots = 8, .start = crowd_start, .free = crowd_free};
    struct world w = open_world(&x, "executors: {process: {enabled: false}}\nworker: {slots: 8}\n");
    struct pawl_job jobs[MOST];
    int i;

    for (i = 0; i < MOST; i++)
        jobs[i] = (struct pawl_job){.name = "exec::lab", .lane = "lab"};
    OK(pawl_submit(w.p, jobs, MOST, &err));
    UNTIL(&w,
          sql_number(w.s, "SELECT count(*) FROM executions WHERE finished_at IS NOT NULL") == MOST);
    CHECK_EQ(sql_number(w.s, "SELECT sum(raw) FROM attempt_logs"), MOST * 600);
    close_world(&w);
}
