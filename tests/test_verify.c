/* test_verify.c - a verify that can't fail is worthless: a good database, with executions in every
 * state, is broken once and more for each invariant, and that one must be named, and besides it
 * only those that the table below says it implies. Each break is made in a transaction that is
 * rolled back. */
#include "damage.h"
#include "submission_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WORKER 7
#define ROOM   3

/* ---- a good database ---- */

static int hello_body(struct turn *t, void *arg, struct err *err)
{
    return op_worker_hello(t, arg, err);
}

static int flow_end_body(struct turn *t, void *arg, struct err *err)
{
    struct outcome ok = {.kind = OUTCOME_OK, .result = "{\"total\":3}", .duration = -1};

    return op_flow_end(t, *(int64_t *)arg, &ok, err);
}

static void hello(struct store *s)
{
    struct worker w = {
        .id = WORKER, .host = "host", .folder = "folder-a", .version = "1", .pid = 1, .room = ROOM};
    struct err err = ERR_INIT;

    CHECK_OK_ERR(store_turn(s, hello_body, &w, &err), &err);
}

static void flow_end(struct store *s, int64_t id)
{
    struct err err = ERR_INIT;

    CHECK_OK_ERR(store_turn(s, flow_end_body, &id, &err), &err);
}

/* Nothing else may be claimable when a job is run. */
static struct held_job run_job(struct store *s, struct submission sub)
{
    int64_t id = submit_with(s, sub);
    struct held_job j = claim_job(s, WORKER);

    CHECK_EQ(j.id, id);
    return j;
}

static struct held_job run_named(struct store *s, const char *name)
{
    return run_job(s, (struct submission){.name = name});
}

static void make_orphans(struct store *s)
{
    struct held_job j;

    run_named(s, "adopted");
    run_named(s, "orphan");
    clock_advance(LEASE + SECOND);
    CHECK_EQ(reap(s), 2);
    CHECK(adopt_one(s, WORKER + 1, &j));
}

static int log_body(struct turn *t, void *arg, struct err *err)
{
    return op_log(t, WORKER, arg, 1, err);
}

/* Two chunks: one that is packed, one that is too short for it. */
static void say(struct store *s, struct held_job j)
{
    struct log_chunk c = {.lease = {.execution = j.id, .root = j.root, .epoch = j.epoch},
                          .attempt = j.attempt};
    struct err err = ERR_INIT;
    char bytes[1000] = {0};

    c.bytes = bytes;
    c.len = sizeof(bytes);
    CHECK_OK_ERR(store_turn(s, log_body, &c, &err), &err);
    c.offset = (int64_t)c.len;
    c.len = 10;
    c.dropped = 5;
    CHECK_OK_ERR(store_turn(s, log_body, &c, &err), &err);
    CHECK_EQ(c.lease.rc, 0);
}

static void make_ended(struct store *s)
{
    struct held_job j = run_named(s, "done");

    CHECK_EQ(start(s, j), 0);
    CHECK_EQ(settle_ok(s, j), 0);
    j = run_named(s, "talker");
    say(s, j);
    CHECK_EQ(settle_ok(s, j), 0);
    j = run_job(s, (struct submission){.name = "failed", .max_attempts = 2});
    CHECK_EQ(start(s, j), 0);
    CHECK_EQ(settle_as(s, j, OUTCOME_FAILED, SECOND), 0);
    clock_advance(2 * SECOND);
    CHECK_EQ(run_timers(s), 1);
    CHECK_EQ(settle_as(s, claim_job(s, WORKER), OUTCOME_FAILED, -1), 0);
    CHECK_EQ(settle_as(s, run_named(s, "timed_out"), OUTCOME_TIMED_OUT, -1), 0);
    CHECK_EQ(settle_as(s, run_named(s, "lost"), OUTCOME_LOST, -1), 0);
    CHECK_EQ(cancel(s, submit(s, "cancelled")), 0);
    j = run_named(s, "stopped");
    CHECK_EQ(cancel(s, j.id), 0);
    CHECK_EQ(settle_as(s, j, OUTCOME_CANCELLED, -1), 0);
    j = run_named(s, "released");
    CHECK_EQ(settle_as(s, j, OUTCOME_REFUSED, 0), 0);
    CHECK_EQ(settle_ok(s, claim_job(s, WORKER)), 0);
    j = run_job(s, (struct submission){.name = "keyed", .key = "a key"});
    CHECK_EQ(settle_ok(s, j), 0);
}

