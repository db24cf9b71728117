/* test_workflow_final_tasks.c - the values that on_failure, on_exit and the outputs of a workflow
 * can refer to: all tasks with status, outputs and error, and how the workflow ended. */
#include "claimed_values_fixture.h"

/* Every value that a final task can refer to. */
#define REFERS                                                                                   \
    "{run: x, env: {TASKS: \"${{ toJSON(tasks) }}\", STATUS: \"${{ workflow.status }}\", "       \
    "ERROR: \"${{ default(workflow.error, 'none') }}\", WORKFLOW: \"${{ toJSON(workflow) }}\", " \
    "FACTS: \"${{ success() }} ${{ failure() }} ${{ cancelled() }}\"}}\n"

TEST(final_tasks_can_refer_to_every_task_and_to_the_outcome_of_the_workflow)
{
    static const char tasks[] =
        "{\"b\":{\"status\":\"failed\",\"outputs\":{},\"error\":\"it was made to fail\"},"
        "\"a\":{\"status\":\"succeeded\",\"outputs\":{\"n\":1},\"error\":null},"
        "\"c\":{\"status\":\"skipped\",\"outputs\":{},\"error\":null}}";
    static struct task_claim k;
    struct store *s = fixture_store();
    int64_t w = submit_workflow(s,
                                "name: w\ntasks:\n  b: {run: x, needs: a}\n  a: {run: x}\n"
                                "  c: {run: x, needs: b}\non_failure: " REFERS "on_exit: " REFERS,
                                NULL);
    char *workflow;

    CHECK_EQ(claim_tasks(s, &k), 1);
    settle_task(s, k.held[0], OUTCOME_OK, "{\"n\":1}");
    CHECK_EQ(claim_tasks(s, &k), 1);
    settle_task(s, k.held[0], OUTCOME_FAILED, NULL);
    claim_only(s, &k, "on_failure");
    check_variable(&k, "TASKS", tasks);
    check_variable(&k, "STATUS", "failed");
    check_variable(&k, "ERROR", "b failed: it was made to fail");
    check_variable(&k, "FACTS", "false true false");
    workflow = claimed_variable(&k, "WORKFLOW");
    CHECK(strstr(workflow, "\"status\":\"failed\",\"error\":\"b failed: it was made to fail\"}"));
    free(workflow);
    settle_task(s, k.held[0], OUTCOME_FAILED, NULL);
    claim_only(s, &k, "on_exit");
    check_variable(&k, "TASKS", tasks);
    check_variable(&k, "STATUS", "failed");
    check_variable(&k, "ERROR", "b failed: it was made to fail (and 1 more)");
    settle_task(s, k.held[0], OUTCOME_OK, NULL);
    CHECK_EQ(status_of(s, w), S_FAILED);
    verify_clean(s);
    store_close(&s);
}

TEST(on_exit_can_refer_to_the_success_cancel_or_timeout_of_its_workflow)
{
    static const struct {
        int how; /* 0: success, 1: cancel, 2: timeout */
        const char *status, *error, *facts;
    } cells[] = {{0, "succeeded", "none", "true false false"},
                 {1, "cancelled", "cancelled", "false false true"},
                 {2, "timed_out", "it took longer than its timeout", "false true false"}};
    static struct task_claim k;
    size_t i;

    for (i = 0; i < 3; i++) {
        struct store *s = fixture_store();
        int64_t w = submit_workflow(
            s, "name: w\ntimeout: 1m\ntasks:\n  a: {run: x}\non_exit: " REFERS, NULL);

        CHECK_EQ(claim_tasks(s, &k), 1);
        if (cells[i].how == 1)
            CHECK_OK(cancel(s, w));
        if (cells[i].how == 2) {
            clock_advance(61 * SECOND);
            run_timers(s);
        }
        settle_task(s, k.held[0], cells[i].how ? OUTCOME_CANCELLED : OUTCOME_OK, NULL);
        claim_only(s, &k, "on_exit");
        check_variable(&k, "STATUS", cells[i].status);
        check_variable(&k, "ERROR", cells[i].error);
        check_variable(&k, "FACTS", cells[i].facts);
        settle_task(s, k.held[0], OUTCOME_OK, NULL);
        CHECK_STR(status_text(status_of(s, w)), cells[i].status);
        verify_clean(s);
        store_close(&s);
    }
}

/* The params of a nested workflow are evaluated when its hold ends, not when it becomes ready. */
TEST(on_failure_resumed_from_a_pause_can_refer_to_its_workflow)
{
    static const char *const files[] = {
        "w.yaml",
        "name: w\ntasks:\n  a: {run: x}\n"
        "on_failure: {workflow: sub.yaml, with: {status: \"${{ workflow.status }}\", "
        "failed: \"${{ failure() }}\", all: \"${{ length(tasks) }}\"}}\n",
        "sub.yaml",
        "name: sub\nparams: {status: '', failed: false, all: 0}\ntasks:\n"
        "  job: {run: x, env: {GOT: \"${{ params.status }} ${{ params.failed }} "
        "${{ params.all }}\"}}\n",
        NULL};
    static struct task_claim k;
    struct store *s = fixture_store();
    int64_t w = submit_workflow_text(s, workflow_text_of_files(files), NULL);

    CHECK_EQ(claim_tasks(s, &k), 1);
    CHECK_OK(control_execution(s, CONTROL_PAUSE, w));
    settle_task(s, k.held[0], OUTCOME_FAILED, NULL);
    CHECK_EQ(claim_tasks(s, &k), 0);
    CHECK_OK(control_execution(s, CONTROL_RESUME, w));
    CHECK_EQ(claim_tasks(s, &k), 1);
    check_variable(&k, "GOT", "failed true 1");
    settle_task(s, k.held[0], OUTCOME_OK, NULL);
    CHECK_EQ(status_of(s, w), S_FAILED);
    verify_clean(s);
    store_close(&s);
}

