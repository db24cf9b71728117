/* test_pause_end.c - a pause ends with the execution that was paused: a cancel ends it at once, and
 * a rerun starts without it. */
#include "rerun_fixture.h"
#include "workflow_case.h"

#define TWO "name: w\ntasks:\n  a: {run: x}\n  b: {run: x, needs: a}\n"

WORKFLOW_CASE(rerun_of_a_paused_and_cancelled_workflow_is_not_paused, .yaml = TWO,
              .steps = {{"pause w, cancel w, !resume w", "a:cancelled b:cancelled"},
                        {"rerun w, !resume w", "a:ready b:pending"},
                        {"play", "a:succeeded b:succeeded"}},
              .ends = S_SUCCEEDED);

WORKFLOW_CASE(rerun_of_paused_and_cancelled_tasks_is_not_paused, .yaml = TWO,
              .steps = {{"pause a, pause b, cancel w", "a:cancelled b:cancelled"},
                        {"rerun-failed w, !resume a, !resume b", "a:ready b:pending"},
                        {"play", "a:succeeded b:succeeded"}},
              .ends = S_SUCCEEDED);

WORKFLOW_CASE(rerun_of_a_paused_and_skipped_task_is_not_paused, .yaml = TWO,
              .steps = {{"pause b, skip b, play", "a:succeeded b:skipped"},
                        {"rerun b", "a:succeeded b:ready"},
                        {"play", "a:succeeded b:succeeded"}},
              .ends = S_SUCCEEDED);

WORKFLOW_CASE(rerun_of_a_workflow_that_ended_while_it_was_paused_is_not_paused,
              .yaml = "name: w\ntasks:\n  a: {run: x}\n",
              .steps = {{"take, pause w, fail a", "a:failed"},
                        {"rerun a", "a:ready"},
                        {"play", "a:succeeded"}},
              .ends = S_SUCCEEDED);

WORKFLOW_CASE(pause_after_a_rerun_holds_the_workflow_again, .yaml = TWO,
              .steps = {{"pause w, cancel w, rerun w, pause w, play", "a:ready b:pending"},
                        {"resume w, play", "a:succeeded b:succeeded"}},
              .ends = S_SUCCEEDED);

WORKFLOW_CASE(on_exit_of_a_paused_and_cancelled_workflow_runs, .yaml = TWO "on_exit: {run: x}\n",
              .steps = {{"take, pause w, cancel w", "a:running b:cancelled"},
                        {"end a, !resume w", "a:cancelled b:cancelled on_exit:ready"},
                        {"play", "a:cancelled b:cancelled on_exit:succeeded"}},
              .ends = S_CANCELLED);

WORKFLOW_CASE(timeout_of_a_paused_workflow_starts_on_failure,
              .yaml = "name: w\ntimeout: 1m\ntasks:\n  a: {run: x}\non_failure: {run: x}\n",
              .steps = {{"pause w, after 61s", "a:cancelled on_failure:ready"},
                        {"play", "a:cancelled on_failure:succeeded"}},
              .ends = S_TIMED_OUT);

/* A cancel of the outer workflow does not cancel the on_exit of a nested workflow that was
 * cancelled before. It does end the pause that holds this on_exit, even if the cancel takes several
 * slices. */
TEST(on_exit_held_by_a_pause_runs_after_a_cancel)
{
    static const char *const files[] = {
        "w.yaml", "name: w\ntasks:\n  in: {workflow: sub.yaml}\n  many: {foreach: 30, run: x}\n",
        "sub.yaml", "name: sub\ntasks:\n  a: {run: x}\non_exit: {run: x}\n", NULL};
    struct store *s;
    int64_t w, in, exit;

    s = fixture_store();
    w = submit_workflow_text(s, workflow_text_of_files(files), NULL);
    in = task_of(s, w, "in");
    CHECK_OK(control_execution(s, CONTROL_PAUSE, w));
    CHECK_OK(cancel(s, in));
    exit = task_of(s, in, "on_exit");
    CHECK_EQ(get(s, exit).held, HELD_PAUSED);
    verify_clean(s);
    CHECK_OK(control_first_slice(s, CONTROL_CANCEL, w, 10));
    verify_clean(s);
    run_workflows(s, "");
    CHECK_EQ(status_of(s, exit), S_SUCCEEDED);
    CHECK_EQ(status_of(s, w), S_CANCELLED);
    CHECK_EQ(
        sql_number(s, "SELECT count(*) FROM executions WHERE task_name = 'many' AND status = 7"),
        31);
    verify_clean(s);
    store_close(&s);
}

/* ---- below a job ---- */

/* A job that has started another execution, failed, was paused before its next attempt, and ended.
 */
static int64_t submit_below_paused_job(struct store *s, int64_t *job)
{
    static struct task_claim k;
    int64_t w = submit_workflow(s, "name: w\ntasks:\n  a: {run: x, retry: 3}\n", NULL), child;

    CHECK_EQ(claim_tasks(s, &k), 1);
    *job = k.held[0].id;
    child = submit_child(s, *job, "child");
    CHECK_EQ(settle_as(s, k.held[0], OUTCOME_FAILED, 0), 0);
    CHECK_OK(control_execution(s, CONTROL_PAUSE, *job));
    CHECK_OK(cancel(s, w));
    CHECK_EQ(status_of(s, w), S_CANCELLED);
    CHECK_EQ(status_of(s, child), S_CANCELLED);
    verify_clean(s);
    return child;
}

TEST(rerun_of_a_child_is_not_paused_if_its_parent_ended_while_paused)
{
    struct store *s = fixture_store();
    int64_t job, child = submit_below_paused_job(s, &job);

    CHECK_STR(rerun(s, child, RERUN_WHOLE, NULL), "child w");
    CHECK_EQ(get(s, child).held, HELD_NONE);
    CHECK_EQ(settle_ok(s, claim_job(s, 1)), 0);
    CHECK_EQ(status_of(s, child), S_SUCCEEDED);
    verify_clean(s);
    store_close(&s);
}

/* Earlier versions kept the pause flag when an execution ended. */
TEST(pause_flag_left_on_an_ended_job_does_not_hold_its_child)
{
    struct store *s = fixture_store();
    int64_t job, child = submit_below_paused_job(s, &job);
    struct buf sql = BUF_INIT;

    buf_addf(&sql, "UPDATE executions SET flags = 128 WHERE id = %lld", (long long)job);
    sql_run(s, sql.ptr);
    CHECK_STR(rerun(s, child, RERUN_WHOLE, NULL), "child w");
    CHECK_EQ(get(s, child).held, HELD_NONE);
    CHECK_EQ(settle_ok(s, claim_job(s, 1)), 0);
    CHECK_EQ(status_of(s, child), S_SUCCEEDED);
    verify_clean(s);
    buf_release(&sql);
    store_close(&s);
}