static void make_trees(struct store *s)
{
    int64_t flow = submit_with(s, (struct submission){.kind = KIND_WORKFLOW, .name = "flow"});
    int64_t fan =
        submit_with(s, (struct submission){.kind = KIND_FOREACH, .name = "fan", .parent = flow});
    struct held_job j = run_job(
        s,
        (struct submission){
            .kind = KIND_TASK, .name = "item", .parent = fan, .task_name = "t", .task_index = 1});

    CHECK_EQ(settle_ok(s, j), 0);
    submit_with(s, (struct submission){.kind = KIND_WORKFLOW, .name = "nested", .parent = flow});
    flow_end(s, submit_with(s, (struct submission){.kind = KIND_WORKFLOW, .name = "flow done"}));
}

/* What waits or runs; from here on jobs are claimable, so nothing else is run. */
static void make_open(struct store *s)
{
    struct held_job j = run_named(s, "resumed");

    CHECK_EQ(settle_as(s, j, OUTCOME_DEFERRED, SECOND), 0);
    clock_advance(2 * SECOND);
    CHECK_EQ(run_timers(s), 1);
    CHECK_EQ(claim_job(s, WORKER).id, j.id);
    CHECK_EQ(settle_as(s, run_named(s, "deferred"), OUTCOME_DEFERRED, 1000 * SECOND), 0);
    run_job(s, (struct submission){.name = "holder", .concurrency = "k"});
    submit_with(s, (struct submission){.name = "waiter", .concurrency = "k", .priority = 3});
    submit_with(s, (struct submission){.name = "waiter 2", .concurrency = "k"});
    set_limit(s, "queue:slow", 1);
    submit_with(s, (struct submission){.name = "slow", .queue = "slow"});
    submit_with(s, (struct submission){.name = "slow 2", .queue = "slow"});
    submit_with(s, (struct submission){.name = "delayed", .delay = 1000 * SECOND});
    submit_with(s, (struct submission){.name = "paused", .paused = true});
    j = run_named(s, "running");
    CHECK_EQ(start(s, j), 0);
    submit_child(s, j.id, "child");
    submit_with(s, (struct submission){.name = "ready", .priority = 2});
}

/* A workflow that was fired twice, with one due time that waits, and a schedule that is paused. Its
 * tasks are nothing that a worker here would claim. */
static void make_schedules(struct store *s)
{
    struct application a = {
        .definition = "{\"name\":\"clock\",\"schedules\":[{\"cron\":\"* * * * *\",\"catchup\":"
                      "3600000000,\"overlap\":\"queue\"},{\"cron\":\"@daily\"}],"
                      "\"tasks\":[{\"name\":\"tick\",\"function\":\"f\"}]}"};
    struct schedule_round r = {.max = 10};
    struct err err = ERR_INIT;
    int i;

    CHECK_OK_ERR(store_turn(s, apply_body, &a, &err), &err);
    sql_run(s, "UPDATE schedules SET paused_at = done_at, next_at = NULL WHERE name = '2'");
    for (i = 0; i < 3; i++) {
        clock_advance(60 * SECOND);
        if (i == 1)
            CHECK_EQ(cancel(s, sql_number(s, "SELECT id FROM executions WHERE name = 'clock'")), 0);
        CHECK_OK_ERR(store_turn(s, look_body, &r, &err), &err);
    }
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM schedule_firings"), 2);
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM schedules WHERE waiting_at IS NOT NULL"), 1);
}

/* Three by SQL: one is taken, one was refused, one waits. */
static void make_submissions(struct store *s)
{
    apply(s, "name: by_sql\ntasks: {a: {function: f}}\n");
    sql_submit(s, (struct sql_call){.workflow = "by_sql"});
    take_submissions(s);
    sql_submit(s, (struct sql_call){.workflow = "by_sql"});
    sql_run(s, "UPDATE submissions SET definition = 'gone' WHERE execution IS NULL");
    take_submissions(s);
    sql_submit(s, (struct sql_call){.workflow = "by_sql"});
}

static struct store *good_database(void)
{
    struct store *s = fixture_store();

