/* test_rerun_partial.c - partial reruns of ended executions: failed tasks, a task with its
 * followers, one item, at any depth. Each test ends with verify. */
#include "rerun_fixture.h"
#include "workflow_case.h"

TEST(rerun_of_failed_tasks_includes_their_followers)
{
    struct store *s = fixture_store();
    int64_t w = submit_workflow(s,
                                "name: w\ntasks:\n  a: {run: x}\n  b: {run: x, needs: a}\n"
                                "  c: {run: x, needs: b}\n  d: {run: x, needs: a}\n"
                                "  e: {run: x, needs: [c, d]}\n",
                                NULL);
    int64_t d = task_of(s, w, "d");

    run_workflows(s, " b ");
    CHECK_STR(tree_text(s, w), "a:succeeded b:failed c:skipped d:succeeded e:skipped");
    CHECK_STR(rerun(s, w, RERUN_ONLY_FAILED, NULL), "w b c e");
    CHECK_STR(tree_text(s, w), "a:succeeded b:ready c:pending d:succeeded e:pending");
    verify_clean(s);
    run_workflows(s, "");
    CHECK_EQ(status_of(s, w), S_SUCCEEDED);
    CHECK_EQ(get(s, d).attempts, 1);
    verify_clean(s);
    CHECK_EQ(rerun(s, w, RERUN_ONLY_FAILED, NULL), NULL);
    CHECK_STR(refusal.msg,
              "no task of execution 1 failed or was cancelled, so there is nothing to rerun");
    store_close(&s);
}

TEST(rerun_from_a_task_includes_its_followers_and_renews_its_attempts)
{
    struct store *s = fixture_store();
    int64_t w = submit_workflow(s,
                                "name: w\ntasks:\n  a: {run: x}\n"
                                "  b: {run: x, needs: a, retry: 1}\n  c: {run: x, needs: b}\n",
                                NULL);
    int64_t b = task_of(s, w, "b");
    struct held_job j;

    run_workflows(s, "");
    CHECK_STR(rerun(s, w, RERUN_FROM_TASK, "b"), "w b c");
    CHECK_EQ(get(s, b).max_attempts, 3);
    j = claim_job(s, 1);
    CHECK_EQ(settle_as(s, j, OUTCOME_FAILED, 0), 0);
    j = claim_job(s, 1);
    CHECK_EQ(settle_as(s, j, OUTCOME_FAILED, 0), 0);
    CHECK_STR(tree_text(s, w), "a:succeeded b:failed c:skipped");
    verify_clean(s);
    CHECK_STR(rerun(s, b, RERUN_WHOLE, NULL), "w b c"); /* the same rerun, by the task's id */
    run_workflows(s, "");
    CHECK_EQ(status_of(s, w), S_SUCCEEDED);
    CHECK_EQ(rerun(s, w, RERUN_FROM_TASK, "nobody"), NULL);
    CHECK_STR(refusal.msg, "the workflow w has no task 'nobody'");
    verify_clean(s);
    store_close(&s);
}

TEST(rerun_of_failed_items_runs_at_most_max_parallel_of_them_at_a_time)
{
    struct store *s = fixture_store();
    int64_t w = submit_workflow(s,
                                "name: w\ntasks:\n  many: {run: x, foreach: 7, max_parallel: 2}\n"
                                "  after: {run: x, needs: many}\n",
                                NULL);
    struct task_claim k = {.push = false};

    run_workflows(s, " many[1] many[3] many[4] many[6] ");
    CHECK_EQ(status_of(s, w), S_FAILED);
    CHECK_STR(rerun(s, w, RERUN_ONLY_FAILED, NULL), "w many after");
    CHECK_EQ(claim_tasks(s, &k), 2); /* four failed, and max_parallel is 2 */
    CHECK_STR(k.names[0], "many[1]");
    CHECK_STR(k.names[1], "many[3]");
    verify_clean(s);
    settle_task(s, k.held[0], OUTCOME_OK, NULL);
    settle_task(s, k.held[1], OUTCOME_OK, NULL);
    run_workflows(s, "");
    CHECK_EQ(status_of(s, w), S_SUCCEEDED);
    CHECK_EQ(get(s, task_of(s, w, "many[0]")).attempts, 1);
    CHECK_EQ(get(s, task_of(s, w, "many[6]")).attempts, 2);
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM executions"), 10);
    verify_clean(s);
    store_close(&s);
}

