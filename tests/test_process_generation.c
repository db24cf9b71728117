/* test_process_generation.c - everything that attempts of an earlier generation (which `pawl admin
 * fence` raises) left behind is ended before a worker continues with their jobs. */
#include "process_wait_fixture.h"

TEST_NO_DB;

static int count_attempt(void *arg, int64_t execution, int attempt, bool held)
{
    int *n = arg;

    CHECK(execution == 7 || execution == 8);
    CHECK_EQ(attempt, 1);
    n[held]++;
    return 0;
}

static void check_all_attempts_are_ended(void)
{
    struct worker *w = worker_new();
    struct spec spec = waiting_spec();
    struct job t = task_of(&spec), orphan = t;
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
    while (shim_is_running(&orphan))
        clock_sleep_us(1000);
    CHECK_OK_ERR(attempt_each(attempts_dir(), count_attempt, n, &err), &err);
    CHECK_EQ(n[true], 1);
    CHECK_EQ(n[false], 1);
    CHECK_OK_ERR(end_all_attempts(attempts_dir(), PATIENT, &err), &err);
    CHECK(is_gone(task));
    CHECK(is_gone(daemon));
    CHECK_EQ(count_files(attempts_dir()), 0);
    CHECK_OK_ERR(end_all_attempts(path_of("nowhere"), PATIENT, &err), &err);
}

TEST(attempts_from_before_a_fence_are_ended)
{
    check_all_attempts_are_ended();
}

TEST(attempts_from_before_a_fence_are_ended_even_without_cgroups)
{
    setenv("PAWL_CGROUPS", "off", 1);
    check_all_attempts_are_ended();
}

TEST(frozen_shim_from_before_a_fence_is_ended)
{
    struct worker *w = worker_new();
    struct spec spec = waiting_spec();
    struct job t = task_of(&spec);
    struct err err = ERR_INIT;
    pid_t task = begin(w, &t);
    int64_t since;
    int rc;

    CHECK_OK(kill(shim_of(&t), SIGSTOP));
    worker_free(w);
    do { /* repeat only if the machine stalled for all of that second */
        since = clock_boot_us();
        rc = end_all_attempts(attempts_dir(), SECOND, &err);
    } while (rc && clock_boot_us() - since > 5 * SECOND / 4);
    CHECK_OK_ERR(rc, &err);
    CHECK(is_gone(task));
    CHECK_EQ(count_files(attempts_dir()), 0);
}
