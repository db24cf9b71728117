/* test_verify.c - proves that verify detects corruption: a good database with executions in every
 * state is corrupted at least once for each invariant, and verify must report that invariant and,
 * besides it, only those that the table below lists as implied. Each corruption is made in a
 * transaction that is rolled back. */
#include "verify_fixture.h"

TEST_LONG;
TEST_ASAN_DB(sqlite); /* the database finds the violations, not this program */

/* ---- corruptions ---- */

static const struct damage damages[] = {
    BREAK("I01", NULL, "UPDATE executions SET seq = seq + 1" ROW("done")),
    BREAK("I01", NULL, "DELETE FROM execution_events" OF("ready")),
    BREAK("I01", "I06", "UPDATE executions SET seq = seq - 1" ROW("ready")),
    BREAK("I02", NULL, "UPDATE execution_events SET seq = seq + 1" LAST("done")),
    BREAK("I02", "I01", "DELETE FROM execution_events" OF("failed") " AND seq = 4"),
    BREAK("I03", NULL,
          "DELETE FROM execution_events" OF(
              "ready") " AND seq = 1;"
                       "UPDATE execution_events SET seq = 1" OF(
                           "ready") ";"
                                    "UPDATE executions SET seq = 1" ROW("ready")),
    BREAK("I04", NULL,
          "UPDATE execution_events SET type = 3, from_status = 2, to_status = 2" OF(
              "done") " AND type = 6"),
    BREAK("I05", NULL, "UPDATE execution_events SET type = 4" OF("done") " AND type = 6"),
    BREAK("I05", NULL, "UPDATE execution_events SET type = 45" OF("done") " AND type = 6"),
    BREAK("I05", "I12", "UPDATE execution_events SET type = 6" OF("flow") " AND type = 38"),
    BREAK("I06", NULL, "UPDATE executions SET status = 6" ROW("failed")),
    BREAK("I07", "I05", ADD_EVENT("failed", 3, 5, 5)),
    BREAK("I08", "I04 I07", ADD_EVENT("cancelled", 17, 2, 7)),
    BREAK(
        "I09", NULL,
        "UPDATE execution_events SET created_at = (SELECT min(created_at) FROM execution_events)" LAST(
            "done")),
    BREAK("I10", NULL, "UPDATE execution_events SET data = NULL" LAST("failed")),
    BREAK("I10", NULL, "UPDATE execution_events SET data = '{\"outcome\":\"lost\"}'" LAST("lost")),
    BREAK("I10", NULL,
          "UPDATE execution_events SET data = '{\"outcome\":\"timed_out\",\"error\":\"\"}'" LAST(
              "timed_out")),
    BREAK("I10", NULL, "UPDATE execution_events SET data = '{}' WHERE type = 10"),
    BREAK("I11", NULL, "UPDATE executions SET finished_at = NULL" ROW("done")),
    BREAK("I11", NULL, "UPDATE executions SET finished_at = updated_at" ROW("running")),
    BREAK("I12", NULL, "UPDATE executions SET started_at = NULL" ROW("done")),
    BREAK("I12", NULL, "UPDATE executions SET started_at = requested_at" ROW("ready")),
    BREAK("I12", NULL, "UPDATE executions SET started_at = NULL" ROW("flow")),
    BREAK("I13", NULL,
          "UPDATE executions SET started_at = (SELECT min(requested_at) FROM executions)" ROW(
              "running")),
    BREAK("I13", NULL,
          "UPDATE executions SET finished_at = (SELECT min(requested_at) FROM executions)" ROW(
              "cancelled")),
    BREAK("I14", NULL, "UPDATE executions SET max_attempts = 0" ROW("done")),
    BREAK("I14", "I15 I16", "UPDATE executions SET attempts = -1" ROW("done")),
    BREAK("I15", NULL,
          "UPDATE executions SET attempts = attempts + 1, max_attempts = 9" ROW("running")),
    BREAK("I15", NULL, "UPDATE executions SET attempts = 1" ROW("flow")),
    BREAK("I16", NULL, "UPDATE execution_events SET attempt = 1" LAST("released")),
    BREAK("I16", NULL, "UPDATE executions SET result = '{}'" ROW("failed")),
    BREAK("I17", NULL, "UPDATE execution_events SET data = '{\"outcome\":\"lost\"}'" LAST("done")),
    BREAK("I17", NULL, "UPDATE execution_events SET data = NULL" LAST("item")),
    BREAK("I18", NULL, "DELETE FROM leases" OF("running")),
    BREAK("I18", NULL,
          "INSERT INTO leases (execution, worker, until, epoch) SELECT " ID(
              "flow") ", worker, until, 0 "
                      "FROM leases" OF("running")),
    BREAK("I18", "I20", "INSERT INTO leases (execution, epoch) VALUES (" ID("ready") ", 0)"),
    BREAK("I19", NULL, "UPDATE leases SET until = NULL" OF("running")),
    BREAK("I19", "I20", "UPDATE leases SET worker = NULL" OF("running")),
    BREAK("I20", NULL, "UPDATE leases SET worker = NULL, until = NULL" OF("running")),
    BREAK("I20", NULL,
          "UPDATE leases SET worker = 8, until = (SELECT max(until) FROM leases)" OF("orphan")),
    BREAK_EACH("I21", "UPDATE workers SET seen_at = seen_at + 3600000000",
               "UPDATE workers SET seen_at = seen_at + interval '1 hour'"),
    BREAK_EACH("I22", "UPDATE leases SET until = until + 3600000000" OF("running"),
               "UPDATE leases SET until = until + interval '1 hour'" OF("running")),
    BREAK("I23", NULL,
          "UPDATE executions SET epoch = 5" ROW("running") "; UPDATE leases SET epoch = 5" OF(
              "running")),
    BREAK("I23", NULL, "UPDATE leases SET epoch = epoch - 1" OF("adopted")),
    BREAK("I24", NULL, "UPDATE execution_events SET epoch = 5" OF("done") " AND type = 6"),
    BREAK("I24", NULL, "UPDATE execution_events SET epoch = 1" OF("adopted") " AND type = 12"),
    BREAK("I25", "I24", "UPDATE execution_events SET epoch = 0" LAST("done")),
    BREAK("I25", "I23", "UPDATE executions SET epoch = epoch + 1" ROW("done")),
    BREAK("I26", NULL, "UPDATE workers SET room = room - 1"),
    BREAK("I27", NULL, "DELETE FROM task_outbox" OF("ready")),
    BREAK("I27", NULL, "UPDATE task_outbox SET queue = 'other'" OF("ready")),
    BREAK("I27", NULL, "UPDATE task_outbox SET concurrency = 'k'" OF("ready")),
    BREAK("I27", NULL, "UPDATE task_outbox SET rank = 0" OF("ready")),
    BREAK("I27", NULL, "UPDATE task_outbox SET execution = " ID("paused") OF("ready")),
    BREAK("I27", NULL, "UPDATE task_outbox SET execution = " ID("done") OF("ready")),
    BREAK("I28", NULL, "DELETE FROM timers" OF("delayed")),
    BREAK("I28", NULL, "UPDATE timers SET kind = 2" OF("deferred")),
    BREAK("I28", NULL,
          "INSERT INTO timers SELECT due_at, " ID("ready") ", 1 FROM timers" OF("delayed")),
    BREAK("I28", NULL, "DELETE FROM limit_waits" OF("waiter")),
    BREAK("I28", NULL, "DELETE FROM limits WHERE key = 'queue:slow'"),
    BREAK("I28", NULL, "UPDATE executions SET held = 2" ROW("running")),
    BREAK("I28", NULL, "UPDATE executions SET held = 2" ROW("flow")),
    BREAK("I28", NULL, "UPDATE executions SET held = 9" ROW("paused")),
    BREAK("I28", NULL, "UPDATE executions SET flags = 0" ROW("paused")),
    BREAK("I28", NULL, "UPDATE executions SET flags = 128" ROW("ready")),
    BREAK("I28", NULL, "UPDATE executions SET flags = 128" ROW("waiter")),
    BREAK("I28", NULL, "UPDATE executions SET held_key = 'key:k'" ROW("ready")),
    BREAK("I28", "I29", "UPDATE executions SET held_key = NULL" ROW("waiter")),
    BREAK("I28", "I29", "DELETE FROM limits WHERE key = 'key:k'"),
    BREAK("I29", NULL, "UPDATE limits SET used = used + 1 WHERE key = 'key:k'"),
    BREAK("I29", NULL, "UPDATE limits SET used = used - 1, max = 0 WHERE key = 'queue:slow'"),
    BREAK("I29", NULL, "UPDATE limits SET max = 0 WHERE key = 'queue:slow'"),
    BREAK("I29", NULL, "UPDATE limits SET max = 9 WHERE key = 'key:k'"),
    BREAK("I29", "I27", "UPDATE executions SET concurrency = 'other'" ROW("ready")),
    BREAK("I29", "I28", "UPDATE limit_waits SET rank = 0" OF("waiter")),
    BREAK("I29", NULL,
          "INSERT INTO limit_waits (key, rank, execution) VALUES ('key:k', 0, " ID("ready") ")"),
    BREAK("I30", NULL, "UPDATE executions SET depth = depth + 1" ROW("item")),
    BREAK("I30", NULL, "UPDATE executions SET workflow = NULL" ROW("item")),
    BREAK("I30", NULL, "UPDATE executions SET workflow = " ID("fan") ROW("item")),
    BREAK("I30", NULL, "UPDATE executions SET parent = " NOBODY ROW("child")),
    BREAK("I30", NULL, "UPDATE executions SET depth = 1" ROW("done")),
    BREAK("I30", "I01 I41", "UPDATE executions SET root = " ID("fan") ROW("item")),
    BREAK("I31", "I30", "UPDATE executions SET parent = id" ROW("done")),
    BREAK("I31", "I30", "UPDATE executions SET parent = " ID("item") ROW("flow")),
    BREAK("I38", NULL, "UPDATE schedule_firings SET execution = " NOBODY),
    BREAK("I38", NULL, "UPDATE schedule_firings SET execution = " ID("done")),
    BREAK("I38", NULL, "UPDATE schedule_firings SET execution = " ID("nested")),
    BREAK("I38", NULL,
          "UPDATE schedule_firings SET execution = (SELECT max(execution) FROM schedule_firings)"),
    BREAK("I38", "I45", "DELETE FROM workflow_names"),
    BREAK("I38", NULL, "UPDATE schedules SET next_at = done_at"),
    BREAK("I38", NULL, "UPDATE schedules SET waiting_at = done_at"),
    BREAK("I38", NULL,
          "UPDATE schedules SET waiting_at = (SELECT max(due_at) FROM schedule_firings) "
          "WHERE name = '1'"),
    BREAK("I39", NULL, "UPDATE submissions SET execution = " NOBODY " WHERE execution IS NOT NULL"),
    BREAK("I39", NULL,
          "UPDATE submissions SET execution = " ID("done") ", key = 'k' "
                                                           "WHERE execution IS NOT NULL"),
    BREAK("I39", NULL,
          "UPDATE submissions SET execution = NULL, decided_at = NULL WHERE execution IS NOT NULL"),
    BREAK(
        "I39", NULL,
        "UPDATE submissions SET execution = (SELECT min(execution) FROM submissions), error = NULL "
        "WHERE error IS NOT NULL"),
    BREAK("I39", NULL, "UPDATE submissions SET error = NULL WHERE error IS NOT NULL"),
    BREAK("I39", NULL, "UPDATE submissions SET error = 'no' WHERE execution IS NOT NULL"),
    BREAK("I39", NULL, "UPDATE submissions SET decided_at = NULL"),
    BREAK("I40", NULL,
          "UPDATE queue_counters SET ready = ready + 1 WHERE writer = (SELECT min(writer) FROM "
          "queue_counters WHERE queue = 'default') AND queue = 'default'"),
    BREAK("I40", NULL, "DELETE FROM queue_counters WHERE queue = 'slow'"),
    BREAK("I40", NULL, "INSERT INTO queue_counters VALUES ('nobody', 1, 0, 0, 1)"),
    BREAK("I40", NULL, "UPDATE attempt_counters SET n = n + 1 WHERE type = 5"),
    BREAK("I40", NULL, "DELETE FROM attempt_counters"),
    BREAK("I41", NULL, "DELETE FROM executions" ROW("done")),
    BREAK("I41", NULL,
          "DELETE FROM executions" ROW("keyed") "; DELETE FROM execution_events" OF("keyed")),
    BREAK("I41", NULL,
          "INSERT INTO task_outbox SELECT lane, queue, rank, " NOBODY ", ready_at, NULL FROM "
          "task_outbox" OF("ready")),
    BREAK("I41", NULL,
          "INSERT INTO leases (execution, worker, until, epoch) SELECT " NOBODY
          ", 9, until, 1 FROM "
          "leases" OF("running")),
    BREAK("I41", NULL,
          "INSERT INTO timers SELECT due_at, " NOBODY ", kind FROM timers" OF("delayed")),
    BREAK("I41", NULL,
          "INSERT INTO limit_waits (key, rank, execution) VALUES ('key:k', 0, " NOBODY ")"),
    BREAK("I41", NULL, "INSERT INTO submit_keys SELECT 'other', " NOBODY ", body FROM submit_keys"),
    BREAK("I41", "I01", "UPDATE execution_events SET root = root + 1" LAST("done")),
    BREAK("I41", NULL, "UPDATE attempt_logs SET execution = " NOBODY),
    BREAK("I42", NULL, "UPDATE attempt_logs SET start = 999 WHERE start = 1000"),
    BREAK("I42", NULL, "UPDATE attempt_logs SET start = -1 WHERE start = 0"),
    BREAK("I42", NULL, "UPDATE attempt_logs SET dropped = 6 WHERE start = 0"),
    BREAK("I42", NULL, "UPDATE attempt_logs SET dropped = -1"),
    BREAK("I42", NULL, "UPDATE attempt_logs SET raw = 11 WHERE start = 1000"),
    BREAK("I42", NULL, "UPDATE attempt_logs SET raw = 5 WHERE start = 0"),
    BREAK("I42", NULL, "UPDATE attempt_logs SET raw = 65537 WHERE start = 0"),
    BREAK("I42", NULL, "UPDATE attempt_logs SET packed = 0 WHERE start = 0"),
    BREAK("I42", NULL, "UPDATE attempt_logs SET packed = 2 WHERE start = 0"),
    BREAK("I42", NULL, "UPDATE attempt_logs SET attempt = 2"),
    BREAK("I42", NULL, "UPDATE attempt_logs SET attempt = 0 WHERE start = 0"),
    BREAK("I42", NULL, "UPDATE attempt_logs SET epoch = 2"),
    BREAK("I42", NULL, "UPDATE attempt_logs SET execution = " ID("ready")),
    BREAK("I43", NULL, "DELETE FROM settings WHERE name = 'database_id'"),
    BREAK("I43", NULL, "DELETE FROM settings WHERE name = 'fence_generation'"),
    BREAK("I43", NULL, "UPDATE settings SET value = '' WHERE name = 'database_id'"),
    BREAK("I43", NULL, "UPDATE settings SET value = '0' WHERE name = 'fence_generation'"),
    BREAK("I43", NULL, "UPDATE settings SET value = '-1' WHERE name = 'fence_generation'"),
    BREAK("I43", NULL, "UPDATE settings SET value = 'one' WHERE name = 'fence_generation'"),
    BREAK("I43", NULL, "DELETE FROM settings WHERE name = 'minimum_schema'"),
    BREAK("I43", NULL, "DELETE FROM settings WHERE name = 'settings_version'"),
    BREAK("I44", NULL, "DELETE FROM workflow_applications"),
    BREAK("I44", "I45", "UPDATE workflow_names SET hash = 'other'"),
    BREAK("I44", NULL,
          "INSERT INTO workflow_applications SELECT 'gone', 1, applied_at, 1, 0, 'none', NULL, "
          "NULL FROM workflow_applications LIMIT 1"),
    BREAK("I45", NULL, "DELETE FROM workflow_triggers"),
    BREAK("I45", NULL, "INSERT INTO workflow_triggers VALUES ('nobody', 'w', 8)"),
    BREAK("I45", NULL, "INSERT INTO workflow_webhooks VALUES ('push', 'by_sql')"),
    BREAK("I45", NULL,
          "UPDATE submissions SET source = " ID("flow") ", source_seq = 1 WHERE error IS NOT NULL"),
};
#define DAMAGES (sizeof(damages) / sizeof(*damages))

