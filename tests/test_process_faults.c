/* test_process_faults.c - the shim of a task or the helper of a worker dies, or stops responding.
 * A lost task is never a success, and a job that has not started is returned. */
#include "process_wait_fixture.h"

#include <sys/pidfd.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

TEST_NO_DB;

/* ---- the shim dies ---- */

static void check_task_with_killed_shim_is_lost(void)
{
    struct worker *w = worker_new();
    struct spec spec = {
        .run = "(setsid sleep 1000 & echo $! >daemon); echo $$ >main; exec sleep 1000"};
    struct job t = task_of(&spec);
    pid_t task, daemon;
    struct seen *s;
    int at;

    spec.cwd = test_dir();
    worker_start(w, &t);
    task = read_pid(w, path_of("main"));
    daemon = read_pid(w, path_of("daemon"));
    CHECK_OK(kill(shim_of(&t), SIGKILL));
    s = worker_wait(w, &t);
    CHECK_EQ(s->o.kind, OUTCOME_LOST);
    CHECK(is_gone(task));
    CHECK(is_gone(daemon));
    at = folder_of(&t);
    CHECK(!attempt_is_locked(at, ATTEMPT_TREE));
    close(at);
    worker_free(w);
}

TEST(task_whose_shim_was_killed_is_lost_and_its_processes_end)
{
    check_task_with_killed_shim_is_lost();
}

TEST(without_cgroups_task_whose_shim_was_killed_is_lost_and_its_processes_end)
{
    setenv("PAWL_CGROUPS", "off", 1);
    check_task_with_killed_shim_is_lost();
}

/* The test holds a copy of the task's descriptor of `tree`, and so counts as a process of its tree
 * that is never killed. */
TEST(attempt_is_not_reported_as_lost_while_a_process_of_the_task_is_alive)
{
    struct worker *w = worker_new();
    struct spec spec = waiting_spec();
    struct job t = task_of(&spec);
    struct seen *s = seen_of(w, t.execution, t.attempt);
    pid_t task = begin(w, &t);
    int pidfd = pidfd_open(task, 0), tree;

    CHECK(pidfd >= 0);
    tree = pidfd_getfd(pidfd, 200, 0);
    if (tree < 0 && errno == EPERM)
        SKIP("pidfd_getfd is not allowed here");
    CHECK(tree >= 0);
    CHECK_OK(kill(shim_of(&t), SIGKILL));
    UNTIL(w, is_gone(task));
    for (int i = 0; i < 30; i++)
        worker_poll(w, 10000);
    CHECK_EQ(s->ended, 0);
    close(tree);
    CHECK_EQ(worker_wait(w, &t)->o.kind, OUTCOME_LOST);
    close(pidfd);
    worker_free(w);
}

static void corrupt_record(const struct job *t, const char *name)
{
    int at = folder_of(t), fd = openat(at, name, O_RDWR | O_CLOEXEC);
    char byte;

    CHECK_EQ(pread(fd, &byte, 1, 16), 1);
    byte ^= 1;
    CHECK_EQ(pwrite(fd, &byte, 1, 16), 1);
    close(fd);
    close(at);
}

TEST(attempt_with_a_corrupt_exit_record_never_succeeds)
{
    struct worker *a = worker_new(), *b;
    struct spec spec = {.run = "true"};
    struct job t = task_of(&spec);

    CHECK_EQ(worker_run(a, &t)->o.kind, OUTCOME_OK);
    worker_free(a);
    corrupt_record(&t, "exit");
    b = worker_new();
    t.epoch = 2;
    worker_reattach(b, &t);
    CHECK_EQ(worker_wait(b, &t)->o.kind, OUTCOME_LOST);
    worker_free(b);
}

static void check_shim_death_at(const char *point, enum outcome_kind expected)
{
    static int64_t execution = 100;
    struct spec spec = {.run = "echo $$ >>begun; sleep 0.05", .cwd = test_dir()};
    struct job t = task_of(&spec);
    struct worker *w;
    struct seen *s;

    unlink(path_of("begun"));
    t.execution = execution++;
    setenv("PAWL_SHIM_POINT", point, 1);
    w = worker_new();
    unsetenv("PAWL_SHIM_POINT");
    s = worker_run(w, &t);
    CHECK_EQ(s->o.kind, expected);
    CHECK(times_begun() <= 1);
    if (expected == OUTCOME_REFUSED)
        CHECK_EQ(times_begun(), 0);
    if (times_begun())
        CHECK(is_gone(read_pid(w, path_of("begun"))));
    worker_free(w);
}

