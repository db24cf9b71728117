/* test_limits.c - the contract of limits: how many jobs of a queue, or of a concurrency key, may be
 * claimable or running at once; who comes next; and that no permit is ever lost. Each test ends
 * with verify, which counts the permits itself (I29). */
#include "fixture.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

TEST_LONG;

#define QUEUE       "queue:default"
#define COUNT(list) (sizeof(list) / sizeof(*(list)))

static int64_t claimable(struct store *s)
{
    return sql_number(s, "SELECT count(*) FROM task_outbox");
}

static int64_t used(struct store *s, const char *key)
{
    char sql[200];

    snprintf(sql, sizeof(sql), "SELECT COALESCE(sum(used), -1) FROM limits WHERE key = '%s'", key);
    return sql_number(s, sql);
}

static void check_waits(struct store *s, int64_t id, const char *key)
{
    struct execution e = get(s, id);

    CHECK_EQ(e.status, S_READY);
    CHECK_EQ(e.held, HELD_LIMIT);
    CHECK_STR(e.held_key, key);
}

static void check_claimable(struct store *s, int64_t id)
{
    struct execution e = get(s, id);

    CHECK_EQ(e.status, S_READY);
    CHECK_EQ(e.held, HELD_NONE);
    CHECK(!e.held_key);
}

static int64_t submit_keyed(struct store *s, const char *name, const char *key)
{
    return submit_with(s, (struct submission){.name = name, .concurrency = key});
}

struct batch {
    struct submission list[300];
    size_t n;
};

static int batch_body(struct turn *t, void *arg, struct err *err)
{
    struct batch *b = arg;

    return op_submit(t, b->list, b->n, err);
}

/* n jobs in one turn; the first one's id, the others follow it. */
static int64_t submit_batch(struct store *s, size_t n, const char *key)
{
    static struct batch b;
    struct err err = ERR_INIT;
    size_t i;

    b.n = n;
    for (i = 0; i < n; i++)
        b.list[i] = (struct submission){.kind = KIND_EXEC,
                                        .task_index = -1,
                                        .name = "x",
                                        .concurrency = key,
                                        .concurrency_max = 1000000};
    CHECK_OK_ERR(store_turn(s, batch_body, &b, &err), &err);
    for (i = 0; i < n; i++)
        CHECK_EQ(b.list[i].rc, 0);
    return b.list[0].id;
}

struct limit_change {
    const char *key;
    int max;
    bool more;
};

static int limit_body(struct turn *t, void *arg, struct err *err)
{
    struct limit_change *c = arg;

    return op_limit(t, c->key, c->max, 100, &c->more, err);
}

/* As set_limit; returns how many turns it took. */
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

/* ---- what is above waits ---- */

TEST(a_queue_limit_holds_what_is_above_it)
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
    CHECK_EQ(used(s, QUEUE), 2); /* who waits has no permit */
    CHECK_EQ(claim_many(s, 1, 4, j), 2);
    CHECK_EQ(used(s, QUEUE), 2); /* a claim takes no second one */
    verify_clean(s);
    store_close(&s);
}

TEST(a_batch_takes_permits_as_long_as_there_are_any)
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

TEST(a_limit_of_one_queue_is_no_matter_to_another)
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

TEST(flows_need_no_permit)
{
    struct store *s = fixture_store();
    int64_t flow;

    set_limit(s, QUEUE, 0);
    flow = submit_with(s, (struct submission){.name = "flow", .kind = KIND_WORKFLOW});
    CHECK_EQ(status_of(s, flow), S_RUNNING);
    check_waits(s, submit_child(s, flow, "task"), QUEUE);
    CHECK_EQ(used(s, QUEUE), 0);
    verify_clean(s);
    store_close(&s);
}

TEST(what_is_no_limit_is_refused)
{
    static const char *const bad[] = {
        "", "default", "queue", "queue:", "key:", "lane:x", "Queue:x"};
    struct store *s = fixture_store();
    size_t i;

    for (i = 0; i < COUNT(bad); i++) {
        struct limit_change c = {.key = bad[i], .max = 1};
        struct err err = ERR_INIT;

        CHECK_EQ(store_turn(s, limit_body, &c, &err), -E_INVALID);
        CHECK(strstr(err.msg, "queue:NAME or key:NAME"));
    }
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM limits"), 0);
    verify_clean(s);
    store_close(&s);
}