TEST(task_never_created_because_of_a_cancel_is_shown_as_cancelled_in_on_exit)
{
    static struct task_claim k;
    struct store *s;
    int64_t w;

    fixture_slices(1);
    s = fixture_store();
    w = submit_many_tasks(s, "", 50,
                          "on_exit: {run: x, env: {ALL: \"${{ length(tasks) }}\", "
                          "LAST: \"${{ tasks.t49.status }}\"}}\n");
    CHECK_EQ(task_of(s, w, "t49"), 0);
    CHECK_OK(cancel(s, w));
    run_all_timers(s);
    claim_only(s, &k, "on_exit");
    check_variable(&k, "ALL", "50");
    check_variable(&k, "LAST", "cancelled");
    settle_task(s, k.held[0], OUTCOME_OK, NULL);
    CHECK_EQ(status_of(s, w), S_CANCELLED);
    CHECK_EQ(task_of(s, w, "t49"), 0);
    verify_clean(s);
    store_close(&s);
}

TEST(outputs_of_a_workflow_can_refer_to_all_tasks)
{
    struct store *s = fixture_store();
    int64_t w = submit_workflow(
        s,
        "name: w\nparams: {which: b}\ntasks:\n  b: {run: x, allow_failure: true}\n  a: {run: x}\n"
        "outputs: {names: \"${{ keys(tasks) }}\", error: \"${{ tasks[params.which].error }}\", "
        "none: \"${{ tasks.a.error }}\"}\n",
        NULL);

    run_workflows(s, " b ");
    CHECK_STR(get(s, w).result,
              "{\"names\":[\"b\",\"a\"],\"error\":\"it was made to fail\",\"none\":null}");
    verify_clean(s);
    store_close(&s);
}

TEST(task_can_refer_to_the_error_of_a_need)
{
    static struct task_claim k;
    struct store *s = fixture_store();
    int64_t w = submit_workflow(
        s,
        "name: w\ntasks:\n  a: {run: x}\n"
        "  b: {run: x, needs: a, if: failure(), env: {WHY: \"${{ tasks.a.error }}\"}}\n",
        NULL);

    CHECK_EQ(claim_tasks(s, &k), 1);
    settle_task(s, k.held[0], OUTCOME_FAILED, NULL);
    CHECK_EQ(claim_tasks(s, &k), 1);
    check_variable(&k, "WHY", "it was made to fail");
    settle_task(s, k.held[0], OUTCOME_OK, NULL);
    CHECK_EQ(status_of(s, w), S_FAILED);
    verify_clean(s);
    store_close(&s);
}

/* ---- many and large tasks ---- */

/* More tasks than are read in one page, and a fan-out whose outputs are stored only with its
 * items. */
TEST(on_exit_can_refer_to_many_tasks_with_large_outputs)
{
    static struct task_claim k;
    struct store *s = fixture_store();
    struct buf large = large_outputs(100000);
    size_t i;
    int64_t w = submit_many_tasks(s, "  each: {run: x, foreach: 3}\n", 150,
                                  "on_exit: {run: x, env: {ALL: \"${{ length(tasks) }}\", "
                                  "FIRST: \"${{ keys(tasks)[0] }}\", "
                                  "ITEM: \"${{ tasks[keys(tasks)[0]].outputs[2].item }}\", "
                                  "T7: \"${{ tasks[format('t{0}', 7)].status }}\"}}\n");

    CHECK_EQ(claim_tasks(s, &k), 153);
    for (i = 0; i < k.n; i++)
        settle_task(s, k.held[i], OUTCOME_OK, strchr(k.names[i], '[') ? large.ptr : NULL);
    CHECK(!get(s, task_of(s, w, "each")).result);
    claim_only(s, &k, "on_exit");
    check_variable(&k, "ALL", "151");
    check_variable(&k, "FIRST", "each");
    check_variable(&k, "ITEM", "2");
    check_variable(&k, "T7", "succeeded");
    settle_task(s, k.held[0], OUTCOME_OK, NULL);
    CHECK_EQ(status_of(s, w), S_SUCCEEDED);
    verify_clean(s);
    buf_release(&large);
    store_close(&s);
}

TEST(outputs_too_large_in_total_fail_the_task_that_refers_to_all_tasks)
{
    static struct task_claim k;
    struct store *s = fixture_store();
    struct buf large = large_outputs(900000);
    int64_t w =
        submit_many_tasks(s, "", 20, "on_exit: {run: x, env: {ALL: \"${{ length(tasks) }}\"}}\n");

    CHECK_EQ(claim_tasks(s, &k), 20);
    settle_claimed(s, &k, "", large.ptr);
    CHECK_EQ(status_of(s, w), S_FAILED);
    CHECK_STR(get(s, task_of(s, w, "on_exit")).error,
              "the outputs of all tasks together are larger than 16 MB: refer only to the tasks "
              "that are needed, by name");
    verify_clean(s);
    buf_release(&large);
    store_close(&s);
}
