/* test_engine_lost.c - a worker finds that a lease was taken from it. While nobody else has the job
 * it takes it back, and what was done counts, with all that was said about it; otherwise it lets go
 * of it, at whatever moment that is. Each test ends with verify. */
#include "engine/engine_internal.h"
#include "engine_fixture.h"
#include "store/turn.h"

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
    kit_lose_lease(s);
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
    const struct leased_job *h;

    (void)arg;
    if (strcmp(where, "engine:turn") != 0 || !(h = leased_job_get(e, late_id)) || !h->lost ||
        atomic_exchange(&go, 1))
        return;
    while (dispatch_in_flight(e->dispatch))
        dispatch_poll(e->dispatch);
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
        dispatch_poll(k.engine->dispatch);
    KIT_UNTIL(&k, strstr(history(s, id), "started"));
    atomic_store(&go, 1);
    kit_until_ended(&k, 1);
    CHECK_STR(history(s, id),
              "created marked_ready claimed lease_expired adopted started completed");
    is_done_once(s, &k, id);
}

/* Another had it in between, and told of its start. */
TEST(a_start_that_another_has_told_is_not_told_again)
{
    struct store *s = fixture_store();
    struct worker_kit k = {.list = functions};
    char folder[200];
    int64_t id;

    atomic_store(&go, 1);
    id = kit_submit(s, "adds", NULL);
    kit_open(&k);
    kit_lose_ended(&k, s);
    CHECK_OK(start(s, kit_take_over(s)));
    kit_lose_lease(s);
    snprintf(folder, sizeof(folder), "UPDATE leases SET folder = '%s'", k.engine->row.folder);
    sql_run(s, folder);
    kit_until_ended(&k, 1);
    CHECK_STR(history(s, id), "created marked_ready claimed lease_expired adopted started "
                              "lease_expired adopted completed");
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
    kit_lose_ended(&k, s);
    taken = kit_take_over(s);
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

/* Another has it when it ends here, after that was known and before this worker has let go. */
static void end_of_anothers(int loops)
{
    struct store *s = fixture_store();
    struct worker_kit k = {.list = functions};
    struct held_job taken;

    late_id = lose(s, &k, true, loops);
    taken = kit_take_over(s);
    late = &k;
    fixture_env()->point = end_it_now;
    KIT_UNTIL(&k, atomic_load(&go) && engine_is_idle(k.engine));
    CHECK_EQ(k.ended, 0);
    CHECK_OK(settle_ok(s, taken));
    CHECK_STR(get(s, late_id).result, "{\"n\":1}"); /* what that one says */
    engine_close(&k.engine);
    verify_clean(s);
    store_close(&s);
}

TEST(what_ends_when_another_has_it_is_forgotten)
{
    end_of_anothers(0);
}

TEST(what_ends_when_another_has_it_is_forgotten_where_another_turn_was_to_settle_it)
{
    if (strcmp(test_db(), "postgres") != 0)
        SKIP("for PostgreSQL only");
    end_of_anothers(3);
}

/* As after turns that failed: heartbeats come through before the next one is tried. A turn that is
 * under way on a loop's own thread clears retry_at when the engine answers it, so it is answered
 * first. */
static void keep_from_turns(struct engine *e, bool keep)
{
    size_t i;

    for (i = 0; i < e->nloops; i++)
        turn_finish(&e->loops[i]);
    for (i = 0; i < e->nloops; i++)
        e->loops[i].retry_at = keep ? INT64_MAX : 0;
}

TEST(a_worker_that_stops_forgets_what_ended_after_its_lease_was_lost)
{
    struct store *s = fixture_store();
    struct worker_kit k = {.list = functions};
    int64_t id = lose(s, &k, true, 0);

    keep_from_turns(k.engine, true);
    KIT_UNTIL(&k, leased_job_get(k.engine, id)->lost);
    atomic_store(&go, 1);
    KIT_UNTIL(&k, leased_job_get(k.engine, id)->ended);
    engine_stop(k.engine, false);
    CHECK(!leased_job_get(k.engine, id));
    CHECK_EQ(loop_count_commands(loop_of(k.engine, id)), 0);
    keep_from_turns(k.engine, false);
    KIT_UNTIL(&k, engine_is_idle(k.engine));
    CHECK_EQ(k.ended, 0);
    CHECK_EQ(status_of(s, id), S_RUNNING); /* others find it */
    engine_close(&k.engine);
    verify_clean(s);
    store_close(&s);
}

/* ---- another turn is at it ---- */

/* Somebody has the lock of the lease, a heartbeat on its way say, while the worker looks for it. */
static int lock_lease(struct turn *t, void *arg, struct err *err)
{
    struct worker_kit *k = arg;
    int rc = t->db->driver->script(t->db, "SELECT 1 FROM leases FOR UPDATE", err), i;

    for (i = 0; !rc && i < 10; i++)
        kit_step(k);
    CHECK(leased_job_get(k->engine, late_id));
    CHECK_EQ(k->engine->refused_outcomes, 0);
    return rc;
}

TEST(what_ended_is_kept_while_another_turn_has_the_lock_of_its_lease)
{
    struct store *s = fixture_store();
    struct worker_kit k = {.list = functions};
    struct store *other;
    struct err err = ERR_INIT;

    if (strcmp(test_db(), "postgres") != 0)
        SKIP("for PostgreSQL only: SQLite has no locks of rows");
    go = 1;
    late_id = submit_with(
        s, (struct submission){.name = "exec::test", .lane = "function:adds", .max_attempts = 2});
    kit_open_with(&k, (struct engine_options){0});
    kit_lose_ended(&k, s);
    other = fixture_store();
    CHECK_OK_ERR(store_turn(other, lock_lease, &k, &err), &err);
    store_close(&other);
    is_done_once(s, &k, late_id);
}
