/* test_process_token.c - the start token of an attempt proves that its command never started. Once
 * the shim has taken it, nothing that a task does to its folder proves that again. */
#include "process_wait_fixture.h"

TEST_NO_DB;

static struct worker *worker_with_shim_point(const char *point)
{
    struct worker *w;

    setenv("PAWL_SHIM_POINT", point, 1);
    w = worker_new();
    unsetenv("PAWL_SHIM_POINT");
    return w;
}

static struct seen *adopt(struct worker *b, struct job *t)
{
    t->epoch++;
    worker_reattach(b, t);
    return worker_wait(b, t);
}

TEST(adopted_attempt_whose_shim_was_killed_before_it_took_the_start_token_is_unstarted)
{
    struct worker *a = worker_with_shim_point("=before-token"), *b;
    struct spec spec = {.run = "echo $$ >>begun", .cwd = test_dir()};
    struct job t = task_of(&spec);
    pid_t shim = late_shim(a, &t);
    struct seen *s;

    worker_free(a);
    CHECK_OK(kill(shim, SIGKILL));
    b = worker_new();
    s = adopt(b, &t);
    CHECK_EQ(s->o.kind, OUTCOME_REFUSED);
    CHECK_EQ(s->o.unstarted, 1);
    CHECK_STR(s->error, "its worker ended before the command started");
    CHECK_EQ(s->started, 0);
    CHECK_EQ(times_begun(), 0);
    worker_free(b);
}

/* The store counts such attempts: a command may be the reason why it does not start. */
TEST(attempt_whose_shim_was_killed_before_it_took_the_start_token_is_unstarted_under_its_own_worker)
{
    struct worker *w = worker_with_shim_point("=before-token");
    struct spec spec = {.run = "echo $$ >>begun", .cwd = test_dir()};
    struct job t = task_of(&spec);
    pid_t shim = late_shim(w, &t);
    struct seen *s;

    CHECK_OK(kill(shim, SIGKILL));
    s = worker_wait(w, &t);
    CHECK_EQ(s->o.kind, OUTCOME_REFUSED);
    CHECK_EQ(s->o.unstarted, 1);
    CHECK_STR(s->error, "its shim ended before it started anything");
    worker_free(w);
}

/* As if another program had removed the lock file, so that worker and shim both hold a lock. */
TEST(shim_that_finds_a_tombstone_after_it_took_the_start_token_starts_nothing)
{
    struct worker *w = worker_with_shim_point("=before-token");
    struct spec spec = {.run = "echo $$ >>begun", .cwd = test_dir()};
    struct job t = task_of(&spec);
    pid_t shim = late_shim(w, &t);
    int at = folder_of(&t);

    CHECK_OK(attempt_write_tombstone(at));
    CHECK_OK(kill(shim, SIGCONT));
    CHECK_EQ(worker_wait(w, &t)->o.kind, OUTCOME_LOST);
    CHECK_EQ(times_begun(), 0);
    close(at);
    worker_free(w);
}

/* ---- what a task may do to its folder ---- */

/* Ends with its shim, so that nothing of the attempt is left. The processes wait for each other. */
#define THEN_KILLS_ALL \
    "echo $PPID >shim; echo $$ >>begun; (sleep 0.1; exec env -i /bin/kill -9 $PPID) & exec env -i /bin/sleep 1000"

static void check_not_unstarted(const char *run, bool by_adopter)
{
    struct worker *a = worker_new(), *b = worker_new();
    struct spec spec = {.run = run, .cwd = test_dir()};
    struct job t = task_of(&spec);
    pid_t task, shim;
    struct seen *s;

    task = begin(a, &t);
    if (!by_adopter)
        CHECK_EQ(worker_wait(a, &t)->o.kind, OUTCOME_LOST);
    worker_free(a);
    shim = (pid_t)strtol(read_text(path_of("shim")), NULL, 10);
    UNTIL(b, is_gone(shim) && is_gone(task));
    s = adopt(b, &t);
    CHECK(s->o.kind == OUTCOME_LOST || s->o.kind == OUTCOME_FAILED);
    CHECK_EQ(s->o.unstarted, 0);
    CHECK_EQ(times_begun(), 1);
    worker_free(b);
}

/* Another attempt that was never started: its token is not that of the task. */
static void make_other_attempt(void)
{
    struct spec spec = {.run = "true"};
    struct job t = task_of(&spec);
    struct worker *w = worker_with_shim_point("=before-lock");
    pid_t shim;

    t.execution = 8;
    shim = late_shim(w, &t);
    CHECK_OK(kill(shim, SIGKILL));
    worker_free(w);
}

#define REMOVES_RECORDS AWAITS_SHIM "rm -rf $d/shim $d/exit* $d/tree $d/log; "
#define REMOVES_ALL     AWAITS_SHIM "rm -rf $d/*; "
#define COPIES_A_TOKEN  AWAITS_SHIM "rm -rf $d/*; cp ${d%/*}/8.1/lock $d/; "
/* The first eight bytes of a token are the same in all attempts. */
#define REPAIRS_A_TOKEN                                                                            \
    AWAITS_SHIM "rm $d/shim $d/exit* $d/tree $d/log; printf '\\010\\0\\0pawl\\n' | dd of=$d/lock " \
                "conv=notrunc 2>/dev/null; "
#define REMOVES_FOLDER AWAITS_SHIM "rm -rf $d; "

TEST(attempt_whose_task_removed_its_records_is_not_treated_as_unstarted)
{
    check_not_unstarted(REMOVES_RECORDS THEN_KILLS_ALL, true);
}

