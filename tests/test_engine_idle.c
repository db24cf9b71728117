/* test_engine_idle.c - a worker that has nothing to do or must stop: how few statements it runs,
 * what wakes it, and how it stops. Each test ends with verify. */
#include "engine_fixture.h"
#include "rerun_fixture.h"
#include "store/generation.h"

#include <strings.h>

TEST_POLL_TOO;
TEST_LOOPS_TOO;

static atomic_int running;

static const struct kit_function functions[] = {
    {"noop", kit_noop, NULL}, {"waits", kit_waits, &running}, {NULL, NULL, NULL}};

/* ---- idle ---- */

TEST(sleeping_worker_is_woken_by_a_submission)
{
    struct store *s = fixture_store();
    struct worker_kit k = {.list = functions};
    int i;

    kit_open(&k);
    KIT_UNTIL(&k, engine_is_drained(k.engine));
    for (i = 0; i < 3; i++) {
        kit_submit(s, "noop", NULL);
        kit_until_ended(&k, i + 1);
    }
    engine_close(&k.engine);
    verify_clean(s);
    store_close(&s);
}

static atomic_int nstatements, nticks, nconnections;

static void count_statement(void *arg, const char *what, int64_t took, long rows)
{
    (void)arg;
    (void)took;
    (void)rows;
    if (!strcmp(what, "lock") || !strcasecmp(what, "begin") || !strcasecmp(what, "commit"))
        return;
    atomic_fetch_add(&nstatements, 1);
    if (!strcmp(what, "worker_tick"))
        atomic_fetch_add(&nticks, 1);
    if (!strcmp(what, "schema_version")) /* the first statement of each connection */
        atomic_fetch_add(&nconnections, 1);
}

static void step_to_next_tick(struct worker_kit *k)
{
    int before = atomic_load(&nticks), i;

    clock_advance(LEASE / 2);
    KIT_UNTIL(k, atomic_load(&nticks) > before);
    for (i = 0; i < 5; i++)
        kit_step(k);
}

TEST(idle_worker_runs_one_statement_per_heartbeat)
{
    struct store *s = fixture_store();
    struct worker_kit k = {.list = functions};
    bool slow;
    int i;

    fixture_env()->trace = count_statement;
    kit_open(&k);
    step_to_next_tick(&k); /* includes the daily maintenance */
    step_to_next_tick(&k);
    do { /* if the machine stalled, other periodic reads became due: repeat */
        atomic_store(&nstatements, 0);
        atomic_store(&nticks, 0);
        for (i = 0, slow = false; i < 12; i++) {
            int64_t from = clock_boot_us();

            step_to_next_tick(&k);
            slow |= clock_boot_us() - from > 2 * SECOND;
        }
    } while (slow);
    CHECK_EQ(atomic_load(&nstatements), atomic_load(&nticks));
    CHECK(atomic_load(&nticks) >= 12);
    engine_close(&k.engine);
    fixture_env()->trace = NULL;
    verify_clean(s);
    store_close(&s);
}

TEST(heartbeat_connection_is_opened_by_the_first_heartbeat)
{
    struct store *s = fixture_store();
    struct worker_kit k = {.list = functions};
    int own = kit_loops() > 1 ? 1 + kit_loops() : 1; /* connections used for turns */

    fixture_env()->trace = count_statement;
    kit_open(&k);
    kit_step(&k);
    CHECK_EQ(atomic_load(&nconnections), own);
    step_to_next_tick(&k);
    step_to_next_tick(&k);
    CHECK_EQ(atomic_load(&nconnections), strcmp(test_db(), "postgres") ? own : own + 1);
    engine_close(&k.engine);
    fixture_env()->trace = NULL;
    verify_clean(s);
    store_close(&s);
}

TEST(job_whose_notification_was_lost_is_found_by_the_next_heartbeat)
{
    struct store *s = fixture_store();
    struct worker_kit k = {.list = functions};

    fixture_env()->trace = count_statement;
    submit_with(s, (struct submission){.name = "exec::test", .lane = "function:elsewhere"});
    kit_open(&k);
    step_to_next_tick(&k);
    step_to_next_tick(&k);
    CHECK_EQ(k.ended, 0);
    sql_run(s, "UPDATE executions SET lane = 'function:noop'");
    sql_run(s, "UPDATE task_outbox SET lane = 'function:noop'");
    step_to_next_tick(&k);
    kit_until_ended(&k, 1);
    engine_close(&k.engine);
    fixture_env()->trace = NULL;
    verify_clean(s);
    store_close(&s);
}

/* ---- a fence ---- */

static int fence_body(struct turn *t, void *arg, struct err *err)
{
    return op_fence(t, &(struct fence){.slice = 10}, arg, err);
}

static void fence(struct store *s)
{
    struct fence f;
    struct err err = ERR_INIT;

    CHECK_OK_ERR(store_turn(s, fence_body, &f, &err), &err);
}

static int step_until_error(struct worker_kit *k, struct err *err)
{
    int rc;

    while (!(rc = engine_step(k->engine, 20000, err)))
        ;
    return rc;
}

