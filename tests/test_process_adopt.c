/* test_process_adopt.c - what happens when a part dies: worker, helper or shim, and who may touch
 * an attempt afterwards. Lost is never a success, and nothing is ever begun twice. */
#include "process_fixture.h"

#include <sys/pidfd.h>
#include <sys/wait.h>

TEST_NO_DB;

/* A task that runs until it is told how to end, and leaves a line for each time it began. */
#define WAITS "echo $$ >>begun; echo said; echo a=1 >>$PAWL_OUTPUT; read x <fifo; exit $x"

static struct spec waiting_spec(void)
{
    CHECK_OK(mkfifo(path_of("fifo"), 0600));
    return (struct spec){.run = WAITS, .cwd = test_dir()};
}

static pid_t begin(struct worker *w, const struct task *t)
{
    worker_start(w, t);
    return read_pid(w, path_of("begun"));
}

static int times_begun(void)
{
    int n = 0;

    for (const char *p = read_text(path_of("begun")); (p = strchr(p, '\n')) != NULL; p++)
        n++;
    return n;
}

static void let_end(const char *code)
{
    write_text(path_of("fifo"), code);
}

TEST(another_worker_goes_on_with_what_still_runs)
{
    struct worker *a = worker_new(), *b;
    struct spec spec = waiting_spec();
    struct task t = task_of(&spec);
    struct seen *s;

    begin(a, &t);
    a->x->ops->hand_over(a->x, false);
    CHECK_EQ(a->x->ops->room(a->x), 0);
    CHECK(process_probe(attempts_dir(), t.execution, t.attempt));
    worker_free(a);
    b = worker_new();
    t.epoch = 2;
    worker_find(b, &t);
    s = seen_of(b, t.execution, t.attempt);
    UNTIL(b, s->started);
    CHECK(s->ago > 0);
    CHECK_EQ(s->ended, 0);
    let_end("0\n");
    s = worker_wait(b, &t);
    CHECK_EQ(s->o.kind, OUTCOME_OK);
    CHECK_EQ(s->epoch, 2);
    CHECK_STR(s->result, "{\"a\":\"1\"}");
    CHECK_STR(buf_cstr(&s->log), "said\n");
    CHECK_EQ(times_begun(), 1);
    CHECK(!process_probe(attempts_dir(), t.execution, t.attempt));
    worker_free(b);
}

TEST(what_ended_while_no_worker_was_there_is_settled_with_its_record)
{
    struct worker *a = worker_new(), *b;
    struct spec spec = waiting_spec();
    struct task t = task_of(&spec);
    struct seen *s;

    begin(a, &t);
    worker_free(a);
    let_end("6\n");
    while (process_probe(attempts_dir(), t.execution, t.attempt))
        clock_sleep_us(1000);
    b = worker_new();
    t.epoch = 2;
    worker_find(b, &t);
    s = worker_wait(b, &t);
    CHECK_EQ(s->started, 1);
    CHECK_EQ(s->o.kind, OUTCOME_FAILED);
    CHECK_EQ(s->o.exit_code, 6);
    CHECK(s->o.duration > 0);
    CHECK_STR(buf_cstr(&s->log), "said\n");
    worker_free(b);
}

TEST(a_worker_killed_at_once_leaves_its_task_running)
{
    struct spec spec = waiting_spec();
    struct task t = task_of(&spec);
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
    worker_find(b, &t);
    let_end("0\n");
    CHECK_EQ(worker_wait(b, &t)->o.kind, OUTCOME_OK);
    CHECK_EQ(times_begun(), 1);
    worker_free(b);
}

TEST(adoption_gives_no_fresh_timeout)
{
    struct worker *a = worker_new(), *b;
    struct spec spec = waiting_spec();
    struct task t = task_of(&spec);
    int64_t start = clock_boot_us();
    struct seen *s;

    spec.timeout = SECOND;
    begin(a, &t);
    worker_free(a);
    b = worker_new();
    t.epoch = 2;
    worker_find(b, &t);
    s = worker_wait(b, &t);
    CHECK_EQ(s->o.kind, OUTCOME_TIMED_OUT);
    CHECK(s->o.duration >= SECOND && clock_boot_us() - start < 20 * SECOND);
    worker_free(b);
}

