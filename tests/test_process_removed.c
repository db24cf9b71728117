/* test_process_removed.c - a task removes all files of its own attempt. A missing record or lock
 * does not prove that nothing runs: no worker reports such an attempt as ended, or returns its job,
 * while its shim or a process of it lives. */
#include "process_wait_fixture.h"

TEST_NO_DB;

/* Removes everything in the folder, or the folder itself, then waits until the test writes an exit
 * code to `fifo`. The main process is killed with its shim; the one in the background is not. */
#define REMOVES_FILES  AWAITS_SHIM "rm -rf $d/*; " THEN_WAITS
#define REMOVES_FOLDER AWAITS_SHIM "rm -rf $d; " THEN_WAITS
#define THEN_WAITS \
    "sleep 1000 & echo $! >background; echo $PPID >shim; echo $$ >>begun; read x <fifo; exit $x"

/* A killed process that has lost its environment may take a moment until it is gone. */
static void check_gone(pid_t task)
{
    pid_t background = (pid_t)strtol(read_text(path_of("background")), NULL, 10);
    int64_t deadline = clock_boot_us() + PATIENT;

    CHECK(background > 0);
    while (!is_gone(task) || !is_gone(background)) {
        CHECK(clock_boot_us() < deadline);
        clock_sleep_us(1000);
    }
}

static struct spec removing_spec(const char *run)
{
    struct spec spec = waiting_spec();

    spec.run = run;
    return spec;
}

static void check_adopted_until_end(const struct job *t)
{
    struct worker *w = worker_new();
    struct seen *s = seen_of(w, t->execution, t->attempt);

    worker_reattach(w, t);
    UNTIL(w, s->started || s->ended);
    CHECK_EQ(s->ended, 0);
    let_end("0\n");
    CHECK_EQ(worker_wait(w, t)->o.kind, OUTCOME_OK);
    CHECK_EQ(times_begun(), 1);
    worker_free(w);
}

TEST(adopter_of_an_attempt_without_its_lock_and_record_waits_for_the_shim)
{
    struct worker *w = worker_new();
    struct spec spec = removing_spec(REMOVES_FILES);
    struct job t = task_of(&spec);

    (void)begin(w, &t);
    worker_free(w);
    t.epoch = 2;
    check_adopted_until_end(&t);
}

TEST(stopping_worker_does_not_return_a_job_to_its_queue_if_its_shim_record_was_removed)
{
    struct worker *w = worker_new();
    struct spec spec = removing_spec(REMOVES_FILES);
    struct job t = task_of(&spec);
    pid_t task = begin(w, &t);

    handles_stop(&w->handles, false);
    CHECK_EQ(seen_of(w, t.execution, t.attempt)->ended, 0);
    CHECK(!is_gone(task));
    worker_free(w);
    t.epoch = 2;
    check_adopted_until_end(&t);
}

TEST(cancel_ends_an_attempt_whose_files_were_removed)
{
    struct worker *w = worker_with((struct process_options){.lease = SECOND / 5, .grace = -1});
    struct spec spec = removing_spec(REMOVES_FILES);
    struct job t = task_of(&spec);
    pid_t task = begin(w, &t);

    handles_cancel(&w->handles, t.execution, t.attempt, OUTCOME_CANCELLED);
    CHECK_EQ(worker_wait(w, &t)->o.kind, OUTCOME_CANCELLED);
    check_gone(task);
    worker_free(w);
}

TEST(cancel_ends_an_adopted_attempt_whose_files_were_removed)
{
    struct worker *a = worker_new(), *b;
    struct spec spec = removing_spec(REMOVES_FILES);
    struct job t = task_of(&spec);
    pid_t task = begin(a, &t);

    worker_free(a);
    b = worker_with((struct process_options){.lease = SECOND / 5, .grace = -1});
    t.epoch = 2;
    t.cancel = true;
    worker_reattach(b, &t);
    CHECK_EQ(worker_wait(b, &t)->o.kind, OUTCOME_CANCELLED);
    check_gone(task);
    worker_free(b);
}