WORKFLOW_CASE(
    rerun_of_a_fan_out_that_was_cut_short_creates_the_remaining_items,
    .yaml = "name: w\ntasks:\n  many: {run: x, foreach: 4, max_parallel: 2, fail_fast: true}\n",
    .steps = {{"take, fail many[0], end many[1]", "many:failed many[0]:failed many[1]:cancelled"},
              {"rerun-failed w", "many:running many[0]:ready many[1]:ready"},
              {"play", "many:succeeded many[0]:succeeded many[1]:succeeded many[2]:succeeded "
                       "many[3]:succeeded"}},
    .ends = S_SUCCEEDED);

WORKFLOW_CASE(
    rerun_of_one_item_includes_the_followers_of_its_fan_out,
    .yaml = "name: w\ntasks:\n  many: {run: x, foreach: 3}\n  after: {run: x, needs: many}\n",
    .steps = {{"play but many[0] many[1]",
               "many:failed after:skipped many[0]:failed many[1]:failed many[2]:succeeded"},
              {"rerun many[1]",
               "many:running after:pending many[0]:failed many[1]:ready many[2]:succeeded"},
              {"play", /* many[0], which failed, still counts */
               "many:failed after:skipped many[0]:failed many[1]:succeeded many[2]:succeeded"},
              {"rerun many[0], play",
               "many:succeeded after:succeeded many[0]:succeeded many[1]:succeeded "
               "many[2]:succeeded"}},
    .ends = S_SUCCEEDED);

WORKFLOW_CASE(
    item_can_be_rerun_while_other_items_still_run,
    .yaml = "name: w\ntasks:\n  many: {run: x, foreach: 3}\n",
    .steps = {{"take, fail many[0]", "many:running many[0]:failed many[1]:running many[2]:running"},
              {"rerun many[0], take",
               "many:running many[0]:running many[1]:running many[2]:running"},
              {"ok many[0], ok many[1], ok many[2]", /* the failure of many[0] no longer counts */
               "many:succeeded many[0]:succeeded many[1]:succeeded many[2]:succeeded"}},
    .ends = S_SUCCEEDED);

TEST(rerun_of_a_fan_out_with_a_shorter_list_leaves_the_surplus_items_alone)
{
    struct store *s = fixture_store();
    int64_t w =
        submit_workflow(s,
                        "name: w\ntasks:\n  a: {run: x}\n"
                        "  many: {run: x, needs: a, foreach: \"${{ tasks.a.outputs.list }}\"}\n",
                        NULL);
    struct task_claim k = {.push = false};

    CHECK_EQ(claim_tasks(s, &k), 1);
    settle_task(s, k.held[0], OUTCOME_OK, "{\"list\":[1,2,3]}");
    run_workflows(s, " many[2] ");
    CHECK_EQ(status_of(s, w), S_FAILED);
    CHECK_STR(rerun(s, w, RERUN_WHOLE, NULL), "w");
    CHECK_EQ(claim_tasks(s, &k), 1);
    settle_task(s, k.held[0], OUTCOME_OK, "{\"list\":[7]}");
    CHECK_EQ(claim_tasks(s, &k), 1);
    settle_task(s, k.held[0], OUTCOME_OK, "{\"n\":1}");
    CHECK_EQ(status_of(s, w), S_SUCCEEDED);
    CHECK_STR(get(s, task_of(s, w, "many")).result,
              "[{\"status\":\"succeeded\",\"outputs\":{\"n\":1},\"item\":7,\"error\":null}]");
    verify_clean(s);
    store_close(&s);
}

