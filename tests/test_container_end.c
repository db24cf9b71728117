/* test_container_end.c - how a command in a container ended is what its engine says, whatever has
 * become of those who asked for it. */
#include "container_fixture.h"

#include <inttypes.h>

TEST_NO_DB;

/* A command that says who it is, and then waits. */
static struct spec waiting(void)
{
    static char run[PATH_MAX + 60];

    snprintf(run, sizeof(run), "echo $$ >%s/main; exec sleep 1000", test_dir());
    return (struct spec){.run = run};
}

/* Podman's client does so if it is told to end early. */
TEST(a_client_that_is_gone_before_its_container_began_is_no_success)
{
    struct spec spec = waiting();
    struct stage g = stage_of(&spec);
    struct seen *s;

    write_text(path_of("engine/told"), "");
    s = worker_run(g.w, &g.t);
    CHECK_EQ(s->o.kind, OUTCOME_LOST);
    CHECK(!s->o.has_exit_code);
    CHECK(strstr(s->error, "the client of its engine was gone before the command ended"));
    CHECK_EQ(containers(), 0);
    stage_end(&g);
}

TEST(a_container_that_can_not_be_looked_at_is_no_success)
{
    struct spec spec = {.run = "true"};
    struct stage g = stage_of(&spec);

    write_text(path_of("engine/blind"), "");
    CHECK_EQ(worker_run(g.w, &g.t)->o.kind, OUTCOME_LOST);
    CHECK_EQ(containers(), 0);
    stage_end(&g);
}

TEST(a_client_that_is_killed_says_nothing_of_the_command)
{
    struct spec spec = waiting();
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
    CHECK(strstr(s->error, "the client of its engine was killed before the command ended"));
    CHECK(is_gone(g.main));
    CHECK_EQ(containers(), 0);
    stage_end(&g);
}

static void shim_dies_at(const char *point, bool told, enum outcome_kind expect)
{
    static int64_t execution = 100;
    struct spec spec = {.run = "true"};
    char aside[PATH_MAX + 40];
    struct stage g;

    setenv("PAWL_SHIM_POINT", point, 1);
    g = stage_of(&spec);
    unsetenv("PAWL_SHIM_POINT");
    g.t.execution = execution++;
    if (told)
        write_text(path_of("engine/told"), "");
    CHECK_EQ(worker_run(g.w, &g.t)->o.kind, expect);
    CHECK_EQ(containers(), 0);
    stage_end(&g);
    snprintf(aside, sizeof(aside), "%s/engine.%" PRId64, test_dir(), execution);
    CHECK_OK(rename(path_of("engine"), aside));
}

/* Who comes after it hears from the engine, or from what it had heard itself. */
TEST(a_shim_may_die_anywhere_beside_its_container)
{
    shim_dies_at("before-lock", false, OUTCOME_REFUSED);
    shim_dies_at("forked", false, OUTCOME_LOST);
    shim_dies_at("ended", false, OUTCOME_LOST);
    shim_dies_at("before-undo", false, OUTCOME_OK);
    shim_dies_at("undone", false, OUTCOME_OK);
    shim_dies_at("before-undo", true, OUTCOME_LOST);
    shim_dies_at("undone", true, OUTCOME_LOST);
}

/* ---- what can't be removed ---- */

/* Another one may need it, or its files be in use: but it has ended, and nobody begins it again. */
TEST(a_container_that_has_ended_and_can_not_be_removed_holds_nothing_up)
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

TEST(who_finds_a_dead_shim_goes_on_beside_what_has_ended)
{
    struct spec spec = waiting();
    struct stage g = stage_of(&spec);

    write_text(path_of("engine/needed"), "");
    stage_begin(&g);
    CHECK_OK(kill(shim_of(&g.t), SIGKILL));
    CHECK_EQ(stage_wait(&g)->o.kind, OUTCOME_LOST);
    CHECK(is_gone(g.main));
    CHECK_EQ(containers(), 1);
    stage_end(&g);
}

/* Said once it may be true for a moment only: a container with a policy to begin again. */
TEST(only_what_stays_over_counts_as_over)
{
    char run[PATH_MAX + 100];
    struct undo u = {0};

    snprintf(run, sizeof(run),
             "echo x >>%s/tries; echo why; [ $(wc -l <%s/tries) = 3 ] || echo over", test_dir(),
             test_dir());
    undo_set_command(&u, (const char *const[]){"/bin/sh", "-c", run, NULL}, NULL);
    while (!undo_poll(&u)) {
        u.next = 0; /* at once */
        clock_sleep_us(1000);
    }
    CHECK(u.unremovable);
    CHECK_STR(u.message, "why");
    CHECK_STR(read_text(path_of("tries")), "x\nx\nx\nx\nx\nx\nx\nx\n");
    undo_release(&u);
}