TEST_SLOW(verify_reports_each_invariant_that_a_test_corruption_violates, 600)
{
    struct store *s = good_database();

    check_damages(s, damages, DAMAGES);
    verify_clean(s);
    store_close(&s);
}

TEST(every_invariant_is_violated_by_some_test_corruption)
{
    size_t i, k;

    for (i = 0; i < invariant_count; i++) {
        bool covered = invariants[i].code[0] == 'S' /* see test_verify_checkpoint.c */
                       || strstr(WORKFLOW_CODES, invariants[i].code);

        for (k = 0; k < DAMAGES; k++)
            covered |= !strcmp(damages[k].breaks, invariants[i].code);
        if (!covered)
            test_fail(__FILE__, __LINE__, "nothing breaks %s", invariants[i].code);
    }
}

TEST(unused_permit_is_not_a_violation_while_a_timer_will_offer_it)
{
    struct store *s = good_database();
    char found[512];

    begin_damage(
        s,
        "UPDATE limits SET max = 9 WHERE key = 'key:k';"
        "INSERT INTO timers SELECT due_at, " ID("waiter 2") ", 2 FROM timers" OF("delayed"),
        NULL, NULL);
    CHECK_EQ(verify_count(s, found, sizeof(found)), 0);
    db_rollback(store_db(s));
    store_close(&s);
}