struct answer {
    struct request q;
    bool yes;
};

static int answer_body(struct turn *t, void *arg, struct err *err)
{
    struct answer *a = arg;

    return op_approve(t, &a->q, 1, a->yes, err);
}

static void approve_or_reject(struct store *s, int64_t id, bool yes)
{
    struct answer a = {.q = {.execution = id, .by = "ada"}, .yes = yes};
    struct err err = ERR_INIT;

    CHECK_OK_ERR(store_turn(s, answer_body, &a, &err), &err);
    CHECK_EQ(a.q.rc, 0);
}

TEST(items_that_a_failed_rerun_did_not_reach_run_in_the_next_rerun)
{
    struct store *s = fixture_store();
    int64_t w =
        submit_workflow(s,
                        "name: w\ntasks:\n  a: {run: x}\n"
                        "  many: {run: x, needs: a, foreach: \"${{ tasks.a.outputs.list }}\","
                        " max_parallel: 1, fail_fast: true}\n",
                        NULL);
    struct task_claim k = {.push = false};
    int i;

    for (i = 0; i < 2; i++) { /* the second list differs, and its first item fails */
        CHECK_EQ(claim_tasks(s, &k), 1);
        settle_task(s, k.held[0], OUTCOME_OK, i ? "{\"list\":[7,8,9]}" : "{\"list\":[1,2,3]}");
        run_workflows(s, i ? " many[0] " : "");
        clock_advance(1);
        CHECK(rerun(s, w, i ? RERUN_ONLY_FAILED : RERUN_WHOLE, NULL));
    }
    run_workflows(s, "");
    CHECK_EQ(status_of(s, w), S_SUCCEEDED);
    CHECK_EQ(get(s, task_of(s, w, "many[0]")).attempts, 3);
    CHECK_EQ(get(s, task_of(s, w, "many[1]")).attempts, 2); /* with the item 2, then with 8 */
    CHECK_EQ(get(s, task_of(s, w, "many[2]")).attempts, 2);
    verify_clean(s);
    store_close(&s);
}

TEST(execution_whose_approval_was_rejected_during_a_rerun_is_rerun_as_a_whole)
{
    static const char *const files[] = {
        "w.yaml",
        "name: w\ntasks:\n  a: {run: x}\n  b: {run: x}\n"
        "  in: {workflow: in.yaml, needs: [a, b], approval: {}}\n"
        "  many: {run: x, needs: [a, b], foreach: 2, approval: {}}\n",
        "in.yaml", "name: in\ntasks:\n  one: {run: x}\n", NULL};
    struct store *s = fixture_store();
    int64_t w = submit_workflow_text(s, workflow_text_of_files(files), NULL);
    int64_t in = task_of(s, w, "in"), many = task_of(s, w, "many");

    run_workflows(s, "");
    approve_or_reject(s, in, true);
    approve_or_reject(s, many, true);
    run_workflows(s, "");
    CHECK_EQ(status_of(s, w), S_SUCCEEDED);
    CHECK_STR(rerun(s, w, RERUN_WHOLE, NULL), "w");
    run_workflows(s, "");
    approve_or_reject(s, in, false);
    approve_or_reject(s, many, false);
    CHECK_EQ(status_of(s, w), S_FAILED);
    CHECK_EQ(rerun(s, in, RERUN_ONLY_FAILED, NULL), NULL);
    CHECK(strstr(refusal.msg, "ended before all of its tasks were created"));
    CHECK_STR(rerun(s, w, RERUN_ONLY_FAILED, NULL), "w in many");
    CHECK_EQ(get(s, in).held, HELD_APPROVAL); /* approval is requested again */
    CHECK_EQ(get(s, many).held, HELD_APPROVAL);
    verify_clean(s);
    approve_or_reject(s, in, true);
    approve_or_reject(s, many, true);
    run_workflows(s, "");
    CHECK_EQ(status_of(s, w), S_SUCCEEDED);
    CHECK_EQ(get(s, task_of(s, w, "one")).attempts, 2);
    CHECK_EQ(get(s, task_of(s, w, "many[1]")).attempts, 2);
    verify_clean(s);
    store_close(&s);
}

