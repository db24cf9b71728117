/* test_fan_out_outputs.c - the outputs of a fan-out that did not succeed: followers that run
 * anyway, and readers of the execution, get one entry per item. */
#include "claimed_values_fixture.h"

#define OK(item) "{\"status\":\"succeeded\",\"outputs\":{\"n\":1},\"item\":" item ",\"error\":null}"
#define FAIL(item) \
    "{\"status\":\"failed\",\"outputs\":{},\"item\":" item ",\"error\":\"it was made to fail\"}"
#define GONE(item) "{\"status\":\"cancelled\",\"outputs\":{},\"item\":" item ",\"error\":null}"

static void check_follower_gets_outputs(const char *fan_out, const char *condition)
{
    static struct task_claim k;
    struct store *s = fixture_store();
    struct buf yaml = BUF_INIT;
    int64_t w;

    buf_addf(&yaml,
             "name: w\ntasks:\n"
             "  each: {foreach: [a, {b: 2}, [3]], run: x, outputs: n%s}\n"
             "  after:\n    needs: each\n%s"
             "    argv: [echo, \"${{ tasks.each.outputs[1].status }}\", "
             "\"${{ toJSON(tasks.each.outputs[1].item) }}\", "
             "\"${{ tasks.each.outputs[1].error }}\", \"${{ length(tasks.each.outputs) }}\"]\n",
             fan_out, condition);
    w = submit_workflow(s, yaml.ptr, NULL);
    CHECK_EQ(claim_tasks(s, &k), 3);
    settle_claimed(s, &k, "each[1]", "{\"n\":1}");
    CHECK_EQ(task_status(s, w, "each"), S_FAILED);
    CHECK_STR(get(s, task_of(s, w, "each")).result,
              "[" OK("\"a\"") "," FAIL("{\"b\":2}") "," OK("[3]") "]");
    CHECK_EQ(claim_tasks(s, &k), 1);
    check_argv(&k, "[\"echo\",\"failed\",\"{\\\"b\\\":2}\",\"it was made to fail\",\"3\"]");
    settle_claimed(s, &k, "", "{\"n\":1}");
    verify_clean(s);
    buf_release(&yaml);
    store_close(&s);
}

TEST(follower_of_a_fan_out_with_allow_failure_gets_the_outputs_of_all_items)
{
    check_follower_gets_outputs(", allow_failure: true", "");
}

TEST(follower_with_if_always_gets_the_outputs_of_all_items)
{
    check_follower_gets_outputs("", "    if: always()\n");
}

TEST(outputs_of_a_fan_out_list_items_never_created_as_cancelled)
{
    static struct task_claim k;
    struct store *s = fixture_store();
    int64_t w = submit_workflow(s,
                                "name: w\ntasks:\n  each: {foreach: [1, 2, 3, 4], run: x, "
                                "max_parallel: 2, fail_fast: true}\n",
                                NULL);

    CHECK_EQ(claim_tasks(s, &k), 2);
    settle_task(s, k.held[1], OUTCOME_FAILED, NULL);
    settle_task(s, k.held[0], OUTCOME_OK, "{\"n\":1}");
    CHECK_STR(get(s, task_of(s, w, "each")).result,
              "[" OK("1") "," FAIL("2") "," GONE("3") "," GONE("4") "]");
    verify_clean(s);
    store_close(&s);
}

TEST(outputs_of_a_cancelled_fan_out_include_the_items_that_succeeded)
{
    static struct task_claim k;
    struct store *s = fixture_store();
    int64_t w = submit_workflow(s,
                                "name: w\ntasks:\n  each: {foreach: 3, run: x, max_parallel: 1}\n"
                                "  early: {foreach: 3, run: x, needs: each}\n",
                                NULL);

    CHECK_EQ(claim_tasks(s, &k), 1);
    settle_task(s, k.held[0], OUTCOME_OK, "{\"n\":1}");
    CHECK_EQ(claim_tasks(s, &k), 1);
    CHECK_OK(cancel(s, w));
    settle_task(s, k.held[0], OUTCOME_CANCELLED, NULL);
    CHECK_EQ(status_of(s, w), S_CANCELLED);
    CHECK_STR(get(s, task_of(s, w, "each")).result,
              "[" OK("0") ",{\"status\":\"cancelled\",\"outputs\":{},\"item\":1,\"error\":\"it was "
                          "made to fail\"}," GONE("2") "]");
    CHECK(
        !get(s, task_of(s, w, "early")).result); /* this fan-out never started, so it has no list */
    verify_clean(s);
    store_close(&s);
}

