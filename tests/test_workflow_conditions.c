/* test_workflow_conditions.c - conditions that call no status function: they require success, too.
 * Definitions that were stored with such a condition keep it as it is. */
#include "workflow_case.h"

#define PUBLISH "  publish: {run: x, needs: test, if: params.publish}\n"
#define PARAMS  "params: {publish: {type: boolean, default: true}}\n"

WORKFLOW_CASE(condition_without_a_status_function_is_false_after_a_failed_need,
              .yaml = "name: w\n" PARAMS "tasks:\n  test: {run: x}\n" PUBLISH
                      "  bracketed: {run: x, needs: test, if: \"${{ params.publish }}\"}\n"
                      "  constant: {run: x, needs: test, if: 1 < 2 || 2 < 1}\n"
                      "  after: {run: x, needs: publish, if: params.publish}\n"
                      "  anyway: {run: x, needs: test, if: always() && params.publish}\n"
                      "  repair: {run: x, needs: test, if: failure() && params.publish}\n",
              .steps = {{"play but test",
                         "test:failed publish:skipped bracketed:skipped constant:skipped "
                         "after:skipped anyway:succeeded repair:succeeded"}},
              .ends = S_FAILED);

WORKFLOW_CASE(condition_without_a_status_function_is_evaluated_after_a_success,
              .yaml = "name: w\n" PARAMS "tasks:\n  test: {run: x}\n" PUBLISH
                      "  never: {run: x, needs: test, if: \"!params.publish\"}\n"
                      "  free: {run: x, if: params.publish}\n",
              .steps = {{"play", "test:succeeded publish:succeeded never:skipped free:succeeded"}},
              .ends = S_SUCCEEDED);

WORKFLOW_CASE(condition_is_evaluated_after_an_allowed_failure_and_after_an_operators_skip,
              .yaml = "name: w\n" PARAMS "tasks:\n  test: {run: x, allow_failure: true}\n"
                      "  left: {run: x}\n" PUBLISH
                      "  late: {run: x, needs: left, if: params.publish}\n"
                      "  no: {run: x, needs: test, if: tasks.test.status == 'succeeded'}\n",
              .steps = {{"skip left, play but test",
                         "test:failed left:skipped publish:succeeded late:succeeded no:skipped"}},
              .ends = S_SUCCEEDED);

WORKFLOW_CASE(condition_is_false_after_a_cancelled_need_and_after_a_need_skipped_by_its_if,
              .yaml = "name: w\n" PARAMS "tasks:\n  test: {run: x}\n" PUBLISH
                      "  off: {run: x, if: 1 > 2}\n"
                      "  behind: {run: x, needs: off, if: params.publish}\n",
              .steps = {{"cancel test, play",
                         "test:cancelled publish:skipped off:skipped behind:skipped"}},
              .ends = S_CANCELLED);

WORKFLOW_CASE(condition_of_a_met_join_is_evaluated,
              .yaml = "name: w\n" PARAMS "tasks:\n  test: {run: x}\n  other: {run: x}\n"
                      "  any: {run: x, needs: [test, other], join: any, if: params.publish}\n"
                      "  all: {run: x, needs: [test, other], if: params.publish}\n",
              .steps = {{"play but test", "test:failed other:succeeded any:succeeded all:skipped"}},
              .ends = S_FAILED);

/* The task is skipped, not failed: after a failed need its condition is false before the outputs
 * are read. */
WORKFLOW_CASE(condition_that_reads_outputs_of_a_failed_need_skips_its_task,
              .yaml = "name: w\ntasks:\n  test: {run: x}\n"
                      "  publish: {run: x, needs: test, if: tasks.test.outputs.n == 1}\n",
              .steps = {{"play but test", "test:failed publish:skipped"}}, .ends = S_FAILED,
              .error = "test failed: it was made to fail");

TEST(condition_without_a_status_function_is_stored_with_a_success_call_added)
{
    const char *text = workflow_text(
        "name: w\n" PARAMS "tasks:\n  a: {run: x, if: ' params.publish '}\n"
        "  b: {run: x, needs: a, if: \"${{ tasks.a.status == 'x' || params.publish }}\"}\n"
        "  c: {run: x, needs: b, if: \"${{ !failure() }}\"}\n");

    CHECK(strstr(text, "\"if\":\"success() && (params.publish)\""));
    CHECK(strstr(text, "\"if\":\"success() && (tasks.a.status == 'x' || params.publish)\""));
    CHECK(strstr(text, "\"if\":\"${{ !failure() }}\""));
    free((char *)text);
}

/* The text of a definition as an earlier version stored it. */
static const char *old_text(const char *text, const char *condition)
{
    const char *at = strstr(text, "success() && ("), *end = at ? strstr(at, ")\"") : NULL;
    struct buf b = BUF_INIT;

    CHECK(at && end);
    buf_add(&b, text, (size_t)(at - text));
    buf_addstr(&b, condition);
    buf_addstr(&b, end + 1);
    return b.ptr;
}

TEST(condition_stored_by_an_earlier_version_gets_no_success_call)
{
    struct store *s = fixture_store();
    const char *text = workflow_text("name: w\n" PARAMS "tasks:\n  test: {run: x}\n" PUBLISH);
    int64_t old = submit_workflow_text(s, old_text(text, "params.publish"), NULL);

    run_workflows(s, " test ");
    CHECK_STR(tree_text(s, old), "test:failed publish:succeeded");
    verify_clean(s);
    free((char *)text);
    store_close(&s);
}
