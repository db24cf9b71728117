/* test_jobs.c - the contract of a job's life: submit, claim, start, settle, with a lease that may
 * be lost and attempts that may fail. Each test ends with verify. */
#include "fixture.h"

#include <string.h>

TEST(job_that_succeeds_has_five_events)
{
    struct store *s = fixture_store();
    int64_t id = submit(s, "exec::hello");
    struct held_job j = claim_job(s, 7);
    struct execution e;

    CHECK_EQ(j.id, id);
    CHECK_EQ(start(s, j), 0);
    CHECK_EQ(settle_ok(s, j), 0);
    e = get(s, id);
    CHECK_EQ(e.status, S_SUCCEEDED);
    CHECK_EQ(e.attempts, 1);
    CHECK_EQ(e.epoch, 1);
    CHECK(e.requested_at <= e.started_at && e.started_at <= e.finished_at);
    CHECK_STR(e.result, "{\"n\":1}");
    CHECK(!e.error);
    CHECK_STR(history(s, id), "created marked_ready claimed started completed");
    verify_clean(s);
    store_close(&s);
}

TEST(claim_without_a_matching_job_returns_no_job)
{
    struct store *s = fixture_store();
    struct held_job j;

    CHECK(!claim_one(s, 1, &j));
    submit_with(s, (struct submission){.name = "a", .queue = "other"});
    submit_with(s, (struct submission){.name = "b", .lane = "container"});
    CHECK(!claim_one(s, 1, &j));
    verify_clean(s);
    store_close(&s);
}

TEST(claims_are_ordered_by_priority_then_age)
{
    struct store *s = fixture_store();
    int64_t low = submit_with(s, (struct submission){.name = "low", .priority = -5});
    int64_t first = submit(s, "first"), second = submit(s, "second");
    int64_t urgent = submit_with(s, (struct submission){.name = "urgent", .priority = 9});
    struct held_job j[4];

    CHECK_EQ(claim_many(s, 1, 10, j), 4);
    CHECK_EQ(j[0].id, urgent);
    CHECK_EQ(j[1].id, first);
    CHECK_EQ(j[2].id, second);
    CHECK_EQ(j[3].id, low);
    verify_clean(s);
    store_close(&s);
}

TEST(claim_returns_at_most_the_requested_number)
{
    struct store *s = fixture_store();
    struct held_job j[10];
    int i;

    for (i = 0; i < 7; i++)
        submit(s, "x");
    CHECK_EQ(claim_many(s, 1, 3, j), 3);
    CHECK_EQ(claim_many(s, 2, 3, j), 3);
    CHECK_EQ(claim_many(s, 3, 3, j), 1);
    CHECK_EQ(claim_many(s, 3, 3, j), 0);
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM leases"), 7);
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM task_outbox"), 0);
    verify_clean(s);
    store_close(&s);
}

TEST(settle_after_a_lost_lease_changes_nothing)
{
    struct store *s = fixture_store();
    int64_t id = submit(s, "x");
    struct held_job old = claim_job(s, 1), new;

    clock_advance(LEASE + SECOND);
    CHECK_EQ(reap(s), 1);
    CHECK_EQ(settle_ok(s, old), -E_LEASE_LOST); /* an orphan has no worker */
    CHECK(adopt_one(s, 2, &new));
    CHECK_EQ(new.id, id);
    CHECK_EQ(new.epoch, 2);
    CHECK_EQ(new.attempt, 1);
    CHECK_EQ(settle_ok(s, old), -E_LEASE_LOST);
    CHECK_EQ(start(s, old), -E_LEASE_LOST);
    CHECK_EQ(heartbeat(s, old), -E_LEASE_LOST);
    CHECK_EQ(status_of(s, id), S_RUNNING);
    CHECK_EQ(settle_ok(s, new), 0);
    CHECK_STR(history(s, id), "created marked_ready claimed lease_expired adopted completed");
    verify_clean(s);
    store_close(&s);
}

