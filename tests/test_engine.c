/* test_engine.c - the engine loop with functions: jobs run, are retried, deferred, cancelled and
 * adopted, with a clock that the test moves. Each test ends with verify. */
#include "engine_fixture.h"

TEST_POLL_TOO;
TEST_LOOPS_TOO;

static int adds_one(struct function_call *c, void *arg)
{
    char result[64];

    (void)arg;
    snprintf(result, sizeof(result), "%ld", strtol(c->input, NULL, 10) + 1);
    c->ops->log(c, "added one");
    return c->ops->set_output(c, "n", result);
}

static int fails(struct function_call *c, void *arg)
{
    (void)arg;
    c->ops->fail(c, "it is broken");
    return 3;
}

static int fails_once(struct function_call *c, void *arg)
{
    (void)arg;
    if (c->attempt > 1)
        return 0;
    c->ops->fail(c, "not yet");
    return 1;
}

static int defers_once(struct function_call *c, void *arg)
{
    (void)arg;
    if (c->attempt == 1)
        c->ops->defer(c, 60 * SECOND);
    return 0;
}

static atomic_int ran, running;

static const struct kit_function functions[] = {{"noop", kit_noop, &ran},
                                                {"adds_one", adds_one, NULL},
                                                {"fails", fails, NULL},
                                                {"fails_once", fails_once, NULL},
                                                {"defers_once", defers_once, NULL},
                                                {"waits", kit_waits, &running},
                                                {NULL, NULL, NULL}};

TEST(output_of_a_function_is_stored)
{
    struct store *s = fixture_store();
    struct worker_kit k = {.list = functions};
    int64_t id = kit_submit(s, "adds_one", "41");

    kit_run_to_success(&k, s, id, "{\"n\":42}");
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM attempt_logs"), 1);
    engine_close(&k.engine);
    verify_clean(s);
    store_close(&s);
}

TEST(error_of_a_failed_function_is_stored)
{
    struct store *s = fixture_store();
    struct worker_kit k = {.list = functions};
    int64_t id = kit_submit(s, "fails", NULL);
    struct execution e;

    kit_open(&k);
    kit_until_ended(&k, 1);
    e = get(s, id);
    CHECK_EQ(e.status, S_FAILED);
    CHECK_STR(e.error, "it is broken");
    engine_close(&k.engine);
    verify_clean(s);
    store_close(&s);
}

TEST(retry_runs_after_its_delay)
{
    struct store *s = fixture_store();
    struct worker_kit k = {.list = functions};
    int64_t id = submit_with(s, (struct submission){.name = "exec::test",
                                                    .lane = "function:fails_once",
                                                    .max_attempts = 3,
                                                    .spec = "{\"retry\":{\"delay\":60000000}}"});
    int i;

    kit_open(&k);
    kit_until_ended(&k, 1);
    for (i = 0; i < 10; i++)
        kit_step(&k);
    CHECK_EQ(status_of(s, id), S_READY);
    clock_advance(70 * SECOND);
    kit_until_ended(&k, 2);
    CHECK_EQ(status_of(s, id), S_SUCCEEDED);
    CHECK_STR(history(s, id),
              "created marked_ready claimed started retry_scheduled held unheld claimed started "
              "completed");
    engine_close(&k.engine);
    verify_clean(s);
    store_close(&s);
}

TEST(deferred_function_runs_again_after_its_delay)
{
    struct store *s = fixture_store();
    struct worker_kit k = {.list = functions};
    int64_t id = kit_submit(s, "defers_once", NULL);

    kit_open(&k);
    kit_until_ended(&k, 1);
    CHECK_EQ(status_of(s, id), S_READY);
    clock_advance(61 * SECOND);
    kit_until_ended(&k, 2);
    CHECK_EQ(status_of(s, id), S_SUCCEEDED);
    CHECK_STR(history(s, id), "created marked_ready claimed started deferred held unheld resumed "
                              "started completed");
    engine_close(&k.engine);
    verify_clean(s);
    store_close(&s);
}

