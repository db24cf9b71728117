/* test_meanwhile.c - what another turn did in between is seen: permits that nobody may forget,
 * timers that were overtaken, time after a wait, and what must exclude each other. */
#include "meeting_fixture.h"
#include "store/operator.h"

#include <sqlite3.h>

TEST_LONG;

/* ---- permits that nobody may forget
 * --------------------------------------------------------------- */

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

/* ---- the rest of what may happen in between
 * -------------------------------------------------------- */

struct early {
    struct store *s;
    int64_t id;
};

/* The timer is seen to be due; before its job is looked at, the job ran, failed, and waits again.
 */
static void run_and_fail(void *arg)
{
    struct early *e = arg;

    CHECK_EQ(run_timers(e->s), 1);
    CHECK_EQ(settle_as(e->s, claim_job(e->s, 1), OUTCOME_FAILED, 3600 * SECOND), 0);
}

TEST(a_timer_that_was_overtaken_does_not_end_a_later_delay)
{
    struct watch w = {0};
    struct store *s = watched_store(&w), *other = fixture_store();
    struct early e = {.s = other};

    e.id = submit_with(s, (struct submission){.name = "x", .max_attempts = 3, .delay = 1});
    if (on_sqlite())
        run_and_fail(&e);
    else
        watch_for(&w, "load", 1, run_and_fail, &e);
    run_timers(s);
    CHECK(on_sqlite() || w.acted);
    CHECK_EQ(get(other, e.id).held, HELD_DELAY);
    verify_clean(other);
    drain(other);
    verify_clean(other);
    check_not_redone(&w);
    store_close(&other);
    store_close(&s);
}

/* The outbox says what may be claimed, the execution whether that is true. */
TEST(an_outbox_row_alone_gives_nobody_a_job)
{
    struct store *s = fixture_store();
    struct held_job j;
    int64_t cancelled, paused;

    cancelled = submit(s, "cancelled");
    CHECK_EQ(cancel(s, cancelled), 0);
    paused = submit_with(s, (struct submission){.name = "paused", .paused = true});
    CHECK_EQ(verify_count(s, NULL, 0), 0);
    sql_run(s, "INSERT INTO task_outbox (lane, queue, rank, execution, ready_at) "
               "SELECT lane, queue, 0, id, requested_at FROM executions");
    CHECK(!claim_one(s, 1, &j));
    CHECK_EQ(status_of(s, cancelled), S_CANCELLED);
    CHECK_EQ(status_of(s, paused), S_READY);
    sql_run(s, "DELETE FROM task_outbox");
    verify_clean(s);
    store_close(&s);
}

struct slicing {
    struct request request;
    bool more;
};

static int cancel_two_body(struct turn *t, void *arg, struct err *err)
{
    struct slicing *c = arg;

    return op_cancel(t, &c->request, 1, 2, &c->more, err);
}

TEST(a_cancel_in_slices_reaches_everything)
{
    struct store *s = fixture_store();
    int64_t flow = submit_with(s, (struct submission){.name = "flow", .kind = KIND_WORKFLOW});
    struct slicing c = {.request = {.execution = flow}};
    struct err err = ERR_INIT;
    struct held_job jobs[45];
    int i, turns = 0;

    for (i = 0; i < 52; i++)
        submit_child(s, flow, "x");
    CHECK_EQ(claim_many(s, 1, 45, jobs), 45); /* these stay open, with a request */
    do
        CHECK_OK_ERR(store_turn(s, cancel_two_body, &c, &err), &err);
    while (c.more && ++turns < 100);
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM executions WHERE status = 7"), 7);
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM executions WHERE cancel_requested = 1"), 46);
    verify_clean(s);
    store_close(&s);
}