TEST(settle_with_an_older_epoch_of_the_same_worker_is_refused)
{
    struct store *s = fixture_store();
    struct held_job old, new;

    submit_with(s, (struct submission){.name = "x", .max_attempts = 3});
    old = claim_job(s, 1);
    CHECK_EQ(settle_as(s, old, OUTCOME_FAILED, 0), 0);
    new = claim_job(s, 1); /* the same worker, the next attempt */
    CHECK_EQ(new.epoch, old.epoch + 1);
    CHECK_EQ(settle_ok(s, old), -E_LEASE_LOST);
    CHECK_EQ(status_of(s, new.id), S_RUNNING);
    CHECK_EQ(settle_ok(s, new), 0);
    verify_clean(s);
    store_close(&s);
}

TEST(attempt_cannot_be_settled_twice)
{
    struct store *s = fixture_store();
    int64_t id = submit(s, "x");
    struct held_job j = claim_job(s, 1);

    CHECK_EQ(settle_ok(s, j), 0);
    CHECK_EQ(settle_as(s, j, OUTCOME_FAILED, -1), -E_LEASE_LOST);
    CHECK_EQ(status_of(s, id), S_SUCCEEDED);
    verify_clean(s);
    store_close(&s);
}

TEST(failed_attempt_is_retried_after_its_delay_and_the_last_error_is_kept)
{
    struct store *s = fixture_store();
    int64_t id = submit_with(s, (struct submission){.name = "x", .max_attempts = 2});
    struct held_job j = claim_job(s, 1);

    CHECK_EQ(settle_as(s, j, OUTCOME_FAILED, 10 * SECOND), 0);
    CHECK_EQ(status_of(s, id), S_READY);
    CHECK_EQ(get(s, id).held, HELD_DELAY);
    CHECK(!claim_one(s, 1, &j));
    CHECK_EQ(run_timers(s), 0);
    verify_clean(s);
    clock_advance(11 * SECOND);
    CHECK_EQ(run_timers(s), 1);
    j = claim_job(s, 2);
    CHECK_EQ(j.attempt, 2);
    CHECK_EQ(settle_as(s, j, OUTCOME_TIMED_OUT, 10 * SECOND), 0); /* no attempt is left */
    CHECK_EQ(status_of(s, id), S_TIMED_OUT);
    CHECK_STR(get(s, id).error, "it said no");
    CHECK_STR(history(s, id),
              "created marked_ready claimed retry_scheduled held unheld claimed timed_out");
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM timers"), 0);
    verify_clean(s);
    store_close(&s);
}

TEST(job_whose_last_attempt_is_lost_is_abandoned)
{
    struct store *s = fixture_store();
    int64_t id = submit_with(s, (struct submission){.name = "x", .max_attempts = 2});

    CHECK_EQ(settle_as(s, claim_job(s, 1), OUTCOME_LOST, 0), 0);
    CHECK_EQ(status_of(s, id), S_READY);
    CHECK_EQ(settle_as(s, claim_job(s, 1), OUTCOME_LOST, 0), 0);
    CHECK_EQ(status_of(s, id), S_FAILED);
    CHECK_STR(history(s, id), "created marked_ready claimed retry_scheduled claimed abandoned");
    verify_clean(s);
    store_close(&s);
}

TEST(deferred_and_released_attempts_do_not_count_towards_max_attempts)
{
    struct store *s = fixture_store();
    int64_t id = submit(s, "x");
    struct held_job j = claim_job(s, 1);

    CHECK_EQ(settle_as(s, j, OUTCOME_DEFERRED, 60 * SECOND), 0);
    CHECK(!claim_one(s, 1, &j));
    clock_advance(61 * SECOND);
    run_timers(s);
    j = claim_job(s, 1);
    CHECK_EQ(j.attempt, 2);
    CHECK_EQ(settle_as(s, j, OUTCOME_REFUSED, 0), 0);
    j = claim_job(s, 1);
    CHECK_EQ(j.attempt, 3);
    CHECK_EQ(settle_ok(s, j), 0);
    CHECK_EQ(get(s, id).max_attempts, 3);
    CHECK_STR(
        history(s, id),
        "created marked_ready claimed deferred held unheld resumed released claimed completed");
    verify_clean(s);
    store_close(&s);
}

