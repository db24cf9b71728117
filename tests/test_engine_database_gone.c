/* test_engine_database_gone.c - engines whose SQLite file is moved away: a foreground engine ends
 * after a moment, a worker waits for the file. */
#include "engine_fixture.h"

#include "store/driver/url.h"

TEST_ONLY_DB(sqlite);

static const struct kit_function functions[] = {{"noop", kit_noop, NULL}, {NULL, NULL, NULL}};

static int step(struct worker_kit *k, struct err *err)
{
    *err = (struct err)ERR_INIT;
    return engine_step(k->engine, 1000, err);
}

static void move_file(struct store *s, bool away)
{
    const char *file = store_url(s)->file;
    char other[4200];

    snprintf(other, sizeof(other), "%s.away", file);
    CHECK_EQ(away ? rename(file, other) : rename(other, file), 0);
}

/* Steps without the file for longer than a foreground engine waits for it. */
static int step_without_file(struct worker_kit *k, struct err *err)
{
    CHECK_OK_ERR(step(k, err), err);
    clock_advance(10 * SECOND);
    return step(k, err);
}

TEST(foreground_engine_ends_if_its_database_file_does_not_return)
{
    struct worker_kit k = {.list = functions};
    struct store *s = fixture_store();
    struct err err;

    kit_open_with(&k, (struct engine_options){.foreground = true});
    CHECK_OK_ERR(step(&k, &err), &err);
    move_file(s, true);
    CHECK_OK_ERR(step(&k, &err), &err);
    move_file(s, false);
    CHECK_OK_ERR(step_without_file(&k, &err), &err); /* the file was back in time */
    move_file(s, true);
    CHECK_EQ(step_without_file(&k, &err), -E_UNAVAILABLE);
    CHECK(strstr(err.msg, "can't be found: No such file or directory; was it moved?"));
    move_file(s, false);
    engine_close(&k.engine);
    verify_clean(s);
    store_close(&s);
}

TEST(worker_waits_for_its_database_file_to_return)
{
    struct worker_kit k = {.list = functions};
    struct store *s = fixture_store();
    struct err err;
    int64_t id;

    kit_open(&k);
    CHECK_OK_ERR(step(&k, &err), &err);
    move_file(s, true);
    CHECK_OK_ERR(step_without_file(&k, &err), &err);
    move_file(s, false);
    id = kit_submit(s, "noop", NULL);
    kit_until_ended(&k, 1);
    CHECK_EQ(status_of(s, id), S_SUCCEEDED);
    engine_close(&k.engine);
    verify_clean(s);
    store_close(&s);
}
