/* test_dispatch_life.c - the life of an attempt in the dispatcher: whatever happens to it, its end
 * is reported exactly once. */
#include "dispatch_fixture.h"

#include <stdio.h>

#include <limits.h>
#include <poll.h>
#include <stdlib.h>

TEST_NO_DB;
TEST_THREADED;

/* Only the required operations: without a descriptor, without attempts that outlive the worker, and
 * without renewals and settlements. */
static const struct executor_ops plain_manual_ops = {
    .start = manual_start,
    .reattach = manual_reattach,
    .cancel = manual_cancel,
    .forget = manual_forget,
    .capacity = manual_capacity,
    .fd = manual_fd,
    .poll = manual_poll,
    .free = manual_free,
};

/* ---- the life of an attempt ---- */

TEST(ended_attempt_is_kept_until_it_is_settled)
{
    struct fixture fx;
    struct manual_executor *k;

    open_with(&fx, (struct dispatch_options){0});
    k = add_manual_executor(&fx, "a", 10, 0);
    start(&fx, 1, "a");
    start(&fx, 2, "a");
    start(&fx, 2, "a"); /* already started: this has no effect */
    CHECK_EQ(k->starts, 2);
    dispatch_renewed(fx.d, 1, 1, 77);
    dispatch_renewed(fx.d, 1, 2, 77);
    dispatch_renewed(fx.d, 99, 1, 77);
    CHECK_EQ(k->renewed, 1);
    manual_end(k, 1, OUTCOME_OK);
    poll_until_idle(&fx);
    CHECK_EQ(fx.seen.n, 1);
    CHECK_EQ(fx.seen.at[0].execution, 1);
    start(&fx, 1, "a"); /* the attempt has ended and is not settled: it does not start again */
    CHECK_EQ(k->starts, 2);
    CHECK_EQ(dispatch_in_flight(fx.d), 1);
    dispatch_renewed(fx.d, 1, 1, 77); /* the attempt has ended, so its executor is not called */
    dispatch_cancel(fx.d, 1, 1, OUTCOME_CANCELLED);
    CHECK_EQ(k->renewed, 1);
    CHECK_EQ(k->cancelled, 0);
    CHECK_EQ(k->settled, 0);
    dispatch_settled(fx.d, 1, 1);
    dispatch_settled(fx.d, 1, 1);
    CHECK_EQ(k->settled, 1);
    CHECK_EQ(dispatch_in_flight(fx.d), 1);
    dispatch_cancel(fx.d, 2, 1, OUTCOME_TIMED_OUT);
    poll_until_idle(&fx);
    CHECK_EQ(fx.seen.at[1].outcome, OUTCOME_TIMED_OUT);
    end(&fx);
}

TEST(forgotten_attempt_is_not_reported)
{
    struct fixture fx;
    struct manual_executor *k;

    open_with(&fx, (struct dispatch_options){.slots = 2});
    k = add_manual_executor(&fx, "a", 10, 0);
    start(&fx, 1, "a");
    start(&fx, 2, "a");
    manual_end(k, 1, OUTCOME_OK); /* the report of its end is queued */
    dispatch_forget(fx.d, 1, 1);
    dispatch_forget(fx.d, 2, 1);
    dispatch_forget(fx.d, 3, 1);
    CHECK_EQ(k->forgotten, 2);
    poll_until_idle(&fx);
    CHECK_EQ(fx.seen.n, 0);
    CHECK_EQ(dispatch_free_slots(fx.d), 2);
    end(&fx);
}

TEST(reports_carry_the_current_epoch_of_their_attempt)
{
    struct fixture fx;
    struct manual_executor *k;
    struct job t = a_task(1);
    struct err err = ERR_INIT;

    open_with(&fx, (struct dispatch_options){0});
    k = add_manual_executor(&fx, "a", 10, 0);
    start(&fx, 1, "a");
    t.epoch = 4;
    CHECK_OK_ERR(reattach(&fx, "a", &t, &err), &err);
    CHECK_EQ(k->reattached, 1); /* its executor was called */
    CHECK_EQ(dispatch_in_flight(fx.d), 1);
    manual_end(k, 1, OUTCOME_OK);
    poll_until_idle(&fx);
    CHECK_EQ(fx.seen.n, 1);
    CHECK_EQ(fx.seen.at[0].epoch, 4);
    /* It has ended and waits to be settled, so there is nothing to reattach. */
    t.epoch = 5;
    CHECK_OK_ERR(reattach(&fx, "a", &t, &err), &err);
    CHECK_EQ(k->reattached, 1);
    end(&fx);
}

