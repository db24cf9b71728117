/* test_attempt_counts.c - the counters of attempts equal the counts of the events at every moment:
 * they are written in the same transaction. Neither a killed process nor retention loses a count.
 */
#include "attempt_counts_fixture.h"
#include "control_fixture.h"
#include "retention_fixture.h"
#include "workflow_fixture.h"

static int64_t total(struct store *s, const char *column, const char *where)
{
    char sql[300];

    snprintf(sql, sizeof(sql),
             "SELECT CAST(COALESCE(sum(%s), 0) AS bigint) FROM attempt_counters WHERE %s", column,
             where);
    return sql_number(s, sql);
}

/* One attempt with each outcome, the last two of them adopted, and one that still runs. */
static void run_all_outcomes(struct store *s)
{
    struct held_job j;
    int64_t id;

    for (int kind = OUTCOME_OK; kind <= OUTCOME_REFUSED; kind++) {
        id = submit_with(s, (struct submission){.name = "x", .max_attempts = 2});
        clock_advance(kind * SECOND);
        j = claim_job(s, 1);
        CHECK_OK(start(s, j));
        if (kind >= OUTCOME_DEFERRED) {
            clock_advance(LEASE + SECOND);
            CHECK_EQ(reap(s), 1);
            CHECK_EQ(settle_ok(s, j), -E_LEASE_LOST);
            CHECK(adopt_one(s, 2, &j));
        }
        CHECK_OK(settle_as(s, j, (enum outcome_kind)kind, 0));
        if (!status_is_terminal(status_of(s, id)))
            CHECK_OK(settle_ok(s, claim_job(s, 2)));
    }
    submit(s, "y");
    claim_job(s, 1);
}

TEST(counters_of_every_outcome_equal_the_counts_of_its_events)
{
    struct store *s = fixture_store();

    register_worker_on(s, 1, "alpha");
    register_worker_on(s, 2, "beta");
    run_all_outcomes(s);
    check_counts_match_events(s);
    CHECK_EQ(total(s, "n", "type = 0"), 2);
    CHECK_EQ(total(s, "n", "type = 12"), 2);
    CHECK_EQ(total(s, "n", "outcome = 5"), 1);
    verify_clean(s);
    store_close(&s);
}

TEST(settling_a_workflow_or_a_pending_task_is_refused)
{
    struct store *s = fixture_store();
    int64_t workflow = submit_workflow(s, "tasks: {a: {run: x}, b: {needs: a, run: x}}", NULL);
    int64_t task = sql_number(s, "SELECT id FROM executions WHERE task_name = 'b'");
    struct held_job j = {.id = workflow, .root = workflow, .worker = 1, .epoch = 1, .attempt = 1};

    CHECK_EQ(settle_ok(s, j), -E_LEASE_LOST);
    j.id = task;
    CHECK_EQ(settle_ok(s, j), -E_LEASE_LOST);
    CHECK_EQ(total(s, "n", "type = 0"), 1); /* the refusal for the task; a workflow is not a job */
    verify_clean(s);
    store_close(&s);
}

/* ---- wait ---- */

TEST(wait_of_a_delayed_job_is_counted_from_the_end_of_its_delay)
{
    struct store *s = fixture_store();

    submit_with(s, (struct submission){.name = "delayed", .delay = 100 * SECOND});
    clock_advance(100 * SECOND);
    CHECK_EQ(run_timers(s), 1);
    clock_advance(3 * SECOND);
    CHECK_OK(settle_as(s, claim_job(s, 1), OUTCOME_FAILED, -1));
    CHECK(total(s, "us", "type = 5") >= 3 * SECOND && total(s, "us", "type = 5") < 60 * SECOND);
    check_counts_match_events(s);
    verify_clean(s);
    store_close(&s);
}

/* ---- killed processes ---- */

static void live_and_die(struct store *s, void *arg)
{
    struct held_job j;
    int64_t *nth = arg;

    submit_with(s, (struct submission){.name = "x", .max_attempts = 3});
    if (!claim_one(s, *nth, &j))
        return;
    CHECK_OK(start(s, j));
    CHECK_OK(settle_as(s, j, OUTCOME_FAILED, 0));
    if (claim_one(s, *nth, &j))
        CHECK_OK(settle_ok(s, j));
}

TEST_SLOW(attempt_counters_equal_the_counts_of_events_after_a_kill_at_any_point, 600)
{
    int64_t nth = 1, stride = test_full() ? 1 : 5;
    struct store *s;
    bool killed;

    do {
        killed = killed_at(NULL, (int)nth, live_and_die, &nth);
        s = fixture_store();
        check_counts_match_events(s);
        verify_clean(s);
        store_close(&s);
        nth += stride;
    } while (killed);
    CHECK(nth > 20); /* the process reached many points */
}

/* ---- retention ---- */

TEST(attempt_counters_of_silent_stores_and_removed_workers_stay_in_the_sums)
{
    struct store *s = fixture_store(), *other;

    register_worker_on(s, 1, "alpha");
    register_worker_on(s, 2, "beta");
    register_worker_on(s, 3, "alpha");
    run_all_outcomes(s);
    unregister_worker(s, 1);
    clock_advance(2 * DAY);
    other = fixture_store(); /* s is silent for two days */
    register_worker_on(other, 2, "beta");
    retain(other, 90 * DAY);
    CHECK_EQ(total(other, "n", "writer <> 0"), 0);
    CHECK_EQ(total(other, "n", "worker = 1"), 0);
    CHECK(total(other, "n", "worker = 0 AND host = 'alpha'") > 0);
    CHECK(total(other, "n", "worker = 2 AND host = ''") > 0);
    check_counts_match_events(other);
    submit(s, "z"); /* the silent writer was alive after all */
    CHECK_OK(settle_ok(s, claim_job(s, 2)));
    retain(other, 90 * DAY);
    check_counts_match_events(other);
    drain(other);
    verify_clean(other);
    store_close(&other);
    store_close(&s);
}

#define EACH 60

static void count_up(int nth)
{
    struct store *s = fixture_store();

    for (int i = 0; i < EACH; i++) {
        struct held_job j;

        if (!nth) {
            retain(s, 90 * DAY);
            continue;
        }
        submit(s, "x");
        if (claim_one(s, nth, &j))
            CHECK_OK(settle_ok(s, j));
    }
    store_close(&s);
}

/* The workers have no rows in `workers`, so that retention may merge their counters at any moment.
 */
TEST(counters_merged_while_workers_add_to_them_lose_nothing)
{
    struct store *s;

    run_processes(4, count_up);
    s = fixture_store();
    check_counts_match_events(s);
    drain(s);
    check_counts_match_events(s);
    verify_clean(s);
    store_close(&s);
}
