/* test_limits_refuse.c - submissions that would rather be refused than wait for a limit: where
 * there is no room nothing of them is stored, not even their key. Each test ends with verify. */
#include "fixture.h"

#include <stdio.h>
#include <string.h>

#define KEY "key:k"

struct batch {
    struct submission list[4];
    size_t n;
};

static int body(struct turn *t, void *arg, struct err *err)
{
    struct batch *b = arg;

    return op_submit(t, b->list, b->n, err);
}

static struct submission picky(const char *key, int max)
{
    return (struct submission){.kind = KIND_EXEC,
                               .task_index = -1,
                               .name = "x",
                               .concurrency = "k",
                               .concurrency_max = max,
                               .key = key,
                               .refuse = true};
}

/* What became of one. */
static struct submission try(struct store *s, struct submission one)
{
    struct batch b = {.list = {one}, .n = 1};
    struct err err = ERR_INIT;

    CHECK_OK_ERR(store_turn(s, body, &b, &err), &err);
    return b.list[0];
}

static int64_t used(struct store *s, const char *key)
{
    char sql[200];

    snprintf(sql, sizeof(sql), "SELECT COALESCE(sum(used), -1) FROM limits WHERE key = '%s'", key);
    return sql_number(s, sql);
}

TEST(with_room_it_is_taken_and_without_it_is_refused_and_leaves_nothing)
{
    struct store *s = fixture_store();
    struct submission one = try(s, picky(NULL, 2)), two = try(s, picky(NULL, 2)), three;

    CHECK_OK(one.rc);
    CHECK_OK(two.rc);
    three = try(s, picky("once", 2));
    CHECK_EQ(three.rc, -E_REFUSED);
    CHECK_EQ(three.id, 0);
    CHECK_STR(three.err.msg, "the limit key:k has no room: 2 of 2 are in use");
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM executions"), 2);
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM submit_keys"), 0);
    CHECK_EQ(used(s, KEY), 2);
    CHECK_OK(settle_ok(s, claim_job(s, 1)));
    three = try(s, picky("once", 2));
    CHECK_OK(three.rc);
    CHECK(!three.existed);
    CHECK_STR(history(s, three.id), "created marked_ready");
    verify_clean(s);
    store_close(&s);
}

TEST(a_key_that_is_known_is_found_however_full_it_is)
{
    struct store *s = fixture_store();
    struct submission first = try(s, picky("once", 1)), again = try(s, picky("once", 1));

    CHECK_OK(again.rc);
    CHECK(again.existed);
    CHECK_EQ(again.id, first.id);
    verify_clean(s);
    store_close(&s);
}

TEST(those_of_one_turn_share_the_room_and_the_refusal_of_their_key)
{
    struct store *s = fixture_store();
    struct batch b = {.list = {picky(NULL, 1), picky("a", 1), picky("a", 1), picky("b", 1)},
                      .n = 4};
    struct err err = ERR_INIT;
    size_t i;

    CHECK_OK_ERR(store_turn(s, body, &b, &err), &err);
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

TEST(a_full_queue_refuses_too)
{
    struct store *s = fixture_store();
    struct submission one = {
        .kind = KIND_EXEC, .task_index = -1, .name = "x", .queue = "q", .refuse = true};

    set_limit(s, "queue:q", 1);
    CHECK_OK(try(s, one).rc);
    CHECK_EQ(try(s, one).rc, -E_REFUSED);
    one.refuse = false;
    CHECK_OK(try(s, one).rc); /* others wait, as ever */
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM limit_waits"), 1);
    verify_clean(s);
    store_close(&s);
}

TEST(a_higher_bound_counts_from_now_on_and_a_lower_one_for_itself)
{
    struct store *s = fixture_store();
    int64_t waiting;

    CHECK_OK(try(s, picky(NULL, 1)).rc);
    waiting = submit_with(s, (struct submission){.name = "x", .concurrency = "k"});
    CHECK_EQ(get(s, waiting).held, HELD_LIMIT);
    CHECK_OK(try(s, picky(NULL, 3)).rc);
    CHECK_EQ(get(s, waiting).held, HELD_NONE); /* there was room for it as well */
    CHECK_EQ(used(s, KEY), 3);
    CHECK_OK(settle_ok(s, claim_job(s, 1)));
    CHECK_EQ(try(s, picky(NULL, 2)).rc, -E_REFUSED);
    CHECK_OK(try(s, picky(NULL, 3)).rc);
    verify_clean(s);
    store_close(&s);
}

TEST(what_was_taken_waits_for_its_next_try_like_any_other)
{
    struct store *s = fixture_store();
    struct submission one = picky(NULL, 1);
    struct held_job j;
    int64_t other;

    one.max_attempts = 2;
    one = try(s, one);
    CHECK_OK(one.rc);
    j = claim_job(s, 1);
    CHECK_OK(settle_as(s, j, OUTCOME_FAILED, SECOND));
    other = try(s, picky(NULL, 1)).id; /* between two tries there is room */
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
static _Atomic int *taken;

static void submit_many(int nth)
{
    struct store *s = fixture_store();
    int i;

    (void)nth;
    for (i = 0; i < 10; i++) {
        struct submission one = try(s, picky(NULL, 7));

        CHECK(!one.rc || one.rc == -E_REFUSED);
        *taken += !one.rc;
    }
    store_close(&s);
}

TEST(many_processes_at_once_do_not_overrun_it)
{
    struct store *s = fixture_store();

    store_close(&s);
    taken = shared_memory(sizeof(*taken));
    run_processes(4, submit_many);
    CHECK_EQ(*taken, 7);
    s = fixture_store();
    CHECK_EQ(used(s, KEY), 7);
    verify_clean(s);
    store_close(&s);
}
