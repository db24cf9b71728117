/* test_engine_fails.c - turns that can't be written: the culprit is found, and it alone pays. Each
 * test ends with verify. */
#include "engine_fixture.h"

TEST_POLL_TOO;
TEST_LOOPS_TOO;

static int noop(struct function_call *c, void *arg)
{
    (void)arg;
    return c->ops->set_output(c, "n", "1");
}

static const struct kit_function functions[] = {{"noop", noop, NULL}, {NULL, NULL, NULL}};

/* From now on no execution can succeed. */
static void refuse_success(struct store *s)
{
    if (!strcmp(test_db(), "sqlite")) {
        sql_run(s, "CREATE TRIGGER refuse BEFORE UPDATE ON executions WHEN NEW.status = 4 "
                   "BEGIN SELECT RAISE(ABORT, 'not today'); END");
        return;
    }
    sql_run(s, "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS "
               "'BEGIN RAISE ''not today''; END'");
    sql_run(s, "CREATE TRIGGER refuse BEFORE UPDATE ON executions FOR EACH ROW "
               "WHEN (NEW.status = 4) EXECUTE FUNCTION refuse()");
}

static void allow_success(struct store *s)
{
    sql_run(s, strcmp(test_db(), "sqlite") ? "DROP TRIGGER refuse ON executions"
                                           : "DROP TRIGGER refuse");
}

/* Its function has returned, and the engine knows; it was not settled. */
static int64_t run_unsettled(struct store *s, struct worker_kit *k)
{
    int64_t id = kit_submit(s, "noop", NULL);

    KIT_UNTIL(k, dispatch_in_flight(engine_dispatch(k->engine)));
    while (dispatch_in_flight(engine_dispatch(k->engine)))
        dispatch_turn(engine_dispatch(k->engine));
    return id;
}

static void check_failed(struct store *s, int64_t id)
{
    CHECK_EQ(status_of(s, id), S_FAILED);
    CHECK(strstr(get(s, id).error, "the outcome can't be stored: "));
    CHECK(strstr(get(s, id).error, "not today"));
}

TEST(an_outcome_that_can_not_be_stored_is_a_failure_that_says_why)
{
    struct store *s = fixture_store();
    struct worker_kit k = {.list = functions};
    int64_t id, next;

    kit_open(&k);
    id = run_unsettled(s, &k);
    refuse_success(s);
    kit_until_ended(&k, 1);
    check_failed(s, id);
    allow_success(s);
    next = kit_submit(s, "noop", NULL);
    kit_until_ended(&k, 2);
    CHECK_EQ(status_of(s, next), S_SUCCEEDED);
    engine_close(&k.engine);
    verify_clean(s);
    store_close(&s);
}

static void keep(void *arg, const struct submission *s)
{
    CHECK_OK_ERR(s->rc, &s->err);
    *(int64_t *)arg = s->id;
}

TEST(a_submission_is_not_refused_for_an_outcome_that_can_not_be_stored)
{
    struct submission sub = {
        .kind = KIND_EXEC, .name = "exec::innocent", .lane = "process", .task_index = -1};
    struct store *s = fixture_store();
    struct worker_kit k = {.list = functions};
    int64_t id, other = 0;

    kit_open(&k);
    id = run_unsettled(s, &k);
    refuse_success(s);
    engine_submit(k.engine, &sub, keep, &other);
    kit_until_ended(&k, 1);
    KIT_UNTIL(&k, other);
    check_failed(s, id);
    CHECK_EQ(status_of(s, other), S_READY);
    allow_success(s);
    engine_close(&k.engine);
    verify_clean(s);
    store_close(&s);
}