TEST(cancel_reaches_a_running_function)
{
    struct store *s = fixture_store();
    struct worker_kit k = {.list = functions};
    int64_t id = kit_submit(s, "waits", NULL);

    kit_open(&k);
    KIT_UNTIL(&k, atomic_load(&running));
    kit_cancel(&k, s, id);
    kit_until_ended(&k, 1);
    CHECK_EQ(status_of(s, id), S_CANCELLED);
    engine_close(&k.engine);
    verify_clean(s);
    store_close(&s);
}

TEST(long_running_function_keeps_its_lease)
{
    struct store *s = fixture_store();
    struct worker_kit k = {.list = functions};
    int64_t id = kit_submit(s, "waits", NULL);
    int i;

    kit_open(&k);
    KIT_UNTIL(&k, atomic_load(&running));
    for (i = 0; i < 5; i++) { /* longer than two leases; each step waits for a renewal */
        int64_t until = get(s, id).until;

        clock_advance(LEASE / 2);
        KIT_UNTIL(&k, get(s, id).until > until);
    }
    reap(s);
    CHECK_EQ(get(s, id).worker, engine_worker(k.engine));
    kit_cancel(&k, s, id);
    kit_until_ended(&k, 1);
    engine_close(&k.engine);
    verify_clean(s);
    store_close(&s);
}

TEST(running_function_with_an_expired_lease_is_adopted_by_its_own_worker)
{
    struct store *s = fixture_store();
    struct worker_kit k = {.list = functions};
    int64_t id = kit_submit(s, "waits", NULL);

    kit_open(&k);
    KIT_UNTIL(&k, atomic_load(&running) && strstr(history(s, id), "started"));
    kit_lose_lease(s); /* as if the worker had been stopped for a long time */
    KIT_UNTIL(&k, get(s, id).epoch == 2);
    CHECK_EQ(get(s, id).worker, engine_worker(k.engine));
    kit_cancel(&k, s, id);
    kit_until_ended(&k, 1);
    CHECK_EQ(get(s, id).attempts, 1);
    CHECK_STR(history(s, id), "created marked_ready claimed started lease_expired adopted "
                              "cancel_requested cancelled");
    engine_close(&k.engine);
    verify_clean(s);
    store_close(&s);
}

/* The worker knows the outcome but has not settled it when the lease is cleared. */
TEST(function_that_ended_before_its_lease_was_cleared_keeps_its_outcome)
{
    struct store *s = fixture_store();
    struct worker_kit k = {.list = functions};
    int64_t id = kit_submit(s, "adds_one", "1");

    kit_open(&k);
    kit_lose_ended(&k, s);
    kit_until_ended(&k, 1);
    CHECK_EQ(status_of(s, id), S_SUCCEEDED);
    CHECK_STR(get(s, id).result, "{\"n\":2}");
    CHECK_STR(history(s, id),
              "created marked_ready claimed lease_expired adopted started completed");
    KIT_UNTIL(&k, engine_is_idle(k.engine));
    engine_close(&k.engine);
    verify_clean(s);
    store_close(&s);
}

TEST(outcome_is_dropped_if_another_worker_has_adopted_the_job)
{
    struct store *s = fixture_store();
    struct worker_kit k = {.list = functions};
    struct held_job adopted;

    kit_submit(s, "adds_one", "1");
    kit_open(&k);
    kit_lose_ended(&k, s);
    adopted = kit_adopt_elsewhere(s);
    KIT_UNTIL(&k, engine_is_idle(k.engine));
    CHECK_EQ(k.ended, 0);
    CHECK_EQ(dispatch_in_flight(engine_dispatch(k.engine)), 0);
    CHECK_OK(settle_ok(s, adopted));
    engine_close(&k.engine);
    verify_clean(s);
    store_close(&s);
}

/* ---- retention ---- */

#define DAY (86400 * SECOND)