TEST(an_adopted_task_that_was_to_be_cancelled_is_cancelled)
{
    struct worker *a = worker_new(), *b;
    struct spec spec = waiting_spec();
    struct task t = task_of(&spec);

    begin(a, &t);
    worker_free(a);
    b = worker_new();
    t.epoch = 2;
    t.cancel = true;
    worker_find(b, &t);
    CHECK_EQ(worker_wait(b, &t)->o.kind, OUTCOME_CANCELLED);
    worker_free(b);
}

/* --- the shim dies ------------------------------------------------------------------------------
 */

static void check_a_task_whose_shim_was_killed_is_lost_and_nothing_of_it_lives(void)
{
    struct worker *w = worker_new();
    struct spec spec = {
        .run = "(setsid sleep 1000 & echo $! >daemon); echo $$ >main; exec sleep 1000"};
    struct task t = task_of(&spec);
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
    CHECK(!attempt_is_held(at, ATTEMPT_TREE));
    close(at);
    worker_free(w);
}

TEST(a_task_whose_shim_was_killed_is_lost_and_nothing_of_it_lives)
{
    check_a_task_whose_shim_was_killed_is_lost_and_nothing_of_it_lives();
}

TEST(a_task_whose_shim_was_killed_is_lost_and_nothing_of_it_lives_without_cgroups)
{
    setenv("PAWL_CGROUPS", "off", 1);
    check_a_task_whose_shim_was_killed_is_lost_and_nothing_of_it_lives();
}

/* We take a copy of the task's own handle, and so are one of its tree that nobody kills. */
TEST(lost_is_not_told_while_something_of_the_task_lives)
{
    struct worker *w = worker_new();
    struct spec spec = waiting_spec();
    struct task t = task_of(&spec);
    struct seen *s = seen_of(w, t.execution, t.attempt);
    pid_t task = begin(w, &t);
    int pidfd = pidfd_open(task, 0), tree;

    CHECK(pidfd >= 0);
    tree = pidfd_getfd(pidfd, 200, 0);
    if (tree < 0 && errno == EPERM)
        SKIP("this machine lets nobody have a copy of another's handle");
    CHECK(tree >= 0);
    CHECK_OK(kill(shim_of(&t), SIGKILL));
    UNTIL(w, is_gone(task));
    for (int i = 0; i < 30; i++)
        worker_turn(w, 10000);
    CHECK_EQ(s->ended, 0);
    close(tree);
    CHECK_EQ(worker_wait(w, &t)->o.kind, OUTCOME_LOST);
    close(pidfd);
    worker_free(w);
}

TEST(an_exit_record_that_was_harmed_is_never_a_success)
{
    struct worker *a = worker_new(), *b;
    struct spec spec = {.run = "true"};
    struct task t = task_of(&spec);
    char byte;
    int at, fd;

    CHECK_EQ(worker_run(a, &t)->o.kind, OUTCOME_OK);
    worker_free(a);
    at = folder_of(&t);
    fd = openat(at, "exit", O_RDWR | O_CLOEXEC);
    CHECK_EQ(pread(fd, &byte, 1, 16), 1);
    byte ^= 1;
    CHECK_EQ(pwrite(fd, &byte, 1, 16), 1);
    close(fd);
    close(at);
    b = worker_new();
    t.epoch = 2;
    worker_find(b, &t);
    CHECK_EQ(worker_wait(b, &t)->o.kind, OUTCOME_LOST);
    worker_free(b);
}

