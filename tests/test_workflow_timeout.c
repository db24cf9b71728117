/* test_workflow_timeout.c - on_failure and on_exit after the timeout of their workflow. */
#include "rerun_fixture.h"
#include "workflow_case.h"

#define HEAD "name: w\ntimeout: 1m\n"

WORKFLOW_CASE(on_failure_and_on_exit_run_after_a_timeout,
              .yaml = HEAD "tasks:\n  a: {run: x}\n  b: {run: x, needs: a, if: always()}\n"
                           "on_failure: {run: x}\non_exit: {run: x}\n",
              .steps = {{"take, after 61s", "a:running b:cancelled"},
                        {"end a", "a:cancelled b:cancelled on_failure:ready"},
                        {"take, ok on_failure",
                         "a:cancelled b:cancelled on_failure:succeeded on_exit:ready"},
                        {"play", "a:cancelled b:cancelled on_failure:succeeded on_exit:succeeded"}},
              .ends = S_TIMED_OUT, .error = "it took longer than its timeout");

WORKFLOW_CASE(on_failure_runs_after_a_timeout_before_any_task_has_started,
              .yaml = HEAD "tasks:\n  a: {run: x, delay: 1h}\non_failure: {run: x}\n",
              .steps = {{"after 61s", "a:cancelled on_failure:ready"},
                        {"play", "a:cancelled on_failure:succeeded"}},
              .ends = S_TIMED_OUT);

WORKFLOW_CASE(on_failure_after_a_timeout_keeps_its_retries,
              .yaml = HEAD "tasks:\n  a: {run: x}\non_failure: {run: x, retry: 1}\n",
              .steps = {{"take, after 61s, end a", "a:cancelled on_failure:ready"},
                        {"take, fail on_failure", "a:cancelled on_failure:ready"},
                        {"take, ok on_failure", "a:cancelled on_failure:succeeded"}},
              .ends = S_TIMED_OUT);

/* As with on_exit, only a cancel of the task itself ends it. */
WORKFLOW_CASE(on_failure_after_a_timeout_is_not_reached_by_a_cancel_of_the_workflow,
              .yaml = HEAD "tasks:\n  a: {run: x}\non_failure: {run: x, retry: 1}\n"
                           "on_exit: {run: x}\n",
              .steps = {{"take, after 61s, end a, cancel w", "a:cancelled on_failure:ready"},
                        {"take, cancel w, fail on_failure", "a:cancelled on_failure:ready"},
                        {"cancel on_failure", "a:cancelled on_failure:cancelled on_exit:ready"},
                        {"play", "a:cancelled on_failure:cancelled on_exit:succeeded"}},
              .ends = S_TIMED_OUT);

WORKFLOW_CASE(timeout_during_on_failure_ends_on_failure_and_does_not_start_it_again,
              .yaml = HEAD "tasks:\n  a: {run: x}\non_failure: {run: x}\non_exit: {run: x}\n",
              .steps = {{"take, fail a, take", "a:failed on_failure:running"},
                        {"after 61s, end on_failure",
                         "a:failed on_failure:cancelled on_exit:ready"},
                        {"play", "a:failed on_failure:cancelled on_exit:succeeded"}},
              .ends = S_TIMED_OUT);

WORKFLOW_CASE(on_failure_does_not_run_after_a_cancel,
              .yaml = HEAD "tasks:\n  a: {run: x}\non_failure: {run: x}\non_exit: {run: x}\n",
              .steps = {{"take, cancel w, after 61s, end a", "a:cancelled on_exit:ready"},
                        {"play", "a:cancelled on_exit:succeeded"}},
              .ends = S_CANCELLED);

static const char *const nested[] = {
    "w.yaml",
    "name: w\ntasks:\n  in: {workflow: sub.yaml, timeout: 1m}\non_failure: {run: x}\n",
    "sub.yaml",
    "name: sub\ntasks:\n  a: {run: x}\non_failure: {workflow: page.yaml}\non_exit: {run: x}\n",
    "page.yaml",
    "name: page\ntasks:\n  p: {run: x}\n  q: {run: x, needs: p}\n",
    NULL};

/* The nested workflow times out, which fails the outer one; the outer on_failure runs as after any
 * failure. */
TEST(on_failure_of_a_nested_workflow_runs_after_the_timeout_of_its_task)
{
    static struct task_claim k;
    struct store *s = fixture_store();
    int64_t w = submit_workflow_text(s, workflow_text_of_files(nested), NULL);

    CHECK_EQ(claim_tasks(s, &k), 1);
    clock_advance(61 * SECOND);
    run_timers(s);
    settle_task(s, k.held[0], OUTCOME_CANCELLED, NULL);
    verify_clean(s);
    run_workflows(s, "");
    CHECK_STR(tree_text(s, w), "in:timed_out on_failure:succeeded a:cancelled "
                               "on_failure:succeeded on_exit:succeeded p:succeeded q:succeeded");
    CHECK_EQ(status_of(s, w), S_FAILED);
    verify_clean(s);
    store_close(&s);
}

TEST(rerun_of_a_workflow_that_timed_out_starts_on_failure_again)
{
    static struct task_claim k;
    struct store *s = fixture_store();
    int64_t w = submit_workflow(s, HEAD "tasks:\n  a: {run: x}\non_failure: {run: x}\n", NULL);
    int run;

    for (run = 0; run < 2; run++) {
        CHECK_EQ(claim_tasks(s, &k), 1);
        clock_advance(61 * SECOND);
        run_timers(s);
        settle_task(s, k.held[0], OUTCOME_CANCELLED, NULL);
        run_workflows(s, "");
        CHECK_STR(tree_text(s, w), "a:cancelled on_failure:succeeded");
        CHECK_EQ(status_of(s, w), S_TIMED_OUT);
        verify_clean(s);
        CHECK_STR(rerun(s, w, RERUN_WHOLE, NULL), "w");
    }
    run_workflows(s, "");
    CHECK_EQ(status_of(s, w), S_SUCCEEDED);
    verify_clean(s);
    store_close(&s);
}
