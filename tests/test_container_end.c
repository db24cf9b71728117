/* test_container_end.c - the outcome of a command in a container is the one that the container
 * engine reports, whatever happened to the client and the shim. */
#include "container_fixture.h"

#include <inttypes.h>

TEST_NO_DB;

/* A command that writes its pid to the file `main` and sleeps. */
static struct spec sleeping_command(void)
{
    static char run[PATH_MAX + 60];

    snprintf(run, sizeof(run), "echo $$ >%s/main; exec sleep 1000", test_dir());
    return (struct spec){.run = run};
}

/* Podman's client exits with 0 if it is stopped before the container has started. */
TEST(attempt_whose_client_exits_before_the_container_starts_is_lost)
{
    struct spec spec = sleeping_command();
    struct stage g = stage_of(&spec);
    struct seen *s;

    write_text(path_of("engine/silent"), "");
    s = worker_run(g.w, &g.t);
    CHECK_EQ(s->o.kind, OUTCOME_LOST);
    CHECK(!s->o.has_exit_code);
    CHECK(strstr(s->error, "the container engine's client ended before the command"));
    CHECK_EQ(containers(), 0);
    stage_end(&g);
}

TEST(attempt_whose_container_cannot_be_inspected_is_lost)
{
    struct spec spec = {.run = "true"};
    struct stage g = stage_of(&spec);

    write_text(path_of("engine/blind"), "");
    CHECK_EQ(worker_run(g.w, &g.t)->o.kind, OUTCOME_LOST);
    CHECK_EQ(containers(), 0);
    stage_end(&g);
}

TEST(attempt_whose_client_was_killed_is_lost)
{
    struct spec spec = sleeping_command();
    struct stage g = stage_of(&spec);
    struct attempt_shim shim;
    struct seen *s;
    int at;

    stage_begin(&g);
    at = folder_of(&g.t);
    CHECK_EQ(record_read(at, &RECORD_SHIM, &shim), 1);
    close(at);
    CHECK_OK(kill((pid_t)shim.session, SIGKILL));
    s = stage_wait(&g);
    CHECK_EQ(s->o.kind, OUTCOME_LOST);
    CHECK(strstr(s->error, "the container engine's client was killed before the command"));
    CHECK(is_gone(g.main));
    CHECK_EQ(containers(), 0);
    stage_end(&g);
}

/* The command has no variable of the attempt, so only the container engine can find its process. */
TEST(attempt_without_its_shim_and_shim_record_is_lost_only_after_its_container_was_removed)
{
    static char run[PATH_MAX + 60];
    struct spec spec = {.run = run};
    struct stage g = stage_of(&spec);
    pid_t shim;
    int at;

    snprintf(run, sizeof(run), "echo $$ >%s/main; exec env -i /bin/sleep 1000", test_dir());
    stage_begin(&g);
    shim = shim_of(&g.t);
    at = folder_of(&g.t);
    CHECK_OK(unlinkat(at, RECORD_SHIM.name, 0));
    close(at);
    CHECK_OK(kill(shim, SIGKILL));
    CHECK_EQ(stage_wait(&g)->o.kind, OUTCOME_LOST);
    CHECK(is_gone(g.main));
    CHECK_EQ(containers(), 0);
    stage_end(&g);
}

static void check_outcome_if_shim_dies(const char *point, bool client_exits_early,
                                       enum outcome_kind expect)
{
    static int64_t execution = 100;
    struct spec spec = {.run = "true"};
    char old_engine[PATH_MAX + 40];
    struct stage g;

    setenv("PAWL_SHIM_POINT", point, 1);
    g = stage_of(&spec);
    unsetenv("PAWL_SHIM_POINT");
    g.t.execution = execution++;
    if (client_exits_early)
        write_text(path_of("engine/silent"), "");
    CHECK_EQ(worker_run(g.w, &g.t)->o.kind, expect);
    CHECK_EQ(containers(), 0);
    stage_end(&g);
    snprintf(old_engine, sizeof(old_engine), "%s/engine.%" PRId64, test_dir(), execution);
    CHECK_OK(rename(path_of("engine"), old_engine));
}

/* The outcome comes from the container engine, or from the record that the shim had already
 * written. */
TEST(container_outcome_is_correct_if_its_shim_is_killed_at_any_point)
{
    check_outcome_if_shim_dies("before-lock", false, OUTCOME_REFUSED);
    check_outcome_if_shim_dies("forked", false, OUTCOME_LOST);
    check_outcome_if_shim_dies("ended", false, OUTCOME_OK);
    check_outcome_if_shim_dies("before-undo", false, OUTCOME_OK);
    check_outcome_if_shim_dies("undone", false, OUTCOME_OK);
    check_outcome_if_shim_dies("before-undo", true, OUTCOME_LOST);
    check_outcome_if_shim_dies("undone", true, OUTCOME_LOST);
}

/* ---- containers that can't be removed ---- */

/* Another container may depend on it, or its files may be in use; but it has ended and is not
 * started again. */
TEST(ended_container_that_cannot_be_removed_does_not_delay_the_outcome)
{
    struct spec spec = {.run = "echo fine"};
    struct stage g = stage_of(&spec);
    struct seen *s;

    write_text(path_of("engine/needed"), "");
    s = worker_run(g.w, &g.t);
    CHECK_EQ(s->o.kind, OUTCOME_OK);
    CHECK(!strncmp(buf_cstr(&s->log), "fine\n", 5));
    CHECK(strstr(buf_cstr(&s->log), "\npawl: the container has ended, but could not be removed: "
                                    "Error: pawl-7-1-"));
    CHECK_EQ(containers(), 1);
    stage_end(&g);
}

/* Without the record `container`, as in attempts of earlier versions, no other shim can take over.
 */
TEST(attempt_whose_shim_died_and_whose_container_cannot_be_removed_is_lost)
{
    struct spec spec = sleeping_command();
    struct stage g = stage_of(&spec);
    int at;

    write_text(path_of("engine/needed"), "");
    stage_begin(&g);
    at = folder_of(&g.t);
    CHECK_OK(unlinkat(at, RECORD_CONTAINER.name, 0));
    close(at);
    CHECK_OK(kill(shim_of(&g.t), SIGKILL));
    CHECK_EQ(stage_wait(&g)->o.kind, OUTCOME_LOST);
    CHECK(is_gone(g.main));
    CHECK_EQ(containers(), 1);
    stage_end(&g);
}

/* A single report may be true for a moment only, if the container has a restart policy. */
TEST(container_counts_as_ended_only_after_repeated_reports_of_its_end)
{
    char run[PATH_MAX + 100];
    struct undo u = {0};

    snprintf(run, sizeof(run),
             "echo x >>%s/tries; echo why; [ $(wc -l <%s/tries) = 3 ] || echo over", test_dir(),
             test_dir());
    undo_set_command(&u, (const char *const[]){"/bin/sh", "-c", run, NULL}, NULL);
    while (!undo_poll(&u)) {
        u.next = 0; /* retry at once */
        clock_sleep_us(1000);
    }
    CHECK(u.unremovable);
    CHECK_STR(u.message, "why");
    CHECK_STR(read_text(path_of("tries")), "x\nx\nx\nx\nx\nx\nx\nx\n");
    undo_release(&u);
}
