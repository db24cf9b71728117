/* test_engine_lost.c - a worker finds that it has lost a lease. While no other worker has the job,
 * it adopts the job again, and the outcome counts together with all its reports; otherwise it drops
 * the job, whenever it notices the loss. Each test ends with verify. */
#include "engine/engine_internal.h"
#include "engine_fixture.h"
#include "store/turn.h"

#include <stdatomic.h>

TEST_LOOPS_TOO;

static atomic_int calls, go, stopped;

static int logs_and_adds(struct function_call *c, void *arg)
{
    (void)arg;
    atomic_fetch_add(&calls, 1);
    while (!atomic_load(&go) && !c->ops->cancelled(c))
        usleep(1000);
    if (c->ops->cancelled(c)) {
        atomic_fetch_add(&stopped, 1);
        return 1;
    }
    c->ops->log(c, "added one");
    return c->ops->set_output(c, "n", "2");
}

static struct worker_kit *watched_kit;
static int64_t watched_id;

static const struct kit_function functions[] = {{"adds", logs_and_adds, NULL}, {NULL, NULL, NULL}};

/* Starts a job and clears its lease while it runs. */
static int64_t run_and_lose_lease(struct store *s, struct worker_kit *k, bool started, int loops)
{
    int64_t id = submit_with(
        s, (struct submission){.name = "exec::test", .lane = "function:adds", .max_attempts = 2});

    kit_open_with(k, (struct engine_options){.loops = loops});
    KIT_UNTIL(k, atomic_load(&calls) && (!started || strstr(history(s, id), "started")));
    kit_lose_lease(s);
    return id;
}

static void check_done_once(struct store *s, struct worker_kit *k, int64_t id)
{
    kit_until_ended(k, 1);
    CHECK_EQ(status_of(s, id), S_SUCCEEDED);
    CHECK_STR(get(s, id).result, "{\"n\":2}");
    CHECK_EQ(get(s, id).attempts, 1);
    CHECK_EQ(atomic_load(&calls), 1);
    CHECK_EQ(sql_number(s, "SELECT sum(raw) FROM attempt_logs"), 10);
    engine_close(&k->engine);
    verify_clean(s);
    store_close(&s);
}

/* Ends the job once the engine knows of the lost lease, before the turn that adopts it again. */
static void end_job_after_loss(void *arg, const char *where)
{
    struct engine *e = watched_kit->engine;
    const struct leased_job *h;

    (void)arg;
    if (strcmp(where, "engine:turn") != 0 || !(h = leased_job_get(e, watched_id)) || !h->lost ||
        atomic_exchange(&go, 1))
        return;
    while (dispatch_in_flight(e->dispatch))
        dispatch_poll(e->dispatch);
}

static void check_end_before_readoption(int loops)
{
    struct store *s = fixture_store();
    struct worker_kit k = {.list = functions};

    watched_id = run_and_lose_lease(s, &k, true, loops);
    watched_kit = &k;
    fixture_env()->point = end_job_after_loss;
    check_done_once(s, &k, watched_id);
}

TEST(job_that_ends_between_the_loss_of_its_lease_and_its_adoption_keeps_its_outcome)
{
    check_end_before_readoption(0);
}

TEST(job_that_ends_before_its_adoption_is_settled_once_in_a_worker_with_several_loops)
{
    if (strcmp(test_db(), "postgres") != 0)
        SKIP("for PostgreSQL only");
    check_end_before_readoption(3);
}

static size_t starts_waiting(const struct engine *e)
{
    size_t i, n = 0;

    for (i = 0; i < e->nloops; i++)
        n += e->loops[i].starts.n;
    return n;
}

TEST(start_not_stored_before_the_loss_of_a_lease_is_stored_under_the_next_lease)
{
    struct store *s = fixture_store();
    struct worker_kit k = {.list = functions};
    int64_t id = run_and_lose_lease(s, &k, false, 0);

    while (!starts_waiting(k.engine))
        dispatch_poll(k.engine->dispatch);
    KIT_UNTIL(&k, strstr(history(s, id), "started"));
    atomic_store(&go, 1);
    kit_until_ended(&k, 1);
    CHECK_STR(history(s, id),
              "created marked_ready claimed lease_expired adopted started completed");
    check_done_once(s, &k, id);
}

/* Another worker had the job in between and stored its start. */
TEST(start_stored_by_another_worker_is_not_stored_again)
{
    struct store *s = fixture_store();
    struct worker_kit k = {.list = functions};
    char folder[200];
    int64_t id;

    atomic_store(&go, 1);
    id = kit_submit(s, "adds", NULL);
    kit_open(&k);
    kit_lose_ended(&k, s);
    CHECK_OK(start(s, kit_adopt_elsewhere(s)));
    kit_lose_lease(s);
    snprintf(folder, sizeof(folder), "UPDATE leases SET folder = '%s'", k.engine->row.folder);
    sql_run(s, folder);
    kit_until_ended(&k, 1);
    CHECK_STR(history(s, id), "created marked_ready claimed lease_expired adopted started "
                              "lease_expired adopted completed");
    check_done_once(s, &k, id);
}