    hello(s);
    make_orphans(s);
    make_ended(s);
    make_trees(s);
    make_schedules(s);
    make_submissions(s);
    make_open(s);
    verify_clean(s);
    return s;
}

/* ---- breaking it ---- */

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
    BREAK("I28", NULL, "UPDATE executions SET failed_behind = 0" ROW("paused")),
    BREAK("I28", NULL, "UPDATE executions SET failed_behind = 128" ROW("ready")),
    BREAK("I28", NULL, "UPDATE executions SET failed_behind = 128" ROW("waiter")),
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
    BREAK("I38", NULL, "DELETE FROM workflow_names"),
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
    BREAK("I43", NULL, "DELETE FROM settings WHERE name = 'generation'"),
    BREAK("I43", NULL, "UPDATE settings SET value = '' WHERE name = 'database_id'"),
    BREAK("I43", NULL, "UPDATE settings SET value = '0' WHERE name = 'generation'"),
    BREAK("I43", NULL, "UPDATE settings SET value = '-1' WHERE name = 'generation'"),
    BREAK("I43", NULL, "UPDATE settings SET value = 'one' WHERE name = 'generation'"),
};
#define DAMAGES (sizeof(damages) / sizeof(*damages))

TEST_SLOW(each_invariant_is_named_when_it_is_broken, 240)
{
    struct store *s = good_database();

    check_damages(s, damages, DAMAGES);
    verify_clean(s);
    store_close(&s);
}

TEST(no_invariant_is_without_its_test)
{
    size_t i, k;

    for (i = 0; i < invariant_count; i++) {
        bool broken = invariants[i].code[0] == 'S' /* see below */
                      || strstr(FLOW_CODES, invariants[i].code);

        for (k = 0; k < DAMAGES; k++)
            broken |= !strcmp(damages[k].breaks, invariants[i].code);
        if (!broken)
            test_fail(__FILE__, __LINE__, "nothing breaks %s", invariants[i].code);
    }
}

TEST(a_permit_that_nobody_could_take_is_no_breach_while_a_timer_offers_it)
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

TEST(a_limit_may_be_exceeded_by_what_already_runs)
{
    struct store *s = good_database();

    set_limit(s, "key:k", 0);
    verify_clean(s);
    set_limit(s, "queue:slow", 0);
    verify_clean(s);
    set_limit(s, "queue:slow", 5);
    verify_clean(s);
    store_close(&s);
}

TEST(leases_that_ran_out_while_all_workers_were_away_are_no_breach)
{
    struct store *s = good_database();
    struct worker w = {.id = 99, .host = "h", .folder = "folder-a", .version = "1", .room = 1};
    struct err err = ERR_INIT;

    clock_advance(3600 * SECOND);
    verify_clean(s);
    CHECK_OK_ERR(store_turn(s, hello_body, &w, &err), &err);
    verify_clean(s);
    clock_advance(3 * LEASE);
    CHECK_OK_ERR(store_turn(s, hello_body, &w, &err), &err);
    CHECK(verify_count(s, NULL, 0) > 0); /* it had the time to reap */
    reap(s);
    verify_clean(s);
    store_close(&s);
}

/* ---- what is reported ---- */

struct heard {
    size_t n;
    int64_t execution;
    char detail[512];
};

static void hear(void *arg, const struct breach *b)
{
    struct heard *h = arg;

    h->n++;
    h->execution = b->execution;
    snprintf(h->detail, sizeof(h->detail), "%s", b->detail);
}

TEST(a_breach_says_what_is_and_what_should_be)
{
    struct store *s = good_database();
    struct heard h = {0};
    struct verify_options o = {.lease = LEASE, .report = hear, .arg = &h};
    struct verify_result r;
    struct err err = ERR_INIT;

    begin_damage(s, "UPDATE executions SET status = 6" ROW("failed"), NULL, NULL);
    CHECK_OK_ERR(store_verify(s, &o, &r, &err), &err);
    db_rollback(store_db(s));
    CHECK_EQ(h.n, 1);
    CHECK_EQ(r.breaches, 1);
    CHECK_EQ(h.execution, sql_number(s, "SELECT id FROM executions WHERE name = 'failed'"));
    CHECK_STR(h.detail, "it is timed_out, but its last event went to failed");
    CHECK_EQ(r.executions, sql_number(s, "SELECT count(*) FROM executions"));
    CHECK_EQ(r.events, sql_number(s, "SELECT count(*) FROM execution_events"));
    store_close(&s);
}