static void check_shim_death_at_each_point(void)
{
    check_shim_death_at("before-lock", OUTCOME_REFUSED);
    check_shim_death_at("locked", OUTCOME_REFUSED);
    check_shim_death_at("forked", OUTCOME_LOST);
    check_shim_death_at("ended", OUTCOME_LOST);
    check_shim_death_at("written", OUTCOME_LOST);
    check_shim_death_at("renamed", OUTCOME_OK); /* everything was recorded */
}

TEST(shim_killed_at_any_point_never_causes_a_wrong_outcome)
{
    check_shim_death_at_each_point();
}

TEST(without_cgroups_shim_killed_at_any_point_never_causes_a_wrong_outcome)
{
    setenv("PAWL_CGROUPS", "off", 1);
    check_shim_death_at_each_point();
}

/* ---- the shim stops responding ---- */

/* The shim is frozen by SIGSTOP: it neither receives a cancel nor notices the timeout. */
static struct seen *end_under_a_stopped_shim(struct worker *w, struct spec *spec, bool cancel)
{
    struct job t = task_of(spec);
    struct seen *s;
    pid_t task;

    spec->run = "echo $$ >begun; exec sleep 1000";
    spec->cwd = test_dir();
    worker_start(w, &t);
    task = read_pid(w, path_of("begun"));
    CHECK_OK(kill(shim_of(&t), SIGSTOP));
    if (cancel)
        handles_cancel(&w->handles, t.execution, t.attempt, OUTCOME_CANCELLED);
    s = worker_wait(w, &t);
    CHECK(is_gone(task));
    return s;
}

TEST(cancel_ends_a_task_whose_shim_is_frozen)
{
    struct worker *w = worker_with((struct process_options){.lease = SECOND / 5, .grace = -1});
    struct spec spec = {0};
    struct seen *s = end_under_a_stopped_shim(w, &spec, true);

    CHECK_EQ(s->o.kind, OUTCOME_CANCELLED);
    CHECK_STR(s->error, "cancelled and killed: its shim did not answer");
    worker_free(w);
}

TEST(timeout_ends_a_task_whose_shim_is_frozen)
{
    struct worker *w = worker_with((struct process_options){.lease = SECOND / 5, .grace = -1});
    struct spec spec = {.timeout = SECOND};
    struct seen *s = end_under_a_stopped_shim(w, &spec, false);

    CHECK_EQ(s->o.kind, OUTCOME_TIMED_OUT);
    CHECK_STR(s->error, "killed after its timeout: its shim did not answer");
    worker_free(w);
}

/* The shim has not taken its lock yet: it receives no commands, and there is no record by which to
 * kill it. */
TEST(cancelled_attempt_is_unstarted_if_its_frozen_shim_has_not_taken_its_lock)
{
    struct spec spec = {.run = "echo $$ >>begun", .cwd = test_dir()};
    struct job t = task_of(&spec);
    struct worker *w;
    struct seen *s;
    pid_t shim;

    setenv("PAWL_SHIM_POINT", "=before-lock", 1);
    w = worker_with((struct process_options){.lease = SECOND / 5, .grace = -1});
    unsetenv("PAWL_SHIM_POINT");
    shim = late_shim(w, &t);
    handles_cancel(&w->handles, t.execution, t.attempt, OUTCOME_CANCELLED);
    s = worker_wait(w, &t);
    CHECK_EQ(s->o.kind, OUTCOME_REFUSED);
    CHECK_STR(s->error, "its shim did not respond and had started nothing");
    UNTIL(w, is_gone(shim));
    CHECK_EQ(times_begun(), 0);
    worker_free(w);
}

/* Another process holds the lease lock when the shim should have ended its task long ago, so the
 * worker does not kill the shim. Then the shim dies for another reason. */