TEST(a_submit_is_safe_to_repeat_though_the_parent_has_ended)
{
    struct store *s = fixture_store();
    int64_t parent = submit(s, "parent");
    struct submission sub = {.name = "child", .parent = parent, .key = "k"};
    int64_t id = submit_with(s, sub);

    CHECK_EQ(settle_ok(s, claim_job(s, 1)), 0);
    CHECK_EQ(settle_ok(s, claim_job(s, 1)), 0);
    CHECK_EQ(submit_with(s, sub), id);
    verify_clean(s);
    store_close(&s);
}

/* ---- time after a wait
 * ------------------------------------------------------------------------------ */

/* Another process holds the row for a while. Whoever waited for it must take the time when it came
 * free, not when it began to wait: else a lease is given that is partly over already. */
#define WAIT_US 400000 /* less than the lock timeout */

static struct {
    struct sign locked;
    _Atomic int64_t freed_at; /* by the database's clock */
    struct held_job job;
} * waiting;

/* Asked by a statement of our own on PostgreSQL: how turns take their time is what is tested. */
static int database_time(struct turn *t, struct err *err)
{
    static const struct stmt now = {
        .name = "database_time",
        .sql = {[DIALECT_SQLITE] = "SELECT 0",
                [DIALECT_POSTGRES] =
                    "SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint"}};
    struct args a = {.stmt = &now};
    struct rows r = ROWS_INIT;
    int rc = turn_query(t, &a, &r, err);

    if (!rc)
        waiting->freed_at = on_sqlite() ? turn_now(t) : rows_int(&r, 0, 0);
    rows_release(&r);
    args_release(&a);
    return rc;
}

static int hold_row(struct turn *t, void *arg, struct err *err)
{
    const char *table = arg;
    int rc = lock_row(t, table, waiting->job.id, err);

    if (rc)
        return rc;
    sign_give(&waiting->locked);
    clock_sleep_us(WAIT_US);
    return database_time(t, err);
}

static void hold_for_a_while(struct store *s, const char *table)
{
    struct err err = ERR_INIT;

    CHECK_OK_ERR(store_turn(s, hold_row, (void *)(uintptr_t)table, &err), &err);
}

static void renew_after_a_wait(int nth)
{
    struct store *s = fixture_store();

    if (nth == 0) {
        hold_for_a_while(s, "leases");
    } else {
        CHECK(sign_wait(&waiting->locked, 5 * SECOND));
        CHECK_EQ(heartbeat(s, waiting->job), 0);
    }
    store_close(&s);
}

static int retry_in_a_minute(struct turn *t, void *arg, struct err *err)
{
    struct held_job j = waiting->job;
    struct settlement s = {
        .lease = {.execution = j.id, .root = j.root, .epoch = j.epoch},
        .outcome = {
            .kind = OUTCOME_FAILED, .error = "no", .duration = 1, .retry_delay = 60 * SECOND}};
    int rc = op_settle(t, j.worker, &s, 1, err);

    (void)arg;
    CHECK(rc || !s.lease.rc);
    return rc;
}

static void settle_after_a_wait(int nth)
{
    struct store *s = fixture_store();
    struct err err = ERR_INIT;

    if (nth == 0) {
        hold_for_a_while(s, "executions");
    } else {
        CHECK(sign_wait(&waiting->locked, 5 * SECOND));
        CHECK_OK_ERR(store_turn_waiting(s, retry_in_a_minute, NULL, &err), &err);
    }
    store_close(&s);
}

static struct store *one_job_waited_for(void (*body)(int nth))
{
    struct store *s = fixture_store();

    waiting = shared_memory(sizeof(*waiting));
    submit_with(s, (struct submission){.name = "x", .max_attempts = 2});
    waiting->job = claim_job(s, 1);
    store_close(&s);
    run_processes(2, body);
    return fixture_store();
}

TEST(a_lease_renewed_after_a_wait_is_a_whole_one)
{
    struct store *s = one_job_waited_for(renew_after_a_wait);

    CHECK(get(s, waiting->job.id).until >= waiting->freed_at + LEASE);
    verify_clean(s);
    store_close(&s);
}