static void die_at(const char *point, enum outcome_kind expect)
{
    static int64_t execution = 100;
    struct spec spec = {.run = "echo $$ >>begun; sleep 0.05", .cwd = test_dir()};
    struct task t = task_of(&spec);
    struct worker *w;
    struct seen *s;

    unlink(path_of("begun"));
    t.execution = execution++;
    setenv("PAWL_SHIM_POINT", point, 1);
    w = worker_new();
    unsetenv("PAWL_SHIM_POINT");
    s = worker_run(w, &t);
    CHECK_EQ(s->o.kind, expect);
    CHECK(times_begun() <= 1);
    if (expect == OUTCOME_REFUSED)
        CHECK_EQ(times_begun(), 0);
    if (times_begun())
        CHECK(is_gone(read_pid(w, path_of("begun"))));
    worker_free(w);
}

static void check_a_shim_may_die_anywhere(void)
{
    die_at("before-lock", OUTCOME_REFUSED);
    die_at("locked", OUTCOME_REFUSED);
    die_at("forked", OUTCOME_LOST);
    die_at("ended", OUTCOME_LOST);
    die_at("written", OUTCOME_LOST);
    die_at("renamed", OUTCOME_OK); /* all was done */
}

TEST(a_shim_may_die_anywhere)
{
    check_a_shim_may_die_anywhere();
}

TEST(a_shim_may_die_anywhere_without_cgroups)
{
    setenv("PAWL_CGROUPS", "off", 1);
    check_a_shim_may_die_anywhere();
}

/* --- the helper dies ----------------------------------------------------------------------------
 */

/* The helper is the one child of ours that is a pawl-shim. */
static pid_t helper_pid(void)
{
    char path[64];
    int pid = 0;

    snprintf(path, sizeof(path), "/proc/self/task/%d/children", (int)getpid());
    CHECK_EQ(sscanf(read_text(path), "%d", &pid), 1);
    return pid;
}

TEST(when_the_helper_dies_running_tasks_go_on_and_the_next_start_has_a_new_one)
{
    struct worker *w = worker_new();
    struct spec spec = waiting_spec();
    struct task t = task_of(&spec), next = t;
    pid_t helper = helper_pid();
    struct err err = ERR_INIT;
    int rc;

    begin(w, &t);
    CHECK_OK(kill(helper, SIGKILL));
    UNTIL(w, is_gone(helper));
    worker_turn(w, 100000);
    next.execution = 9;
    spec.run = "exit 2";
    while ((rc = w->x->ops->start(w->x, &next, &err)) == -E_REFUSED) /* not noticed yet */
        worker_turn(w, 1000);
    CHECK_OK_ERR(rc, &err);
    CHECK_EQ(worker_wait(w, &next)->o.exit_code, 2);
    let_end("0\n");
    CHECK_EQ(worker_wait(w, &t)->o.kind, OUTCOME_OK);
    worker_free(w);
}

