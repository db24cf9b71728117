/* test_control.c - operator actions on executions through pawl.h: cancel and fence. Those on queues
 * are tested by test_control_queue.c. */
#include "control_fixture.h"

/* ---- cancel ---- */

TEST(cancel_ends_a_waiting_job_and_only_records_a_request_for_a_running_one)
{
    struct store *s = fixture_store();
    struct pawl *p = open_pawl();
    int64_t waits = submit(s, "waits"), runs;
    struct pawl_cancelled c;

    OK(pawl_cancel(p, waits, "ada", "not needed", &c, &api_err));
    CHECK_STR(c.status, "cancelled");
    CHECK_EQ(c.left, 0);
    CHECK_STR(history(s, waits), "created marked_ready cancelled");
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM execution_events WHERE data = "
                           "'{\"by\":\"ada\",\"reason\":\"not needed\"}'"),
             1);
    runs = submit(s, "runs");
    claim_job(s, 1);
    OK(pawl_cancel(p, runs, NULL, NULL, &c, &api_err));
    CHECK_STR(c.status, "running");
    CHECK_EQ(c.left, 1);
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM execution_events WHERE type = 13 AND data LIKE "
                           "'{\"by\":\"%@%\"}'"),
             1);
    OK(pawl_cancel(p, runs, NULL, NULL, &c, &api_err)); /* a second cancel changes nothing */
    CHECK_STR(history(s, runs), "created marked_ready claimed cancel_requested");
    close_both(p, s);
}

TEST(cancel_of_a_large_tree_reaches_every_execution)
{
    enum { CHILDREN = 2300 };
    struct store *s = fixture_store();
    struct pawl *p = open_pawl();
    int64_t top = submit(s, "top");
    struct held_job j = claim_job(s, 1);
    struct pawl_job *jobs = calloc(CHILDREN, sizeof(*jobs));
    struct pawl_cancelled c;
    size_t i;

    for (i = 0; i < CHILDREN; i++)
        jobs[i] = (struct pawl_job){.name = "child", .parent = top};
    OK(pawl_submit(p, jobs, CHILDREN, &api_err));
    free(jobs);
    claim_job(s, 1);
    OK(pawl_cancel(p, top, NULL, NULL, &c, &api_err));
    CHECK_EQ(c.left, 2);
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM executions WHERE status = 7"), CHILDREN - 1);
    CHECK_EQ(settle_as(s, j, OUTCOME_CANCELLED, -1), 0);
    /* an execution that has ended may have open descendants */
    OK(pawl_cancel(p, top, NULL, NULL, &c, &api_err));
    CHECK_STR(c.status, "cancelled");
    CHECK_EQ(c.left, 1);
    close_both(p, s);
}

TEST(cancel_of_an_ended_or_unknown_execution_is_refused)
{
    struct store *s = fixture_store();
    struct pawl *p = open_pawl();
    int64_t id = submit(s, "a");

    CHECK_EQ(settle_ok(s, claim_job(s, 1)), 0);
    FAILS(pawl_cancel(p, id, NULL, NULL, NULL, &api_err), PAWL_E_INVALID);
    CHECK(strstr(api_err.message, "succeeded"));
    FAILS(pawl_cancel(p, 777, NULL, NULL, NULL, &api_err), PAWL_E_NOT_FOUND);
    id = submit(s, "b");
    FAILS(pawl_cancel(p, id, NULL, "\xff", NULL, &api_err), PAWL_E_INVALID);
    FAILS(pawl_cancel(p, id, "", NULL, NULL, &api_err), PAWL_E_INVALID);
    CHECK_EQ(status_of(s, id), S_READY);
    close_both(p, s);
}

/* ---- fence ---- */

TEST(fence_revokes_the_lease_of_every_running_job)
{
    struct store *s = fixture_store();
    struct pawl *p = open_pawl();
    struct pawl_fenced f;
    struct held_job j[3];
    int64_t first;

    submit_many(p, 4);
    CHECK_EQ(claim_many(s, 1, 3, j), 3);
    OK(pawl_fence(p, &f, &api_err));
    first = f.generation;
    CHECK(first > 1);
    CHECK_EQ(f.jobs, 3);
    CHECK_EQ(settle_ok(s, j[0]), -E_LEASE_LOST);
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM leases WHERE worker IS NULL"), 3);
    OK(pawl_fence(p, &f, &api_err));
    CHECK(f.generation > first);
    CHECK_EQ(f.jobs, 0);
    drain(s);
    close_both(p, s);
}
