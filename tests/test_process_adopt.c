/* test_process_adopt.c - which worker may act on an attempt: one that adopts it, one that starts
 * it late, one with an old epoch. Wherever a worker dies, the next one finds an attempt that it can
 * settle. No command is ever started twice. */
#include "process_wait_fixture.h"

#include <sys/wait.h>

TEST_NO_DB;

TEST(running_attempt_is_adopted_by_another_worker)
{
    struct worker *a = worker_new(), *b;
    struct spec spec = waiting_spec();
    struct job t = task_of(&spec);
    struct seen *s;

    begin(a, &t);
    handles_stop(&a->handles, false);
    CHECK_EQ(a->x->ops->capacity(a->x), 0);
    CHECK(shim_is_running(&t));
    b = next_worker(a, &t);
    s = seen_of(b, t.execution, t.attempt);
    UNTIL(b, s->started);
    CHECK(s->ago > 0);
    CHECK_EQ(s->ended, 0);
    let_end("0\n");
    s = worker_wait(b, &t);
    CHECK_EQ(s->o.kind, OUTCOME_OK);
    CHECK_STR(s->result, "{\"a\":\"1\"}");
    CHECK_STR(buf_cstr(&s->log), "output\n");
    CHECK_EQ(times_begun(), 1);
    CHECK(!shim_is_running(&t));
    worker_free(b);
}

TEST(attempt_that_ended_while_no_worker_ran_is_settled_from_its_exit_record)
{
    struct worker *a = worker_new(), *b;
    struct spec spec = waiting_spec();
    struct job t = task_of(&spec);
    struct seen *s;

    begin(a, &t);
    worker_free(a);
    let_end("6\n");
    while (shim_is_running(&t))
        clock_sleep_us(1000);
    b = worker_new();
    t.epoch = 2;
    worker_reattach(b, &t);
    s = worker_wait(b, &t);
    CHECK_EQ(s->started, 1);
    CHECK_EQ(s->o.kind, OUTCOME_FAILED);
    CHECK_EQ(s->o.exit_code, 6);
    CHECK(s->o.duration > 0);
    CHECK_STR(buf_cstr(&s->log), "output\n");
    worker_free(b);
}

TEST(killed_worker_leaves_its_task_running)
{
    struct spec spec = waiting_spec();
    struct job t = task_of(&spec);
    struct worker *b;
    pid_t worker = fork();

    CHECK(worker >= 0);
    if (worker == 0) {
        struct worker *a = worker_new();

        begin(a, &t);
        kill(getpid(), SIGKILL);
    }
    CHECK_EQ(waitpid(worker, NULL, 0), worker);
    b = worker_new();
    t.epoch = 2;
    worker_reattach(b, &t);
    let_end("0\n");
    CHECK_EQ(worker_wait(b, &t)->o.kind, OUTCOME_OK);
    CHECK_EQ(times_begun(), 1);
    worker_free(b);
}

TEST(adoption_does_not_restart_the_timeout)
{
    struct worker *a = worker_new(), *b;
    struct spec spec = waiting_spec();
    struct job t = task_of(&spec);
    struct seen *s;

    spec.timeout = SECOND;
    begin_in_time(a, &t);
    b = next_worker(a, &t);
    s = worker_wait(b, &t);
    CHECK_EQ(s->o.kind, OUTCOME_TIMED_OUT);
    CHECK(s->o.duration >= SECOND);
    worker_free(b);
}

TEST(adopted_task_whose_cancel_was_requested_is_cancelled)
{
    struct worker *a = worker_new(), *b;
    struct spec spec = waiting_spec();
    struct job t = task_of(&spec);

    begin(a, &t);
    worker_free(a);
    b = worker_new();
    t.epoch = 2;
    t.cancel = true;
    worker_reattach(b, &t);
    CHECK_EQ(worker_wait(b, &t)->o.kind, OUTCOME_CANCELLED);
    worker_free(b);
}

/* ---- late starters and old epochs ---- */