TEST(stopping_worker_cancels_functions_whose_lease_was_lost)
{
    struct store *s = fixture_store();
    struct worker_kit k = {.list = functions};
    int64_t id = run_and_lose_lease(s, &k, true, 0);

    engine_stop(k.engine, false);
    KIT_UNTIL(&k, atomic_load(&stopped));
    KIT_UNTIL(&k, engine_is_idle(k.engine));
    CHECK_EQ(status_of(s, id), S_RUNNING); /* another worker will adopt it */
    engine_close(&k.engine);
    verify_clean(s);
    store_close(&s);
}

/* Another worker adopted the job meanwhile, and it failed there: the outcome of this worker's
 * attempt is refused in the same turn that claims the next one. */
TEST(stale_outcome_is_refused_in_the_turn_that_claims_the_next_attempt)
{
    struct store *s = fixture_store();
    struct worker_kit k = {.list = functions};
    struct held_job adopted;
    int64_t id;

    atomic_store(&go, 1);
    id = submit_with(
        s, (struct submission){.name = "exec::test", .lane = "function:adds", .max_attempts = 2});
    kit_open(&k);
    kit_lose_ended(&k, s);
    adopted = kit_adopt_elsewhere(s);
    CHECK_OK(settle_as(s, adopted, OUTCOME_FAILED, 0));
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

/* The job ends here while another worker has it: after the loss was noticed and before this worker
 * has let go of it. */
static void check_end_after_adoption(int loops)
{
    struct store *s = fixture_store();
    struct worker_kit k = {.list = functions};
    struct held_job adopted;

    watched_id = run_and_lose_lease(s, &k, true, loops);
    adopted = kit_adopt_elsewhere(s);
    watched_kit = &k;
    fixture_env()->point = end_job_after_loss;
    KIT_UNTIL(&k, atomic_load(&go) && engine_is_idle(k.engine));
    CHECK_EQ(k.ended, 0);
    CHECK_OK(settle_ok(s, adopted));
    CHECK_STR(get(s, watched_id).result, "{\"n\":1}"); /* the result of the other worker */
    engine_close(&k.engine);
    verify_clean(s);
    store_close(&s);
}

TEST(outcome_is_dropped_after_another_worker_adopted_the_attempt)
{
    check_end_after_adoption(0);
}

TEST(worker_with_several_loops_drops_an_outcome_after_another_worker_adopted_the_attempt)
{
    if (strcmp(test_db(), "postgres") != 0)
        SKIP("for PostgreSQL only");
    check_end_after_adoption(3);
}

/* Blocks or allows turns. As after a failed turn, heartbeats run before the next one is tried. A
 * turn in progress on a loop's own thread clears retry_at when the engine answers it, so it is
 * answered first. */
static void block_turns(struct engine *e, bool block)
{
    size_t i;

    for (i = 0; i < e->nloops; i++)
        turn_finish(&e->loops[i]);
    for (i = 0; i < e->nloops; i++)
        e->loops[i].retry_at = block ? INT64_MAX : 0;
}

TEST(stopping_worker_drops_outcomes_of_attempts_whose_lease_was_lost)
{
    struct store *s = fixture_store();
    struct worker_kit k = {.list = functions};
    int64_t id = run_and_lose_lease(s, &k, true, 0);

    block_turns(k.engine, true);
    KIT_UNTIL(&k, leased_job_get(k.engine, id)->lost);
    atomic_store(&go, 1);
    KIT_UNTIL(&k, leased_job_get(k.engine, id)->a.ended);
    engine_stop(k.engine, false);
    CHECK(!leased_job_get(k.engine, id));
    CHECK_EQ(loop_count_commands(loop_of(k.engine, id)), 0);
    block_turns(k.engine, false);
    KIT_UNTIL(&k, engine_is_idle(k.engine));
    CHECK_EQ(k.ended, 0);
    CHECK_EQ(status_of(s, id), S_RUNNING); /* another worker will adopt it */
    engine_close(&k.engine);
    verify_clean(s);
    store_close(&s);
}

/* ---- another turn locks the lease ---- */

/* Another transaction, such as a heartbeat in progress, holds the lock on the lease while the
 * worker tries to adopt the job. */
static int lock_lease(struct turn *t, void *arg, struct err *err)
{
    struct worker_kit *k = arg;
    int rc = t->db->driver->script(t->db, "SELECT 1 FROM leases FOR UPDATE", err), i;

    for (i = 0; !rc && i < 10; i++)
        kit_step(k);
    CHECK(leased_job_get(k->engine, watched_id));
    return rc;
}

TEST(outcome_is_kept_while_another_turn_has_locked_its_lease)
{
    struct store *s = fixture_store();
    struct worker_kit k = {.list = functions};
    struct store *other;
    struct err err = ERR_INIT;

    if (strcmp(test_db(), "postgres") != 0)
        SKIP("for PostgreSQL only: SQLite has no row locks");
    go = 1;
    watched_id = submit_with(
        s, (struct submission){.name = "exec::test", .lane = "function:adds", .max_attempts = 2});
    kit_open_with(&k, (struct engine_options){0});
    kit_lose_ended(&k, s);
    other = fixture_store();
    CHECK_OK_ERR(store_turn(other, lock_lease, &k, &err), &err);
    store_close(&other);
    check_done_once(s, &k, watched_id);
}