TEST(reattach_fails_if_no_executor_accepts_the_attempt)
{
    struct fixture fx;
    struct manual_executor *k;
    struct job t = a_task(1);
    struct err err = ERR_INIT;

    open_with(&fx, (struct dispatch_options){0});
    k = add_manual_executor(&fx, "a", 10, 0);
    CHECK_EQ(reattach(&fx, "b", &t, &err), -E_REFUSED);
    k->answer = -E_REFUSED;
    CHECK_EQ(reattach(&fx, "a", &t, &err), -E_REFUSED);
    CHECK_EQ(dispatch_in_flight(fx.d), 0);
    k->answer = -E_INTERNAL; /* an error ends the attempt */
    CHECK_EQ(reattach(&fx, "a", &t, &err), -E_INTERNAL);
    CHECK_STR(err.msg, "the executor is closed");
    CHECK_EQ(dispatch_in_flight(fx.d), 0);
    k->answer = 0;
    t.execution = 2;
    CHECK_OK_ERR(reattach(&fx, "a", &t, &err), &err);
    manual_end(k, 2, OUTCOME_LOST);
    poll_until_idle(&fx);
    CHECK_EQ(fx.seen.at[0].outcome, OUTCOME_LOST);
    end(&fx);
}

/* ---- failed and refused starts ---- */

TEST(attempt_whose_start_fails_is_reported_as_failed)
{
    struct fixture fx;
    struct manual_executor *k;

    open_with(&fx, (struct dispatch_options){0});
    k = add_manual_executor(&fx, "a", 10, 0);
    k->answer = -E_INVALID;
    start(&fx, 1, "a");
    wait_seen(&fx, 1);
    CHECK_EQ(fx.seen.at[0].outcome, OUTCOME_FAILED);
    CHECK_STR(fx.seen.at[0].error, "the executor is closed");
    CHECK_EQ(capacity(&fx, "a"), 10);
    dispatch_settled(fx.d, 1, 1);
    CHECK_EQ(k->settled, 0); /* the executor has nothing to clean up */
    end(&fx);
}

/* The descriptor becomes readable when the executor may be tried again. */
static void wait_for_capacity(struct fixture *fx, const char *executor)
{
    struct pollfd p = {.fd = dispatch_fd(fx->d), .events = POLLIN};

    while (!capacity(fx, executor)) {
        CHECK(poll(&p, 1, PATIENT_MS) == 1);
        dispatch_poll(fx->d);
    }
}

TEST(executor_that_refuses_a_start_gets_no_more_jobs_for_a_while)
{
    struct fixture fx;
    struct manual_executor *k;
    int64_t i;

    open_with(&fx, (struct dispatch_options){0});
    k = add_manual_executor(&fx, "a", 10, 0);
    add_manual_executor(&fx, "b", 10, 0);
    k->answer = -E_REFUSED;
    for (i = 1; i <= 3; i++)
        start(&fx, i, "a");
    CHECK_EQ(k->starts, 1); /* the executor is not offered the other jobs of the batch */
    CHECK_EQ(capacity(&fx, "a"), 0);
    CHECK_EQ(capacity(&fx, "b"), 10);
    wait_seen(&fx, 3);
    for (i = 0; i < 3; i++) {
        CHECK_EQ(fx.seen.at[i].outcome, OUTCOME_REFUSED);
        CHECK_STR(fx.seen.at[i].error, "the executor is closed");
        CHECK(fx.seen.at[i].delay > 0 && fx.seen.at[i].delay <= SECOND);
    }
    CHECK_EQ(fx.seen.at[0].delay, SECOND);
    k->answer = 0;
    wait_for_capacity(&fx, "a");
    start(&fx, 4, "a");
    CHECK_EQ(k->starts, 2);
    CHECK_EQ(dispatch_in_flight(fx.d), 1);
    end(&fx);
}

static char noted[300];

static void keep_note(void *arg, const char *sentence)
{
    (void)arg;
    snprintf(noted, sizeof(noted), "%s", sentence);
}

/* The next poll reports the attempt as refused. */
static void refuse_later(struct manual_executor *k, int64_t execution)
{
    manual_end(k, execution, OUTCOME_REFUSED);
    k->ended.at[k->ended.n - 1].outcome.retry_delay = 1;
}