TEST(start_after_the_tombstone_was_written_runs_nothing)
{
    struct worker *a = worker_new(), *b = worker_new();
    struct spec spec = {.run = "echo $$ >>begun", .cwd = test_dir()};
    struct job t = task_of(&spec), adopted = t;
    pid_t helper = helper_pid();
    struct seen *s;
    char path[64];
    int first = 0, second = 0;

    snprintf(path, sizeof(path), "/proc/self/task/%d/children", (int)getpid());
    CHECK_EQ(sscanf(read_text(path), "%d %d", &first, &second), 2);
    CHECK_OK(kill(first, SIGSTOP));
    CHECK_OK(kill(second, SIGSTOP));
    worker_start(a, &t); /* requested, but the helper is stopped */
    adopted.epoch = 2;
    worker_reattach(b, &adopted);
    s = worker_wait(b, &adopted);
    CHECK_EQ(s->o.kind, OUTCOME_REFUSED);
    CHECK(s->o.unstarted);
    CHECK_EQ(s->started, 0);
    CHECK_OK(kill(first, SIGCONT));
    CHECK_OK(kill(second, SIGCONT));
    /* The first worker's shim starts, finds the tombstone and exits. That worker has lost its
     * lease, so it may not report an outcome. */
    s = seen_of(a, t.execution, t.attempt);
    for (int i = 0; i < 50; i++)
        worker_poll(a, 10000);
    CHECK_EQ(s->ended, 0);
    CHECK_EQ(times_begun(), 0);
    CHECK_EQ(a->x->ops->capacity(a->x), 8);
    CHECK(helper > 0);
    worker_free(a);
    worker_free(b);
}

/* As on another host: whether the attempt started is not known there. */
TEST(adopter_without_the_folder_does_not_report_that_the_attempt_never_started)
{
    struct worker *b = worker_new();
    struct spec spec = {.run = "echo $$ >>begun", .cwd = test_dir()};
    struct job adopted = task_of(&spec);
    struct seen *s;

    adopted.epoch = 2;
    worker_reattach(b, &adopted);
    s = worker_wait(b, &adopted);
    CHECK_EQ(s->o.kind, OUTCOME_LOST);
    CHECK_STR(s->error, "its worker is gone, and this host has no folder of the attempt, so its "
                        "exit status is unknown");
    worker_free(b);
}

/* Both have the same epoch, as after a helper died between its fork and its reply: only the
 * tombstone stops the late shim. */
TEST(late_shim_finds_the_tombstone_and_runs_nothing)
{
    struct spec spec = {.run = "echo $$ >>begun", .cwd = test_dir()};
    struct job t = task_of(&spec);
    struct worker *a = worker_with_late_shims(), *b;
    struct seen *s = seen_of(a, t.execution, t.attempt);
    pid_t shim = late_shim(a, &t);

    b = worker_new();
    worker_reattach(b, &t);
    CHECK_EQ(worker_wait(b, &t)->o.kind, OUTCOME_REFUSED);
    CHECK_OK(kill(shim, SIGCONT));
    UNTIL(a, s->ended);
    CHECK_EQ(s->o.kind, OUTCOME_REFUSED);
    CHECK_EQ(times_begun(), 0);
    worker_free(a);
    worker_free(b);
}

/* Without the tombstone, a late shim would find the folder and start the command. */
TEST(tombstone_is_kept_as_long_as_a_late_shim_might_start)
{
    struct worker *w = worker_with((struct process_options){.lease = SECOND});
    struct spec spec = {.run = "true"};
    struct job t = task_of(&spec);
    int64_t until;
    int at;

    worker_reattach(w, &t); /* no such attempt exists */
    CHECK_EQ(worker_wait(w, &t)->o.kind, OUTCOME_LOST);
    at = folder_of(&t);
    CHECK(attempt_has_tombstone(at));
    until = clock_boot_us() + SECOND;
    w->x->ops->settled(w->x, t.execution, t.attempt);
    UNTIL(w, attempt_is_folder_removed(at));
    CHECK(clock_boot_us() >= until);
    close(at);
    worker_free(w);
}

