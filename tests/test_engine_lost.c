/* test_engine_lost.c - a worker finds that a lease was taken from it while nobody else has the job:
 * it takes it back, and what was done counts, with all that was said about it. Each test ends with
 * verify. */
#include "engine/internal.h"
#include "engine_fixture.h"

#include <stdatomic.h>

TEST_LOOPS_TOO;

static atomic_int begun, go, stopped;

static int says_and_adds(struct function_call *c, void *arg)
{
    (void)arg;
    atomic_fetch_add(&begun, 1);
    while (!atomic_load(&go) && !c->ops->cancelled(c))
        usleep(1000);
    if (c->ops->cancelled(c)) {
        atomic_fetch_add(&stopped, 1);
        return 1;
    }
    c->ops->log(c, "added one");
    return c->ops->set_output(c, "n", "2");
}

static struct worker_kit *late;
static int64_t late_id;

static const struct kit_function functions[] = {{"adds", says_and_adds, NULL}, {NULL, NULL, NULL}};

/* It runs, and the lease is cleared. */
static int64_t lose(struct store *s, struct worker_kit *k, bool started, int loops)
{
    int64_t id = submit_with(
        s, (struct submission){.name = "exec::test", .lane = "function:adds", .max_attempts = 2});

    kit_open_with(k, (struct engine_options){.loops = loops});
    KIT_UNTIL(k, atomic_load(&begun) && (!started || strstr(history(s, id), "started")));
    clock_advance(2 * LEASE);
    CHECK_EQ(reap(s), 1);
    return id;
}

static void is_done_once(struct store *s, struct worker_kit *k, int64_t id)
{
    kit_until_ended(k, 1);
    CHECK_EQ(status_of(s, id), S_SUCCEEDED);
    CHECK_STR(get(s, id).result, "{\"n\":2}");
    CHECK_EQ(get(s, id).attempts, 1);
    CHECK_EQ(atomic_load(&begun), 1);
    CHECK_EQ(sql_number(s, "SELECT sum(raw) FROM attempt_logs"), 10);
    engine_close(&k->engine);
    verify_clean(s);
    store_close(&s);
}

/* Once it knows that the lease is lost, before the turn that takes it back. */
static void end_it_now(void *arg, const char *where)
{
    struct engine *e = late->engine;
    const struct held *h;

    (void)arg;
    if (strcmp(where, "engine:turn") != 0 || !(h = held_get(e, late_id)) || !h->lost ||
        atomic_exchange(&go, 1))
        return;
    while (dispatch_in_flight(e->dispatch))
        dispatch_turn(e->dispatch);
}

static void end_between(int loops)
{
    struct store *s = fixture_store();
    struct worker_kit k = {.list = functions};

    late_id = lose(s, &k, true, loops);
    late = &k;
    fixture_env()->point = end_it_now;
    is_done_once(s, &k, late_id);
}

TEST(what_ends_after_its_lease_was_lost_and_before_it_is_taken_back_keeps_its_outcome)
{
    end_between(0);
}

TEST(what_ends_before_it_is_taken_back_is_settled_once_where_another_turn_settles)
{
    if (strcmp(test_db(), "postgres") != 0)
        SKIP("for PostgreSQL only");
    end_between(3);
}

static size_t starts_waiting(const struct engine *e)
{
    size_t i, n = 0;

    for (i = 0; i < e->nloops; i++)
        n += e->loops[i].starts.n;
    return n;
}

TEST(a_start_that_nobody_took_is_told_under_the_next_lease)
{
    struct store *s = fixture_store();
    struct worker_kit k = {.list = functions};
    int64_t id = lose(s, &k, false, 0);

    while (!starts_waiting(k.engine))
        dispatch_turn(k.engine->dispatch);
    KIT_UNTIL(&k, get(s, id).epoch == 2);
    atomic_store(&go, 1);
    kit_until_ended(&k, 1);
    CHECK_STR(history(s, id),
              "created marked_ready claimed lease_expired adopted started completed");
    is_done_once(s, &k, id);
}

TEST(a_worker_that_stops_tells_functions_whose_lease_was_lost_to_stop)
{
    struct store *s = fixture_store();
    struct worker_kit k = {.list = functions};
    int64_t id = lose(s, &k, true, 0);

    engine_stop(k.engine, false);
    KIT_UNTIL(&k, atomic_load(&stopped));
    KIT_UNTIL(&k, engine_is_idle(k.engine));
    CHECK_EQ(status_of(s, id), S_RUNNING); /* others find it */
    engine_close(&k.engine);
    verify_clean(s);
    store_close(&s);
}

/* Another has had it meanwhile, and it failed there: what we say of our attempt is refused in the
 * very turn in which we claim the next one. */
TEST(a_stale_outcome_is_refused_in_the_turn_that_claims_the_next_attempt)
{
    struct store *s = fixture_store();
    struct worker_kit k = {.list = functions};
    struct held_job taken;
    int64_t id;

    atomic_store(&go, 1);
    id = submit_with(
        s, (struct submission){.name = "exec::test", .lane = "function:adds", .max_attempts = 2});
    kit_open(&k);
    KIT_UNTIL(&k, dispatch_in_flight(engine_dispatch(k.engine)));
    while (dispatch_in_flight(engine_dispatch(k.engine)))
        dispatch_turn(engine_dispatch(k.engine));
    clock_advance(2 * LEASE);
    CHECK_EQ(reap(s), 1);
    /* as adopt_one wants it */
    sql_run(s, "UPDATE executions SET lane = 'process'");
    sql_run(s, "UPDATE leases SET folder = 'folder-a'");
    CHECK(adopt_one(s, 77, &taken));
    CHECK_EQ(taken.id, id);
    sql_run(s, "UPDATE executions SET lane = 'function:adds'");
    CHECK_OK(settle_as(s, taken, OUTCOME_FAILED, 0));
    CHECK_EQ(status_of(s, id), S_READY);
    KIT_UNTIL(&k, status_is_terminal(status_of(s, id)));
    CHECK_EQ(status_of(s, id), S_SUCCEEDED);
    CHECK_EQ(get(s, id).attempts, 2);
    KIT_UNTIL(&k, engine_is_idle(k.engine));
    CHECK_EQ(k.ended, 1);
    engine_close(&k.engine);
    verify_clean(s);
    store_close(&s);
}
