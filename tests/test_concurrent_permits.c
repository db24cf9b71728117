/* test_concurrent_permits.c - permits while others have their hands on what waits for them: none is
 * forgotten, none is given twice. */
#include "meeting_fixture.h"
#include "store/operator.h"

/* A permit becomes free while those who wait for it are all locked, by turns that then leave them
 * as they are, or take them away. Somebody must still get it. */
struct chain {
    struct store *s[3];
    struct watch w[3];
    struct held_job job;
    int64_t first, second;
};

static void settle_innermost(void *arg)
{
    struct chain *c = arg;

    CHECK_EQ(settle_ok(c->s[2], c->job), 0);
}

/* It is not held for a pause, so nothing happens; but the row is locked meanwhile. */
static void touch_second(void *arg)
{
    struct chain *c = arg;

    if (!on_sqlite())
        watch_for(&c->w[1], "lock_limits", 1, settle_innermost, c);
    CHECK_EQ(unhold(c->s[1], c->second), -E_INVALID);
}

TEST(a_permit_that_nobody_could_take_goes_to_the_next_though_the_first_is_cancelled)
{
    struct store *last = fixture_store();
    struct chain c = {0};
    int i;

    for (i = 0; i < 3; i++)
        c.s[i] = watched_store(&c.w[i]);
    submit_with(last, (struct submission){.name = "holds it", .concurrency = "k"});
    c.first = submit_with(last, (struct submission){.name = "first", .concurrency = "k"});
    c.second = submit_with(last, (struct submission){.name = "second", .concurrency = "k"});
    c.job = claim_job(last, 1);
    if (on_sqlite())
        settle_innermost(&c);
    else
        watch_for(&c.w[0], "lock_limits", 1, touch_second, &c);
    CHECK_EQ(cancel(c.s[0], c.first), 0);
    CHECK_EQ(status_of(last, c.first), S_CANCELLED);
    run_timers(last);
    CHECK_EQ(get(last, c.second).held, HELD_NONE);
    verify_clean(last);
    for (i = 0; i < 3; i++) {
        check_not_redone(&c.w[i]);
        store_close(&c.s[i]);
    }
    store_close(&last);
}

struct limiting {
    struct store *s;
    const char *key;
    int max;
    size_t slice;
    bool more;
};

static int limit_once_body(struct turn *t, void *arg, struct err *err)
{
    struct limiting *l = arg;

    return op_limit(t, l->key, l->max, l->slice, &l->more, err);
}

static void limit_once(void *arg)
{
    struct limiting *l = arg;
    struct err err = ERR_INIT;

    CHECK_OK_ERR(store_turn(l->s, limit_once_body, l, &err), &err);
}

TEST(a_limit_that_goes_leaves_nobody_waiting_for_it)
{
    struct watch w = {0};
    struct store *s = watched_store(&w), *other = fixture_store();
    struct limiting l = {.s = other, .key = "key:k", .max = -1, .slice = 100};
    int64_t id;

    submit_with(s, (struct submission){.name = "holds it", .concurrency = "k"});
    id = submit_with(s, (struct submission){.name = "waits", .concurrency = "k"});
    if (on_sqlite())
        limit_once(&l);
    else
        watch_for(&w, "lock_limits", 1, limit_once, &l);
    CHECK_EQ(unhold(s, id), -E_INVALID); /* locks it, and leaves it as it is */
    while (l.more)
        limit_once(&l);
    CHECK_EQ(get(s, id).held, HELD_NONE);
    verify_clean(s);
    submit_with(s, (struct submission){.name = "new", .concurrency = "k"});
    verify_clean(s);
    drain(other);
    verify_clean(other);
    check_not_redone(&w);
    store_close(&other);
    store_close(&s);
}

/* Else it would be run uncounted, and the next submit would make a new limit that knows nothing of
 * it. */
TEST(the_limit_of_a_key_stays_while_a_job_of_it_is_held_for_something_else)
{
    struct store *s = fixture_store();
    int64_t id =
        submit_with(s, (struct submission){.name = "x", .concurrency = "k", .paused = true});

    set_limit(s, "key:k", -1);
    verify_clean(s);
    CHECK_EQ(unhold(s, id), 0);
    verify_clean(s);
    submit_with(s, (struct submission){.name = "y", .concurrency = "k"});
    verify_clean(s);
    drain(s);
    verify_clean(s);
    store_close(&s);
}

TEST(a_limit_that_was_raised_in_part_when_the_process_died_strands_nobody)
{
    struct store *s = fixture_store();
    struct limiting l = {.s = s, .key = "queue:default", .max = -1, .slice = 2};
    int i;

    set_limit(s, "queue:default", 0);
    for (i = 0; i < 9; i++)
        submit(s, "x");
    limit_once(&l);
    CHECK(l.more);
    /* Here it dies. What it let go runs, and each end makes way for the next. */
    verify_clean(s);
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM task_outbox"), 2);
    drain(s);
    verify_clean(s);
    store_close(&s);
}

/* The first has decided and not yet committed; the second must not decide by the same numbers. */
static struct {
    struct sign decided, done;
} * deciding;

static void while_undecided(void *arg)
{
    (void)arg;
    sign_give(&deciding->decided);
    sign_wait(&deciding->done, 300000); /* it is to wait for us, so this runs out */
}

static void submit_limited(int nth)
{
    struct watch w = {0};
    struct store *s = watched_store(&w);

    submit_with(s, (struct submission){.name = "warm", .queue = "other"});
    if (nth == 0) {
        if (on_sqlite())
            sign_give(&deciding->decided);
        else
            watch_for(&w, "execution_insert", 1, while_undecided, NULL);
        submit(s, "x");
    } else {
        sign_await(&deciding->decided);
        submit(s, "x");
        sign_give(&deciding->done);
    }
    leave(&s, &w);
}

TEST(two_submits_at_once_do_not_both_take_the_last_permit)
{
    struct store *s = fixture_store();

    deciding = shared_memory(sizeof(*deciding));
    set_limit(s, "queue:default", 1);
    store_close(&s);
    run_processes(2, submit_limited);
    s = fixture_store();
    verify_clean(s);
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM task_outbox WHERE queue = 'default'"), 1);
    store_close(&s);
}
