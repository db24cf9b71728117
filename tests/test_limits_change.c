/* test_limits_change.c - limits that are lowered, raised, set and removed. */
#include "limit_fixture.h"

TEST_LONG;

/* Like set_limit; returns the number of turns it took. */
static int set_limit_in_slices(struct store *s, const char *key, int max)
{
    struct limit_change c = {.key = key, .max = max};
    struct err err = ERR_INIT;
    int turns = 0;

    do {
        CHECK_OK_ERR(store_turn(s, limit_body, &c, &err), &err);
        turns++;
    } while (c.more);
    return turns;
}

/* ---- changing a limit ---- */

TEST(lowered_limit_removes_the_youngest_jobs_from_the_outbox_in_slices)
{
    struct store *s = fixture_store();
    int64_t old, young;

    old = submit_batch(s, 20, NULL);
    young = submit_batch(s, 230, NULL);
    CHECK_EQ(set_limit_in_slices(s, QUEUE, 250), 1);
    CHECK_EQ(claimable(s), 250);
    verify_clean(s);
    CHECK_EQ(set_limit_in_slices(s, QUEUE, 20), 3); /* 230 jobs above the limit, 100 in a slice */
    CHECK_EQ(claimable(s), 20);
    CHECK_EQ(used(s, QUEUE), 20);
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM limit_waits"), 230);
    check_claimable(s, old);
    check_claimable(s, old + 19);
    check_waits(s, young, QUEUE);
    CHECK_STR(history(s, young), "created marked_ready held");
    verify_clean(s);
    CHECK_EQ(set_limit_in_slices(s, QUEUE, 1000), 3); /* 230 are admitted, 100 in a slice */
    CHECK_EQ(claimable(s), 250);
    CHECK_EQ(sql_number(s, "SELECT max FROM limits"), 1000);
    verify_clean(s);
    store_close(&s);
}

static int all_slices_body(struct turn *t, void *arg, struct err *err)
{
    struct limit_change l = {.key = QUEUE, .max = 1, .slice = 3, .more = true};
    int *slices = arg, rc = 0;

    for (*slices = 0; !rc && l.more && *slices < 20; ++*slices)
        rc = limit_body(t, &l, err);
    return rc;
}

TEST(one_turn_can_lower_a_limit_in_several_slices)
{
    struct store *s = fixture_store();
    int64_t first = submit_batch(s, 11, NULL);
    struct err err = ERR_INIT;
    int slices;

    CHECK_OK_ERR(store_turn(s, all_slices_body, &slices, &err), &err);
    CHECK_EQ(slices, 4);
    CHECK_EQ(claimable(s), 1);
    CHECK_EQ(used(s, QUEUE), 1);
    check_claimable(s, first);
    CHECK_STR(history(s, first + 10), "created marked_ready held");
    verify_clean(s);
    store_close(&s);
}

TEST(lowered_queue_limit_leaves_the_jobs_of_other_queues_in_the_outbox)
{
    struct store *s = fixture_store();
    int64_t first = submit_batch(s, 250, NULL);
    int64_t other = submit_with(s, (struct submission){.name = "other", .queue = "other"});

    CHECK_EQ(claimable(s), 251);
    CHECK_EQ(set_limit_in_slices(s, QUEUE, 7), 3);
    CHECK_EQ(claimable(s), 8);
    CHECK_EQ(used(s, QUEUE), 7);
    check_claimable(s, first);
    check_claimable(s, first + 6);
    check_waits(s, first + 7, QUEUE);
    check_claimable(s, other);
    verify_clean(s);
    store_close(&s);
}

TEST(
    running_jobs_beyond_a_lowered_limit_finish_and_admit_no_waiter_until_fewer_run_than_the_limit_allows)
{
    struct store *s = fixture_store();
    struct held_job j[5];
    int i;

    submit_batch(s, 8, NULL);
    CHECK_EQ(claim_many(s, 1, 5, j), 5);
    set_limit(s, QUEUE, 2);
    CHECK_EQ(claimable(s), 0);
    CHECK_EQ(used(s, QUEUE), 5); /* exceeded by jobs that ran already */
    verify_clean(s);
    for (i = 0; i < 3; i++) {
        CHECK_EQ(heartbeat(s, j[i]), 0);
        CHECK_EQ(settle_ok(s, j[i]), 0);
        CHECK_EQ(claimable(s), 0);
    }
    CHECK_EQ(settle_ok(s, j[3]), 0);
    CHECK_EQ(claimable(s), 1);
    CHECK_EQ(settle_as(s, j[4], OUTCOME_FAILED, -1), 0);
    CHECK_EQ(claimable(s), 2);
    verify_clean(s);
    store_close(&s);
}