TEST(start_is_refused_if_the_attempt_folder_exists)
{
    struct worker *a = worker_new(), *b = worker_new();
    struct spec spec = {.run = "true"};
    struct job t = task_of(&spec), adopted = t;
    struct err err = ERR_INIT;

    adopted.epoch = 2;
    worker_reattach(b, &adopted);
    CHECK_EQ(worker_wait(b, &adopted)->o.kind, OUTCOME_LOST);
    CHECK_EQ(handles_start(&a->handles, &t, &err), -E_REFUSED);
    worker_free(a);
    worker_free(b);
}

TEST(worker_with_an_old_epoch_does_not_kill_a_frozen_shim)
{
    struct worker *a = worker_with((struct process_options){.lease = SECOND / 5, .grace = -1});
    struct worker *b = worker_new();
    struct spec spec = waiting_spec();
    struct job t = task_of(&spec), adopted = t;
    int64_t long_enough;
    pid_t shim;

    (void)begin(a, &t);
    shim = shim_of(&t);
    CHECK_OK(kill(shim, SIGSTOP));
    handles_cancel(&a->handles, t.execution, t.attempt, OUTCOME_CANCELLED);
    adopted.epoch = 2;
    worker_reattach(b, &adopted);
    for (long_enough = clock_boot_us() + 2 * SECOND; clock_boot_us() < long_enough;)
        worker_poll(a, 10000);
    CHECK_OK(kill(shim, SIGCONT));
    let_end("5\n");
    CHECK_EQ(worker_wait(b, &adopted)->o.exit_code, 5);
    worker_free(a);
    worker_free(b);
}

TEST(worker_with_an_old_epoch_cannot_change_the_attempt)
{
    struct worker *a = worker_new(), *b = worker_new();
    struct spec spec = waiting_spec();
    struct job t = task_of(&spec), adopted = t;
    struct attempt_control stale = {.epoch = 1, .command = COMMAND_KILL};
    struct err err = ERR_INIT;
    struct seen *s;
    pid_t task;
    int at;

    task = begin(a, &t);
    adopted.epoch = 3;
    worker_reattach(b, &adopted);
    s = seen_of(b, t.execution, t.attempt);
    UNTIL(b, s->started);
    /* The cancel goes through the worker, and then past the worker's own check. */
    handles_cancel(&a->handles, t.execution, t.attempt, OUTCOME_CANCELLED);
    handles_renewed(&a->handles, t.execution, t.attempt, 1);
    at = folder_of(&t);
    CHECK_OK(attempt_send_command(at, &stale));
    CHECK_EQ(attempt_epoch(at), 3);
    adopted.epoch = 2;
    CHECK_EQ(handles_reattach(&a->handles, &adopted, &err), -E_LEASE_LOST);
    for (int i = 0; i < 20; i++)
        worker_poll(b, 10000);
    CHECK(!is_gone(task));
    let_end("0\n");
    UNTIL(b, s->ended);
    CHECK_EQ(s->o.kind, OUTCOME_OK);
    /* The old worker saw the shim end, and reports nothing. */
    worker_poll(a, 100000);
    CHECK_EQ(seen_of(a, t.execution, t.attempt)->ended, 0);
    close(at);
    worker_free(a);
    worker_free(b);
}

TEST(forgotten_attempt_keeps_running_and_is_not_reported)
{
    struct worker *a = worker_new(), *b = worker_new();
    struct spec spec = waiting_spec();
    struct job t = task_of(&spec), adopted = t;

    begin(a, &t);
    handles_forget(&a->handles, t.execution, t.attempt);
    handles_forget(&a->handles, t.execution, t.attempt);
    CHECK_EQ(a->x->ops->capacity(a->x), 8);
    adopted.epoch = 2;
    worker_reattach(b, &adopted);
    let_end("0\n");
    CHECK_EQ(worker_wait(b, &adopted)->o.kind, OUTCOME_OK);
    worker_poll(a, 50000);
    CHECK_EQ(seen_of(a, t.execution, t.attempt)->ended, 0);
    worker_free(a);
    worker_free(b);
}

/* ---- the worker stops ---- */

