/* test_limits_key.c - limits of concurrency keys, and jobs under two limits. */
#include "limit_fixture.h"

TEST_LONG;

/* ---- concurrency keys ---- */

TEST(concurrency_key_gets_its_limit_from_the_first_job_that_uses_it)
{
    struct store *s = fixture_store();
    int64_t a, b, c, d;

    a = submit_with(s, (struct submission){.name = "a", .concurrency = "k", .concurrency_max = 2});
    b = submit_with(s, (struct submission){.name = "b", .concurrency = "k", .concurrency_max = 9});
    c = submit_with(s, (struct submission){.name = "c", .concurrency = "k"});
    d = submit_keyed(s, "d", "one"); /* without a number: one at a time */
    check_claimable(s, a);
    check_claimable(s, b);
    check_waits(s, c, "key:k");
    check_claimable(s, d);
    check_waits(s, submit_keyed(s, "e", "one"), "key:one");
    CHECK_EQ(used(s, "key:k"), 2);
    CHECK_EQ(used(s, "key:one"), 1);
    CHECK_EQ(sql_number(s, "SELECT max FROM limits WHERE key = 'key:k'"), 2);
    verify_clean(s);
    store_close(&s);
}

TEST(jobs_with_different_concurrency_keys_do_not_wait_for_each_other)
{
    struct store *s = fixture_store();
    int64_t a2, b2;
    struct held_job j;

    submit_keyed(s, "a1", "a");
    submit_keyed(s, "b1", "b");
    a2 = submit_keyed(s, "a2", "a");
    b2 = submit_keyed(s, "b2", "b");
    j = claim_job(s, 1);
    CHECK_EQ(settle_ok(s, j), 0);
    check_claimable(s, a2);
    check_waits(s, b2, "key:b");
    verify_clean(s);
    store_close(&s);
}

TEST(unused_concurrency_key_keeps_its_limit)
{
    struct store *s = fixture_store();

    submit_with(s, (struct submission){.name = "a", .concurrency = "k", .concurrency_max = 3});
    CHECK_EQ(settle_ok(s, claim_job(s, 1)), 0);
    CHECK_EQ(used(s, "key:k"), 0);
    submit_keyed(s, "b", "k");
    CHECK_EQ(sql_number(s, "SELECT max FROM limits WHERE key = 'key:k'"), 3);
    CHECK_EQ(used(s, "key:k"), 1);
    verify_clean(s);
    store_close(&s);
}

TEST(limit_of_a_known_concurrency_key_is_not_raised_by_a_later_job)
{
    struct store *s = fixture_store();

    submit_keyed(s, "a", "k");
    CHECK_EQ(settle_ok(s, claim_job(s, 1)), 0);
    submit_with(s, (struct submission){.name = "b", .concurrency = "k", .concurrency_max = 3});
    CHECK_EQ(sql_number(s, "SELECT max FROM limits WHERE key = 'key:k'"), 1);
    check_waits(s, submit_keyed(s, "c", "k"), "key:k");
    CHECK_EQ(used(s, "key:k"), 1);
    verify_clean(s);
    store_close(&s);
}

TEST(delayed_job_with_a_concurrency_key_needs_a_permit_when_it_is_due)
{
    struct store *s = fixture_store();
    int64_t a =
        submit_with(s, (struct submission){.name = "a", .concurrency = "k", .delay = 100 * SECOND});
    int64_t b = submit_keyed(s, "b", "k");

    clock_advance(101 * SECOND);
    CHECK_EQ(run_timers(s), 1);
    CHECK_EQ(get(s, a).held, HELD_LIMIT);
    CHECK_EQ(get(s, b).held, HELD_NONE);
    verify_clean(s);
    CHECK_EQ(settle_ok(s, claim_job(s, 1)), 0);
    CHECK_EQ(settle_ok(s, claim_job(s, 1)), 0);
    CHECK_EQ(used(s, "key:k"), 0);
    verify_clean(s);
    store_close(&s);
}

/* ---- two limits at once ---- */

TEST(job_under_two_limits_needs_a_permit_from_each)
{
    struct store *s = fixture_store();
    int64_t a, b, c, d;

    set_limit(s, QUEUE, 2);
    a = submit_keyed(s, "a", "k");
    b = submit_keyed(s, "b", "k");
    c = submit(s, "c");
    d = submit(s, "d");
    check_claimable(s, a);
    check_waits(s, b, "key:k"); /* b has no permit of the queue meanwhile */
    check_claimable(s, c);
    check_waits(s, d, QUEUE);
    CHECK_EQ(used(s, QUEUE), 2);
    CHECK_EQ(used(s, "key:k"), 1);
    verify_clean(s);
    store_close(&s);
}