TEST(retry_waits_for_a_permit_after_its_limit_was_lowered)
{
    struct store *s = fixture_store();
    struct held_job j[2];

    submit_with(s, (struct submission){.name = "a", .max_attempts = 3});
    submit_with(s, (struct submission){.name = "b", .max_attempts = 3});
    CHECK_EQ(claim_many(s, 1, 2, j), 2);
    set_limit(s, QUEUE, 1);
    CHECK_EQ(settle_as(s, j[0], OUTCOME_FAILED, 0), 0); /* two run where one is allowed */
    check_waits(s, j[0].id, QUEUE);
    verify_clean(s);
    CHECK_EQ(settle_ok(s, j[1]), 0);
    check_claimable(s, j[0].id);
    verify_clean(s);
    store_close(&s);
}

TEST(raised_limit_admits_jobs_by_priority_then_age)
{
    struct store *s = fixture_store();
    int64_t id[5];
    struct held_job j[5];
    int i;

    set_limit(s, QUEUE, 0);
    for (i = 0; i < 5; i++)
        id[i] = submit_with(s, (struct submission){.name = "x", .priority = i == 4 ? 1 : 0});
    set_limit(s, QUEUE, 3);
    CHECK_EQ(claimable(s), 3);
    CHECK_EQ(claim_many(s, 1, 5, j), 3);
    CHECK_EQ(j[0].id, id[4]);
    CHECK_EQ(j[1].id, id[0]);
    CHECK_EQ(j[2].id, id[1]);
    verify_clean(s);
    store_close(&s);
}

TEST(limit_of_zero_pauses_a_queue_and_any_other_limit_resumes_it)
{
    struct store *s = fixture_store();
    struct held_job j, none;
    int64_t b, c;

    submit(s, "a");
    j = claim_job(s, 1);
    b = submit(s, "b");
    set_limit(s, QUEUE, 0);
    check_waits(s, b, QUEUE); /* removed from the outbox before the call returns */
    c = submit(s, "c");
    CHECK(!claim_one(s, 1, &none));
    CHECK_EQ(settle_ok(s, j), 0); /* a running job finishes */
    CHECK(!claim_one(s, 1, &none));
    CHECK_EQ(used(s, QUEUE), 0);
    verify_clean(s);
    set_limit(s, QUEUE, 1);
    check_claimable(s, b);
    check_waits(s, c, QUEUE);
    set_limit(s, QUEUE, -1);
    check_claimable(s, c);
    verify_clean(s);
    store_close(&s);
}

TEST(removed_limit_admits_every_waiting_job)
{
    struct store *s = fixture_store();
    int64_t k;

    set_limit(s, QUEUE, 3);
    submit_batch(s, 250, NULL);
    k = submit_keyed(s, "a", "k");
    CHECK_EQ(claimable(s), 3);
    CHECK_EQ(set_limit_in_slices(s, QUEUE, -1), 3); /* 248 jobs wait, 100 in a slice */
    CHECK_EQ(claimable(s), 251);
    check_claimable(s, k);
    CHECK_EQ(used(s, QUEUE), -1); /* the limit is removed */
    CHECK_EQ(used(s, "key:k"), 1);
    CHECK_EQ(set_limit_in_slices(s, QUEUE, -1), 1); /* removing it again is not an error */
    check_claimable(s, submit(s, "later"));
    verify_clean(s);
    store_close(&s);
}

TEST(job_that_waited_for_a_removed_limit_may_still_wait_for_another_limit)
{
    struct store *s = fixture_store();
    int64_t a, b;

    set_limit(s, QUEUE, 0);
    a = submit_keyed(s, "a", "k");
    b = submit_keyed(s, "b", "k");
    set_limit(s, QUEUE, -1);
    check_claimable(s, a);
    check_waits(s, b, "key:k");
    verify_clean(s);
    store_close(&s);
}

TEST(limit_set_while_jobs_run_counts_the_running_jobs)
{
    struct store *s = fixture_store();
    struct held_job j[3];

    submit_batch(s, 5, NULL);
    submit_with(s, (struct submission){.name = "p", .paused = true});
    CHECK_EQ(claim_many(s, 1, 3, j), 3);
    set_limit(s, QUEUE, 4);
    CHECK_EQ(used(s, QUEUE), 4); /* three run, one may be claimed, one is held */
    CHECK_EQ(claimable(s), 1);
    verify_clean(s);
    CHECK_EQ(settle_ok(s, j[0]), 0);
    CHECK_EQ(claimable(s), 2);
    verify_clean(s);
    store_close(&s);
}

TEST(limit_set_to_its_current_value_changes_nothing)
{
    struct store *s = fixture_store();
    int64_t events;

    set_limit(s, QUEUE, 1);
    submit_batch(s, 3, NULL);
    events = sql_number(s, "SELECT count(*) FROM execution_events");
    set_limit(s, QUEUE, 1);
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM execution_events"), events);
    CHECK_EQ(used(s, QUEUE), 1);
    verify_clean(s);
    store_close(&s);
}