static void check_returned_on_stop(struct worker *w, const struct job *t)
{
    struct seen *s = seen_of(w, t->execution, t->attempt);

    handles_stop(&w->handles, false);
    CHECK_EQ(s->ended, 1);
    CHECK_EQ(s->o.kind, OUTCOME_REFUSED);
    CHECK_EQ(s->o.retry_delay, 0);
    CHECK_STR(s->error, "its worker was stopped before the attempt started");
}

TEST(stopping_worker_returns_a_job_to_its_queue_if_the_shim_has_not_started_it)
{
    struct spec spec = {.run = "echo $$ >>begun", .cwd = test_dir()};
    struct job t = task_of(&spec);
    struct worker *w = worker_with_late_shims();
    pid_t shim = late_shim(w, &t);

    check_returned_on_stop(w, &t);
    CHECK_OK(kill(shim, SIGCONT));
    UNTIL(w, is_gone(shim));
    CHECK_EQ(times_begun(), 0);
    worker_free(w);
}

TEST(stopping_worker_returns_a_job_to_its_queue_if_the_helper_has_not_started_it)
{
    struct spec spec = {.run = "echo $$ >>begun", .cwd = test_dir()};
    struct job t = task_of(&spec);
    struct worker *w = worker_new();

    CHECK_OK(kill(helper_pid(), SIGSTOP));
    worker_start(w, &t);
    check_returned_on_stop(w, &t);
    worker_free(w);
    CHECK_EQ(times_begun(), 0);
}

/* ---- the worker dies ---- */

static const char *dies_at;

static void die_at_point(void *arg, const char *where)
{
    (void)arg;
    if (dies_at && strcmp(where, dies_at) == 0)
        kill(getpid(), SIGKILL);
}

enum expected {
    NOT_SHOWN, /* the folder proves nothing; the worker's file would (test_engine_unstarted.c) */
    UNSTARTED,
    MAY_START,
};

/* Wherever the worker dies, the next one finds the attempt in a state that it can settle, and the
 * command has started at most once. */
static void check_worker_death_at(const char *where, int64_t execution, enum expected expected)
{
    struct spec spec = {.run = "echo $$ >>begun; exit 3", .cwd = test_dir()};
    struct job t = task_of(&spec);
    struct worker *b;
    struct seen *s;
    pid_t worker;
    int status;

    unlink(path_of("begun"));
    t.execution = execution;
    worker = fork();
    CHECK(worker >= 0);
    if (worker == 0) {
        static struct env env = {.point = die_at_point};
        struct worker *a = worker_with((struct process_options){.env = &env});

        dies_at = where;
        worker_run(a, &t);
        a->x->ops->settled(a->x, t.execution, t.attempt);
        for (;;)
            worker_poll(a, SECOND);
    }
    CHECK_EQ(waitpid(worker, &status, 0), worker);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    b = worker_new();
    t.epoch = 2;
    worker_reattach(b, &t);
    s = worker_wait(b, &t);
    if (s->o.kind == OUTCOME_FAILED) {
        CHECK_EQ(expected, MAY_START);
        CHECK_EQ(s->o.exit_code, 3);
        CHECK_EQ(times_begun(), 1);
    } else {
        CHECK_EQ(s->o.kind, expected == NOT_SHOWN ? OUTCOME_LOST : OUTCOME_REFUSED);
        CHECK_EQ(s->o.unstarted, expected != NOT_SHOWN);
        CHECK_EQ(times_begun(), 0);
    }
    worker_free(b);
}

TEST(attempt_of_a_worker_killed_at_any_point_can_be_settled)
{
    check_worker_death_at("process:before-folder", 100, NOT_SHOWN);
    check_worker_death_at("process:folder", 101, NOT_SHOWN);
    check_worker_death_at("process:before-mark", 102, UNSTARTED);
    check_worker_death_at("process:before-request", 103, UNSTARTED);
    check_worker_death_at("process:requested", 104, MAY_START);
    check_worker_death_at("process:answered", 105, MAY_START);
    check_worker_death_at("process:before-removal", 106, MAY_START);
}
