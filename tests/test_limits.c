/* test_limits.c - the contract of limits: how many jobs of a queue or of a concurrency key may be
 * claimable or running at once, which job comes next, and that no permit is ever lost. Each test
 * ends with verify, which counts the permits itself (I29). This file tests one limit and the permit
 * that passes from one job to the next. */
#include "limit_fixture.h"

#include <string.h>

TEST_LONG;

/* ---- jobs beyond the limit wait ---- */

TEST(jobs_beyond_the_queue_limit_are_held)
{
    struct store *s = fixture_store();
    int64_t id[4];
    struct held_job j[4];
    int i;

    set_limit(s, QUEUE, 2);
    for (i = 0; i < 4; i++)
        id[i] = submit(s, "x");
    CHECK_EQ(claimable(s), 2);
    check_claimable(s, id[0]);
    check_claimable(s, id[1]);
    check_waits(s, id[2], QUEUE);
    check_waits(s, id[3], QUEUE);
    CHECK_STR(history(s, id[2]), "created marked_ready held");
    CHECK_EQ(used(s, QUEUE), 2); /* a waiting job has no permit */
    CHECK_EQ(claim_many(s, 1, 4, j), 2);
    CHECK_EQ(used(s, QUEUE), 2); /* a claim takes no second permit */
    verify_clean(s);
    store_close(&s);
}

TEST(jobs_of_a_batch_take_permits_while_any_are_free)
{
    struct store *s = fixture_store();
    int64_t first;

    set_limit(s, QUEUE, 3);
    first = submit_batch(s, 10, NULL);
    CHECK_EQ(claimable(s), 3);
    check_claimable(s, first + 2);
    check_waits(s, first + 3, QUEUE);
    verify_clean(s);
    store_close(&s);
}

TEST(limit_of_one_queue_does_not_affect_another_queue)
{
    struct store *s = fixture_store();

    set_limit(s, QUEUE, 1);
    submit(s, "a");
    submit(s, "b");
    check_claimable(s, submit_with(s, (struct submission){.name = "c", .queue = "other"}));
    check_claimable(s, submit_with(s, (struct submission){.name = "d", .queue = "other"}));
    verify_clean(s);
    store_close(&s);
}

TEST(workflow_does_not_need_a_permit_of_its_queue)
{
    struct store *s = fixture_store();
    int64_t workflow;

    set_limit(s, QUEUE, 0);
    workflow = submit_with(s, (struct submission){.name = "flow", .kind = KIND_WORKFLOW});
    CHECK_EQ(status_of(s, workflow), S_RUNNING);
    check_waits(s, submit_child(s, workflow, "task"), QUEUE);
    CHECK_EQ(used(s, QUEUE), 0);
    verify_clean(s);
    store_close(&s);
}

TEST(queue_can_be_limited_before_its_first_job)
{
    struct store *s = fixture_store();

    set_limit(s, QUEUE, 0);
    check_waits(s, submit(s, "a"), QUEUE);
    CHECK_EQ(claimable(s), 0);
    set_limit(s, QUEUE, 1);
    CHECK_EQ(claimable(s), 1);
    verify_clean(s);
    store_close(&s);
}

TEST(queue_that_gets_a_limit_again_counts_its_claimable_and_running_jobs)
{
    struct store *s = fixture_store();
    struct line_of_three l = submit_line_of_three(s);

    CHECK_EQ(claim_job(s, 1).id, l.a);
    set_limit(s, QUEUE, -1);
    check_claimable(s, l.b);
    check_claimable(s, l.c);
    CHECK_EQ(used(s, QUEUE), -1);
    verify_clean(s);
    set_limit(s, QUEUE, 2);
    CHECK_EQ(used(s, QUEUE), 2);
    check_claimable(s, l.b);
    check_waits(s, l.c, QUEUE);
    check_waits(s, submit(s, "d"), QUEUE);
    CHECK_EQ(status_of(s, l.a), S_RUNNING);
    verify_clean(s);
    store_close(&s);
}

/* ---- the permit is passed on ---- */

static void succeed(struct store *s, struct held_job j)
{
    CHECK_EQ(settle_ok(s, j), 0);
}

static void fail(struct store *s, struct held_job j)
{
    CHECK_EQ(settle_as(s, j, OUTCOME_FAILED, -1), 0);
}

static void time_out(struct store *s, struct held_job j)
{
    CHECK_EQ(settle_as(s, j, OUTCOME_TIMED_OUT, -1), 0);
}

static void lose_attempt(struct store *s, struct held_job j)
{
    CHECK_EQ(settle_as(s, j, OUTCOME_LOST, -1), 0);
}

static void cancel_and_end(struct store *s, struct held_job j)
{
    CHECK_EQ(cancel(s, j.id), 0);
    CHECK_EQ(used(s, QUEUE), 1); /* the cancelled job still runs */
    CHECK_EQ(settle_as(s, j, OUTCOME_CANCELLED, -1), 0);
}

