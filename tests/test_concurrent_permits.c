/* test_concurrent_permits.c - permits while other turns have locked the jobs that wait for them: no
 * permit is lost and none is given twice. */
#include "concurrent_turns_fixture.h"
#include "store/operator.h"

/* A permit becomes free while all jobs that wait for it are locked by turns that then leave them
 * unchanged or cancel them. One of the jobs must still get it. */
struct locked_waiters {
    struct store *s[3];
    struct watch w[3];
    struct held_job job;
    int64_t first, second;
};

static void settle_innermost(void *arg)
{
    struct locked_waiters *c = arg;

    CHECK_EQ(settle_ok(c->s[2], c->job), 0);
}

/* The job is not paused, so unhold() fails; but its row is locked meanwhile. */
static void touch_second(void *arg)
{
    struct locked_waiters *c = arg;

    if (!on_sqlite())
        watch_for(&c->w[1], "lock_limits", 1, settle_innermost, c);
    CHECK_EQ(unhold(c->s[1], c->second), -E_INVALID);
}

TEST(permit_freed_while_all_waiters_are_locked_is_given_to_a_waiter_later)
{
    struct store *last = fixture_store();
    struct locked_waiters c = {0};
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

struct limit_slice {
    struct store *s;
    struct limit_change change;
};

static void limit_once(void *arg)
{
    struct limit_slice *l = arg;
    struct err err = ERR_INIT;

    CHECK_OK_ERR(store_turn(l->s, limit_body, &l->change, &err), &err);
}

TEST(removal_of_a_limit_leaves_no_job_waiting)
{
    struct watch w = {0};
    struct store *s = watched_store(&w), *other = fixture_store();
    struct limit_slice l = {other, {.key = "queue:default", .max = -1}};
    int64_t id;

    set_limit(s, "queue:default", 1);
    submit(s, "holds it");
    id = submit(s, "waits");
    if (on_sqlite())
        limit_once(&l);
    else
        watch_for(&w, "lock_limits", 1, limit_once, &l);
    CHECK_EQ(unhold(s, id), -E_INVALID); /* locks the row and leaves it unchanged */
    while (l.change.more)
        limit_once(&l);
    CHECK_EQ(get(s, id).held, HELD_NONE);
    verify_clean(s);
    submit(s, "new");
    verify_clean(s);
    drain(other);
    verify_clean(other);
    check_not_redone(&w);
    store_close(&other);
    store_close(&s);
}

TEST(paused_job_with_a_concurrency_key_needs_a_permit_when_it_is_resumed)
{
    struct store *s = fixture_store();
    int64_t id =
        submit_with(s, (struct submission){.name = "x", .concurrency = "k", .paused = true});

    submit_with(s, (struct submission){.name = "y", .concurrency = "k"});
    verify_clean(s);
    CHECK_EQ(unhold(s, id), 0);
    CHECK_EQ(get(s, id).held, HELD_LIMIT);
    verify_clean(s);
    submit_with(s, (struct submission){.name = "z", .concurrency = "k"});
    verify_clean(s);
    drain(s);
    verify_clean(s);
    store_close(&s);
}

TEST(crash_between_slices_of_a_limit_change_strands_no_job)
{
    struct store *s = fixture_store();
    struct limit_slice l = {s, {.key = "queue:default", .max = -1, .slice = 2}};
    int i;

    set_limit(s, "queue:default", 0);
    for (i = 0; i < 9; i++)
        submit(s, "x");
    limit_once(&l);
    CHECK(l.change.more);
    /* The process dies here. The released jobs run, and each one that ends releases the next. */
    verify_clean(s);
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM task_outbox"), 2);
    drain(s);
    verify_clean(s);
    store_close(&s);
}

/* The first submit has decided and not yet committed; the second must not decide by the same
 * counts. */
static struct {
    struct shared_flag decided, done;
} * deciding;

static void while_undecided(void *arg)
{
    (void)arg;
    flag_set(&deciding->decided);
    /* times out, because the other submit has to wait for this one */
    flag_wait(&deciding->done, 300000);
}

static void submit_limited(int nth)
{
    struct watch w = {0};
    struct store *s = watched_store(&w);

    submit_with(s, (struct submission){.name = "warm", .queue = "other"});
    if (nth == 0) {
        if (on_sqlite())
            flag_set(&deciding->decided);
        else
            watch_for(&w, "execution_insert", 1, while_undecided, NULL);
        submit(s, "x");
    } else {
        flag_await(&deciding->decided);
        submit(s, "x");
        flag_set(&deciding->done);
    }
    close_checked(&s, &w);
}

TEST(concurrent_submits_do_not_both_get_the_last_permit)
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
