/* test_rerun.c - reruns of ended executions: as a whole, or as a new execution. Partial reruns:
 * test_rerun_partial.c. Each test ends with verify. */
#include "rerun_fixture.h"
#include "workflow_case.h"

TEST_LONG;

TEST(rerun_of_a_whole_workflow_runs_its_existing_executions_again)
{
    struct store *s = fixture_store();
    int64_t w = submit_workflow(s,
                                "name: w\ntasks:\n  a: {run: x}\n  b: {run: x, needs: a}\n"
                                "  many: {run: x, foreach: 3, needs: a}\non_exit: {run: x}\n",
                                NULL);
    int64_t a = task_of(s, w, "a"), item;

    run_workflows(s, " b ");
    CHECK_EQ(status_of(s, w), S_FAILED);
    item = task_of(s, w, "many[2]");
    CHECK_STR(rerun(s, w, RERUN_WHOLE, NULL), "w");
    CHECK_EQ(status_of(s, w), S_RUNNING);
    CHECK_EQ(get(s, w).error, NULL);
    CHECK_EQ(status_of(s, a), S_READY);
    CHECK_EQ(status_of(s, task_of(s, w, "b")), S_PENDING);
    verify_clean(s);
    run_workflows(s, "");
    CHECK_EQ(status_of(s, w), S_SUCCEEDED);
    CHECK_EQ(task_of(s, w, "many[2]"), item);
    CHECK_STR(history(s, a), "created marked_ready claimed completed rerun marked_ready claimed "
                             "completed");
    CHECK_EQ(get(s, a).attempts, 2);
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM executions"), 8);
    verify_clean(s);
    store_close(&s);
}

TEST(cancelled_workflow_can_be_rerun)
{
    struct store *s = fixture_store();
    int64_t w =
        submit_workflow(s,
                        "name: w\ntimeout: 1h\ntasks:\n  a: {run: x}\n  b: {run: x, needs: a}\n"
                        "on_failure: {run: x}\non_exit: {run: x}\n",
                        NULL);

    CHECK_EQ(cancel(s, w), 0);
    run_workflows(s, "");
    CHECK_EQ(status_of(s, w), S_CANCELLED);
    CHECK_STR(rerun(s, w, RERUN_ONLY_FAILED, NULL), "w a b");
    run_workflows(s, " b ");
    CHECK_EQ(status_of(s, w), S_FAILED);
    verify_clean(s);
    CHECK_STR(rerun(s, w, RERUN_ONLY_FAILED, NULL), "w b");
    clock_advance(3601 * SECOND);
    run_timers(s);
    run_workflows(s, "");
    CHECK_EQ(status_of(s, w), S_TIMED_OUT); /* the timeout counts from the rerun on */
    verify_clean(s);
    CHECK_STR(rerun(s, w, RERUN_WHOLE, NULL), "w");
    run_workflows(s, "");
    CHECK_EQ(status_of(s, w), S_SUCCEEDED);
    verify_clean(s);
    store_close(&s);
}

TEST(rerun_of_a_single_job_gets_as_many_new_attempts_as_the_first_run)
{
    struct store *s = fixture_store();
    int64_t id = submit_with(s, (struct submission){.name = "x", .max_attempts = 2});
    int i;

    for (i = 0; i < 3; i++) {
        struct held_job j = claim_job(s, 1);

        CHECK_EQ(settle_as(s, j, OUTCOME_REFUSED, 0),
                 0); /* returned: does not count as an attempt */
        j = claim_job(s, 1);
        CHECK_EQ(settle_as(s, j, OUTCOME_FAILED, 0), 0);
        CHECK_EQ(status_of(s, id), S_READY);
        j = claim_job(s, 1);
        CHECK_EQ(settle_as(s, j, OUTCOME_FAILED, 0), 0);
        CHECK_EQ(status_of(s, id), S_FAILED);
        verify_clean(s);
        CHECK_STR(rerun(s, id, RERUN_WHOLE, NULL), "x");
    }
    CHECK_EQ(settle_ok(s, claim_job(s, 1)), 0);
    CHECK_EQ(status_of(s, id), S_SUCCEEDED);
    verify_clean(s);
    store_close(&s);
}

