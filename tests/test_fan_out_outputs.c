/* test_fan_out_outputs.c - the outputs of a fan-out that did not succeed: followers that run anyway
 * get one entry per item, and so does everyone who reads the execution. */
#include "workflow_fixture.h"

/* Argument 1 of the argv of the job that was claimed last. */
static const char *last_argument(const struct task_claim *k)
{
    const char *argv = strstr(k->spec, "\"argv\":[\"echo\",");

    CHECK(argv);
    return argv + strlen("\"argv\":[\"echo\",");
}

/* Settles all claimed jobs; those named in `fails` fail. */
static void settle_all(struct store *s, const struct task_claim *k, const char *fails)
{
    size_t i;

    for (i = 0; i < k->n; i++)
        settle_task(s, k->held[i], strstr(fails, k->names[i]) ? OUTCOME_FAILED : OUTCOME_OK,
                    "{\"n\":1}");
}

#define OK(item) "{\"status\":\"succeeded\",\"outputs\":{\"n\":1},\"item\":" item ",\"error\":null}"
#define FAIL(item) \
    "{\"status\":\"failed\",\"outputs\":{},\"item\":" item ",\"error\":\"it was made to fail\"}"
#define GONE(item) "{\"status\":\"cancelled\",\"outputs\":{},\"item\":" item ",\"error\":null}"

static void check_outputs_behind(const char *fan_out, const char *condition)
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
    settle_all(s, &k, "each[1]");
    CHECK_EQ(task_status(s, w, "each"), S_FAILED);
    CHECK_STR(get(s, task_of(s, w, "each")).result,
              "[" OK("\"a\"") "," FAIL("{\"b\":2}") "," OK("[3]") "]");
    CHECK_EQ(claim_tasks(s, &k), 1);
    CHECK(!strncmp(last_argument(&k), "\"failed\",\"{\\\"b\\\":2}\",\"it was made to fail\",\"3\"]",
                   40));
    settle_all(s, &k, "");
    verify_clean(s);
    buf_release(&yaml);
    store_close(&s);
}

TEST(follower_of_a_fan_out_that_may_fail_sees_the_outputs_of_all_items)
{
    check_outputs_behind(", allow_failure: true", "");
}

TEST(follower_that_always_runs_sees_the_outputs_of_all_items)
{
    check_outputs_behind("", "    if: always()\n");
}

TEST(items_that_were_never_created_are_cancelled_in_the_outputs)
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

TEST(outputs_of_a_cancelled_fan_out_have_the_items_that_succeeded)
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
    CHECK(!get(s, task_of(s, w, "early")).result); /* it never had a list */
    verify_clean(s);
    store_close(&s);
}

TEST(items_that_are_workflows_have_their_error_in_the_outputs)
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

/* Settles four items with 100 kB each; item 2 fails if `fails`. */
static void settle_large(struct store *s, struct task_claim *k, bool fails)
{
    struct buf result = BUF_INIT;
    size_t i;

    buf_addf(&result, "{\"text\":\"%*s\"}", 100000, "");
    CHECK_EQ(claim_tasks(s, k), 4);
    for (i = 0; i < k->n; i++)
        settle_task(s, k->held[i],
                    fails && !strcmp(k->names[i], "each[2]") ? OUTCOME_FAILED : OUTCOME_OK,
                    result.ptr);
    buf_release(&result);
}

TEST(large_outputs_of_a_failed_fan_out_are_visible_to_expressions)
{
    static struct task_claim k;
    struct store *s = fixture_store();
    int64_t w = submit_workflow(s, large, "{\"at\":2}");

    settle_large(s, &k, true);
    CHECK_EQ(task_status(s, w, "each"), S_FAILED);
    CHECK_EQ(claim_tasks(s, &k), 1);
    CHECK(!strncmp(last_argument(&k), "\"failed\",\"4\"]", 13));
    settle_all(s, &k, "");
    verify_clean(s);
    store_close(&s);
}

/* A rerun as a new execution takes over the results of tasks, but not the rows of items. */
TEST(task_that_names_large_outputs_that_were_not_taken_over_fails)
{
    static struct task_claim k;
    struct store *s = fixture_store();
    int64_t old = submit_workflow(s, large, NULL), w;
    const char *definition = workflow_text(large);

    settle_large(s, &k, false);
    CHECK_EQ(claim_tasks(s, &k), 1);
    settle_all(s, &k, "after");
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
              "the outputs of each were too large to be taken over from the earlier execution: "
              "rerun that task, too");
    verify_clean(s);
    free((char *)definition);
    store_close(&s);
}