TEST(limit_lowered_below_the_number_of_running_jobs_is_not_a_violation)
{
    struct store *s = good_database();

    set_limit(s, "queue:slow", 0);
    verify_clean(s);
    set_limit(s, "queue:slow", 5);
    verify_clean(s);
    store_close(&s);
}

TEST(leases_that_expired_while_no_worker_ran_are_not_violations)
{
    struct store *s = good_database();
    struct worker w = {.id = 99, .host = "h", .folder = "folder-a", .version = "1", .capacity = 1};
    struct err err = ERR_INIT;

    clock_advance(3600 * SECOND);
    verify_clean(s);
    CHECK_OK_ERR(store_turn(s, register_worker_body, &w, &err), &err);
    verify_clean(s);
    clock_advance(3 * LEASE);
    CHECK_OK_ERR(store_turn(s, register_worker_body, &w, &err), &err);
    CHECK(verify_count(s, NULL, 0) > 0); /* the worker had time to reap */
    reap(s);
    verify_clean(s);
    store_close(&s);
}

/* ---- reports ---- */

struct reported {
    size_t n;
    int64_t execution;
    char detail[512];
};

static void record_violation(void *arg, const struct violation *b)
{
    struct reported *h = arg;

    h->n++;
    h->execution = b->execution;
    snprintf(h->detail, sizeof(h->detail), "%s", b->detail);
}