TEST(frozen_shim_that_died_for_another_reason_is_not_reported_as_killed_by_the_worker)
{
    struct worker *w = worker_with((struct process_options){.lease = SECOND / 5, .grace = -1});
    struct spec spec = waiting_spec();
    struct job t = task_of(&spec);
    int64_t long_enough;
    struct seen *s;
    pid_t shim;
    int lease;

    (void)begin(w, &t);
    shim = shim_of(&t);
    CHECK_OK(kill(shim, SIGSTOP));
    UNTIL(w, is_stopped(shim));
    lease = attempt_lock_lease(folder_of(&t));
    CHECK(lease >= 0);
    handles_cancel(&w->handles, t.execution, t.attempt, OUTCOME_CANCELLED);
    for (long_enough = clock_boot_us() + 2 * SECOND; clock_boot_us() < long_enough;)
        worker_poll(w, 10000);
    CHECK_OK(kill(shim, SIGKILL));
    while (!is_gone(shim)) /* otherwise the worker takes the free lease and kills it first */
        clock_sleep_us(1000);
    close(lease);
    s = worker_wait(w, &t);
    CHECK_EQ(s->o.kind, OUTCOME_LOST);
    CHECK_STR(s->error, "its shim died, so its exit status is unknown");
    worker_free(w);
}

/* As after a suspend of the machine: no process could end the task in time, so the worker does not
 * count the shim as unresponsive. */
TEST(shim_that_was_frozen_together_with_its_worker_still_times_its_task_out)
{
    struct spec spec = waiting_spec();
    struct job t = task_of(&spec);
    struct attempt_exit end;
    struct worker *w;
    struct seen *s;
    pid_t shim;
    int at;

    spec.timeout = SECOND / 2;
    setenv("PAWL_SHIM_POINT", "=forked", 1);
    w = worker_with((struct process_options){.lease = SECOND / 5, .grace = -1});
    unsetenv("PAWL_SHIM_POINT");
    (void)begin(w, &t);
    shim = shim_of(&t);
    UNTIL(w, is_stopped(shim));
    clock_sleep_us(2 * SECOND);
    worker_poll(w, SECOND);
    CHECK_OK(kill(shim, SIGCONT));
    at = folder_of(&t);
    while (record_read(at, &RECORD_EXIT, &end) != 1)
        clock_sleep_us(1000);
    close(at);
    s = worker_wait(w, &t);
    CHECK_EQ(s->o.kind, OUTCOME_TIMED_OUT);
    CHECK(strstr(s->error, "ran longer than its timeout"));
    worker_free(w);
}

/* ---- the helper dies, or stops responding ---- */

TEST(tasks_keep_running_when_the_helper_dies_and_the_next_start_creates_a_new_helper)
{
    struct worker *w = worker_new();
    struct spec spec = waiting_spec();
    struct job t = task_of(&spec), next = t;
    pid_t helper = helper_pid();
    struct err err = ERR_INIT;
    int rc;

    begin(w, &t);
    CHECK_OK(kill(helper, SIGKILL));
    UNTIL(w, is_gone(helper));
    worker_poll(w, 100000);
    next.execution = 9;
    spec.run = "exit 2";
    /* Refused until the worker has noticed that its helper is dead. */
    while ((rc = handles_start(&w->handles, &next, &err)) == -E_REFUSED)
        worker_poll(w, 1000);
    CHECK_OK_ERR(rc, &err);
    CHECK_EQ(worker_wait(w, &next)->o.exit_code, 2);
    let_end("0\n");
    CHECK_EQ(worker_wait(w, &t)->o.kind, OUTCOME_OK);
    worker_free(w);
}

TEST(unresponsive_helper_is_replaced_and_its_job_is_returned_to_its_queue)
{
    struct worker *w = worker_with((struct process_options){.lease = SECOND / 5});
    struct spec spec = {.run = "echo $$ >>begun", .cwd = test_dir()};
    struct job t = task_of(&spec), again = t;
    pid_t helper = helper_pid();
    struct seen *s;

    CHECK_OK(kill(helper, SIGSTOP));
    worker_start(w, &t);
    s = worker_wait(w, &t);
    CHECK_EQ(s->o.kind, OUTCOME_REFUSED);
    CHECK_EQ(times_begun(), 0);
    CHECK(is_gone(helper));
    again.attempt = 2;
    worker_start(w, &again);
    CHECK_EQ(worker_wait(w, &again)->o.kind, OUTCOME_OK);
    CHECK_EQ(times_begun(), 1);
    worker_free(w);
}

