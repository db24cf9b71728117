/* test_concurrent_change.c - changes that other turns make between two reads of a turn, or between
 * two turns: timers that have fired already, stale outbox rows, a cancel in slices, a parent that
 * has ended. On SQLite, a turn excludes other programs. */
#include "concurrent_turns_fixture.h"
#include "store/operator.h"

#include <sqlite3.h>

struct overtaken_timer {
    struct store *s;
    int64_t id;
};

/* Runs after the timer was read as due and before its job is loaded: the job runs, fails and is
 * delayed again. */
static void run_and_fail(void *arg)
{
    struct overtaken_timer *e = arg;

    CHECK_EQ(run_timers(e->s), 1);
    CHECK_EQ(settle_as(e->s, claim_job(e->s, 1), OUTCOME_FAILED, 3600 * SECOND), 0);
}

TEST(timer_that_another_turn_fires_first_does_not_end_the_next_delay)
{
    struct watch w = {0};
    struct store *s = watched_store(&w), *other = fixture_store();
    struct overtaken_timer e = {.s = other};

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

/* The outbox only lists candidates; the state of the execution decides whether it is claimed. */
TEST(outbox_row_of_an_unclaimable_job_is_not_claimed)
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

struct sliced_cancel {
    struct request request;
    bool more;
};

static int cancel_two_body(struct turn *t, void *arg, struct err *err)
{
    struct sliced_cancel *c = arg;

    return op_cancel(t, &c->request, 1, 2, &c->more, err);
}

TEST(cancel_in_slices_reaches_every_child)
{
    struct store *s = fixture_store();
    int64_t workflow = submit_with(s, (struct submission){.name = "flow", .kind = KIND_WORKFLOW});
    struct sliced_cancel c = {.request = {.execution = workflow}};
    struct err err = ERR_INIT;
    struct held_job jobs[45];
    int i, turns = 0;

    for (i = 0; i < 52; i++)
        submit_child(s, workflow, "x");
    CHECK_EQ(claim_many(s, 1, 45, jobs), 45); /* these stay open, with a cancel request */
    do
        CHECK_OK_ERR(store_turn(s, cancel_two_body, &c, &err), &err);
    while (c.more && ++turns < 100);
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM executions WHERE status = 7"), 7);
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM executions WHERE cancel_requested = 1"), 46);
    verify_clean(s);
    store_close(&s);
}

TEST(repeated_submit_with_an_idempotency_key_returns_the_first_execution_after_the_parent_ended)
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

static int read_and_check_lock(struct turn *t, void *arg, struct err *err)
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

/* Other programs do not use Pawl's lock file. They must be locked out before the first read of the
 * turn, not by its first write: otherwise the rows that the turn has read would be out of date. */
TEST(sqlite_turn_excludes_other_writers_from_its_first_read_on)
{
    struct store *s;
    struct err err = ERR_INIT;
    sqlite3 *other = NULL;

    if (!on_sqlite())
        SKIP("for SQLite only");
    s = fixture_store();
    /* This submit, the first turn, writes the row of the clock, so that the turn under test writes
     * nothing. */
    submit(s, "the first turn of all writes the clock's row");
    CHECK_EQ(sqlite3_open(store_url(s)->file, &other), SQLITE_OK);
    CHECK_OK_ERR(store_light_turn(s, read_and_check_lock, other, &err), &err);
    sqlite3_close(other);
    verify_clean(s);
    store_close(&s);
}