WORKFLOW_CASE(
    fan_out_reopened_by_the_rerun_of_an_item_creates_the_remaining_items_unless_another_failed,
    .yaml = "name: w\ntasks:\n  many: {run: x, foreach: 4, max_parallel: 2, fail_fast: true}\n",
    .steps = {{"take, fail many[0], fail many[1]", "many:failed many[0]:failed many[1]:failed"},
              {"rerun many[0], play", "many:failed many[0]:succeeded many[1]:failed"},
              {"rerun many[1]", "many:running many[0]:succeeded many[1]:ready many[2]:ready"},
              {"play", "many:succeeded many[0]:succeeded many[1]:succeeded many[2]:succeeded "
                       "many[3]:succeeded"}},
    .ends = S_SUCCEEDED);

static const char *const nested[] = {
    "w.yaml",
    "name: w\ntasks:\n  a: {run: x}\n  in: {workflow: in.yaml, needs: a, foreach: [1, 2]}\n"
    "  z: {run: x, needs: in}\n",
    "in.yaml",
    "name: in\ntasks:\n  one: {run: x}\n  two: {run: x, needs: one}\n  three: {run: x, needs: two}\n",
    NULL};

TEST(rerun_of_failed_tasks_reaches_any_depth)
{
    struct store *s = fixture_store();
    int64_t w = submit_workflow_text(s, workflow_text_of_files(nested), NULL);
    struct task_claim k = {.push = false};
    size_t i;

    CHECK_EQ(claim_tasks(s, &k), 1);
    settle_task(s, k.held[0], OUTCOME_OK, NULL);
    CHECK_EQ(claim_tasks(s, &k), 2);
    for (i = 0; i < 2; i++)
        settle_task(s, k.held[i], OUTCOME_OK, NULL);
    CHECK_EQ(claim_tasks(s, &k), 2);
    settle_task(s, k.held[0], OUTCOME_OK, NULL);
    settle_task(s, k.held[1], OUTCOME_FAILED, NULL);
    run_workflows(s, "");
    CHECK_EQ(status_of(s, w), S_FAILED);
    verify_clean(s);
    CHECK_STR(rerun(s, w, RERUN_ONLY_FAILED, NULL), "w in z");
    CHECK_EQ(claim_tasks(s, &k), 1);
    CHECK_STR(k.names[0], "two");
    verify_clean(s);
    settle_task(s, k.held[0], OUTCOME_OK, NULL);
    run_workflows(s, "");
    CHECK_EQ(status_of(s, w), S_SUCCEEDED);
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM executions WHERE attempts = 2"), 1);
    verify_clean(s);
    store_close(&s);
}

TEST(rerun_of_a_nested_task_reopens_all_its_ancestors)
{
    struct store *s = fixture_store();
    int64_t w = submit_workflow_text(s, workflow_text_of_files(nested), NULL);

    run_workflows(s, "");
    CHECK_EQ(status_of(s, w), S_SUCCEEDED);
    CHECK_STR(rerun(s, task_of(s, w, "two"), RERUN_WHOLE, NULL), "in[0] two three in w z");
    verify_clean(s);
    run_workflows(s, " three ");
    CHECK_EQ(status_of(s, w), S_FAILED);
    verify_clean(s);
    CHECK_STR(rerun(s, task_of(s, w, "in"), RERUN_WHOLE, NULL), "w in z");
    run_workflows(s, "");
    CHECK_EQ(status_of(s, w), S_SUCCEEDED);
    verify_clean(s);
    store_close(&s);
}