TEST(attempt_whose_task_removed_all_files_is_not_treated_as_unstarted)
{
    check_not_unstarted(REMOVES_ALL THEN_KILLS_ALL, true);
}

TEST(attempt_whose_task_removed_all_files_is_not_treated_as_unstarted_by_its_own_worker)
{
    check_not_unstarted(REMOVES_ALL THEN_KILLS_ALL, false);
}

TEST(attempt_whose_task_copied_the_start_token_of_another_attempt_is_not_treated_as_unstarted)
{
    make_other_attempt();
    check_not_unstarted(COPIES_A_TOKEN THEN_KILLS_ALL, true);
}

TEST(attempt_whose_task_restored_the_first_bytes_of_its_start_token_is_not_treated_as_unstarted)
{
    check_not_unstarted(REPAIRS_A_TOKEN THEN_KILLS_ALL, true);
}

TEST(attempt_whose_task_removed_the_folder_is_not_treated_as_unstarted)
{
    check_not_unstarted(REMOVES_FOLDER THEN_KILLS_ALL, true);
}

/* The process has neither the record of its session nor the attempt's variables, only `tree`. */
TEST(attempt_whose_shim_record_was_removed_is_lost_only_after_processes_with_its_tree_lock_ended)
{
    struct worker *a = worker_new(), *b = worker_new();
    struct spec spec = {.cwd = test_dir()};
    struct job t = task_of(&spec);
    pid_t left;

    spec.run = AWAITS_SHIM "rm $d/shim; env -i /usr/bin/setsid /bin/sh -c "
                           "'echo $$ >>begun; exec sleep 1000' & until [ -s begun ]; do sleep "
                           "0.01; done; exec env -i /bin/kill -9 $PPID";
    left = begin(a, &t);
    worker_free(a);
    CHECK_EQ(adopt(b, &t)->o.kind, OUTCOME_LOST);
    CHECK(is_gone(left));
    worker_free(b);
}

/* ---- what proves nothing ---- */

/* An attempt that its worker has prepared and never requested. */
static int prepared_attempt(struct job *t)
{
    int dir, at;

    CHECK(mkdir(attempts_dir(), 0711) == 0 || errno == EEXIST);
    dir = open(attempts_dir(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    at = attempt_make_folder(dir, t->execution, t->attempt);
    CHECK(at >= 0);
    CHECK_OK(attempt_write_start_token(at, t->execution, t->attempt));
    close(dir);
    return at;
}

TEST(damaged_start_token_or_start_token_of_another_boot_does_not_prove_an_attempt_unstarted)
{
    struct worker *b = worker_new();
    struct spec spec = {.run = "true"};
    struct job t = task_of(&spec);

    for (int place = 0; place < 72; place += 8, t.attempt++) {
        int at = prepared_attempt(&t), fd = openat(at, ATTEMPT_LOCK, O_RDWR | O_CLOEXEC);
        char byte;

        CHECK_EQ(pread(fd, &byte, 1, place), 1);
        byte ^= 1;
        CHECK_EQ(pwrite(fd, &byte, 1, place), 1);
        CHECK_EQ(adopt(b, &t)->o.kind, OUTCOME_LOST);
        CHECK(attempt_has_tombstone(at));
        close(fd);
        close(at);
    }
    worker_free(b);
}

TEST(start_token_next_to_a_shim_record_does_not_prove_an_attempt_unstarted)
{
    struct worker *b = worker_new();
    struct spec spec = {.run = "true"};
    struct job t = task_of(&spec);
    struct attempt_shim shim = {.pid = 1, .start_time = 1};
    int at = prepared_attempt(&t);

    CHECK_OK(record_write(at, &RECORD_SHIM, &shim));
    CHECK_EQ(adopt(b, &t)->o.kind, OUTCOME_LOST);
    close(at);
    worker_free(b);
}

TEST(second_adopter_of_an_unstarted_attempt_also_reports_it_as_unstarted)
{
    struct worker *b = worker_new();
    struct spec spec = {.run = "true"};
    struct job t = task_of(&spec);
    int at = prepared_attempt(&t);
    struct seen *s;

    CHECK_OK(attempt_write_tombstone(at)); /* the first adopter died before it settled the job */
    s = adopt(b, &t);
    CHECK_EQ(s->o.kind, OUTCOME_REFUSED);
    CHECK_EQ(s->o.unstarted, 1);
    close(at);
    worker_free(b);
}

/* ---- the file of the dead worker ---- */

TEST(attempt_without_a_start_mark_and_without_a_folder_is_unstarted)
{
    struct worker *b = worker_new();
    struct spec spec = {.run = "true"};
    struct job t = task_of(&spec);
    struct seen *s;

    t.unstarted = true;
    s = adopt(b, &t);
    CHECK_EQ(s->o.kind, OUTCOME_REFUSED);
    CHECK_EQ(s->o.unstarted, 1);
    worker_free(b);
}

TEST(attempt_without_a_start_mark_but_with_a_process_is_lost)
{
    struct worker *a = worker_new(), *b = worker_new();
    struct spec spec = waiting_spec();
    struct job t = task_of(&spec);
    pid_t task;

    spec.run =
        AWAITS_SHIM "echo $PPID >shim; rm -rf $d; sleep 1000 & echo $! >>begun; read x <fifo";
    task = begin(a, &t); /* not killed with the shim */
    worker_free(a);
    CHECK_OK(kill((pid_t)strtol(read_text(path_of("shim")), NULL, 10), SIGKILL));
    t.unstarted = true;
    CHECK_EQ(adopt(b, &t)->o.kind, OUTCOME_LOST);
    CHECK(is_gone(task));
    worker_free(b);
}