/* ---- the permit goes on ---- */

static void end_well(struct store *s, struct held_job j)
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

static void lose(struct store *s, struct held_job j)
{
    CHECK_EQ(settle_as(s, j, OUTCOME_LOST, -1), 0);
}

static void be_cancelled(struct store *s, struct held_job j)
{
    CHECK_EQ(cancel(s, j.id), 0);
    CHECK_EQ(used(s, QUEUE), 1); /* it still runs */
    CHECK_EQ(settle_as(s, j, OUTCOME_CANCELLED, -1), 0);
}

static void retry_later(struct store *s, struct held_job j)
{
    CHECK_EQ(settle_as(s, j, OUTCOME_FAILED, 60 * SECOND), 0);
    CHECK_EQ(get(s, j.id).held, HELD_DELAY);
}

static void give_back(struct store *s, struct held_job j)
{
    CHECK_EQ(settle_as(s, j, OUTCOME_REFUSED, 60 * SECOND), 0);
    CHECK_EQ(get(s, j.id).held, HELD_DELAY);
}

static void defer(struct store *s, struct held_job j)
{
    CHECK_EQ(settle_as(s, j, OUTCOME_DEFERRED, 60 * SECOND), 0);
    CHECK_EQ(get(s, j.id).held, HELD_DELAY);
}

