/* verify_fixture.h - a good database with executions in every state, for the tests of verify, which
 * corrupt it. The database with workflows is in test_verify_workflow.c. */
#ifndef TESTS_VERIFY_FIXTURE_H
#define TESTS_VERIFY_FIXTURE_H

#include "damage.h"
#include "sql_submission_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WORKER 7
#define ROOM   3

static inline int register_worker_body(struct turn *t, void *arg, struct err *err)
{
    return op_worker_register(t, arg, err);
}

static inline void register_worker(struct store *s)
{
    struct worker w = {.id = WORKER,
                       .host = "host",
                       .folder = "folder-a",
                       .version = "1",
                       .pid = 1,
                       .capacity = ROOM};
    struct err err = ERR_INIT;

    CHECK_OK_ERR(store_turn(s, register_worker_body, &w, &err), &err);
}

/* Nothing else may be claimable when a job is run. */
static inline struct held_job run_job(struct store *s, struct submission sub)
{
    int64_t id = submit_with(s, sub);
    struct held_job j = claim_job(s, WORKER);

    CHECK_EQ(j.id, id);
    return j;
}

static inline struct held_job run_named(struct store *s, const char *name)
{
    return run_job(s, (struct submission){.name = name});
}

static inline void make_orphans(struct store *s)
{
    struct held_job j;

    run_named(s, "adopted");
    run_named(s, "orphan");
    clock_advance(LEASE + SECOND);
    CHECK_EQ(reap(s), 2);
    CHECK(adopt_one(s, WORKER + 1, &j));
}

static inline int log_body(struct turn *t, void *arg, struct err *err)
{
    return op_store_logs(t, WORKER, arg, 1, err);
}

/* Stores two log chunks: one that is compressed, and one that is too short to be compressed. */
static inline void store_two_chunks(struct store *s, struct held_job j)
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

static inline void make_ended(struct store *s)
{
    struct held_job j = run_named(s, "done");

    CHECK_EQ(start(s, j), 0);
    CHECK_EQ(settle_ok(s, j), 0);
    j = run_named(s, "talker");
    store_two_chunks(s, j);
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

static inline void make_trees(struct store *s)
{
    int64_t workflow = submit_with(s, (struct submission){.kind = KIND_WORKFLOW, .name = "flow"});
    int64_t fan = submit_with(
        s, (struct submission){.kind = KIND_FOREACH, .name = "fan", .parent = workflow});
    struct workflow_end done = {.status = S_SUCCEEDED, .result = "{\"total\":3}"};
    struct err err = ERR_INIT;
    struct held_job j = run_job(
        s,
        (struct submission){
            .kind = KIND_TASK, .name = "item", .parent = fan, .task_name = "t", .task_index = 1});

    CHECK_EQ(settle_ok(s, j), 0);
    submit_with(s,
                (struct submission){.kind = KIND_WORKFLOW, .name = "nested", .parent = workflow});
    done.id = submit_with(s, (struct submission){.kind = KIND_WORKFLOW, .name = "flow done"});
    CHECK_OK_ERR(store_turn(s, workflow_end_body, &done, &err), &err);
}

/* Creates waiting and running jobs; from here on jobs are claimable, so nothing else is run. */
static inline void make_open(struct store *s)
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

/* A workflow that was fired twice, with one waiting due time, and a paused schedule. No worker in
 * these tests claims its tasks. */
static inline void make_schedules(struct store *s)
{
    struct apply_request a = {
        .definition = "{\"name\":\"clock\",\"schedules\":[{\"cron\":\"* * * * *\",\"catchup\":"
                      "3600000000,\"overlap\":\"queue\"},{\"cron\":\"@daily\"}],"
                      "\"tasks\":[{\"name\":\"tick\",\"function\":\"f\"}]}"};
    struct schedule_slice r = {.max = 10};
    struct err err = ERR_INIT;
    int i;

    CHECK_OK_ERR(store_turn(s, apply_body, &a, &err), &err);
    sql_run(s, "UPDATE schedules SET paused_at = done_at, next_at = NULL WHERE name = '2'");
    for (i = 0; i < 3; i++) {
        clock_advance(60 * SECOND);
        if (i == 1)
            CHECK_EQ(cancel(s, sql_number(s, "SELECT id FROM executions WHERE name = 'clock'")), 0);
        CHECK_OK_ERR(store_turn(s, fire_due_body, &r, &err), &err);
    }
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM schedule_firings"), 2);
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM schedules WHERE waiting_at IS NOT NULL"), 1);
}

/* Three SQL submissions: one taken, one refused, one waiting. */
static inline void make_submissions(struct store *s)
{
    apply(s, "name: by_sql\non: {workflow: early}\ntasks: {a: {function: f}}\n");
    sql_submit(s, (struct sql_call){.workflow = "by_sql"});
    take_submissions(s);
    sql_submit(s, (struct sql_call){.workflow = "by_sql"});
    sql_run(s, "UPDATE submissions SET definition = 'gone' WHERE execution IS NULL");
    take_submissions(s);
    sql_submit(s, (struct sql_call){.workflow = "by_sql"});
}

static inline struct store *good_database(void)
{
    struct store *s = fixture_store();

    register_worker(s);
    make_orphans(s);
    make_ended(s);
    make_trees(s);
    make_schedules(s);
    make_submissions(s);
    make_open(s);
    verify_clean(s);
    return s;
}

#endif