TEST(of_each_invariant_only_so_many_breaches_are_reported)
{
    struct store *s = good_database();
    struct heard h = {0};
    struct verify_options o = {.lease = LEASE, .max_per_check = 2, .report = hear, .arg = &h};
    struct verify_result r;
    struct err err = ERR_INIT;

    begin_damage(
        s,
        "UPDATE executions SET depth = 5; UPDATE execution_events SET type = 22 WHERE type "
        "IN (5, 6)",
        NULL, NULL);
    CHECK_OK_ERR(store_verify(s, &o, &r, &err), &err);
    db_rollback(store_db(s));
    CHECK_EQ(r.breaches, h.n);
    CHECK(h.n > 4 && h.n <= 2 * invariant_count);
    store_close(&s);
}

/* ---- checkpoints ---- */

static const char *file_path(void)
{
    static char path[300];

    snprintf(path, sizeof(path), "%s/checkpoint", test_dir());
    return path;
}

static void collect(void *arg, const struct breach *b)
{
    char *codes = arg;

    if (!strstr(codes, b->invariant))
        sprintf(codes + strlen(codes), "%s%s", codes[0] ? " " : "", b->invariant);
}

static int verify_with(struct store *s, const char *save, const char *since, char *codes,
                       struct err *err)
{
    struct verify_options o = {
        .lease = LEASE, .save = save, .since = since, .report = collect, .arg = codes};
    struct verify_result r;
    int rc;

    codes[0] = '\0';
    rc = store_verify(s, &o, &r, err);
    CHECK(rc || r.checks == invariant_count - (since ? 0 : 4));
    return rc;
}

static void save(struct store *s)
{
    struct err err = ERR_INIT;
    char codes[512];

    CHECK_OK_ERR(verify_with(s, file_path(), NULL, codes, &err), &err);
    CHECK_STR(codes, "");
}

static void check_since(struct store *s, const char *expected, const char *what)
{
    struct err err = ERR_INIT;
    char codes[512];

    CHECK_OK_ERR(verify_with(s, NULL, file_path(), codes, &err), &err);
    if (strcmp(codes, expected))
        test_fail(__FILE__, __LINE__, "%s\n    expected: %s\n    found:    %s", what, expected,
                  codes);
}

static const struct damage rewritten[] = {
    BREAK("S01", NULL, "UPDATE executions SET result = '{\"n\":2}'" ROW("done")),
    BREAK("S01", NULL, "UPDATE executions SET error = 'another'" ROW("failed")),
    BREAK("S01", NULL,
          "UPDATE executions SET finished_at = updated_at, max_attempts = 9" ROW("done")),
    BREAK("S01", "I06", "UPDATE executions SET status = 6" ROW("failed")),
    BREAK("S01", "I05 I07", ADD_EVENT("failed", 3, 5, 5)),
    BREAK("S02", "I15", "UPDATE executions SET attempts = 0" ROW("running")),
    BREAK("S02", "I23", "UPDATE executions SET epoch = 0" ROW("running")),
    BREAK("S02", "I01 I06", "UPDATE executions SET seq = seq - 1" ROW("ready")),
    BREAK("S03", NULL,
          "UPDATE execution_events SET data = '{\"ago_us\":6}'" OF("done") " AND type = 6"),
    BREAK("S03", NULL, "UPDATE execution_events SET worker = 1" OF("running") " AND type = 5"),
    BREAK("S03", "I01 I02", "DELETE FROM execution_events" OF("running") " AND seq = 2"),
    BREAK("S03", "S02",
          "DELETE FROM execution_events" LAST(
              "delayed") ";"
                         "UPDATE executions SET seq = 2, held = 2, failed_behind = 128" ROW(
                             "delayed") "; DELETE FROM timers" OF("delayed")),
    BREAK("S04", NULL,
          "DELETE FROM execution_events" OF("item") "; DELETE FROM executions" ROW("item")),
    BREAK(NULL, NULL,
          "DELETE FROM execution_events" OF("done") "; DELETE FROM executions" ROW("done")),
    BREAK(
        NULL, NULL,
        "DELETE FROM execution_events WHERE root = (SELECT root FROM executions WHERE name = 'flow done');"
        "DELETE FROM executions" ROW("flow done")),
};