/* Four wait behind one; whatever ends each, the next is the most urgent, then the oldest. */
static void check_order(void (*end)(struct store *, struct held_job))
{
    static const int priorities[] = {0, -5, 0, 9}; /* as they are submitted */
    static const int order[] = {3, 0, 2, 1};       /* as they must come */
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
        CHECK_EQ(claimable(s), 1); /* in the same turn */
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

TEST(success_hands_the_permit_to_the_next_by_priority_then_age)
{
    check_order(end_well);
}

TEST(failure_hands_the_permit_on)
{
    check_order(fail);
}

TEST(a_timeout_hands_the_permit_on)
{
    check_order(time_out);
}

TEST(a_lost_attempt_hands_the_permit_on)
{
    check_order(lose);
}

TEST(a_cancelled_job_hands_the_permit_on_when_it_ended)
{
    check_order(be_cancelled);
}

TEST(a_delayed_retry_hands_the_permit_on)
{
    check_order(retry_later);
}

TEST(a_release_with_back_off_hands_the_permit_on)
{
    check_order(give_back);
}

TEST(a_deferral_hands_the_permit_on)
{
    check_order(defer);
}

TEST(a_claimable_job_that_is_cancelled_or_paused_hands_its_permit_on)
{
    struct store *s = fixture_store();
    int64_t a, b, c;

    set_limit(s, QUEUE, 1);
    a = submit(s, "a");
    b = submit(s, "b");
    c = submit(s, "c");
    CHECK_EQ(cancel(s, a), 0);
    check_claimable(s, b);
    verify_clean(s);
    CHECK_EQ(hold(s, b), 0);
    check_claimable(s, c);
    CHECK_EQ(used(s, QUEUE), 1);
    verify_clean(s);
    store_close(&s);
}

TEST(a_retry_without_delay_keeps_its_permit)
{
    struct store *s = fixture_store();
    int64_t a, b;

    set_limit(s, QUEUE, 1);
    a = submit_with(s, (struct submission){.name = "a", .max_attempts = 3});
    b = submit_with(s, (struct submission){.name = "b", .priority = 100});
    check_waits(s, b, QUEUE);
    CHECK_EQ(settle_as(s, claim_job(s, 1), OUTCOME_FAILED, 0), 0);
    check_claimable(s, a);
    check_waits(s, b, QUEUE); /* however urgent: the permit was not free for a moment */
    CHECK_EQ(settle_as(s, claim_job(s, 1), OUTCOME_REFUSED, 0), 0);
    check_claimable(s, a);
    CHECK_EQ(used(s, QUEUE), 1);
    verify_clean(s);
    store_close(&s);
}

TEST(a_delayed_retry_must_wait_for_a_permit_again_when_its_time_has_come)
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

TEST(an_orphan_and_an_adopted_job_keep_the_permit)
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

TEST(one_turn_that_ends_many_lets_as_many_go)
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

/* ---- those who are held otherwise ---- */

TEST(a_job_that_is_paused_or_delayed_has_no_permit)
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

TEST(a_waiter_that_is_cancelled_is_passed_over)
{
    struct store *s = fixture_store();
    int64_t b, c;

    set_limit(s, QUEUE, 1);
    submit(s, "a");
    b = submit(s, "b");
    c = submit(s, "c");
    CHECK_EQ(cancel(s, b), 0);
    CHECK_EQ(status_of(s, b), S_CANCELLED);
    CHECK_EQ(used(s, QUEUE), 1); /* it had no permit to give back */
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM limit_waits"), 1);
    check_waits(s, c, QUEUE);
    verify_clean(s);
    CHECK_EQ(settle_ok(s, claim_job(s, 1)), 0);
    check_claimable(s, c);
    verify_clean(s);
    store_close(&s);
}

TEST(a_waiter_that_is_paused_leaves_the_line_and_comes_back_by_its_age)
{
    struct store *s = fixture_store();
    int64_t b, c;

    set_limit(s, QUEUE, 1);
    submit(s, "a");
    b = submit(s, "b");
    c = submit(s, "c");
    CHECK_EQ(hold(s, b), 0);
    CHECK_EQ(get(s, b).held, HELD_PAUSED);
    CHECK(!get(s, b).held_key);
    verify_clean(s);
    CHECK_EQ(unhold(s, b), 0); /* no room yet */
    check_waits(s, b, QUEUE);
    CHECK_EQ(settle_ok(s, claim_job(s, 1)), 0);
    check_claimable(s, b);
    check_waits(s, c, QUEUE);
    verify_clean(s);
    CHECK_EQ(hold(s, c), 0);
    CHECK_EQ(settle_ok(s, claim_job(s, 1)), 0);
    CHECK_EQ(used(s, QUEUE), 0); /* nobody may take it */
    CHECK_EQ(unhold(s, c), 0);
    check_claimable(s, c);
    verify_clean(s);
    store_close(&s);
}

/* ---- concurrency keys ---- */

TEST(a_key_is_limited_by_the_first_job_that_uses_it)
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

TEST(keys_do_not_wait_for_each_other)
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

TEST(a_key_keeps_its_limit_when_nobody_uses_it)
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

TEST(a_key_may_be_limited_before_anybody_uses_it)
{
    struct store *s = fixture_store();

    set_limit(s, "key:k", 0);
    check_waits(s, submit_keyed(s, "a", "k"), "key:k");
    CHECK_EQ(claimable(s), 0);
    set_limit(s, "key:k", 1);
    CHECK_EQ(claimable(s), 1);
    verify_clean(s);
    store_close(&s);
}

TEST(a_key_in_use_that_is_set_free_still_counts_its_jobs)
{
    struct store *s = fixture_store();
    int64_t a = submit_keyed(s, "a", "k"), b = submit_keyed(s, "b", "k"), c, d;

    claim_job(s, 1);
    set_limit(s, "key:k", -1);
    check_claimable(s, b);
    c = submit_keyed(s, "c", "k"); /* it asks for one at a time, but the key is known and free */
    check_claimable(s, c);
    CHECK_EQ(used(s, "key:k"), 3);
    verify_clean(s);
    set_limit(s, "key:k", 2); /* and limited again */
    CHECK_EQ(used(s, "key:k"), 2);
    check_claimable(s, b);
    check_waits(s, c, "key:k");
    d = submit_keyed(s, "d", "k");
    check_waits(s, d, "key:k");
    CHECK_EQ(status_of(s, a), S_RUNNING);
    verify_clean(s);
    store_close(&s);
}

TEST(a_key_that_is_removed_while_one_of_its_jobs_is_delayed_still_counts_it)
{
    struct store *s = fixture_store();
    int64_t a =
        submit_with(s, (struct submission){.name = "a", .concurrency = "k", .delay = 100 * SECOND});
    int64_t b;

    set_limit(s, "key:k", -1);
    b = submit_keyed(s, "b", "k"); /* nobody has a permit: its bound of one holds again */
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

TEST(a_key_that_is_removed_while_nobody_uses_it_begins_anew)
{
    struct store *s = fixture_store();

    submit_keyed(s, "a", "k");
    CHECK_EQ(settle_ok(s, claim_job(s, 1)), 0);
    set_limit(s, "key:k", -1);
    submit_with(s, (struct submission){.name = "b", .concurrency = "k", .concurrency_max = 3});
    CHECK_EQ(sql_number(s, "SELECT max FROM limits WHERE key = 'key:k'"), 3);
    CHECK_EQ(used(s, "key:k"), 1);
    verify_clean(s);
    store_close(&s);
}

/* ---- both at once ---- */

TEST(a_job_under_two_limits_needs_a_permit_of_each)
{
    struct store *s = fixture_store();
    int64_t a, b, c, d;

    set_limit(s, QUEUE, 2);
    a = submit_keyed(s, "a", "k");
    b = submit_keyed(s, "b", "k");
    c = submit(s, "c");
    d = submit(s, "d");
    check_claimable(s, a);
    check_waits(s, b, "key:k"); /* and takes nothing from the queue meanwhile */
    check_claimable(s, c);
    check_waits(s, d, QUEUE);
    CHECK_EQ(used(s, QUEUE), 2);
    CHECK_EQ(used(s, "key:k"), 1);
    verify_clean(s);
    store_close(&s);
}

TEST(a_permit_that_the_first_in_line_cannot_use_goes_to_the_second)
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
    check_waits(s, b, "key:k"); /* it was asked first, and now waits elsewhere */
    check_claimable(s, c);
    verify_clean(s);
    CHECK_EQ(settle_ok(s, ja), 0);
    check_claimable(s, b);
    CHECK_EQ(used(s, QUEUE), 2);
    CHECK_EQ(used(s, "key:k"), 1);
    verify_clean(s);
    store_close(&s);
}

TEST(many_who_wait_for_a_key_do_not_keep_the_queue_from_others)
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

TEST(a_permit_that_thousands_have_no_use_for_goes_past_them_in_slices)
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
        submit_batch(s, 250, "k"); /* held for the queue, and each will find its key taken */
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
    CHECK_EQ(settle_ok(s, k), 0); /* the first of the thousands goes, at once */
    CHECK_EQ(claimable(s), 2);
    verify_clean(s);
    store_close(&s);
}