TEST(outputs_of_a_fan_out_include_the_errors_of_nested_workflows)
{
    static const char *const files[] = {
        "w.yaml",
        "name: w\ntasks:\n  each: {foreach: [1, 2], workflow: sub.yaml, with: {n: \"${{ item }}\"}, "
        "allow_failure: true}\n"
        "  after: {run: x, needs: each, if: 'tasks.each.outputs[0].error == null'}\n"
        "  report: {run: x, needs: each, if: 'contains(tasks.each.outputs[1].error, \"bad\")'}\n"
        "outputs: {all: \"${{ tasks.each.outputs }}\"}\n",
        "sub.yaml",
        "name: sub\nparams: {n: 0}\ntasks:\n  bad: {run: x, if: params.n == 2}\n"
        "  good: {run: x}\noutputs: {n: \"${{ params.n }}\"}\n",
        NULL};
    struct store *s = fixture_store();
    int64_t w = submit_workflow_text(s, workflow_text_of_files(files), NULL);

    run_workflows(s, " bad ");
    CHECK_EQ(status_of(s, w), S_SUCCEEDED);
    CHECK_EQ(task_status(s, w, "after"), S_SUCCEEDED);
    CHECK_EQ(task_status(s, w, "report"), S_SUCCEEDED);
    CHECK_STR(
        get(s, w).result,
        "{\"all\":[{\"status\":\"succeeded\",\"outputs\":{\"n\":1},\"item\":1,\"error\":null},"
        "{\"status\":\"failed\",\"outputs\":{},\"item\":2,\"error\":\"bad failed: it was made "
        "to fail\"}]}");
    verify_clean(s);
    store_close(&s);
}

/* ---- large outputs ---- */

static const char large[] = "name: w\nparams: {at: 0}\ntasks:\n"
                            "  each: {foreach: 4, run: x, allow_failure: true}\n"
                            "  after:\n    needs: each\n"
                            "    argv: [echo, \"${{ tasks.each.outputs[params.at].status }}\", "
                            "\"${{ length(tasks.each.outputs) }}\"]\n";

/* Settles four items with 100 kB each; the item named `fails` fails. */
static void settle_large(struct store *s, struct task_claim *k, const char *fails)
{
    struct buf result = large_outputs(100000);

    CHECK_EQ(claim_tasks(s, k), 4);
    settle_claimed(s, k, fails, result.ptr);
    buf_release(&result);
}

TEST(large_outputs_of_a_failed_fan_out_are_visible_to_expressions)
{
    static struct task_claim k;
    struct store *s = fixture_store();
    int64_t w = submit_workflow(s, large, "{\"at\":2}");

    settle_large(s, &k, "each[2]");
    CHECK_EQ(task_status(s, w, "each"), S_FAILED);
    CHECK_EQ(claim_tasks(s, &k), 1);
    check_argv(&k, "[\"echo\",\"failed\",\"4\"]");
    settle_claimed(s, &k, "", "{\"n\":1}");
    verify_clean(s);
    store_close(&s);
}

/* A rerun as a new execution reuses the results of tasks, but not the rows of items. */
TEST(task_that_refers_to_large_outputs_of_a_reused_fan_out_fails)
{
    static struct task_claim k;
    struct store *s = fixture_store();
    int64_t old = submit_workflow(s, large, NULL), w;
    const char *definition = workflow_text(large);

    settle_large(s, &k, "");
    CHECK_EQ(claim_tasks(s, &k), 1);
    settle_claimed(s, &k, "after", "{\"n\":1}");
    CHECK_EQ(status_of(s, old), S_FAILED);
    w = submit_with(s, (struct submission){.kind = KIND_WORKFLOW,
                                           .name = "w",
                                           .definition = definition,
                                           .input = "{\"at\":1}",
                                           .rerun_of = old,
                                           .reuse = "{}"});
    CHECK_EQ(task_status(s, w, "each"), S_SUCCEEDED);
    CHECK_EQ(task_status(s, w, "after"), S_FAILED);
    CHECK_STR(get(s, task_of(s, w, "after")).error,
              "the outputs of each were too large to be reused from the earlier execution: "
              "rerun that task, too");
    verify_clean(s);
    free((char *)definition);
    store_close(&s);
}
