/* test_limits_refuse.c - submissions that ask to be refused instead of waiting for a limit: if no
 * permit is free, nothing of them is stored, not even their key. Each test ends with verify. */
#include "fixture.h"

#include <stdio.h>
#include <string.h>

#define KEY "key:k"

struct batch {
    struct submission list[4];
    size_t n;
};

static int submit_batch_body(struct turn *t, void *arg, struct err *err)
{
    struct batch *b = arg;

    return op_submit(t, b->list, b->n, err);
}

static struct submission refusable(const char *key, int max)
{
    return (struct submission){.kind = KIND_EXEC,
                               .task_index = -1,
                               .name = "x",
                               .concurrency = "k",
                               .concurrency_max = max,
                               .key = key,
                               .refuse = true};
}

/* Submits one job and returns its submission with the result. */
static struct submission submit_one(struct store *s, struct submission one)
{
    struct batch b = {.list = {one}, .n = 1};
    struct err err = ERR_INIT;

    CHECK_OK_ERR(store_turn(s, submit_batch_body, &b, &err), &err);
    return b.list[0];
}

static int64_t used(struct store *s, const char *key)
{
    char sql[200];

    snprintf(sql, sizeof(sql), "SELECT COALESCE(sum(used), -1) FROM limits WHERE key = '%s'", key);
    return sql_number(s, sql);
}

TEST(refusable_submission_without_a_free_permit_is_refused_and_stores_nothing)
{
    struct store *s = fixture_store();
    struct submission one = submit_one(s, refusable(NULL, 2)),
                      two = submit_one(s, refusable(NULL, 2)), three;

    CHECK_OK(one.rc);
    CHECK_OK(two.rc);
    three = submit_one(s, refusable("once", 2));
    CHECK_EQ(three.rc, -E_REFUSED);
    CHECK_EQ(three.id, 0);
    CHECK_STR(three.err.msg, "the limit key:k is full (2 of 2 in use): try again later");
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM executions"), 2);
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM submit_keys"), 0);
    CHECK_EQ(used(s, KEY), 2);
    CHECK_OK(settle_ok(s, claim_job(s, 1)));
    three = submit_one(s, refusable("once", 2));
    CHECK_OK(three.rc);
    CHECK(!three.existed);
    CHECK_STR(history(s, three.id), "created marked_ready");
    verify_clean(s);
    store_close(&s);
}

TEST(known_idempotency_key_returns_its_execution_even_if_the_limit_is_reached)
{
    struct store *s = fixture_store();
    struct submission first = submit_one(s, refusable("once", 1)),
                      again = submit_one(s, refusable("once", 1));

    CHECK_OK(again.rc);
    CHECK(again.existed);
    CHECK_EQ(again.id, first.id);
    verify_clean(s);
    store_close(&s);
}

TEST(submissions_in_one_turn_share_the_free_permits_and_refused_ones_store_no_idempotency_key)
{
    struct store *s = fixture_store();
    struct batch b = {
        .list = {refusable(NULL, 1), refusable("a", 1), refusable("a", 1), refusable("b", 1)},
        .n = 4};
    struct err err = ERR_INIT;
    size_t i;

    CHECK_OK_ERR(store_turn(s, submit_batch_body, &b, &err), &err);
    CHECK_OK(b.list[0].rc);
    for (i = 1; i < 4; i++) {
        CHECK_EQ(b.list[i].rc, -E_REFUSED);
        CHECK(!b.list[i].existed);
        CHECK_EQ(b.list[i].id, 0);
    }
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM submit_keys"), 0);
    verify_clean(s);
    store_close(&s);
}

TEST(queue_at_its_limit_refuses_a_refusable_submission)
{
    struct store *s = fixture_store();
    struct submission one = {
        .kind = KIND_EXEC, .task_index = -1, .name = "x", .queue = "q", .refuse = true};

    set_limit(s, "queue:q", 1);
    CHECK_OK(submit_one(s, one).rc);
    CHECK_EQ(submit_one(s, one).rc, -E_REFUSED);
    one.refuse = false;
    CHECK_OK(submit_one(s, one).rc); /* other submissions wait */
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM limit_waits"), 1);
    verify_clean(s);
    store_close(&s);
}

TEST(retry_of_a_job_submitted_with_refuse_waits_for_a_permit)
{
    struct store *s = fixture_store();
    struct submission one = refusable(NULL, 1);
    struct held_job j;
    int64_t other;

    one.max_attempts = 2;
    one = submit_one(s, one);
    CHECK_OK(one.rc);
    j = claim_job(s, 1);
    CHECK_OK(settle_as(s, j, OUTCOME_FAILED, SECOND));
    other = submit_one(s, refusable(NULL, 1)).id; /* a permit is free between two attempts */
    CHECK(other > 0);
    clock_advance(2 * SECOND);
    run_timers(s);
    CHECK_EQ(get(s, one.id).held, HELD_LIMIT);
    CHECK_OK(settle_ok(s, claim_job(s, 1)));
    CHECK_OK(settle_ok(s, claim_job(s, 1)));
    CHECK_EQ(status_of(s, one.id), S_SUCCEEDED);
    verify_clean(s);
    store_close(&s);
}

/* Shared by the processes of the next test. */
static _Atomic int *accepted;

static void submit_many(int nth)
{
    struct store *s = fixture_store();
    int i;

    (void)nth;
    for (i = 0; i < 10; i++) {
        struct submission one = submit_one(s, refusable(NULL, 7));

        CHECK(!one.rc || one.rc == -E_REFUSED);
        *accepted += !one.rc;
    }
    store_close(&s);
}

TEST(concurrent_processes_with_refusable_submissions_do_not_exceed_the_limit)
{
    struct store *s = fixture_store();

    store_close(&s);
    accepted = shared_memory(sizeof(*accepted));
    run_processes(4, submit_many);
    CHECK_EQ(*accepted, 7);
    s = fixture_store();
    CHECK_EQ(used(s, KEY), 7);
    verify_clean(s);
    store_close(&s);
}