struct claiming {
    const char *queue;
    struct held_job out;
    size_t n;
};

static int claim_body(struct turn *t, void *arg, struct err *err)
{
    struct claiming *c = arg;
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
    struct claiming c = {.queue = queue};
    struct err err = ERR_INIT;

    CHECK_OK_ERR(store_turn(s, claim_body, &c, &err), &err);
    CHECK_EQ(c.n, 1);
    return c.out;
}

TEST(a_key_across_two_queues_ends_with_everybody_served)
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

/* ---- changing a limit ---- */

TEST(lowering_a_limit_takes_the_youngest_out_of_the_outbox_in_slices)
{
    struct store *s = fixture_store();
    int64_t old, young;

    old = submit_batch(s, 20, NULL);
    young = submit_batch(s, 230, NULL);
    CHECK_EQ(set_limit_in_slices(s, QUEUE, 250), 1);
    CHECK_EQ(claimable(s), 250);
    verify_clean(s);
    CHECK_EQ(set_limit_in_slices(s, QUEUE, 20), 3); /* 230 above, 100 at a time */
    CHECK_EQ(claimable(s), 20);
    CHECK_EQ(used(s, QUEUE), 20);
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM limit_waits"), 230);
    check_claimable(s, old);
    check_claimable(s, old + 19);
    check_waits(s, young, QUEUE);
    CHECK_STR(history(s, young), "created marked_ready held");
    verify_clean(s);
    CHECK_EQ(set_limit_in_slices(s, QUEUE, 1000), 3); /* and back the same way */
    CHECK_EQ(claimable(s), 250);
    CHECK_EQ(sql_number(s, "SELECT max FROM limits"), 1000);
    verify_clean(s);
    store_close(&s);
}

