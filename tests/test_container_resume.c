/* test_container_resume.c - containers whose shim is killed, as all shims are when a worker that
 * runs in a container is replaced: a container that runs is watched by another shim, one that has
 * ended is reported with the exit code that the container engine has recorded, and nothing is
 * started twice. */
#include "container_fixture.h"

TEST_NO_DB;

/* A command that writes its pid to the file `main`, prints a line for each of the files `go1` and
 * `go2` once they exist, and exits with that code. */
static struct spec stepping_command(int code)
{
    static char run[4 * PATH_MAX + 300];

    snprintf(run, sizeof(run),
             "echo one; echo $$ >>%s/main; until [ -e %s/go1 ]; do sleep 0.02; done; echo two; "
             "echo n=7 >>$PAWL_OUTPUT; until [ -e %s/go2 ]; do sleep 0.02; done; echo three; "
             "exit %d",
             test_dir(), test_dir(), test_dir(), code);
    return (struct spec){.run = run};
}

/* A command that writes its pid to the file `main`, and "bye" when it gets TERM. */
static struct spec stubborn_command(void)
{
    static char run[PATH_MAX + 200];

    snprintf(run, sizeof(run),
             "trap 'echo bye; exit 3' TERM; echo $$ >>%s/main; while :; do sleep 0.02; done",
             test_dir());
    return (struct spec){.run = run};
}

static void lose_shim(const struct stage *g)
{
    pid_t shim = shim_of(&g->t);

    CHECK_OK(kill(shim, SIGKILL));
    while (!is_gone(shim))
        clock_sleep_us(1000);
}

static void lose_worker_and_shim(struct stage *g)
{
    stage_lose_worker(g);
    lose_shim(g);
}

static struct attempt_shim shim_record_of(const struct stage *g)
{
    struct attempt_shim s;
    int at = folder_of(&g->t);

    CHECK_EQ(record_read(at, &RECORD_SHIM, &s), 1);
    close(at);
    return s;
}

/* Waits until the file contains the text. */
static void await_text(const char *path, const char *text)
{
    int64_t deadline = clock_boot_us() + PATIENT;

    while (!strstr(read_text(path), text)) {
        CHECK(clock_boot_us() < deadline);
        clock_sleep_us(10000);
    }
}

static char *log_path(const struct stage *g)
{
    char name[ATTEMPT_NAME_SIZE], path[100];

    snprintf(path, sizeof(path), "attempts/%s/log",
             attempt_name(g->t.execution, g->t.attempt, name));
    return path_of(path);
}

/* The command ran only once. */
static void check_one_start(void)
{
    const char *pids = read_text(path_of("main"));

    CHECK_EQ(strchr(pids, '\n') - pids + 1, (long)strlen(pids));
    CHECK_EQ(containers(), 0);
}

TEST(container_whose_worker_and_shim_were_killed_is_resumed_with_its_whole_log)
{
    struct spec spec = stepping_command(4);
    struct stage g = stage_of(&spec);
    struct seen *s;

    stage_begin(&g);
    await_text(log_path(&g), "one\n");
    lose_worker_and_shim(&g);
    CHECK(!is_gone(g.main));
    write_text(path_of("go1"), ""); /* nobody watches */
    stage_adopt(&g, (struct process_options){0});
    await_text(path_of("attempts/7.1/output"), "n=7");
    write_text(path_of("go2"), "");
    s = stage_wait(&g);
    CHECK_EQ(s->o.kind, OUTCOME_FAILED);
    CHECK_EQ(s->o.exit_code, 4);
    CHECK_STR(buf_cstr(&s->log), "one\ntwo\nthree\n");
    check_one_start();
    stage_end(&g);
}

