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