TEST(job_whose_helper_died_is_returned_to_its_queue)
{
    struct worker *w = worker_new();
    struct spec spec = {.run = "echo $$ >>begun", .cwd = test_dir()};
    struct job t = task_of(&spec);
    struct seen *s;
    int at;

    CHECK_OK(kill(helper_pid(), SIGSTOP));
    worker_start(w, &t);
    CHECK_OK(kill(helper_pid(), SIGKILL));
    s = worker_wait(w, &t);
    CHECK_EQ(s->o.kind, OUTCOME_REFUSED);
    CHECK(s->o.retry_delay > 0);
    CHECK_EQ(s->started, 0);
    CHECK_EQ(times_begun(), 0);
    at = folder_of(&t);
    CHECK(attempt_has_tombstone(at));
    close(at);
    worker_free(w);
}

/* The helper's descriptor of the shim is the one that it sent to the worker. While the helper's
 * copy is open, closing the worker's copy does not close the file behind it. */
TEST(helper_that_is_frozen_after_its_reply_does_not_wake_the_worker)
{
    struct spec spec = {.run = "true"};
    struct job t = task_of(&spec);
    struct worker *w;
    struct pollfd wake_ups;
    pid_t helper;

    setenv("PAWL_SHIM_POINT", "=answered", 1);
    w = worker_new();
    unsetenv("PAWL_SHIM_POINT");
    helper = helper_pid();
    worker_start(w, &t);
    CHECK_EQ(worker_wait(w, &t)->o.kind, OUTCOME_OK);
    worker_poll(w, 0);
    wake_ups = (struct pollfd){.fd = w->x->ops->fd(w->x), .events = POLLIN};
    CHECK_EQ(poll(&wake_ups, 1, 0), 0);
    CHECK_OK(kill(helper, SIGCONT));
    worker_free(w);
}

/* A child of an embedder inherits the socket, so closing the worker's copy does not close it. */
TEST(dead_helper_is_noticed_once_even_if_a_child_of_the_worker_holds_its_socket)
{
    struct worker *w = worker_new();
    struct pollfd wake_ups = {.fd = w->x->ops->fd(w->x), .events = POLLIN};
    pid_t helper = helper_pid(), child = fork();

    CHECK(child >= 0);
    while (!child)
        pause();
    CHECK_OK(kill(helper, SIGKILL));
    UNTIL(w, is_gone(helper));
    worker_poll(w, 100000);
    CHECK_EQ(poll(&wake_ups, 1, 0), 0);
    CHECK_OK(kill(child, SIGKILL));
    CHECK_EQ(waitpid(child, NULL, 0), child);
    worker_free(w);
}

/* Makes a process behave like one that waits for a disk in the kernel: a tracer stops it now, and
 * again in its exit when it is killed, until the tracer has ended. Returns the tracer's pid. */
static pid_t keep_from_dying(pid_t helper)
{
    int ready[2];
    pid_t tracer;
    char sign;

    CHECK_OK(pipe(ready));
    tracer = fork();
    CHECK(tracer >= 0);
    if (!tracer) {
        CHECK_EQ(ptrace(PTRACE_SEIZE, helper, NULL, PTRACE_O_TRACEEXIT), 0);
        CHECK_EQ(ptrace(PTRACE_INTERRUPT, helper, NULL, NULL), 0);
        CHECK_EQ(waitpid(helper, NULL, __WALL), helper);
        CHECK_EQ(write(ready[1], "", 1), 1);
        for (;;)
            pause();
    }
    CHECK_EQ(read(ready[0], &sign, 1), 1);
    close(ready[0]);
    close(ready[1]);
    return tracer;
}

static void keep_note(void *arg, const char *sentence)
{
    snprintf(arg, 200, "%s", sentence);
}

TEST(worker_does_not_wait_for_a_helper_that_cannot_be_killed)
{
    char last_note[200] = "", number[40];
    struct env env = {.note = keep_note, .arg = last_note};
    struct worker *w = worker_with((struct process_options){.env = &env});
    pid_t helper = helper_pid(), tracer = keep_from_dying(helper);

    worker_free(w);
    snprintf(number, sizeof(number), "(process %d)", (int)helper);
    CHECK(strstr(last_note, number));
    CHECK(strstr(last_note, "does not exit"));
    CHECK(!is_gone(helper));
    CHECK_OK(kill(tracer, SIGKILL));
    CHECK_EQ(waitpid(tracer, NULL, 0), tracer);
    CHECK_EQ(waitpid(helper, NULL, 0), helper);
}