TEST(container_whose_shim_was_killed_is_watched_by_another_shim_of_the_same_worker)
{
    struct spec spec = stepping_command(0);
    struct stage g = stage_of(&spec);
    struct seen *s;
    pid_t first;

    stage_begin(&g);
    first = shim_of(&g.t);
    lose_shim(&g);
    UNTIL(g.w, shim_of(&g.t) != first);
    write_text(path_of("go1"), "");
    write_text(path_of("go2"), "");
    s = stage_wait(&g);
    CHECK_EQ(s->o.kind, OUTCOME_OK);
    CHECK_STR(s->result, "{\"n\":\"7\"}");
    CHECK_STR(buf_cstr(&s->log), "one\ntwo\nthree\n");
    check_one_start();
    stage_end(&g);
}

/* Waits until the container engine has recorded the end of the command. */
static void await_end(const struct stage *g)
{
    write_text(path_of("go1"), "");
    write_text(path_of("go2"), "");
    while (!is_gone(g->main))
        clock_sleep_us(10000);
    CHECK_EQ(system("until ls $CONTAINER_HOST/pawl-*/exit >/dev/null 2>&1; do sleep 0.02; done"),
             0);
}

static void check_ended_unwatched(int code, enum outcome_kind expect)
{
    struct spec spec = stepping_command(code);
    struct stage g = stage_of(&spec);
    struct seen *s;

    stage_begin(&g);
    lose_worker_and_shim(&g);
    await_end(&g);
    stage_adopt(&g, (struct process_options){0});
    s = stage_wait(&g);
    CHECK_EQ(s->o.kind, expect);
    CHECK_EQ(s->o.exit_code, code);
    CHECK_STR(buf_cstr(&s->log), "one\ntwo\nthree\n");
    if (!code)
        CHECK_STR(s->result, "{\"n\":\"7\"}");
    check_one_start();
    stage_end(&g);
}

TEST(container_that_succeeded_while_nobody_watched_is_reported_with_its_outputs)
{
    check_ended_unwatched(0, OUTCOME_OK);
}

TEST(container_that_failed_while_nobody_watched_is_reported_with_its_exit_code)
{
    check_ended_unwatched(9, OUTCOME_FAILED);
}

/* Its timeout has passed, or its cancel comes, before another shim can record how it ended. */
static void check_keeps_its_outcome(int64_t timeout, bool cancel)
{
    struct spec spec = stepping_command(0);
    struct stage g = stage_of(&spec);

    spec.timeout = timeout;
    stage_begin(&g);
    lose_worker_and_shim(&g);
    await_end(&g);
    while (timeout && clock_boot_us() < shim_record_of(&g).begun + timeout)
        clock_sleep_us(10000);
    g.t.cancel = cancel;
    stage_adopt(&g, (struct process_options){0});
    CHECK_EQ(stage_wait(&g)->o.kind, OUTCOME_OK);
    check_one_start();
    stage_end(&g);
}

TEST(container_that_succeeded_while_nobody_watched_is_not_timed_out_afterwards)
{
    check_keeps_its_outcome(3 * SECOND, false);
}

TEST(container_that_succeeded_while_nobody_watched_is_not_cancelled_afterwards)
{
    check_keeps_its_outcome(0, true);
}

TEST(container_that_was_removed_while_nobody_watched_is_lost)
{
    struct spec spec = stepping_command(0);
    struct stage g = stage_of(&spec);

    stage_begin(&g);
    lose_worker_and_shim(&g);
    CHECK_EQ(system("until \"$PWD/tests/engine_double\" rm \"$(basename $CONTAINER_HOST/pawl-*)\" "
                    "2>/dev/null; do sleep 0.1; done"),
             0);
    stage_adopt(&g, (struct process_options){0});
    CHECK_EQ(stage_wait(&g)->o.kind, OUTCOME_LOST);
    CHECK(is_gone(g.main));
    CHECK_EQ(containers(), 0);
    stage_end(&g);
}

