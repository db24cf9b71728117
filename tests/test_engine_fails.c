/* test_engine_fails.c - turns that can't be written: the culprit is found, and it alone pays. Each
 * test ends with verify. */
#include "engine/internal.h"
#include "engine_fixture.h"
#include "refusal_fixture.h"

TEST_POLL_TOO;
TEST_LOOPS_TOO;

static int noop(struct function_call *c, void *arg)
{
    (void)arg;
    return c->ops->set_output(c, "n", "1");
}

static const struct kit_function functions[] = {{"noop", noop, NULL}, {NULL, NULL, NULL}};

static void refuse_success(struct store *s)
{
    refuse_write(s, "UPDATE ON executions", "NEW.status = 4");
}

static void allow_success(struct store *s)
{
    allow_write(s, "executions");
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

/* Another transaction has all trees for the length of the nth turn. */
static struct {
    struct db *db;
    int nth, turns;
} lock;

static void lock_for_one_turn(void *arg, const char *where)
{
    struct err err = ERR_INIT;

    (void)arg;
    if (strcmp(where, "engine:turn"))
        return;
    if (++lock.turns == lock.nth) {
        CHECK_OK_ERR(db_begin(lock.db, TX_WRITE, &err), &err);
        CHECK_OK_ERR(lock.db->driver->script(lock.db, "SELECT 1 FROM executions FOR UPDATE", &err),
                     &err);
    } else if (lock.db->in_tx) {
        db_rollback(lock.db);
    }
}

TEST(a_submission_is_not_refused_for_an_outcome_whose_tree_is_locked)
{
    struct submission sub = {
        .kind = KIND_EXEC, .name = "exec::innocent", .lane = "process", .task_index = -1};
    struct store *s, *other;

    if (strcmp(test_db(), "postgres") != 0)
        SKIP("for PostgreSQL only: SQLite has no locks of rows");
    s = fixture_store();
    other = fixture_store();
    lock.db = store_db(other);
    for (lock.nth = 1; lock.nth <= 13;
         lock.nth++) { /* all turns that it takes to find the culprit */
        struct worker_kit k = {.list = functions};
        int64_t id, innocent = 0;

        kit_open(&k);
        id = run_unsettled(s, &k);
        refuse_success(s);
        engine_submit(k.engine, &sub, keep, &innocent);
        lock.turns = 0;
        fixture_env()->point = lock_for_one_turn;
        kit_until_ended(&k, 1);
        KIT_UNTIL(&k, innocent);
        fixture_env()->point = NULL;
        db_rollback(lock.db);
        check_failed(s, id);
        CHECK_EQ(status_of(s, innocent), S_READY);
        allow_success(s);
        sql_run(s, "DROP FUNCTION refuse()");
        engine_close(&k.engine);
    }
    verify_clean(s);
    store_close(&other);
    store_close(&s);
}
