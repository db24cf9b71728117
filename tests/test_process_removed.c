/* test_process_removed.c - a task removes all files of its own attempt. A missing record or lock
 * does not prove that nothing runs: no worker reports such an attempt as ended, or returns its job,
 * while its shim or a process of it lives. */
#include "process_wait_fixture.h"

TEST_NO_DB;

/* Removes everything in the folder, or the folder, then waits to be told how to end. */
#define REMOVES_FILES  "rm -rf ${PAWL_OUTPUT%/*}/*; " THEN_WAITS
#define REMOVES_FOLDER "rm -rf ${PAWL_OUTPUT%/*}; " THEN_WAITS
#define THEN_WAITS     "echo $PPID >shim; echo $$ >>begun; read x <fifo; exit $x"

static struct spec removing_spec(const char *run)
{
    struct spec spec = waiting_spec();

    spec.run = run;
    return spec;
}

static void check_adopted_until_end(const struct task *t)
{
    struct worker *w = worker_new();
    struct seen *s = seen_of(w, t->execution, t->attempt);

    worker_find(w, t);
    UNTIL(w, s->started || s->ended);
    CHECK_EQ(s->ended, 0);
    let_end("0\n");
    CHECK_EQ(worker_wait(w, t)->o.kind, OUTCOME_OK);
    CHECK_EQ(times_begun(), 1);
    worker_free(w);
}

TEST(adoption_of_an_attempt_without_lock_and_record_waits_for_the_shim)
{
    struct worker *w = worker_new();
    struct spec spec = removing_spec(REMOVES_FILES);
    struct task t = task_of(&spec);

    (void)begin(w, &t);
    worker_free(w);
    t.epoch = 2;
    check_adopted_until_end(&t);
}

TEST(stopping_worker_does_not_return_a_job_whose_record_was_removed)
{
    struct worker *w = worker_new();
    struct spec spec = removing_spec(REMOVES_FILES);
    struct task t = task_of(&spec);
    pid_t task = begin(w, &t);

    w->x->ops->stop(w->x, false);
    CHECK_EQ(seen_of(w, t.execution, t.attempt)->ended, 0);
    CHECK(!is_gone(task));
    worker_free(w);
    t.epoch = 2;
    check_adopted_until_end(&t);
}

TEST(cancel_of_an_attempt_without_files_ends_it)
{
    struct worker *w = worker_with((struct process_options){.lease = SECOND / 5, .grace = -1});
    struct spec spec = removing_spec(REMOVES_FILES);
    struct task t = task_of(&spec);
    pid_t task = begin(w, &t);

    w->x->ops->cancel(w->x, t.execution, t.attempt, OUTCOME_CANCELLED);
    CHECK_EQ(worker_wait(w, &t)->o.kind, OUTCOME_CANCELLED);
    CHECK(is_gone(task));
    worker_free(w);
}

TEST(cancel_of_an_adopted_attempt_without_files_ends_it)
{
    struct worker *a = worker_new(), *b;
    struct spec spec = removing_spec(REMOVES_FILES);
    struct task t = task_of(&spec);
    pid_t task = begin(a, &t);

    worker_free(a);
    b = worker_with((struct process_options){.lease = SECOND / 5, .grace = -1});
    t.epoch = 2;
    t.cancel = true;
    worker_find(b, &t);
    CHECK_EQ(worker_wait(b, &t)->o.kind, OUTCOME_CANCELLED);
    CHECK(is_gone(task));
    worker_free(b);
}

static void check_lost_with_its_shim(const char *run)
{
    struct worker *w = worker_new();
    struct spec spec = removing_spec(run);
    struct task t = task_of(&spec);
    pid_t task = begin(w, &t);

    CHECK_OK(kill(read_pid(w, path_of("shim")), SIGKILL));
    CHECK_EQ(worker_wait(w, &t)->o.kind, OUTCOME_LOST);
    CHECK(is_gone(task));
    worker_free(w);
}

TEST(attempt_without_files_whose_shim_was_killed_is_lost_and_its_processes_end)
{
    check_lost_with_its_shim(REMOVES_FILES);
}

TEST(attempt_of_another_generation_without_files_is_ended)
{
    struct worker *w = worker_new();
    struct spec spec = removing_spec(REMOVES_FILES);
    struct task t = task_of(&spec);
    struct err err = ERR_INIT;
    pid_t task = begin(w, &t);

    worker_free(w);
    CHECK_OK_ERR(attempt_end_all(attempts_dir(), SECOND, &err), &err);
    CHECK(is_gone(task));
    CHECK_EQ(count_files(attempts_dir()), 0);
}

TEST(attempt_of_another_generation_without_files_or_shim_is_ended)
{
    struct worker *w = worker_new();
    struct spec spec = removing_spec(REMOVES_FILES);
    struct task t = task_of(&spec);
    struct err err = ERR_INIT;
    pid_t task = begin(w, &t), shim = read_pid(w, path_of("shim"));

    worker_free(w);
    CHECK_OK(kill(shim, SIGKILL));
    CHECK_OK_ERR(attempt_end_all(attempts_dir(), SECOND, &err), &err);
    CHECK(is_gone(task));
    CHECK_EQ(count_files(attempts_dir()), 0);
}