TEST(a_helper_that_does_not_answer_is_replaced_and_what_it_was_asked_for_is_given_back)
{
    struct worker *w = worker_with((struct process_options){.lease = SECOND / 5});
    struct spec spec = {.run = "echo $$ >>begun", .cwd = test_dir()};
    struct task t = task_of(&spec), again = t;
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

TEST(what_a_dead_helper_was_asked_for_is_given_back)
{
    struct worker *w = worker_new();
    struct spec spec = {.run = "echo $$ >>begun", .cwd = test_dir()};
    struct task t = task_of(&spec);
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

/* --- late starters and old epochs ---------------------------------------------------------------
 */

TEST(a_starter_that_comes_after_the_tombstone_begins_nothing)
{
    struct worker *a = worker_new(), *b = worker_new();
    struct spec spec = {.run = "echo $$ >>begun", .cwd = test_dir()};
    struct task t = task_of(&spec), taken = t;
    pid_t helper = helper_pid();
    struct seen *s;
    char path[64];
    int first = 0, second = 0;

    snprintf(path, sizeof(path), "/proc/self/task/%d/children", (int)getpid());
    CHECK_EQ(sscanf(read_text(path), "%d %d", &first, &second), 2);
    CHECK_OK(kill(first, SIGSTOP));
    CHECK_OK(kill(second, SIGSTOP));
    worker_start(a, &t); /* asked for, and nobody comes */
    taken.epoch = 2;
    worker_find(b, &taken);
    s = worker_wait(b, &taken);
    CHECK_EQ(s->o.kind, OUTCOME_LOST);
    CHECK_EQ(s->started, 0);
    CHECK_OK(kill(first, SIGCONT));
    CHECK_OK(kill(second, SIGCONT));
    /* The shim of the first comes, finds the tombstone, and goes; its worker has lost its lease,
     * and may not even say so. */
    s = seen_of(a, t.execution, t.attempt);
    for (int i = 0; i < 50; i++)
        worker_turn(a, 10000);
    CHECK_EQ(s->ended, 0);
    CHECK_EQ(times_begun(), 0);
    CHECK_EQ(a->x->ops->room(a->x), 8);
    CHECK(helper > 0);
    worker_free(a);
    worker_free(b);
}

/* Its handle of the shim is the one that the worker was given: as long as both are open, closing
 * one of them ends nothing. */
TEST(a_helper_that_stands_still_after_its_answer_keeps_nothing_alive)
{
    struct spec spec = {.run = "true"};
    struct task t = task_of(&spec);
    struct worker *w;
    struct pollfd told;
    pid_t helper;

    setenv("PAWL_SHIM_POINT", "=answered", 1);
    w = worker_new();
    unsetenv("PAWL_SHIM_POINT");
    helper = helper_pid();
    worker_start(w, &t);
    CHECK_EQ(worker_wait(w, &t)->o.kind, OUTCOME_OK);
    worker_turn(w, 0);
    told = (struct pollfd){.fd = w->x->ops->fd(w->x), .events = POLLIN};
    CHECK_EQ(poll(&told, 1, 0), 0);
    CHECK_OK(kill(helper, SIGCONT));
    worker_free(w);
}

/* The epoch is the same, as when a helper died between the fork and its answer: only the tombstone
 * stops it. */
TEST(a_shim_that_comes_late_finds_the_tombstone)
{
    struct spec spec = {.run = "echo $$ >>begun", .cwd = test_dir()};
    struct task t = task_of(&spec);
    struct worker *a, *b;
    struct seen *s = NULL;
    char path[64], state[80];
    int shim = 0;

    setenv("PAWL_SHIM_POINT", "=before-lock", 1);
    a = worker_new();
    unsetenv("PAWL_SHIM_POINT");
    snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)helper_pid(), (int)helper_pid());
    worker_start(a, &t);
    s = seen_of(a, t.execution, t.attempt);
    UNTIL(a, s->started);
    CHECK_EQ(sscanf(read_text(path), "%d", &shim), 1);
    snprintf(state, sizeof(state), "/proc/%d/stat", shim);
    UNTIL(a, strstr(read_text(state), ") T "));

    b = worker_new();
    worker_find(b, &t);
    CHECK_EQ(worker_wait(b, &t)->o.kind, OUTCOME_LOST);
    CHECK_OK(kill(shim, SIGCONT));
    UNTIL(a, s->ended);
    CHECK_EQ(s->o.kind, OUTCOME_LOST);
    CHECK_EQ(times_begun(), 0);
    worker_free(a);
    worker_free(b);
}

TEST(a_starter_that_finds_a_folder_begins_nothing)
{
    struct worker *a = worker_new(), *b = worker_new();
    struct spec spec = {.run = "true"};
    struct task t = task_of(&spec), taken = t;
    struct err err = ERR_INIT;

    taken.epoch = 2;
    worker_find(b, &taken);
    CHECK_EQ(worker_wait(b, &taken)->o.kind, OUTCOME_LOST);
    CHECK_EQ(a->x->ops->start(a->x, &t, &err), -E_REFUSED);
    worker_free(a);
    worker_free(b);
}

