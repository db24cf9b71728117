/* test_jobs_control.c - delays, pauses and cancels of a job, and combinations of them. Each test
 * ends with verify. */
#include "fixture.h"

TEST(delayed_job_is_not_claimed_before_its_delay_has_passed)
{
    struct store *s = fixture_store();
    int64_t id = submit_with(s, (struct submission){.name = "x", .delay = 3600 * SECOND});
    struct held_job j;

    CHECK(!claim_one(s, 1, &j));
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM task_outbox"), 0);
    clock_advance(3601 * SECOND);
    CHECK_EQ(run_timers(s), 1);
    CHECK_EQ(claim_job(s, 1).id, id);
    verify_clean(s);
    store_close(&s);
}

TEST(held_job_waits_until_its_hold_is_removed)
{
    struct store *s = fixture_store();
    int64_t id = submit(s, "x");
    struct held_job j;

    CHECK_EQ(hold(s, id), 0);
    CHECK_EQ(hold(s, id), -E_INVALID);
    CHECK(!claim_one(s, 1, &j));
    verify_clean(s);
    CHECK_EQ(unhold(s, id), 0);
    j = claim_job(s, 1);
    CHECK_EQ(hold(s, id), -E_INVALID); /* a running job can't be held */
    CHECK_EQ(settle_ok(s, j), 0);
    CHECK_EQ(hold(s, 999999), -E_NOT_FOUND);
    verify_clean(s);
    store_close(&s);
}

TEST(pause_does_not_end_a_delay)
{
    struct store *s = fixture_store();
    int64_t id = submit_with(s, (struct submission){.name = "x", .delay = 100 * SECOND});
    struct held_job j;

    CHECK_EQ(hold(s, id), 0);
    verify_clean(s);
    CHECK_EQ(unhold(s, id), 0);
    CHECK_EQ(get(s, id).held, HELD_DELAY);
    CHECK(!claim_one(s, 1, &j));
    verify_clean(s);
    CHECK_EQ(hold(s, id), 0);
    clock_advance(101 * SECOND);
    CHECK_EQ(run_timers(s), 1); /* the delay is over, the pause is not */
    CHECK(!claim_one(s, 1, &j));
    verify_clean(s);
    CHECK_EQ(unhold(s, id), 0);
    CHECK_EQ(claim_job(s, 1).id, id);
    verify_clean(s);
    store_close(&s);
}

TEST(cancel_of_a_paused_job_leaves_no_timer)
{
    struct store *s = fixture_store();
    int64_t id =
        submit_with(s, (struct submission){.name = "x", .delay = 100 * SECOND, .paused = true});

    CHECK_EQ(get(s, id).held, HELD_PAUSED);
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM timers"), 1);
    CHECK_EQ(cancel(s, id), 0);
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM timers"), 0);
    verify_clean(s);
    store_close(&s);
}

TEST(cancel_ends_a_waiting_job_immediately_and_a_running_one_when_its_worker_settles_it)
{
    struct store *s = fixture_store();
    int64_t waiting = submit(s, "waiting"), running;
    struct held_job j;

    CHECK_EQ(cancel(s, waiting), 0);
    CHECK_EQ(status_of(s, waiting), S_CANCELLED);
    CHECK(!claim_one(s, 1, &j));
    running = submit(s, "running");
    j = claim_job(s, 1);
    CHECK_EQ(cancel(s, running), 0);
    CHECK_EQ(cancel(s, running), 0); /* two requests write one event */
    CHECK_EQ(status_of(s, running), S_RUNNING);
    CHECK_EQ(settle_as(s, j, OUTCOME_CANCELLED, 0), 0);
    CHECK_EQ(status_of(s, running), S_CANCELLED);
    CHECK_STR(history(s, running), "created marked_ready claimed cancel_requested cancelled");
    verify_clean(s);
    store_close(&s);
}

TEST(running_job_keeps_the_outcome_it_reports_after_a_cancel_request_and_is_not_retried)
{
    struct store *s = fixture_store();
    int64_t a = submit_with(s, (struct submission){.name = "a", .max_attempts = 5});
    int64_t b = submit_with(s, (struct submission){.name = "b", .max_attempts = 5});
    struct held_job ja = claim_job(s, 1), jb = claim_job(s, 1);

    CHECK_EQ(cancel(s, a), 0);
    CHECK_EQ(cancel(s, b), 0);
    CHECK_EQ(settle_ok(s, ja), 0);
    CHECK_EQ(settle_as(s, jb, OUTCOME_FAILED, 0), 0);
    CHECK_EQ(status_of(s, a), S_SUCCEEDED);
    CHECK_EQ(status_of(s, b), S_FAILED);
    verify_clean(s);
    store_close(&s);
}

TEST(cancelled_retry_does_not_run_again)
{
    struct store *s = fixture_store();
    int64_t id = submit_with(s, (struct submission){.name = "x", .max_attempts = 5});
    struct held_job j = claim_job(s, 1);

    CHECK_EQ(settle_as(s, j, OUTCOME_FAILED, 10 * SECOND), 0);
    CHECK_EQ(cancel(s, id), 0);
    clock_advance(20 * SECOND);
    CHECK_EQ(run_timers(s), 0);
    CHECK(!claim_one(s, 1, &j));
    CHECK_EQ(status_of(s, id), S_CANCELLED);
    verify_clean(s);
    store_close(&s);
}

TEST(cancel_reaches_the_whole_subtree)
{
    struct store *s = fixture_store();
    int64_t root = submit_with(s, (struct submission){.name = "flow", .kind = KIND_WORKFLOW});
    int64_t task = submit_child(s, root, "task"), child = submit_child(s, task, "child");
    int64_t other = submit(s, "other");
    struct execution e = get(s, child);

    CHECK_EQ(e.root, root);
    CHECK_EQ(e.parent, task);
    CHECK_EQ(e.workflow, root);
    CHECK_EQ(e.depth, 2);
    CHECK_EQ(cancel(s, root), 0);
    CHECK_EQ(status_of(s, task), S_CANCELLED);
    CHECK_EQ(status_of(s, child), S_CANCELLED);
    CHECK_EQ(status_of(s, root), S_RUNNING); /* requested; the engine ends it */
    CHECK(get(s, root).cancel_requested);
    CHECK_EQ(status_of(s, other), S_READY);
    verify_clean(s);
    store_close(&s);
}