TEST(rerun_of_a_job_that_a_task_submitted_reopens_the_tasks_workflow)
{
    struct store *s = fixture_store();
    int64_t w = submit_workflow(s, "name: w\ntasks:\n  a: {run: x}\n", NULL), child;
    struct task_claim k = {.push = false};

    CHECK_EQ(claim_tasks(s, &k), 1);
    child = submit_with(s, (struct submission){.name = "child", .parent = k.held[0].id});
    settle_task(s, k.held[0], OUTCOME_OK, NULL);
    CHECK_EQ(settle_ok(s, claim_job(s, 1)), 0);
    CHECK_EQ(status_of(s, w), S_SUCCEEDED);
    CHECK_STR(rerun(s, child, RERUN_WHOLE, NULL), "child w");
    CHECK_EQ(status_of(s, w), S_RUNNING);
    verify_clean(s);
    CHECK_EQ(settle_ok(s, claim_job(s, 1)), 0);
    CHECK_EQ(status_of(s, w), S_SUCCEEDED);
    verify_clean(s);
    store_close(&s);
}

TEST(rerun_of_a_workflow_with_a_concurrency_key_takes_a_permit_or_is_refused)
{
    struct store *s = fixture_store();
    const char *yaml = "name: w\nconcurrency: {key: k}\ntasks:\n  a: {run: x}\n";
    int64_t one = submit_workflow(s, yaml, NULL), two;

    run_workflows(s, " a ");
    two = submit_workflow(s, yaml, NULL);
    CHECK_EQ(rerun(s, one, RERUN_WHOLE, NULL), NULL);
    CHECK(strstr(refusal.msg, "the limit key:k is full (1 of 1 in use)"));
    verify_clean(s);
    run_workflows(s, "");
    CHECK_EQ(status_of(s, two), S_SUCCEEDED);
    CHECK_STR(rerun(s, one, RERUN_ONLY_FAILED, NULL), "w a");
    verify_clean(s);
    two = submit_workflow(s, yaml, NULL);
    CHECK_EQ(get(s, two).held, HELD_LIMIT);
    run_workflows(s, "");
    CHECK_EQ(status_of(s, one), S_SUCCEEDED);
    CHECK_EQ(status_of(s, two), S_SUCCEEDED);
    verify_clean(s);
    store_close(&s);
}

TEST(workflows_with_one_concurrency_key_are_rerun_one_after_another)
{
    static const char *const files[] = {
        "w.yaml", "name: w\ntasks: {p: {workflow: sub.yaml}, q: {workflow: sub.yaml}}\n",
        "sub.yaml",
        "name: sub\nconcurrency: {key: k}\ntasks: {a: {run: x}, b: {run: x, needs: a}}\n", NULL};
    struct store *s = fixture_store();
    int64_t w = submit_workflow_text(s, workflow_text_of_files(files), NULL);

    run_workflows(s, " b ");
    CHECK_STR(tree_text(s, w), "p:failed q:failed a:succeeded b:failed a:succeeded b:failed");
    CHECK_EQ(rerun(s, w, RERUN_ONLY_FAILED, NULL), NULL);
    CHECK(strstr(refusal.msg,
                 "together with the other executions of this rerun: the limit key:k lets 1 run"));
    verify_clean(s);
    CHECK(rerun(s, task_of(s, w, "p"), RERUN_ONLY_FAILED, NULL) != NULL);
    CHECK_EQ(rerun(s, task_of(s, w, "q"), RERUN_ONLY_FAILED, NULL), NULL);
    CHECK(strstr(refusal.msg, "is full (1 of 1 in use)"));
    run_workflows(s, "");
    CHECK_EQ(status_of(s, w), S_FAILED);
    CHECK(rerun(s, w, RERUN_ONLY_FAILED, NULL) != NULL);
    run_workflows(s, "");
    CHECK_EQ(status_of(s, w), S_SUCCEEDED);
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM executions WHERE attempts = 2"), 2);
    verify_clean(s);
    store_close(&s);
}