TEST(heartbeat_keeps_a_lease_and_the_reaper_clears_only_leases_that_were_not_renewed)
{
    struct store *s = fixture_store();
    struct held_job a, b;

    submit(s, "a");
    submit(s, "b");
    a = claim_job(s, 1);
    b = claim_job(s, 1);
    clock_advance(LEASE - SECOND);
    CHECK_EQ(heartbeat(s, a), 0);
    clock_advance(2 * SECOND);
    CHECK_EQ(reap(s), 1);
    CHECK_EQ(heartbeat(s, a), 0);
    CHECK_EQ(heartbeat(s, b),
             -E_LEASE_LOST); /* same worker: a heartbeat names leases, not the worker */
    verify_clean(s);
    store_close(&s);
}

static int whole_life_in_one_turn(struct turn *t, void *arg, struct err *err)
{
    static const struct lane_queue serves[] = {{"process", "default"}};
    struct submission sub = {.kind = KIND_EXEC, .task_index = -1, .name = "quick"};
    struct claim c = {
        .worker = 5, .folder = "f", .lease = LEASE, .serves = serves, .nserves = 1, .max = 1};
    struct settlement end = {.outcome = {.kind = OUTCOME_OK, .duration = 1, .retry_delay = -1}};
    struct start begin = {0};
    struct job_list jobs;
    int rc;

    if ((rc = op_submit(t, &sub, 1, err)) || (rc = op_claim(t, &c, &jobs, err)))
        return rc;
    CHECK_EQ(jobs.n, 1);
    begin.lease = end.lease = (struct lease_ref){
        .execution = jobs.at[0]->id, .root = jobs.at[0]->root, .epoch = jobs.at[0]->epoch};
    begin.ago = 1;
    if ((rc = op_record_starts(t, 5, &begin, 1, err)) || (rc = op_settle(t, 5, &end, 1, err)))
        return rc;
    CHECK_EQ(end.lease.rc, 0);
    *(int64_t *)arg = sub.id;
    return 0;
}

TEST(whole_life_of_a_job_fits_into_one_turn)
{
    struct store *s = fixture_store();
    struct err err = ERR_INIT;
    int64_t id = 0;

    CHECK_OK_ERR(store_turn(s, whole_life_in_one_turn, &id, &err), &err);
    CHECK_STR(history(s, id), "created marked_ready claimed started completed");
    verify_clean(s);
    store_close(&s);
}

static int settle_with_invalid_result(struct turn *t, void *arg, struct err *err)
{
    struct held_job *j = arg;
    struct settlement end = {
        .lease = {.execution = j->id, .root = j->root, .epoch = j->epoch},
        .outcome = {.kind = OUTCOME_OK, .result = "{oops", .duration = 1, .retry_delay = -1}};
    int rc = op_settle(t, j->worker, &end, 1, err);

    CHECK_EQ(end.status, S_FAILED);
    return rc;
}

TEST(result_that_cannot_be_stored_fails_the_job_with_the_reason)
{
    struct store *s = fixture_store();
    int64_t id = submit(s, "x");
    struct held_job j = claim_job(s, 1);
    struct err err = ERR_INIT;

    CHECK_OK_ERR(store_turn(s, settle_with_invalid_result, &j, &err), &err);
    CHECK(strstr(get(s, id).error, "not valid JSON"));
    verify_clean(s);
    store_close(&s);
}

/* A task can restore the evidence that it never started, and can't remove the event. */
TEST(attempt_whose_start_was_reported_is_lost_although_its_worker_reports_it_as_unstarted)
{
    struct store *s = fixture_store();
    int64_t id = submit_with(s, (struct submission){.name = "x", .max_attempts = 1});
    struct held_job j = claim_job(s, 1);

    CHECK_OK(settle_unstarted(s, j));
    CHECK_EQ(get(s, id).attempts + 1, get(s, id).max_attempts);
    clock_advance(10 * SECOND);
    run_all_timers(s);
    j = claim_job(s, 1);
    CHECK_OK(start(s, j));
    CHECK_OK(settle_unstarted(s, j));
    CHECK_EQ(status_of(s, id), S_FAILED);
    CHECK_STR(
        get(s, id).error,
        "the start of the attempt was reported, but no trace of it was found, so its exit status is unknown");
    verify_clean(s);
    store_close(&s);
}