TEST(worker_of_an_old_generation_claims_nothing_and_ends)
{
    struct store *s = fixture_store();
    struct worker_kit k = {.list = functions};
    struct err err = ERR_INIT;
    int64_t id;

    kit_open(&k);
    kit_step(&k);
    fence(s);
    id = kit_submit(s, "noop", NULL);
    CHECK_EQ(step_until_error(&k, &err), -E_CONFLICT);
    CHECK(strstr(err.msg, "the database was fenced"));
    CHECK_EQ(status_of(s, id), S_READY);
    engine_close(&k.engine);
    verify_clean(s);
    store_close(&s);
}

TEST(worker_older_than_the_minimum_schema_version_ends_at_its_next_heartbeat)
{
    struct store *s = fixture_store();
    struct worker_kit k = {.list = functions};
    struct err err = ERR_INIT;

    kit_open(&k);
    kit_step(&k);
    sql_run(s, "UPDATE settings SET value = '99' WHERE name = 'minimum_schema'");
    clock_advance(LEASE / 2);
    CHECK_EQ(step_until_error(&k, &err), -E_SCHEMA);
    CHECK(strstr(err.msg, "restart it with the newer pawl"));
    engine_close(&k.engine);
    store_close(&s);
}

TEST(idle_worker_of_an_old_generation_ends_at_its_next_heartbeat)
{
    struct store *s = fixture_store();
    struct worker_kit k = {.list = functions};
    struct err err = ERR_INIT;

    kit_open(&k);
    kit_step(&k);
    fence(s);
    clock_advance(LEASE / 2);
    CHECK_EQ(step_until_error(&k, &err), -E_CONFLICT);
    engine_close(&k.engine);
    verify_clean(s);
    store_close(&s);
}

static int64_t submit_foreground(struct store *s)
{
    return submit_with(
        s, (struct submission){.name = "exec::test", .lane = "function:noop", .queue = "here:"});
}

/* The first tree has ended before the fence, the second waits until after it. */
TEST(worker_serves_only_the_foreground_trees_that_were_open_at_a_fence)
{
    struct store *s = fixture_store();
    struct worker_kit k = {.list = functions};
    int64_t ended = submit_foreground(s), held = submit_foreground(s), id;

    CHECK_OK(cancel(s, ended));
    CHECK_OK(hold(s, held));
    fence(s);
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM settings WHERE name LIKE 'fenced_tree:%'"), 1);
    CHECK(rerun(s, ended, RERUN_WHOLE, NULL) != NULL);
    id = submit_foreground(s); /* a run since the fence has its own process */
    kit_open(&k);
    clock_advance(LEASE / 2);
    KIT_UNTIL(&k, engine_is_drained(k.engine));
    CHECK_OK(unhold(s, held));
    kit_until_ended(&k, 1);
    CHECK_EQ(status_of(s, held), S_SUCCEEDED);
    clock_advance(LEASE / 2); /* the next heartbeat removes the tree from the list */
    KIT_UNTIL(&k, !sql_number(s, "SELECT count(*) FROM settings WHERE name LIKE 'fenced_tree:%'"));
    CHECK_EQ(status_of(s, ended), S_READY);
    CHECK_EQ(status_of(s, id), S_READY);
    engine_close(&k.engine);
    verify_clean(s);
    store_close(&s);
}

/* ---- stopping ---- */

static void count_refused(void *arg, const struct submission *sub)
{
    CHECK_EQ(sub->rc, -E_UNAVAILABLE);
    CHECK(strstr(sub->err.msg, "the engine was closed"));
    ++*(int *)arg;
}

TEST(submission_to_a_closed_engine_is_refused)
{
    struct store *s = fixture_store();
    struct worker_kit k = {.list = functions};
    int refused = 0;

    kit_open(&k);
    engine_submit(k.engine, &(struct submission){.kind = KIND_EXEC, .name = "exec::test"},
                  count_refused, &refused);
    engine_close(&k.engine);
    CHECK_EQ(refused, 1);
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM executions"), 0);
    verify_clean(s);
    store_close(&s);
}

TEST(stop_releases_jobs_that_have_not_started)
{
    struct store *s = fixture_store();
    struct worker_kit k = {.list = functions, .threads = 1, .patience = 3600 * SECOND};
    int64_t first, second;

    kit_open(&k);
    kit_warm_up(&k, s, "noop");
    first = kit_submit(s, "waits", NULL);
    second = kit_submit(s, "noop", NULL);
    KIT_UNTIL(&k, atomic_load(&running) && status_of(s, second) == S_RUNNING);
    engine_stop(k.engine, true);
    KIT_UNTIL(&k, engine_is_idle(k.engine));
    CHECK_EQ(status_of(s, second), S_READY);
    CHECK_EQ(get(s, second).attempts, 1);
    CHECK_EQ(get(s, second).max_attempts, 2); /* the job used up no attempt */
    CHECK_EQ(status_of(s, first), S_READY);   /* the stop cancelled the job, which will run again */
    CHECK_EQ(get(s, first).max_attempts, 2);
    engine_close(&k.engine);
    verify_clean(s);
    store_close(&s);
}