static void check_lost_with_its_shim(const char *run)
{
    struct worker *w = worker_new();
    struct spec spec = removing_spec(run);
    struct job t = task_of(&spec);
    pid_t task = begin(w, &t);

    CHECK_OK(kill(read_pid(w, path_of("shim")), SIGKILL));
    CHECK_EQ(worker_wait(w, &t)->o.kind, OUTCOME_LOST);
    check_gone(task);
    worker_free(w);
}

TEST(attempt_whose_files_were_removed_and_shim_was_killed_is_lost_and_its_processes_end)
{
    check_lost_with_its_shim(REMOVES_FILES);
}

TEST(attempt_whose_folder_was_removed_and_shim_was_killed_is_lost_and_its_processes_end)
{
    check_lost_with_its_shim(REMOVES_FOLDER);
}

/* The folder is removed after it was opened, and before it is checked. */
TEST(adopter_of_an_attempt_whose_folder_is_being_removed_waits_for_the_shim)
{
    struct worker *a = worker_new(), *b;
    struct spec spec = waiting_spec();
    struct job t = task_of(&spec);
    struct seen *s;
    int dir;

    (void)begin(a, &t);
    b = next_worker(a, &t);
    dir = open(attempts_dir(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    CHECK_OK(attempt_remove_folder(dir, "7.1"));
    close(dir);
    s = seen_of(b, t.execution, t.attempt);
    UNTIL(b, s->started || s->ended);
    CHECK_EQ(s->ended, 0);
    let_end("0\n");
    CHECK_EQ(worker_wait(b, &t)->o.kind, OUTCOME_LOST);
    worker_free(b);
}

/* The first adopter creates the missing folder and ends; the second finds it empty. */
TEST(second_adopter_of_an_attempt_without_a_folder_reports_it_lost_and_ends_its_processes)
{
    struct worker *w = worker_new();
    struct spec spec = removing_spec(REMOVES_FOLDER);
    struct job t = task_of(&spec);
    pid_t task = begin(w, &t);

    for (int i = 0; i < 2; i++) {
        worker_free(w);
        w = worker_new();
        t.epoch++;
        worker_reattach(w, &t);
    }
    CHECK_EQ(worker_wait(w, &t)->o.kind, OUTCOME_LOST);
    check_gone(task);
    worker_free(w);
}

TEST(attempt_from_before_a_fence_whose_files_were_removed_is_ended)
{
    struct worker *w = worker_new();
    struct spec spec = removing_spec(REMOVES_FILES);
    struct job t = task_of(&spec);
    struct err err = ERR_INIT;
    pid_t task = begin(w, &t);

    worker_free(w);
    CHECK_OK_ERR(end_all_attempts(attempts_dir(), 4 * SECOND, &err), &err);
    check_gone(task);
    CHECK_EQ(count_files(attempts_dir()), 0);
}

TEST(attempt_from_before_a_fence_without_its_files_and_shim_is_ended)
{
    struct worker *w = worker_new();
    struct spec spec = removing_spec(REMOVES_FILES);
    struct job t = task_of(&spec);
    struct err err = ERR_INIT;
    pid_t task = begin(w, &t), shim = read_pid(w, path_of("shim"));

    worker_free(w);
    CHECK_OK(kill(shim, SIGKILL));
    CHECK_OK_ERR(end_all_attempts(attempts_dir(), 4 * SECOND, &err), &err);
    check_gone(task);
    CHECK_EQ(count_files(attempts_dir()), 0);
}

/* ---- no descriptors are left ---- */

#define MOST_FILES 8 /* more than any search has open at a time */

TEST(search_for_a_shim_without_free_file_descriptors_does_not_report_that_the_shim_is_gone)
{
    struct worker *w = worker_new();
    struct spec spec = waiting_spec();
    struct job t = task_of(&spec);
    struct attempt_shim shim;
    int at;

    (void)begin(w, &t);
    at = folder_of(&t);
    CHECK_EQ(record_read(at, &RECORD_SHIM, &shim), 1);
    for (int n = 0; n <= MOST_FILES; n++) {
        int found[3], errors[3];

        allow_files(n);
        found[0] = attempt_find_shim(at, NULL);
        errors[0] = errno;
        if (found[0] >= 0)
            close(found[0]);
        found[1] = attempt_find_shim(at, &shim);
        errors[1] = errno;
        if (found[1] >= 0)
            close(found[1]);
        found[2] = attempt_shim_pidfd(&shim);
        errors[2] = errno;
        if (found[2] >= 0)
            close(found[2]);
        allow_files(-1);
        for (int i = 0; i < 3; i++)
            CHECK(found[i] >= 0 || errors[i] == EMFILE);
    }
    let_end("0\n");
    CHECK_EQ(worker_wait(w, &t)->o.kind, OUTCOME_OK);
    errno = EMFILE;
    CHECK_EQ(attempt_find_shim(at, NULL), -1);
    CHECK_EQ(errno, ESRCH);
    close(at);
    worker_free(w);
}

TEST(search_for_leftover_processes_without_free_file_descriptors_does_not_report_that_none_is_left)
{
    struct worker *w = worker_new();
    struct spec spec = {.run = "true"};
    struct job t = task_of(&spec);
    struct attempt_shim shim = {.key = "the key of no attempt"};
    int at;

    CHECK_EQ(worker_run(w, &t)->o.kind, OUTCOME_OK);
    at = folder_of(&t);
    for (int n = 0; n < 3; n++) { /* /proc, a folder in it, and a file in that */
        int alive;

        allow_files(n);
        alive = attempt_kill_remains(at, &shim);
        allow_files(-1);
        CHECK(alive > 0);
    }
    CHECK_EQ(attempt_kill_remains(at, &shim), 0);
    close(at);
    worker_free(w);
}

static void check_adopted_without_descriptors(struct job *t, int n)
{
    struct worker *a = worker_new(), *b;
    struct seen *s;

    unlink(path_of("begun"));
    (void)begin(a, t);
    worker_free(a);
    b = worker_new();
    t->epoch = 2;
    worker_reattach(b, t);
    s = seen_of(b, t->execution, t->attempt);
    allow_files(n);
    poll_for(b, SECOND / 20);
    allow_files(-1);
    CHECK_EQ(s->ended, 0);
    let_end("0\n");
    CHECK_EQ(worker_wait(b, t)->o.kind, OUTCOME_OK);
    worker_free(b);
}

TEST(adopter_of_an_attempt_without_files_waits_until_it_can_search_for_the_shim)
{
    struct spec spec = removing_spec(REMOVES_FILES);

    for (int n = 0; n <= MOST_FILES; n++) {
        struct job t = task_of(&spec);

        t.execution += n;
        check_adopted_without_descriptors(&t, n);
    }
}

/* A session of an unrelated program has the recorded number. */
TEST(session_that_was_recorded_in_another_pid_namespace_or_boot_is_not_killed)
{
    struct attempt_shim shim = {.session_start = 1, .place = proc_place() ^ 1};
    int at = open(test_dir(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct worker *w = worker_new();
    pid_t other;

    CHECK_OK(setenv("HERE", test_dir(), 1));
    CHECK_EQ(system("cd $HERE && setsid sh -c 'echo $$ >session; sleep 1000 & echo $! "
                    ">begun'"),
             0);
    other = read_pid(w, path_of("begun"));
    shim.session = read_pid(w, path_of("session"));
    CHECK_EQ(attempt_kill_remains(at, &shim), 0);
    shim.place = 0; /* written by an earlier version */
    CHECK_EQ(attempt_kill_remains(at, &shim), 0);
    CHECK(!is_gone(other));
    shim.place = proc_place();
    CHECK_EQ(attempt_kill_remains(at, &shim), 1);
    while (!is_gone(other))
        clock_sleep_us(1000);
    close(at);
    worker_free(w);
}