TEST(executor_that_refuses_jobs_after_it_accepted_them_backs_off_longer_each_time)
{
    struct env env = {.note = keep_note};
    struct fixture fx;
    struct manual_executor *k;

    open_with(&fx, (struct dispatch_options){0});
    k = add_manual_executor(&fx, "a", 10, 0);
    k->x.env = &env;
    start(&fx, 1, "a");
    start(&fx, 2, "a");
    refuse_later(k, 1);
    refuse_later(k, 2); /* both were accepted before the first refusal, and count as one */
    poll_until_idle(&fx);
    CHECK_EQ(fx.seen.at[0].delay, SECOND);
    CHECK(fx.seen.at[1].delay > 0 && fx.seen.at[1].delay <= SECOND);
    CHECK_STR(noted, "the executor a can't start jobs: as requested; Pawl will try again");
    wait_for_capacity(&fx, "a");
    start(&fx, 3, "a");
    refuse_later(k, 3);
    poll_until_idle(&fx);
    CHECK_EQ(fx.seen.at[2].delay, 2 * SECOND);
    wait_for_capacity(&fx, "a");
    start(&fx, 4, "a");
    manual_end(k, 4, OUTCOME_OK);
    poll_until_idle(&fx);
    CHECK_STR(noted, "the executor a has recovered and accepts jobs");
    start(&fx, 5, "a");
    refuse_later(k, 5);
    poll_until_idle(&fx);
    CHECK_EQ(fx.seen.at[4].delay, SECOND);
    end(&fx);
}

TEST(job_in_a_lane_that_is_not_served_is_returned_to_its_queue)
{
    struct fixture fx;

    open_with(&fx, (struct dispatch_options){0});
    add_manual_executor(&fx, "a", 10, 0);
    start(&fx, 1, "b");
    start(&fx, 2, "function:none");
    dispatch_cancel(fx.d, 1, 1, OUTCOME_CANCELLED);
    CHECK_EQ(fx.seen.n, 2);
    CHECK_EQ(fx.seen.at[0].outcome, OUTCOME_REFUSED);
    CHECK_STR(fx.seen.at[0].error, "this worker does not serve the lane b");
    CHECK(fx.seen.at[0].delay > 0);
    CHECK_STR(fx.seen.at[1].error, "this worker does not serve the lane function:none");
    CHECK_EQ(dispatch_in_flight(fx.d), 0);
    dispatch_settled(fx.d, 1, 1);
    dispatch_forget(fx.d, 2, 1);
    poll_until_idle(&fx);
    CHECK_EQ(fx.seen.n, 2);
    end(&fx);
}

/* ---- stopping a worker ---- */

TEST(stop_leaves_attempts_that_outlive_the_worker_to_other_workers_and_waits_for_the_rest)
{
    struct fixture fx;
    struct manual_executor *out, *in = manual_new(&plain_manual_ops, "in", 10);
    struct err err = ERR_INIT;

    open_with(&fx, (struct dispatch_options){0});
    out = add_manual_executor(&fx, "out", 10, 0);
    CHECK_OK_ERR(dispatch_add_executor(fx.d, &in->x, 0, &err), &err);
    start(&fx, 1, "out");
    start(&fx, 2, "out");
    start(&fx, 3, "in");
    start(&fx, 4, "nowhere");
    manual_end(out, 2, OUTCOME_OK);
    poll_until_idle(&fx); /* 2 has ended, 4 was refused; both wait to be settled */
    CHECK_EQ(fx.seen.n, 2);
    dispatch_stop(fx.d, true);
    CHECK_EQ(out->handed_over, 1);
    CHECK_EQ(dispatch_in_flight(fx.d), 1);
    CHECK_EQ(dispatch_free_slots(fx.d), 0);
    CHECK_EQ(capacity(&fx, "out"), 0);
    dispatch_settled(fx.d, 2, 1);
    CHECK_EQ(out->settled, 1);
    manual_end(in, 3, OUTCOME_DEFERRED);
    wait_seen(&fx, 3);
    CHECK_EQ(fx.seen.at[2].execution, 3);
    CHECK_EQ(dispatch_in_flight(fx.d), 0);
    CHECK_EQ(out->forgotten, 1);
    CHECK(!manual_find(out, 1)); /* the attempt no longer belongs to this worker */
    end(&fx);
}