TEST_SLOW(a_checkpoint_shows_what_was_rewritten, 120)
{
    struct store *s = good_database();
    char expected[512];
    size_t i;

    save(s);
    check_since(s, "", "nothing changed");
    for (i = 0; i < sizeof(rewritten) / sizeof(*rewritten); i++) {
        begin_damage(s, rewritten[i].sql, NULL, NULL);
        expected_codes(&rewritten[i], expected, sizeof(expected));
        check_since(s, expected, rewritten[i].sql);
        db_rollback(store_db(s));
    }
    store_close(&s);
}

TEST(what_happens_after_a_checkpoint_is_no_breach)
{
    struct store *s = good_database();
    struct held_job j;

    save(s);
    while (claim_one(s, WORKER + 1, &j))
        CHECK_EQ(settle_ok(s, j), 0);
    submit_child(s, sql_number(s, "SELECT id FROM executions WHERE name = 'flow'"), "late");
    submit(s, "later");
    check_since(s, "", "work went on");
    save(s);
    check_since(s, "", "a second checkpoint");
    store_close(&s);
}

TEST(a_checkpoint_of_more_than_one_page)
{
    struct store *s = fixture_store();
    int i;

    for (i = 0; i < 1100; i++)
        submit(s, "one of many");
    save(s);
    check_since(s, "", "nothing changed");
    begin_damage(s, "UPDATE execution_events SET data = '{}' WHERE execution > 1000", NULL, NULL);
    check_since(s, "S03", "events on the second page");
    db_rollback(store_db(s));
    begin_damage(s,
                 "DELETE FROM executions; DELETE FROM execution_events; DELETE FROM task_outbox; "
                 "DELETE FROM queue_counters",
                 NULL, NULL);
    check_since(s, "", "all trees are gone, whole");
    db_rollback(store_db(s));
    store_close(&s);
}

static void write_file(const char *text)
{
    FILE *f = fopen(file_path(), "we");

    CHECK(f && fputs(text, f) >= 0 && fclose(f) == 0);
}

static void check_refused(struct store *s, enum error_code code, const char *words)
{
    struct err err = ERR_INIT;
    char codes[512];

    CHECK_EQ(verify_with(s, NULL, file_path(), codes, &err), -(int)code);
    if (!strstr(err.msg, words))
        test_fail(__FILE__, __LINE__, "'%s' is not in: %s", words, err.msg);
}

TEST(a_file_that_is_no_checkpoint_is_refused_in_words)
{
    struct store *s = fixture_store();
    struct err err = ERR_INIT;
    char codes[512];

    submit(s, "a");
    check_refused(s, E_NOT_FOUND, "can't be read");
    write_file("");
    check_refused(s, E_INVALID, "is no checkpoint");
    write_file("%PDF-1.4\n");
    check_refused(s, E_INVALID, "is no checkpoint");
    write_file("pawl-checkpoint 9 x 1 2\n");
    check_refused(s, E_INVALID, "version 9");
    write_file("pawl-checkpoint 1 another 1 2\nend 0\n");
    check_refused(s, E_INVALID, "another database");
    CHECK_EQ(verify_with(s, "/nowhere/at/all", NULL, codes, &err), -E_INVALID);
    CHECK(strstr(err.msg, "can't be written"));
    store_close(&s);
}

TEST(a_checkpoint_that_is_not_whole_is_refused)
{
    struct store *s = good_database();
    char text[100000];
    size_t n;
    FILE *f;

    save(s);
    f = fopen(file_path(), "re");
    CHECK(f);
    n = fread(text, 1, sizeof(text) - 1, f);
    fclose(f);
    text[n - 3] = '\0'; /* in the middle of the last line */
    write_file(text);
    check_refused(s, E_INVALID, "not whole");
    strcpy(strrchr(text, '\n') + 1, "end 1\n");
    write_file(text);
    check_refused(s, E_INVALID, "damaged");
    strcpy(strrchr(text, '\n') - 5, "1 2 x 4 5\n");
    write_file(text);
    check_refused(s, E_INVALID, "damaged");
    store_close(&s);
}