static void retry_later(struct store *s, struct held_job j)
{
    CHECK_EQ(settle_as(s, j, OUTCOME_FAILED, 60 * SECOND), 0);
    CHECK_EQ(get(s, j.id).held, HELD_DELAY);
}

static void release(struct store *s, struct held_job j)
{
    CHECK_EQ(settle_as(s, j, OUTCOME_REFUSED, 60 * SECOND), 0);
    CHECK_EQ(get(s, j.id).held, HELD_DELAY);
}

static void defer(struct store *s, struct held_job j)
{
    CHECK_EQ(settle_as(s, j, OUTCOME_DEFERRED, 60 * SECOND), 0);
    CHECK_EQ(get(s, j.id).held, HELD_DELAY);
}

/* Four jobs wait for the permit of one; however it ends, the next is the most urgent, then the
 * oldest. */
static void check_order(void (*end)(struct store *, struct held_job))
{
    static const int priorities[] = {0, -5, 0, 9}; /* in the order of submission */
    static const int order[] = {3, 0, 2, 1};       /* in which they are admitted */
    struct store *s = fixture_store();
    struct held_job running;
    int64_t id[4];
    int i;

    set_limit(s, QUEUE, 1);
    submit_with(s, (struct submission){.name = "first", .max_attempts = 9});
    running = claim_job(s, 1);
    for (i = 0; i < 4; i++)
        id[i] = submit_with(
            s, (struct submission){.name = "x", .priority = priorities[i], .max_attempts = 9});
    CHECK_EQ(claimable(s), 0);
    for (i = 0; i < 4; i++) {
        end(s, running);
        CHECK_EQ(claimable(s), 1); /* the turn that ended the job has admitted the next one */
        CHECK_EQ(used(s, QUEUE), 1);
        running = claim_job(s, 1);
        CHECK_EQ(running.id, id[order[i]]);
        verify_clean(s);
    }
    end(s, running);
    CHECK_EQ(used(s, QUEUE), 0);
    verify_clean(s);
    store_close(&s);
}

TEST(permit_of_a_succeeded_job_goes_to_the_next_waiter_by_priority_then_age)
{
    check_order(succeed);
}

TEST(permit_of_a_failed_job_goes_to_the_next_waiter)
{
    check_order(fail);
}

TEST(permit_of_a_timed_out_job_goes_to_the_next_waiter)
{
    check_order(time_out);
}

TEST(permit_of_a_lost_attempt_goes_to_the_next_waiter)
{
    check_order(lose_attempt);
}

TEST(permit_of_a_cancelled_job_goes_to_the_next_waiter_after_the_job_ended)
{
    check_order(cancel_and_end);
}

TEST(permit_of_a_delayed_retry_goes_to_the_next_waiter)
{
    check_order(retry_later);
}

TEST(permit_of_a_job_released_with_a_delay_goes_to_the_next_waiter)
{
    check_order(release);
}

TEST(permit_of_a_deferred_job_goes_to_the_next_waiter)
{
    check_order(defer);
}

TEST(permit_of_a_cancelled_or_paused_claimable_job_goes_to_the_next_waiter)
{
    struct store *s = fixture_store();
    struct line_of_three l = submit_line_of_three(s);

    CHECK_EQ(cancel(s, l.a), 0);
    check_claimable(s, l.b);
    verify_clean(s);
    CHECK_EQ(hold(s, l.b), 0);
    check_claimable(s, l.c);
    CHECK_EQ(used(s, QUEUE), 1);
    verify_clean(s);
    store_close(&s);
}

TEST(retry_without_delay_keeps_its_permit)
{
    struct store *s = fixture_store();
    int64_t a, b;

    set_limit(s, QUEUE, 1);
    a = submit_with(s, (struct submission){.name = "a", .max_attempts = 3});
    b = submit_with(s, (struct submission){.name = "b", .priority = 100});
    check_waits(s, b, QUEUE);
    CHECK_EQ(settle_as(s, claim_job(s, 1), OUTCOME_FAILED, 0), 0);
    check_claimable(s, a);
    check_waits(s, b, QUEUE); /* b waits, however urgent it is: the permit was never free */
    CHECK_EQ(settle_as(s, claim_job(s, 1), OUTCOME_REFUSED, 0), 0);
    check_claimable(s, a);
    CHECK_EQ(used(s, QUEUE), 1);
    verify_clean(s);
    store_close(&s);
}