/* A container engine may report an exit code for a container that ended when its host went down. */
TEST(container_of_another_boot_is_removed_and_its_attempt_is_lost)
{
    struct spec spec = stepping_command(0);
    struct stage g = stage_of(&spec);
    struct attempt_container c;
    int at;

    stage_begin(&g);
    lose_worker_and_shim(&g);
    at = folder_of(&g.t);
    CHECK_EQ(record_read(at, &RECORD_CONTAINER, &c), 1);
    c.boot[0] ^= 1;
    CHECK_OK(record_write(at, &RECORD_CONTAINER, &c));
    close(at);
    stage_adopt(&g, (struct process_options){0});
    CHECK_EQ(stage_wait(&g)->o.kind, OUTCOME_LOST);
    CHECK(is_gone(g.main));
    CHECK_EQ(containers(), 0);
    stage_end(&g);
}

TEST(timeout_of_a_resumed_container_counts_from_its_start)
{
    struct spec spec = stubborn_command();
    struct stage g = stage_of(&spec);
    struct attempt_shim first;
    struct seen *s;

    spec.timeout = 3 * SECOND;
    stage_begin(&g);
    first = shim_record_of(&g);
    lose_worker_and_shim(&g);
    stage_adopt(&g, (struct process_options){0});
    UNTIL(g.w, shim_of(&g.t) != (pid_t)first.pid);
    CHECK_EQ(shim_record_of(&g).begun, first.begun);
    s = stage_wait(&g);
    CHECK_EQ(s->o.kind, OUTCOME_TIMED_OUT);
    CHECK(s->o.duration >= 3 * SECOND);
    CHECK_STR(buf_cstr(&s->log), "bye\n");
    CHECK(is_gone(g.main));
    check_one_start();
    stage_end(&g);
}

TEST(cancel_of_a_resumed_container_reaches_its_command)
{
    struct spec spec = stubborn_command();
    struct stage g = stage_of(&spec);
    struct seen *s;

    stage_begin(&g);
    lose_worker_and_shim(&g);
    g.t.cancel = true;
    stage_adopt(&g, (struct process_options){.grace = 60 * SECOND});
    s = stage_wait(&g);
    CHECK_EQ(s->o.kind, OUTCOME_CANCELLED);
    CHECK_STR(buf_cstr(&s->log), "bye\n");
    check_one_start();
    stage_end(&g);
}

/* The first shim gets the command, and is killed before it can act on it. */
TEST(cancel_that_a_killed_shim_had_not_enforced_reaches_the_next_shim)
{
    struct spec spec = stubborn_command();
    struct stage g = stage_with(&spec, (struct process_options){.grace = 60 * SECOND});
    struct seen *s;

    stage_begin(&g);
    UNTIL(g.w, stage_seen(&g)->started); /* the shim reads commands */
    CHECK_OK(kill(shim_of(&g.t), SIGSTOP));
    handles_cancel(&g.w->handles, g.t.execution, g.t.attempt, OUTCOME_CANCELLED);
    lose_shim(&g);
    s = stage_wait(&g);
    CHECK_EQ(s->o.kind, OUTCOME_CANCELLED);
    CHECK_STR(buf_cstr(&s->log), "bye\n");
    check_one_start();
    stage_end(&g);
}

/* On PostgreSQL another host may take over once the lease has not been renewed for a long time. */
TEST(resumed_container_whose_lease_is_not_renewed_is_ended_by_its_shim)
{
    struct spec spec = stubborn_command();
    struct stage g = stage_with(&spec, (struct process_options){.fence = SECOND / 2});

    stage_begin(&g);
    lose_worker_and_shim(&g);
    g.t.lease_until = clock_boot_us() + 3 * SECOND;
    stage_adopt(&g, (struct process_options){.fence = SECOND / 2});
    CHECK_EQ(stage_wait(&g)->o.kind, OUTCOME_LOST);
    CHECK(is_gone(g.main));
    CHECK_EQ(containers(), 0);
    stage_end(&g);
}

