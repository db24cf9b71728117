/* test_engine_process.c - the loop with commands under a shim: they run, outlive their worker, and
 * are taken over. Each test ends with verify. */
#include "engine_fixture.h"

#include <signal.h>

static const char *text_of(const char *path)
{
    static char text[4096];
    FILE *f = fopen(path, "r");
    size_t n = f ? fread(text, 1, sizeof(text) - 1, f) : 0;

    text[n] = 0;
    if (f)
        fclose(f);
    return text;
}

static const char *in_dir(const char *name)
{
    static char path[4][4096];
    static int at;

    at = (at + 1) % 4;
    snprintf(path[at], sizeof(path[at]), "%s/%s", test_dir(), name);
    return path[at];
}

TEST(a_command_runs_and_its_outputs_are_kept)
{
    struct store *s = fixture_store();
    struct worker_kit k = {.commands = true};
    int64_t id = kit_command(s, "echo hello; echo n=7 >> $PAWL_OUTPUT");
    struct execution e;

    kit_open(&k);
    kit_until_ended(&k, 1);
    e = get(s, id);
    CHECK_EQ(e.status, S_SUCCEEDED);
    CHECK_STR(e.result, "{\"n\":\"7\"}");
    CHECK_STR(history(s, id), "created marked_ready claimed started completed");
    CHECK_EQ(sql_number(s, "SELECT raw FROM attempt_logs"), 6);
    engine_close(&k.engine);
    verify_clean(s);
    store_close(&s);
}

TEST(a_command_that_fails_says_how)
{
    struct store *s = fixture_store();
    struct worker_kit k = {.commands = true};
    int64_t id = kit_command(s, "exit 3");

    kit_open(&k);
    kit_until_ended(&k, 1);
    CHECK_EQ(status_of(s, id), S_FAILED);
    CHECK(strstr(get(s, id).error, "3"));
    engine_close(&k.engine);
    verify_clean(s);
    store_close(&s);
}

TEST(commands_go_on_without_their_worker_and_the_next_one_takes_them_over)
{
    struct store *s = fixture_store();
    struct worker_kit first = {.commands = true}, second = {.commands = true};
    char text[1000];
    int64_t id;

    snprintf(text, sizeof(text), "echo begun >> %s; while [ ! -e %s ]; do sleep 0.02; done; exit 0",
             in_dir("ledger"), in_dir("go"));
    id = kit_command(s, text);
    kit_open(&first);
    KIT_UNTIL(&first, strstr(history(s, id), "started"));
    engine_stop(first.engine, false);
    KIT_UNTIL(&first, engine_is_idle(first.engine));
    engine_close(&first.engine);
    CHECK_EQ(status_of(s, id), S_RUNNING);
    kit_open(&second);
    KIT_UNTIL(&second, get(s, id).epoch == 2);
    CHECK_EQ(get(s, id).worker, engine_worker(second.engine));
    fclose(fopen(in_dir("go"), "w"));
    kit_until_ended(&second, 1);
    CHECK_EQ(status_of(s, id), S_SUCCEEDED);
    CHECK_STR(text_of(in_dir("ledger")), "begun\n");
    CHECK_STR(history(s, id),
              "created marked_ready claimed started lease_expired adopted completed");
    engine_close(&second.engine);
    verify_clean(s);
    store_close(&s);
}

TEST(a_cancel_ends_the_command)
{
    struct store *s = fixture_store();
    struct worker_kit k = {.commands = true};
    int64_t id = kit_command(s, "sleep 100");

    kit_open(&k);
    KIT_UNTIL(&k, strstr(history(s, id), "started"));
    CHECK_OK(cancel(s, id));
    kit_until_ended(&k, 1);
    CHECK_EQ(status_of(s, id), S_CANCELLED);
    engine_close(&k.engine);
    verify_clean(s);
    store_close(&s);
}