TEST(a_worker_with_an_old_epoch_does_not_kill_a_shim_that_is_stopped)
{
    struct worker *a = worker_with((struct process_options){.lease = SECOND / 5, .grace = -1});
    struct worker *b = worker_new();
    struct spec spec = waiting_spec();
    struct task t = task_of(&spec), taken = t;
    int64_t long_enough;
    pid_t shim;

    (void)begin(a, &t);
    shim = shim_of(&t);
    CHECK_OK(kill(shim, SIGSTOP));
    a->x->ops->cancel(a->x, t.execution, t.attempt, OUTCOME_CANCELLED);
    taken.epoch = 2;
    worker_find(b, &taken);
    for (long_enough = clock_boot_us() + 2 * SECOND; clock_boot_us() < long_enough;)
        worker_turn(a, 10000);
    CHECK_OK(kill(shim, SIGCONT));
    let_end("5\n");
    CHECK_EQ(worker_wait(b, &taken)->o.exit_code, 5);
    worker_free(a);
    worker_free(b);
}

TEST(a_worker_with_an_old_epoch_can_not_touch_the_attempt)
{
    struct worker *a = worker_new(), *b = worker_new();
    struct spec spec = waiting_spec();
    struct task t = task_of(&spec), taken = t;
    struct attempt_control stale = {.epoch = 1, .command = COMMAND_KILL};
    struct err err = ERR_INIT;
    struct seen *s;
    pid_t task;
    int at;

    task = begin(a, &t);
    taken.epoch = 3;
    worker_find(b, &taken);
    s = seen_of(b, t.execution, t.attempt);
    UNTIL(b, s->started);
    /* By its worker, and straight past the worker's own check. */
    a->x->ops->cancel(a->x, t.execution, t.attempt, OUTCOME_CANCELLED);
    a->x->ops->renewed(a->x, t.execution, t.attempt, 1);
    at = folder_of(&t);
    CHECK_OK(attempt_tell(at, &stale));
    CHECK_EQ(attempt_epoch(at), 3);
    taken.epoch = 2;
    CHECK_EQ(a->x->ops->find(a->x, &taken, &err), -E_LEASE_LOST);
    for (int i = 0; i < 20; i++)
        worker_turn(b, 10000);
    CHECK(!is_gone(task));
    let_end("0\n");
    UNTIL(b, s->ended);
    CHECK_EQ(s->o.kind, OUTCOME_OK);
    /* The old one saw its shim end, and says nothing. */
    worker_turn(a, 100000);
    CHECK_EQ(seen_of(a, t.execution, t.attempt)->ended, 0);
    close(at);
    worker_free(a);
    worker_free(b);
}

TEST(a_forgotten_attempt_runs_on_and_is_reported_no_more)
{
    struct worker *a = worker_new(), *b = worker_new();
    struct spec spec = waiting_spec();
    struct task t = task_of(&spec), taken = t;

    begin(a, &t);
    a->x->ops->forget(a->x, t.execution, t.attempt);
    a->x->ops->forget(a->x, t.execution, t.attempt);
    CHECK_EQ(a->x->ops->room(a->x), 8);
    taken.epoch = 2;
    worker_find(b, &taken);
    let_end("0\n");
    CHECK_EQ(worker_wait(b, &taken)->o.kind, OUTCOME_OK);
    worker_turn(a, 50000);
    CHECK_EQ(seen_of(a, t.execution, t.attempt)->ended, 0);
    worker_free(a);
    worker_free(b);
}

/* --- the worker dies ----------------------------------------------------------------------------
 */

static const char *dies_at;

static void die_there(void *arg, const char *where)
{
    (void)arg;
    if (dies_at && strcmp(where, dies_at) == 0)
        kill(getpid(), SIGKILL);
}

/* Whatever the worker was about to do, the next one finds the attempt in a state that it can
 * settle, and the command was begun at most once. */