TEST(permit_that_the_first_waiter_cannot_use_goes_to_the_second_waiter)
{
    struct store *s = fixture_store();
    struct held_job ja, jx;
    int64_t a, x, b, c;

    set_limit(s, QUEUE, 2);
    a = submit_keyed(s, "a", "k");
    x = submit(s, "x");
    ja = claim_job(s, 1);
    jx = claim_job(s, 1);
    CHECK_EQ(ja.id, a);
    CHECK_EQ(jx.id, x);
    b = submit_keyed(s, "b", "k");
    c = submit(s, "c");
    check_waits(s, b, QUEUE);
    check_waits(s, c, QUEUE);
    CHECK_EQ(settle_ok(s, jx), 0);
    check_waits(s, b, "key:k"); /* b was offered the permit first, and now waits for its key */
    check_claimable(s, c);
    verify_clean(s);
    CHECK_EQ(settle_ok(s, ja), 0);
    check_claimable(s, b);
    CHECK_EQ(used(s, QUEUE), 2);
    CHECK_EQ(used(s, "key:k"), 1);
    verify_clean(s);
    store_close(&s);
}

TEST(many_waiters_for_a_concurrency_key_do_not_block_the_queue)
{
    struct store *s = fixture_store();
    struct held_job j;
    int64_t first, last;
    int i;

    submit_keyed(s, "k", "k");
    set_limit(s, QUEUE, 1);
    j = claim_job(s, 1);
    first = submit_batch(s, 20, "k");
    last = submit(s, "no key");
    CHECK_EQ(settle_ok(s, j), 0);
    for (i = 0; i < 20; i++) {
        j = claim_job(s, 1);
        CHECK_EQ(j.id, first + i);
        CHECK_EQ(settle_ok(s, j), 0);
    }
    CHECK_EQ(claim_job(s, 1).id, last);
    verify_clean(s);
    store_close(&s);
}

TEST(freed_permit_skips_waiters_blocked_by_another_limit_in_slices)
{
    struct store *s = fixture_store();
    struct held_job k, j;
    int64_t last, events, turns = 0;
    int i;

    submit_keyed(s, "k", "k");
    submit(s, "j");
    k = claim_job(s, 1);
    j = claim_job(s, 1);
    set_limit(s, QUEUE, 2);
    for (i = 0; i < 10; i++)
        submit_batch(s, 250, "k"); /* held for the queue; each will find its key in use */
    last = submit(s, "no key");
    events = sql_number(s, "SELECT count(*) FROM execution_events");
    CHECK_EQ(settle_ok(s, j), 0);
    verify_clean(s); /* a hand-over timer is due */
    CHECK(sql_number(s, "SELECT count(*) FROM execution_events") - events < 3000);
    while (run_timers(s))
        CHECK(++turns < 10);
    CHECK(turns > 1);
    check_claimable(s, last);
    CHECK_EQ(used(s, QUEUE), 2);
    verify_clean(s);
    CHECK_EQ(settle_ok(s, k), 0); /* the first of the waiters is admitted at once */
    CHECK_EQ(claimable(s), 2);
    verify_clean(s);
    store_close(&s);
}

struct queue_claim {
    const char *queue;
    struct held_job out;
    size_t n;
};

static int claim_body(struct turn *t, void *arg, struct err *err)
{
    struct queue_claim *c = arg;
    struct lane_queue serves = {"process", c->queue};
    struct claim claim = {.worker = 1,
                          .folder = "folder-a",
                          .lease = LEASE,
                          .serves = &serves,
                          .nserves = 1,
                          .max = 1};
    struct job_list jobs;
    int rc = op_claim(t, &claim, &jobs, err);

    if (rc)
        return rc;
    c->n = jobs.n;
    if (jobs.n)
        c->out = (struct held_job){.id = jobs.at[0]->id,
                                   .root = jobs.at[0]->root,
                                   .worker = 1,
                                   .epoch = jobs.at[0]->epoch,
                                   .attempt = jobs.at[0]->attempts};
    return 0;
}

static struct held_job claim_from(struct store *s, const char *queue)
{
    struct queue_claim c = {.queue = queue};
    struct err err = ERR_INIT;

    CHECK_OK_ERR(store_turn(s, claim_body, &c, &err), &err);
    CHECK_EQ(c.n, 1);
    return c.out;
}

TEST(concurrency_key_used_in_two_queues_serves_every_waiter)
{
    struct store *s = fixture_store();
    struct held_job a, b;
    int64_t w[6];
    int i;

    set_limit(s, "queue:b", 1);
    submit_with(s, (struct submission){.name = "a", .queue = "a", .concurrency = "k"});
    submit_with(s, (struct submission){.name = "b", .queue = "b"});
    a = claim_from(s, "a");
    b = claim_from(s, "b");
    for (i = 0; i < 6; i++)
        w[i] = submit_with(
            s, (struct submission){.name = "w", .queue = i % 2 ? "a" : "b", .concurrency = "k"});
    CHECK_EQ(settle_ok(s, a), 0); /* the key is free, queue b is not */
    verify_clean(s);
    CHECK_EQ(settle_ok(s, b), 0);
    verify_clean(s);
    for (i = 0; i < 6; i++) {
        bool in_a = sql_number(s, "SELECT count(*) FROM task_outbox WHERE queue = 'a'") > 0;

        CHECK_EQ(claimable(s), 1);
        CHECK_EQ(settle_ok(s, claim_from(s, in_a ? "a" : "b")), 0);
        verify_clean(s);
    }
    for (i = 0; i < 6; i++)
        CHECK_EQ(status_of(s, w[i]), S_SUCCEEDED);
    CHECK_EQ(used(s, "key:k"), 0);
    CHECK_EQ(used(s, "queue:b"), 0);
    store_close(&s);
}