TEST(violation_describes_the_actual_and_the_expected_state)
{
    struct store *s = good_database();
    struct reported h = {0};
    struct verify_options o = {.lease = LEASE, .report = record_violation, .arg = &h};
    struct verify_result r;
    struct err err = ERR_INIT;

    begin_damage(s, "UPDATE executions SET status = 6" ROW("failed"), NULL, NULL);
    CHECK_OK_ERR(store_verify(s, &o, &r, &err), &err);
    db_rollback(store_db(s));
    CHECK_EQ(h.n, 1);
    CHECK_EQ(r.violations, 1);
    CHECK_EQ(h.execution, sql_number(s, "SELECT id FROM executions WHERE name = 'failed'"));
    CHECK_STR(h.detail, "it is timed_out, but its last event set failed");
    CHECK_EQ(r.executions, sql_number(s, "SELECT count(*) FROM executions"));
    CHECK_EQ(r.events, sql_number(s, "SELECT count(*) FROM execution_events"));
    store_close(&s);
}

TEST(violations_of_one_invariant_are_reported_up_to_a_maximum)
{
    struct store *s = good_database();
    struct reported h = {0};
    struct verify_options o = {
        .lease = LEASE, .max_per_check = 2, .report = record_violation, .arg = &h};
    struct verify_result r;
    struct err err = ERR_INIT;

    begin_damage(
        s,
        "UPDATE executions SET depth = 5; UPDATE execution_events SET type = 22 WHERE type "
        "IN (5, 6)",
        NULL, NULL);
    CHECK_OK_ERR(store_verify(s, &o, &r, &err), &err);
    db_rollback(store_db(s));
    CHECK_EQ(r.violations, h.n);
    CHECK(h.n > 4 && h.n <= 2 * invariant_count);
    store_close(&s);
}