TEST(logs_and_executions_are_removed_after_their_own_retention_times)
{
    struct store *s = fixture_store();
    struct worker_kit k = {.list = functions};
    struct engine_options o = {.retention = &(struct retention_policy){90, 7},
                               .host_grace = 400 * DAY};
    int64_t id = kit_submit(s, "adds_one", "1"), young;

    kit_open_with(&k, o);
    kit_until_ended(&k, 1);
    clock_advance(8 * DAY);
    young = kit_submit(s, "adds_one", "2");
    kit_until_ended(&k, 2);
    KIT_UNTIL(&k, sql_number(s, "SELECT count(*) FROM attempt_logs") == 1);
    CHECK_EQ(sql_number(s, "SELECT execution FROM attempt_logs"), young);
    CHECK_EQ(status_of(s, id), S_SUCCEEDED);
    clock_advance(83 * DAY);
    KIT_UNTIL(&k, sql_number(s, "SELECT count(*) FROM executions") == 1);
    KIT_UNTIL(&k, sql_number(s, "SELECT count(*) FROM attempt_logs") == 0);
    CHECK_EQ(status_of(s, young), S_SUCCEEDED);
    engine_close(&k.engine);
    verify_clean(s);
    store_close(&s);
}

TEST(leases_are_renewed_at_the_configured_interval)
{
    struct store *s = fixture_store();
    struct worker_kit k = {.list = functions};
    int64_t id = kit_submit(s, "waits", NULL), until;

    kit_open_with(&k, (struct engine_options){.heartbeat = LEASE / 30});
    KIT_UNTIL(&k, atomic_load(&running) && get(s, id).status == S_RUNNING);
    until = get(s, id).until;
    clock_advance(LEASE / 20);
    KIT_UNTIL(&k, get(s, id).until > until);
    kit_cancel(&k, s, id);
    kit_until_ended(&k, 1);
    engine_close(&k.engine);
    verify_clean(s);
    store_close(&s);
}

TEST(each_of_a_thousand_jobs_runs_once)
{
    struct store *s = fixture_store();
    struct worker_kit k = {.list = functions, .threads = 4};
    int i;

    atomic_store(&ran, 0);
    kit_open(&k);
    for (i = 0; i < 1000; i++) {
        struct submission sub = {
            .kind = KIND_EXEC, .name = "exec::test", .lane = "function:noop", .task_index = -1};

        engine_submit(k.engine, &sub, NULL, NULL);
    }
    kit_until_ended(&k, 1000);
    CHECK_EQ(atomic_load(&ran), 1000);
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM executions WHERE status = 4"), 1000);
    CHECK(engine_is_drained(k.engine));
    engine_close(&k.engine);
    verify_clean(s);
    store_close(&s);
}

static void keep_submission(void *arg, const struct submission *s)
{
    struct submission *to = arg;

    *to = *s;
}

TEST(invalid_submission_is_refused_and_valid_ones_in_the_same_turn_run)
{
    struct store *s = fixture_store();
    struct worker_kit k = {.list = functions};
    struct submission good = {.kind = KIND_EXEC,
                              .name = "exec::good",
                              .lane = "function:noop",
                              .task_index = -1},
                      bad = good, orphan = good, answers[3] = {0};

    bad.input = "{not json";
    orphan.parent = 123456;
    kit_open(&k);
    engine_submit(k.engine, &bad, keep_submission, &answers[0]);
    engine_submit(k.engine, &good, keep_submission, &answers[1]);
    engine_submit(k.engine, &orphan, keep_submission, &answers[2]);
    kit_until_ended(&k, 1);
    CHECK_EQ(answers[0].rc, -E_INVALID);
    CHECK_EQ(answers[1].rc, 0);
    CHECK_EQ(answers[2].rc, -E_NOT_FOUND);
    CHECK_EQ(status_of(s, answers[1].id), S_SUCCEEDED);
    engine_close(&k.engine);
    verify_clean(s);
    store_close(&s);
}

TEST(several_loops_on_a_single_writer_database_are_refused)
{
    struct engine_options o = {.url = fixture_url(),
                               .tenant = fixture_tenant(),
                               .env = fixture_env(),
                               .state = kit_state(),
                               .loops = 2};
    struct worker_kit k = {0};
    struct err err = ERR_INIT;
    int rc = engine_open(&o, kit_make, &k, &k.engine, &err);

    if (!strcmp(test_db(), "sqlite")) {
        CHECK_EQ(rc, -E_INVALID);
        CHECK(strstr(err.msg, "one writer at a time"));
        o.foreground = true; /* a foreground engine runs one tree, which belongs to one loop */
        rc = engine_open(&o, kit_make, &k, &k.engine, &err);
    }
    CHECK_OK_ERR(rc, &err);
    engine_close(&k.engine);
}