TEST(delayed_retry_needs_a_permit_again_after_its_delay)
{
    struct store *s = fixture_store();
    struct held_job j;
    int64_t a, b;

    set_limit(s, QUEUE, 1);
    a = submit_with(s, (struct submission){.name = "a", .max_attempts = 3});
    b = submit(s, "b");
    CHECK_EQ(settle_as(s, claim_job(s, 1), OUTCOME_FAILED, 10 * SECOND), 0);
    j = claim_job(s, 1);
    CHECK_EQ(j.id, b);
    clock_advance(11 * SECOND);
    CHECK_EQ(run_timers(s), 1);
    check_waits(s, a, QUEUE);
    verify_clean(s);
    CHECK_EQ(settle_ok(s, j), 0);
    CHECK_EQ(claim_job(s, 1).id, a);
    CHECK_STR(history(s, a),
              "created marked_ready claimed retry_scheduled held unheld held unheld claimed");
    verify_clean(s);
    store_close(&s);
}

TEST(orphaned_job_keeps_its_permit_before_and_after_its_adoption)
{
    struct store *s = fixture_store();
    struct held_job j, adopted;
    int64_t b;

    set_limit(s, QUEUE, 1);
    submit(s, "a");
    b = submit(s, "b");
    j = claim_job(s, 1);
    clock_advance(LEASE + SECOND);
    CHECK_EQ(reap(s), 1);
    check_waits(s, b, QUEUE);
    CHECK(adopt_one(s, 2, &adopted));
    check_waits(s, b, QUEUE);
    CHECK_EQ(settle_ok(s, j), -E_LEASE_LOST);
    check_waits(s, b, QUEUE);
    verify_clean(s);
    CHECK_EQ(settle_ok(s, adopted), 0);
    check_claimable(s, b);
    verify_clean(s);
    store_close(&s);
}

TEST(turn_that_ends_many_jobs_admits_as_many_waiters)
{
    struct store *s = fixture_store();
    int64_t root, i;

    set_limit(s, QUEUE, 20);
    root = submit_with(s, (struct submission){.name = "flow", .kind = KIND_WORKFLOW});
    for (i = 0; i < 20; i++)
        submit_child(s, root, "child");
    submit_batch(s, 50, NULL);
    CHECK_EQ(claimable(s), 20);
    CHECK_EQ(cancel(s, root), 0);
    CHECK_EQ(claimable(s), 20);
    CHECK_EQ(used(s, QUEUE), 20);
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM limit_waits"), 30);
    verify_clean(s);
    store_close(&s);
}

/* ---- jobs held for another reason ---- */

TEST(paused_or_delayed_job_has_no_permit)
{
    struct store *s = fixture_store();
    int64_t paused, delayed, now;

    set_limit(s, QUEUE, 1);
    paused = submit_with(s, (struct submission){.name = "p", .paused = true});
    delayed = submit_with(s, (struct submission){.name = "d", .delay = 10 * SECOND});
    CHECK_EQ(used(s, QUEUE), 0);
    now = submit(s, "n");
    check_claimable(s, now);
    CHECK_EQ(unhold(s, paused), 0);
    check_waits(s, paused, QUEUE);
    clock_advance(11 * SECOND);
    CHECK_EQ(run_timers(s), 1);
    check_waits(s, delayed, QUEUE);
    verify_clean(s);
    CHECK_EQ(settle_ok(s, claim_job(s, 1)), 0);
    CHECK_EQ(claim_job(s, 1).id, paused);
    check_waits(s, delayed, QUEUE);
    verify_clean(s);
    store_close(&s);
}

TEST(cancelled_waiter_is_skipped_when_a_permit_is_freed)
{
    struct store *s = fixture_store();
    struct line_of_three l = submit_line_of_three(s);

    CHECK_EQ(cancel(s, l.b), 0);
    CHECK_EQ(status_of(s, l.b), S_CANCELLED);
    CHECK_EQ(used(s, QUEUE), 1); /* b had no permit to free */
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM limit_waits"), 1);
    check_waits(s, l.c, QUEUE);
    verify_clean(s);
    CHECK_EQ(settle_ok(s, claim_job(s, 1)), 0);
    check_claimable(s, l.c);
    verify_clean(s);
    store_close(&s);
}

TEST(paused_waiter_gets_no_permit_and_waits_again_by_its_age_when_resumed)
{
    struct store *s = fixture_store();
    struct line_of_three l = submit_line_of_three(s);

    CHECK_EQ(hold(s, l.b), 0);
    CHECK_EQ(get(s, l.b).held, HELD_PAUSED);
    CHECK(!get(s, l.b).held_key);
    verify_clean(s);
    CHECK_EQ(unhold(s, l.b), 0); /* no permit is free yet */
    check_waits(s, l.b, QUEUE);
    CHECK_EQ(settle_ok(s, claim_job(s, 1)), 0);
    check_claimable(s, l.b);
    check_waits(s, l.c, QUEUE);
    verify_clean(s);
    CHECK_EQ(hold(s, l.c), 0);
    CHECK_EQ(settle_ok(s, claim_job(s, 1)), 0);
    CHECK_EQ(used(s, QUEUE), 0); /* no job may take the permit */
    CHECK_EQ(unhold(s, l.c), 0);
    check_claimable(s, l.c);
    verify_clean(s);
    store_close(&s);
}