/* A turn of the engine that is in progress when the stop comes can claim such a job. */
TEST(job_claimed_after_the_stop_is_returned_to_its_queue_immediately)
{
    struct fixture fx;
    struct manual_executor *k;

    open_with(&fx, (struct dispatch_options){0});
    k = add_manual_executor(&fx, "manual", 10, 0);
    dispatch_stop(fx.d, false);
    start(&fx, 1, "manual");
    CHECK_EQ(k->starts, 0);
    wait_seen(&fx, 1);
    CHECK_EQ(fx.seen.at[0].kind, REPORT_ENDED);
    CHECK_EQ(fx.seen.at[0].outcome, OUTCOME_REFUSED);
    CHECK_EQ(fx.seen.at[0].delay, 0);
    CHECK_STR(fx.seen.at[0].error, "this worker is stopping and accepts no more jobs");
    end(&fx);
}

TEST(executor_without_a_descriptor_is_polled_while_it_has_work)
{
    struct fixture fx;
    struct manual_executor *k = manual_new(&plain_manual_ops, "plain", 10);
    struct err err = ERR_INIT;
    struct pollfd p;
    int n;

    open_with(&fx, (struct dispatch_options){0});
    CHECK_OK_ERR(dispatch_add_executor(fx.d, &k->x, 0, &err), &err);
    p = (struct pollfd){.fd = dispatch_fd(fx.d), .events = POLLIN};
    CHECK_EQ(poll(&p, 1, 0), 0);
    start(&fx, 1, "plain");
    for (n = 0; n < 3; n++) { /* the descriptor is readable at once, and stays so */
        CHECK_EQ(poll(&p, 1, PATIENT_MS), 1);
        dispatch_poll(fx.d);
    }
    CHECK(k->polls >= 3);
    manual_end(k, 1, OUTCOME_OK);
    wait_seen(&fx, 1);
    dispatch_settled(fx.d, 1, 1); /* the executor has no `settled` operation */
    poll_until_idle(&fx);
    CHECK_EQ(poll(&p, 1, 100), 0); /* an idle executor is not polled */
    end(&fx);
}

/* ---- random sequences ---- */

TEST(attempt_ends_exactly_once_in_any_random_sequence_of_calls_unless_it_is_forgotten)
{
    enum { N = 3000 };
    struct fixture fx;
    struct manual_executor *k;
    char *forgotten = mem_zalloc(N + 1), *ends = mem_zalloc(N + 1);
    struct err err = ERR_INIT;
    size_t n, held, nforgotten = 0;
    unsigned seed = 7;
    int64_t i;

    open_with(&fx, (struct dispatch_options){.slots = 50});
    k = add_manual_executor(&fx, "a", INT_MAX, 0);
    for (i = 1; i <= N; i++) {
        int64_t victim = 1 + rand_r(&seed) % i;
        struct job t = a_task(victim);

        k->answer = rand_r(&seed) % 20 ? 0 : -E_INVALID;
        start(&fx, i, rand_r(&seed) % 30 ? "a" : "nobody");
        k->answer = 0;
        switch (rand_r(&seed) % 6) {
        case 0:
            dispatch_cancel(fx.d, victim, 1, OUTCOME_CANCELLED);
            break;
        case 1:
            if (attempts_get(&fx.attempts, i, 1)->ended) /* no executor accepted it */
                break;
            dispatch_forget(fx.d, i, 1);
            forgotten[i] = 1;
            nforgotten++;
            break;
        case 2:
            if (manual_find(k, victim))
                manual_end(k, victim, OUTCOME_OK);
            break;
        case 3:
            dispatch_poll(fx.d);
            break;
        default:
            t.epoch = 2;
            if (manual_find(k, victim)) /* otherwise it would be adopted and start again */
                CHECK_OK_ERR(reattach(&fx, "a", &t, &err), &err);
        }
        held = (size_t)i - nforgotten - fx.seen.n;
        CHECK_EQ(held, dispatch_in_flight(fx.d));
        CHECK_EQ(dispatch_free_slots(fx.d), held < 50 ? 50 - held : 0);
    }
    while (k->at.n)
        manual_end(k, k->at.at[0].execution, OUTCOME_OK);
    poll_until_idle(&fx);
    for (n = 0; n < fx.seen.n; n++)
        ends[fx.seen.at[n].execution]++;
    for (i = 1; i <= N; i++)
        CHECK_EQ(ends[i], !forgotten[i]);
    CHECK_EQ(dispatch_in_flight(fx.d), 0);
    free(forgotten);
    free(ends);
    end(&fx);
}