static void worker_dies_at(const char *where, int64_t execution, bool may_begin)
{
    struct spec spec = {.run = "echo $$ >>begun; exit 3", .cwd = test_dir()};
    struct task t = task_of(&spec);
    struct worker *b;
    struct seen *s;
    pid_t worker;
    int status;

    unlink(path_of("begun"));
    t.execution = execution;
    worker = fork();
    CHECK(worker >= 0);
    if (worker == 0) {
        static struct env env = {.point = die_there};
        struct worker *a = worker_with((struct process_options){.env = &env});

        dies_at = where;
        worker_run(a, &t);
        a->x->ops->settled(a->x, t.execution, t.attempt);
        for (;;)
            worker_turn(a, SECOND);
    }
    CHECK_EQ(waitpid(worker, &status, 0), worker);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    b = worker_new();
    t.epoch = 2;
    worker_find(b, &t);
    s = worker_wait(b, &t);
    CHECK(s->o.kind == OUTCOME_LOST || (may_begin && s->o.exit_code == 3));
    CHECK(times_begun() <= (may_begin ? 1 : 0));
    if (s->o.kind != OUTCOME_LOST)
        CHECK_EQ(times_begun(), 1);
    worker_free(b);
}

TEST(a_worker_may_die_anywhere)
{
    worker_dies_at("process:before-folder", 100, false);
    worker_dies_at("process:folder", 101, false);
    worker_dies_at("process:before-request", 102, false);
    worker_dies_at("process:asked", 103, true);
    worker_dies_at("process:answered", 104, true);
    worker_dies_at("process:before-removal", 105, true);
}

/* --- another generation -------------------------------------------------------------------------
 */

static int count(void *arg, int64_t execution, int attempt, bool held)
{
    int *n = arg;

    CHECK(execution == 7 || execution == 8);
    CHECK_EQ(attempt, 1);
    n[held]++;
    return 0;
}

static void check_everything_in_a_folder_of_another_generation_can_be_ended(void)
{
    struct worker *w = worker_new();
    struct spec spec = waiting_spec();
    struct task t = task_of(&spec), orphan = t;
    struct err err = ERR_INIT;
    struct spec sleeps = {
        .run = "(setsid sleep 1000 & echo $! >daemon); echo $$ >main; exec sleep 1000",
        .cwd = test_dir()};
    pid_t task, daemon;
    int n[2] = {0};

    task = begin(w, &t);
    orphan.execution = 8;
    orphan.spec = &sleeps;
    worker_start(w, &orphan);
    daemon = read_pid(w, path_of("daemon"));
    read_pid(w, path_of("main"));
    CHECK_OK(kill(shim_of(&orphan), SIGKILL));
    worker_free(w);
    while (process_probe(attempts_dir(), 8, 1))
        clock_sleep_us(1000);
    CHECK_OK_ERR(attempt_each(attempts_dir(), count, n, &err), &err);
    CHECK_EQ(n[true], 1);
    CHECK_EQ(n[false], 1);
    CHECK_OK_ERR(attempt_end_all(attempts_dir(), PATIENT, &err), &err);
    CHECK(is_gone(task));
    CHECK(is_gone(daemon));
    CHECK_EQ(count_files(attempts_dir()), 0);
    CHECK_OK_ERR(attempt_end_all(path_of("nowhere"), PATIENT, &err), &err);
}

TEST(everything_in_a_folder_of_another_generation_can_be_ended)
{
    check_everything_in_a_folder_of_another_generation_can_be_ended();
}

TEST(everything_in_a_folder_of_another_generation_can_be_ended_without_cgroups)
{
    setenv("PAWL_CGROUPS", "off", 1);
    check_everything_in_a_folder_of_another_generation_can_be_ended();
}

TEST(a_stopped_shim_of_another_generation_is_ended_too)
{
    struct worker *w = worker_new();
    struct spec spec = waiting_spec();
    struct task t = task_of(&spec);
    struct err err = ERR_INIT;
    pid_t task = begin(w, &t);

    CHECK_OK(kill(shim_of(&t), SIGSTOP));
    worker_free(w);
    CHECK_OK_ERR(attempt_end_all(attempts_dir(), SECOND, &err), &err);
    CHECK(is_gone(task));
    CHECK_EQ(count_files(attempts_dir()), 0);
}