TEST(dry_run_of_a_rerun_lists_the_executions_and_changes_nothing)
{
    struct store *s = fixture_store();
    int64_t w =
        submit_workflow(s, "name: w\ntasks:\n  a: {run: x}\n  b: {run: x, needs: a}\n", NULL);
    struct rerun r = {.request = {.execution = w}, .what = RERUN_ONLY_FAILED, .dry_run = true};
    struct err err = ERR_INIT;

    run_workflows(s, " a ");
    CHECK_EQ(store_turn(s, rerun_body, &r, &err), -E_INVALID);
    CHECK(r.planned);
    CHECK_EQ(r.reruns.n, 3);
    CHECK_STR(r.reruns.at[1].name, "w::a");
    CHECK_EQ(r.reruns.at[1].status, S_FAILED);
    rerun_release(&r);
    CHECK_EQ(status_of(s, w), S_FAILED);
    verify_clean(s);
    store_close(&s);
}

TEST(rerun_of_a_large_graph_runs_each_task_once_more)
{
    struct store *s = fixture_store();
    struct buf yaml = BUF_INIT;
    int64_t w;
    int i;

    buf_addstr(&yaml, "name: w\ntasks:\n  last: {run: x, needs: [t0, t1099]}\n");
    for (i = 0; i < 1100; i++)
        buf_addf(&yaml, "  t%d: {run: x}\n", i);
    w = submit_workflow(s, buf_cstr(&yaml), NULL);
    run_workflows(s, " t7 ");
    CHECK_EQ(status_of(s, w), S_FAILED);
    CHECK_STR(rerun(s, w, RERUN_WHOLE, NULL), "w");
    verify_clean(s);
    run_workflows(s, "");
    CHECK_EQ(status_of(s, w), S_SUCCEEDED);
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM executions WHERE attempts = 2"), 1101);
    verify_clean(s);
    buf_release(&yaml);
    store_close(&s);
}

/* ---- a new execution, with other params or another definition ---- */

static int64_t submit_rerun(struct store *s, int64_t of, const char *yaml, const char *params,
                            const char *reuse)
{
    struct submission w = {
        .definition = workflow_text(yaml), .input = params, .rerun_of = of, .reuse = reuse};
    struct err err = ERR_INIT;

    CHECK_OK_ERR(store_turn(s, submit_workflow_body, &w, &err), &err);
    CHECK_OK_ERR(w.rc, &w.err);
    free((char *)w.definition);
    return w.id;
}

#define FOUR                                                                                      \
    "name: w\nparams: {day: {type: string, default: mon}}\ntasks:\n  a: {run: x}\n"               \
    "  many: {run: x, foreach: 2, needs: a}\n"                                                    \
    "  b: {run: x, needs: a, env: {N: \"${{ tasks.a.outputs.n }}\", D: \"${{ params.day }}\"}}\n" \
    "  c: {run: x, needs: [b, many]}\n"

TEST(rerun_from_a_task_with_other_params_reuses_the_results_of_the_tasks_before_it)
{
    struct store *s = fixture_store();
    int64_t old = submit_workflow(s, FOUR, NULL), w;
    struct task_claim k = {.push = false};

    run_workflows(s, " b ");
    w = submit_rerun(s, old, FOUR, "{\"day\":\"tue\"}", "{\"from\":\"b\"}");
    CHECK_STR(tree_text(s, w), "a:succeeded many:succeeded b:ready c:pending");
    CHECK_EQ(get(s, w).rerun_of, old);
    CHECK_STR(history(s, task_of(s, w, "a")), "created reused");
    CHECK_EQ(claim_tasks(s, &k), 1);
    CHECK(strstr(k.spec, "\"N\":\"1\""));
    CHECK(strstr(k.spec, "\"D\":\"tue\""));
    verify_clean(s);
    settle_task(s, k.held[0], OUTCOME_OK, NULL);
    run_workflows(s, "");
    CHECK_EQ(status_of(s, w), S_SUCCEEDED);
    CHECK_EQ(status_of(s, old), S_FAILED);
    verify_clean(s);
    store_close(&s);
}