/* The values are those that the container has: the next worker may have none, or others. */
TEST(secret_is_masked_after_a_resume_by_a_worker_without_it)
{
    static const char *const secrets[] = {"TOKEN", NULL};
    static char run[2 * PATH_MAX + 200];
    struct spec spec = {.run = run, .secrets = secrets, .nsecrets = 1};
    struct stage g;
    struct seen *s;

    snprintf(run, sizeof(run),
             "printf '<%%s> ' $TOKEN; printf hush-; echo $$ >>%s/main; until [ -e %s/go1 ]; do "
             "sleep 0.02; done; echo hush; echo $TOKEN; echo t=$TOKEN >>$PAWL_OUTPUT",
             test_dir(), test_dir());
    setenv("TOKEN", "hush-hush", 1);
    g = stage_of(&spec);
    stage_begin(&g);
    await_text(log_path(&g), "<***> ");
    lose_worker_and_shim(&g);
    unsetenv("TOKEN");
    stage_adopt(&g, (struct process_options){0});
    write_text(path_of("go1"), "");
    s = stage_wait(&g);
    CHECK_EQ(s->o.kind, OUTCOME_OK);
    CHECK_STR(buf_cstr(&s->log), "<***> ***\n***\n");
    CHECK_STR(s->result, "{\"t\":\"***\"}");
    check_one_start();
    stage_end(&g);
}

TEST(container_is_left_alone_while_the_container_engine_is_unreachable)
{
    struct spec spec = stepping_command(0);
    struct stage g = stage_of(&spec);
    struct seen *s;

    stage_begin(&g);
    lose_worker_and_shim(&g);
    write_text(path_of("engine/down"), "");
    stage_adopt(&g, (struct process_options){0});
    s = stage_seen(&g);
    for (int i = 0; i < 50; i++)
        worker_poll(g.w, 10000);
    CHECK(!is_gone(g.main));
    CHECK_EQ(s->ended, 0);
    CHECK_OK(unlink(path_of("engine/down")));
    write_text(path_of("go1"), "");
    write_text(path_of("go2"), "");
    CHECK_EQ(stage_wait(&g)->o.kind, OUTCOME_OK);
    check_one_start();
    stage_end(&g);
}

/* The container engine that the worker is configured for does not know the container. */
TEST(orphaned_container_is_found_at_the_container_engine_that_created_it)
{
    struct spec spec = stepping_command(4);
    struct stage g = stage_of(&spec);

    stage_begin(&g);
    lose_worker_and_shim(&g);
    CHECK_OK(setenv("CONTAINER_HOST", "/nowhere", 1));
    stage_adopt(&g, (struct process_options){0});
    write_text(path_of("go1"), "");
    write_text(path_of("go2"), "");
    CHECK_EQ(stage_wait(&g)->o.exit_code, 4);
    check_one_start();
    stage_end(&g);
}

/* The second shim dies, too, wherever it is. */
TEST(container_is_resumed_by_the_next_worker_if_its_second_shim_dies)
{
    static const char *const points[] = {"resumed:before-lock", "resumed:locked", "resumed:forked"};

    for (size_t i = 0; i < sizeof(points) / sizeof(*points); i++) {
        struct spec spec = stepping_command(0);
        struct stage g = stage_of(&spec);
        struct seen *s;
        char old[60];

        g.t.execution += (int64_t)i;
        stage_begin(&g);
        lose_worker_and_shim(&g);
        setenv("PAWL_SHIM_POINT", points[i], 1);
        stage_adopt(&g, (struct process_options){0});
        unsetenv("PAWL_SHIM_POINT");
        for (int n = 0; n < 100; n++)
            worker_poll(g.w, 10000);
        CHECK_EQ(stage_seen(&g)->ended, 0);
        CHECK(!is_gone(g.main));
        stage_lose_worker(&g);
        stage_adopt(&g, (struct process_options){0});
        write_text(path_of("go1"), "");
        write_text(path_of("go2"), "");
        s = stage_wait(&g);
        CHECK_EQ(s->o.kind, OUTCOME_OK);
        CHECK_STR(buf_cstr(&s->log), "one\ntwo\nthree\n");
        check_one_start();
        stage_end(&g);
        snprintf(old, sizeof(old), "engine.%zu", i);
        CHECK_OK(rename(path_of("engine"), path_of(old)));
        CHECK_OK(unlink(path_of("main")));
        CHECK_OK(unlink(path_of("go1")));
        CHECK_OK(unlink(path_of("go2")));
    }
}