static int next_timer_body(struct turn *t, void *arg, struct err *err)
{
    struct timer_round r = {.max = 100};
    int rc = op_timers(t, &r, err);

    *(int64_t *)arg = r.next;
    return rc;
}

TEST(a_delay_after_a_wait_is_a_whole_one)
{
    struct store *s = one_job_waited_for(settle_after_a_wait);
    struct err err = ERR_INIT;
    int64_t due = 0;

    CHECK(get(s, waiting->job.id).updated_at >= waiting->freed_at);
    CHECK_OK_ERR(store_turn(s, next_timer_body, &due, &err), &err);
    CHECK(due >= waiting->freed_at + 60 * SECOND);
    verify_clean(s);
    store_close(&s);
}

/* The reaper has the job, and is not done. Whoever waits for it must see what it made of the lease.
 */
static void keep_the_other_waiting(void *looks)
{
    hold_until_they_wait(looks, 1);
}

static int settle_up_body(struct turn *t, void *arg, struct err *err)
{
    struct settlement *s = arg;

    return op_settle(t, scene->up[0].worker, s, 1, err);
}

static void hold_what_is_reaped(struct store *s, struct watch *w, struct store *looks)
{
    watch_for(w, "commit", 1, keep_the_other_waiting, looks);
    CHECK_EQ(reap(s), 1);
}

static void settle_too_late(struct store *s, int nth)
{
    struct held_job j = scene->up[0];
    struct settlement end = {.lease = {.execution = j.id, .root = j.root, .epoch = j.epoch},
                             .outcome = {.kind = OUTCOME_OK, .duration = 1, .retry_delay = -1}};
    struct err err = ERR_INIT;

    (void)nth;
    CHECK_OK_ERR(store_turn_waiting(s, settle_up_body, &end, &err), &err);
    CHECK_EQ(end.lease.rc, -E_LEASE_LOST);
}

TEST(a_settle_that_waited_for_the_reaper_has_lost_its_lease)
{
    struct store *s = fixture_store();

    scene = shared_memory(sizeof(*scene));
    submit(s, "x");
    scene->up[0] = claim_job(s, 1);
    store_close(&s);
    clock_advance(LEASE + SECOND);
    stand_in_line(2, hold_what_is_reaped, settle_too_late);
    s = fixture_store();
    CHECK_STR(history(s, scene->up[0].id), "created marked_ready claimed lease_expired");
    verify_clean(s);
    store_close(&s);
}

/* ---- what must exclude each other
 * ------------------------------------------------------------------- */

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
        CHECK(sign_wait(&deciding->decided, 5 * SECOND));
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

static int look_around(struct turn *t, void *arg, struct err *err)
{
    struct rows r = ROWS_INIT;
    struct args a = ARGS_INIT;
    sqlite3 *other = arg;
    int rc;

    args_begin(&a, Q_TIMER_NEXT);
    args_int(&a, 1);
    rc = turn_query(t, &a, &r, err);
    CHECK_EQ(sqlite3_exec(other, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_BUSY);
    rows_release(&r);
    args_release(&a);
    return rc;
}

/* Other programs do not know our lock file. They must be kept out before the first look, not by the
 * first write: what the turn saw would be out of date by then. */
TEST(a_turn_on_sqlite_keeps_out_other_programs_from_its_first_moment)
{
    struct store *s;
    struct err err = ERR_INIT;
    sqlite3 *other = NULL;

    if (!on_sqlite())
        SKIP("for SQLite only");
    s = fixture_store();
    submit(s, "the first turn of all writes the clock's row"); /* this one is to write nothing */
    CHECK_EQ(sqlite3_open(store_url(s)->file, &other), SQLITE_OK);
    CHECK_OK_ERR(store_light_turn(s, look_around, other, &err), &err);
    sqlite3_close(other);
    verify_clean(s);
    store_close(&s);
}
