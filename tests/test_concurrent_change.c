/* test_concurrent_change.c - what was done in between is seen: timers that were overtaken, rows
 * that say too much, a cancel that goes on, a parent that has ended; and who may not come in
 * between at all.
 */
#include "meeting_fixture.h"
#include "store/operator.h"

#include <sqlite3.h>

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