TEST(lowering_the_limit_of_a_key_takes_its_jobs_out_in_slices)
{
    struct store *s = fixture_store();
    int64_t first = submit_batch(s, 250, "k"), other = submit(s, "other");

    CHECK_EQ(claimable(s), 251);
    CHECK_EQ(set_limit_in_slices(s, "key:k", 7), 3);
    CHECK_EQ(claimable(s), 8);
    CHECK_EQ(used(s, "key:k"), 7);
    check_claimable(s, first);
    check_claimable(s, first + 6);
    check_waits(s, first + 7, "key:k");
    check_claimable(s, other);
    verify_clean(s);
    store_close(&s);
}

TEST(what_runs_when_a_limit_is_lowered_finishes_and_frees_nothing_before_there_is_room)
{
    struct store *s = fixture_store();
    struct held_job j[5];
    int i;

    submit_batch(s, 8, NULL);
    CHECK_EQ(claim_many(s, 1, 5, j), 5);
    set_limit(s, QUEUE, 2);
    CHECK_EQ(claimable(s), 0);
    CHECK_EQ(used(s, QUEUE), 5); /* exceeded by what ran already */
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

TEST(a_retry_of_what_ran_above_a_lowered_limit_is_not_left_in_the_outbox)
{
    struct store *s = fixture_store();
    struct held_job j[2];

    submit_with(s, (struct submission){.name = "a", .max_attempts = 3});
    submit_with(s, (struct submission){.name = "b", .max_attempts = 3});
    CHECK_EQ(claim_many(s, 1, 2, j), 2);
    set_limit(s, QUEUE, 1);
    CHECK_EQ(settle_as(s, j[0], OUTCOME_FAILED, 0), 0); /* two run where one may */
    check_waits(s, j[0].id, QUEUE);
    verify_clean(s);
    CHECK_EQ(settle_ok(s, j[1]), 0);
    check_claimable(s, j[0].id);
    verify_clean(s);
    store_close(&s);
}

TEST(raising_a_limit_lets_as_many_go_by_priority_then_age)
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

TEST(a_queue_is_paused_by_a_limit_of_none_and_resumed_by_any_other)
{
    struct store *s = fixture_store();
    struct held_job j, none;
    int64_t b, c;

    submit(s, "a");
    j = claim_job(s, 1);
    b = submit(s, "b");
    set_limit(s, QUEUE, 0);
    check_waits(s, b, QUEUE); /* out of the outbox before the answer */
    c = submit(s, "c");
    CHECK(!claim_one(s, 1, &none));
    CHECK_EQ(settle_ok(s, j), 0); /* what runs finishes */
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

TEST(removing_a_limit_lets_everybody_go)
{
    struct store *s = fixture_store();
    int64_t k;

    set_limit(s, QUEUE, 3);
    submit_batch(s, 250, NULL);
    k = submit_keyed(s, "a", "k");
    CHECK_EQ(claimable(s), 3);
    CHECK_EQ(set_limit_in_slices(s, QUEUE, -1), 3); /* 248 wait, 100 at a time */
    CHECK_EQ(claimable(s), 251);
    check_claimable(s, k);
    CHECK_EQ(used(s, QUEUE), -1); /* gone */
    CHECK_EQ(used(s, "key:k"), 1);
    CHECK_EQ(set_limit_in_slices(s, QUEUE, -1), 1); /* and again is no error */
    check_claimable(s, submit(s, "later"));
    verify_clean(s);
    store_close(&s);
}

TEST(who_waits_for_a_removed_limit_may_have_to_wait_for_the_other)
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

TEST(a_limit_that_is_set_while_jobs_run_counts_them)
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

TEST(a_limit_that_is_set_to_what_it_was_changes_nothing)
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

/* ---- two at once ---- */

/* Another thread with a store of its own, stopped in the middle of a turn that has locked what it
 * wants: before the statement `at`, or at the end of the body. It goes on when told so, or after a
 * moment: on a database with one writer everybody else waits for it until then, and the outcome
 * must be the same. */
struct other {
    struct env env;
    struct store *store;
    pthread_t thread;
    sem_t locked, go;
    int (*act)(struct turn *t, struct other *o, struct err *err);
    const char *at;
    int64_t id[2];
    bool give_up; /* the turn is rolled back at its end */
    bool waited;
    int rc;
};

static void other_wait(struct other *o)
{
    struct timespec until;

    if (o->waited)
        return;
    o->waited = true;
    sem_post(&o->locked);
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += 400000000;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    sem_timedwait(&o->go, &until);
}

static void other_point(void *arg, const char *where)
{
    struct other *o = arg;

    if (o->at && !strcmp(where, o->at))
        other_wait(o);
}

static int other_body(struct turn *t, void *arg, struct err *err)
{
    struct other *o = arg;
    int rc = o->act(t, o, err);

    if (!rc)
        other_wait(o);
    return !rc && o->give_up ? err_set(err, E_INVALID, "on purpose") : rc;
}

static void *other_run(void *arg)
{
    struct other *o = arg;
    struct err err = ERR_INIT;

    o->rc = store_turn(o->store, other_body, o, &err);
    return NULL;
}

static void other_start(struct other *o)
{
    struct store_options options = {.env = &o->env};
    struct err err = ERR_INIT;

    o->env =
        (struct env){.clock_offset = fixture_env()->clock_offset, .point = other_point, .arg = o};
    CHECK_OK_ERR(store_open(fixture_url(), fixture_tenant(), &options, &o->store, &err), &err);
    sem_init(&o->locked, 0, 0);
    sem_init(&o->go, 0, 0);
    CHECK_OK(pthread_create(&o->thread, NULL, other_run, o));
    sem_wait(&o->locked);
}

static void other_finish(struct other *o)
{
    sem_post(&o->go);
    pthread_join(o->thread, NULL);
    store_close(&o->store);
    CHECK_EQ(o->rc, o->give_up ? -E_INVALID : 0);
}

/* Locks both, and changes nothing: they are not held for that. */
static int lock_only(struct turn *t, struct other *o, struct err *err)
{
    struct request r[2] = {{.execution = o->id[0]}, {.execution = o->id[1]}};
    bool more;
    int rc = op_resume(t, r, o->id[1] ? 2 : 1, 1000, &more, err);

    CHECK_EQ(r[0].rc, -E_INVALID);
    return rc;
}

/* Locks both and cancels the first. */
static int cancel_first(struct turn *t, struct other *o, struct err *err)
{
    struct request r = {.execution = o->id[0]};
    bool more;
    int rc = lock_only(t, o, err);

    return rc ? rc : op_cancel(t, &r, 1, 1000, &more, err);
}

static int claim_two(struct turn *t, struct other *o, struct err *err)
{
    static const struct lane_queue serves = {"process", "default"};
    struct claim claim = {.worker = 9,
                          .folder = "folder-a",
                          .lease = LEASE,
                          .serves = &serves,
                          .nserves = 1,
                          .max = 2};
    struct job_list jobs;

    (void)o;
    return op_claim(t, &claim, &jobs, err);
}

TEST(a_permit_whose_only_taker_is_locked_is_offered_again)
{
    struct store *s = fixture_store();
    struct other o = {.act = lock_only, .at = "lock_limits"};
    struct held_job j;

    set_limit(s, QUEUE, 1);
    submit(s, "a");
    o.id[0] = submit(s, "b");
    j = claim_job(s, 1);
    other_start(&o);
    CHECK_EQ(settle_ok(s, j), 0); /* does not wait for the other */
    verify_clean(s);              /* nobody holds the permit, and a timer is due for it */
    other_finish(&o);
    run_timers(s);
    check_claimable(s, o.id[0]);
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM timers"), 0);
    verify_clean(s);
    store_close(&s);
}

TEST(a_permit_is_not_lost_with_the_taker_that_its_timer_names)
{
    struct store *s = fixture_store();
    struct other o = {.act = cancel_first, .at = "lock_limits"};
    struct held_job j;

    set_limit(s, QUEUE, 1);
    submit(s, "a");
    o.id[0] = submit(s, "b");
    o.id[1] = submit(s, "c");
    j = claim_job(s, 1);
    other_start(&o);
    CHECK_EQ(settle_ok(s, j), 0);
    other_finish(&o);
    run_timers(s);
    CHECK_EQ(status_of(s, o.id[0]), S_CANCELLED);
    check_claimable(s, o.id[1]);
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM timers"), 0);
    verify_clean(s);
    store_close(&s);
}

TEST(a_limit_is_not_gone_before_the_last_who_waited_for_it)
{
    struct store *s = fixture_store();
    struct other o = {.act = lock_only, .at = "lock_limits"};
    struct limit_change c = {.key = QUEUE, .max = -1};
    struct err err = ERR_INIT;

    set_limit(s, QUEUE, 1);
    submit(s, "a");
    o.id[0] = submit(s, "b");
    other_start(&o);
    CHECK_OK_ERR(store_turn(s, limit_body, &c, &err), &err);
    other_finish(&o);
    if (c.more)
        set_limit(s, QUEUE, -1);
    check_claimable(s, o.id[0]);
    CHECK_EQ(used(s, QUEUE), -1);
    verify_clean(s);
    store_close(&s);
}

TEST(a_claim_that_comes_to_nothing_leaves_nothing_above_a_limit_lowered_meanwhile)
{
    struct store *s = fixture_store();
    struct other o = {.act = claim_two, .give_up = true};
    struct limit_change c = {.key = QUEUE, .max = 1};
    struct err err = ERR_INIT;

    submit_batch(s, 3, NULL);
    other_start(&o);
    CHECK_OK_ERR(store_turn(s, limit_body, &c, &err), &err);
    other_finish(&o);
    if (c.more)
        set_limit(s, QUEUE, 1);
    CHECK_EQ(claimable(s), 1);
    CHECK_EQ(used(s, QUEUE), 1);
    verify_clean(s);
    store_close(&s);
}

TEST(a_claim_that_succeeds_while_its_limit_is_lowered_counts)
{
    struct store *s = fixture_store();
    struct other o = {.act = claim_two};
    struct limit_change c = {.key = QUEUE, .max = 1};
    struct err err = ERR_INIT;

    submit_batch(s, 3, NULL);
    other_start(&o);
    CHECK_OK_ERR(store_turn(s, limit_body, &c, &err), &err);
    other_finish(&o);
    if (c.more)
        set_limit(s, QUEUE, 1);
    CHECK_EQ(claimable(s), 0);
    CHECK_EQ(used(s, QUEUE), 2);
    verify_clean(s);
    store_close(&s);
}

/* ---- many at once ---- */

enum { WORKERS = 4, JOBS = 160, LIMIT = 3 };

static atomic_int running, done;

static void *work(void *arg)
{
    struct store *s = arg;
    struct held_job j;

    while (done < JOBS) {
        if (!claim_one(s, (int64_t)(intptr_t)s, &j)) {
            run_timers(s);
            continue;
        }
        CHECK(++running <= LIMIT);
        running--;
        CHECK_EQ(settle_as(s, j, j.id % 3 ? OUTCOME_OK : OUTCOME_FAILED, -1), 0);
        done++;
    }
    return NULL;
}

TEST(several_workers_together_never_exceed_a_limit_and_leave_nobody_waiting)
{
    struct store *s = fixture_store(), *own[WORKERS];
    pthread_t threads[WORKERS];
    int i;

    set_limit(s, QUEUE, LIMIT);
    for (i = 0; i < WORKERS; i++)
        own[i] = fixture_store();
    submit_batch(s, JOBS / 2, "k");
    submit_batch(s, JOBS / 2, NULL);
    set_limit(s, "key:k", LIMIT - 1);
    for (i = 0; i < WORKERS; i++)
        CHECK_OK(pthread_create(&threads[i], NULL, work, own[i]));
    for (i = 0; i < WORKERS; i++) {
        pthread_join(threads[i], NULL);
        store_close(&own[i]);
    }
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM executions WHERE status >= 4"), JOBS);
    CHECK_EQ(used(s, QUEUE), 0);
    CHECK_EQ(used(s, "key:k"), 0);
    verify_clean(s);
    store_close(&s);
}