TEST(rerun_with_a_fixed_definition_runs_failed_and_new_tasks)
{
    struct store *s = fixture_store();
    int64_t old = submit_workflow(s, FOUR, NULL), w;

    run_workflows(s, " b ");
    w = submit_rerun(s, old, FOUR "  d: {run: x}\n", NULL, "{\"failed\":true}");
    CHECK_STR(tree_text(s, w), "a:succeeded many:succeeded b:ready c:pending d:ready");
    run_workflows(s, "");
    CHECK_EQ(status_of(s, w), S_SUCCEEDED);
    verify_clean(s);
    CHECK_STR(rerun(s, w, RERUN_WHOLE, NULL), "w"); /* a whole rerun reuses nothing */
    CHECK_STR(tree_text(s, w), "a:ready many:pending b:pending c:pending d:ready");
    run_workflows(s, "");
    CHECK_EQ(status_of(s, w), S_SUCCEEDED);
    CHECK_EQ(task_status(s, w, "many[1]"), S_SUCCEEDED);
    verify_clean(s);
    store_close(&s);
}

#define FAN_OUT                                                                          \
    "name: w\nparams: {list: {type: list, default: [1, 2, 3]}}\ntasks:\n  a: {run: x}\n" \
    "  many: {run: x, needs: a, foreach: '${{ params.list }}'}\n"

TEST(rerun_with_a_fixed_definition_does_not_repeat_items_that_succeeded)
{
    struct store *s = fixture_store();
    int64_t old = submit_workflow(s, FAN_OUT, NULL), w;
    struct task_claim k = {.push = false};

    run_workflows(s, " many[1] ");
    CHECK_EQ(status_of(s, old), S_FAILED);
    w = submit_rerun(s, old, FAN_OUT "  b: {run: x, needs: many}\n", NULL, "{\"failed\":true}");
    CHECK_EQ(claim_tasks(s, &k), 1);
    CHECK_STR(k.names[0], "many[1]");
    CHECK_STR(history(s, task_of(s, w, "many[0]")), "created reused");
    CHECK_EQ(get(s, w).rerun_of, old);
    settle_task(s, k.held[0], OUTCOME_OK, "{\"n\":7}");
    run_workflows(s, "");
    CHECK_EQ(status_of(s, w), S_SUCCEEDED);
    CHECK_STR(get(s, task_of(s, w, "many")).result,
              "[{\"status\":\"succeeded\",\"outputs\":{\"n\":1},\"item\":1,\"error\":null},"
              "{\"status\":\"succeeded\",\"outputs\":{\"n\":7},\"item\":2,\"error\":null},"
              "{\"status\":\"succeeded\",\"outputs\":{\"n\":1},\"item\":3,\"error\":null}]");
    verify_clean(s);
    store_close(&s);
}

TEST(result_of_an_item_with_another_value_or_after_a_rerun_task_is_not_reused)
{
    struct store *s = fixture_store();
    int64_t old = submit_workflow(s, FAN_OUT, NULL), w;
    struct task_claim k = {.push = false};

    run_workflows(s, " many[1] ");
    w = submit_rerun(s, old, FAN_OUT, "{\"list\":[1, 2, 4, 5]}", "{\"failed\":true}");
    CHECK_EQ(claim_tasks(s, &k), 3);
    for (size_t i = 0; i < k.n; i++)
        settle_task(s, k.held[i], OUTCOME_FAILED, NULL);
    CHECK_EQ(status_of(s, w), S_FAILED);
    verify_clean(s);
    /* a failed, so the items that it fed run again */
    old = submit_workflow(s, FAN_OUT, NULL);
    run_workflows(s, " many[1] ");
    rerun(s, old, RERUN_FROM_TASK, "a");
    run_workflows(s, " a ");
    w = submit_rerun(s, old, FAN_OUT, NULL, "{\"failed\":true}");
    CHECK_EQ(claim_tasks(s, &k), 1);
    settle_task(s, k.held[0], OUTCOME_OK, NULL);
    CHECK_EQ(claim_tasks(s, &k), 3);
    for (size_t i = 0; i < k.n; i++)
        settle_task(s, k.held[i], OUTCOME_OK, NULL);
    CHECK_EQ(status_of(s, w), S_SUCCEEDED);
    verify_clean(s);
    store_close(&s);
}