/* Runs the command with the pid of each stopped shim of this test; false if there is none. */
static bool stopped_shims(const char *command)
{
    char script[600];

    snprintf(script, sizeof(script),
             "found=1; for pid in $(pgrep -x -r T pawl-shim); do ls -l /proc/$pid/fd | grep -q "
             "\"$(dirname $CONTAINER_HOST)\" && %s $pid && found=0; done; exit $found",
             command);
    return system(script) == 0;
}

/* A shim that a replaced worker requested, and that comes too late, changes nothing. */
TEST(late_shim_of_a_lower_epoch_leaves_the_container_alone)
{
    struct spec spec = stepping_command(0);
    struct stage g = stage_of(&spec);
    struct worker *late;
    pid_t first;

    stage_begin(&g);
    first = shim_of(&g.t);
    lose_worker_and_shim(&g);
    setenv("PAWL_SHIM_POINT", "=resumed:before-lock", 1);
    stage_adopt(&g, (struct process_options){0});
    unsetenv("PAWL_SHIM_POINT");
    UNTIL(g.w, stopped_shims("kill -0"));
    late = g.w;
    stage_adopt(&g, (struct process_options){0}); /* raises the epoch; the lock is still free */
    CHECK(stopped_shims("kill -CONT"));
    UNTIL(g.w, shim_of(&g.t) != first);
    CHECK_EQ(shim_record_of(&g).epoch, g.t.epoch);
    for (int n = 0; n < 20; n++) {
        worker_poll(late, 5000);
        worker_poll(g.w, 5000);
    }
    CHECK_EQ(seen_of(late, g.t.execution, g.t.attempt)->ended, 0);
    CHECK(!is_gone(g.main));
    write_text(path_of("go1"), "");
    write_text(path_of("go2"), "");
    CHECK_EQ(stage_wait(&g)->o.kind, OUTCOME_OK);
    check_one_start();
    worker_free(late);
    stage_end(&g);
}

/* The container engine may have discarded the start of a long output. */
TEST(long_log_of_a_resumed_container_is_read_from_a_time_on_and_marked_with_a_note)
{
    static char run[2 * PATH_MAX + 200];
    struct spec spec = {.run = run};
    struct stage g;
    struct seen *s;

    snprintf(run, sizeof(run),
             "yes 0123456789 | head -c 1000000; echo; echo $$ >>%s/main; "
             "until [ -e %s/go1 ]; do sleep 0.02; done; echo last",
             test_dir(), test_dir());
    g = stage_with(&spec, (struct process_options){.log_head = 3 << 20});
    stage_begin(&g);
    UNTIL(g.w, stage_seen(&g)->log.len > 900000);
    lose_worker_and_shim(&g);
    stage_adopt(&g, (struct process_options){.log_head = 3 << 20});
    write_text(path_of("go1"), "");
    s = stage_wait(&g);
    CHECK_EQ(s->o.kind, OUTCOME_OK);
    CHECK(strstr(read_text(path_of("engine/logs")), "--since="));
    CHECK(strstr(buf_cstr(&s->log), "pawl: another shim took the container over here"));
    CHECK(strstr(buf_cstr(&s->log), "\nlast\n"));
    stage_end(&g);
}
