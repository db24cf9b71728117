/* test_workflow_control.c - operator actions on a running workflow: approvals, pauses, skips,
 * cancels with let_finish; and concurrency keys. Each test ends with verify. */
#include "workflow_case.h"

TEST_LONG;

static size_t claims(struct store *s)
{
    struct task_claim *k = mem_zalloc(sizeof(*k));
    size_t n = claim_tasks(s, k);

    free(k);
    return n;
}

/* ---- approvals ---- */

TEST(task_with_an_approval_is_held_until_it_is_approved)
{
    struct store *s = fixture_store();
    int64_t w =
        submit_workflow(s,
                        "name: w\nparams: {day: {type: string, default: mon}}\ntasks:\n"
                        "  a: {run: x, approval: {message: \"publish ${{ params.day }}?\"}}\n"
                        "  b: {run: x, needs: a}\n",
                        NULL);
    int64_t a = task_of(s, w, "a");

    CHECK_EQ(get(s, a).held, HELD_APPROVAL);
    CHECK_EQ(claims(s), 0);
    verify_clean(s);
    CHECK_EQ(control_execution(s, CONTROL_APPROVE, task_of(s, w, "b")), -E_INVALID);
    CHECK_EQ(control_execution(s, CONTROL_APPROVE, a), 0);
    CHECK_EQ(control_execution(s, CONTROL_APPROVE, a), -E_INVALID);
    run_workflows(s, "");
    CHECK_EQ(status_of(s, w), S_SUCCEEDED);
    CHECK_STR(history(s, a), "created marked_ready held unheld claimed completed");
    verify_clean(s);
    store_close(&s);
}

TEST(approval_message_may_use_outputs_of_earlier_tasks)
{
    struct store *s = fixture_store();
    int64_t w =
        submit_workflow(s,
                        "name: w\ntasks:\n  a: {run: x}\n"
                        "  b: {run: x, needs: a, approval: \"take ${{ tasks.a.outputs.n }}?\"}\n",
                        NULL);

    run_workflows(s, "");
    CHECK_EQ(get(s, task_of(s, w, "b")).held, HELD_APPROVAL);
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM execution_events WHERE data LIKE '%take 1?%'"), 1);
    verify_clean(s);
    store_close(&s);
}

WORKFLOW_CASE(rejected_task_fails_with_the_user_and_the_reason,
              .yaml = "name: w\ntasks:\n  a: {run: x, approval: {}}\n  b: {run: x, needs: a}\n",
              .steps = {{"reject a", "a:failed b:skipped"}}, .ends = S_FAILED,
              .error = "rejected by ada: a test");

TEST(missing_approval_times_out_and_an_approved_task_does_not)
{
    struct store *s = fixture_store();
    int64_t w = submit_workflow(s,
                                "name: w\ntasks:\n  a: {run: x, approval: {timeout: 1h}}\n"
                                "  b: {run: x, approval: {timeout: 1h}}\n",
                                NULL);
    int64_t b = task_of(s, w, "b");
    struct task_claim k = {.push = false};

    CHECK_EQ(control_execution(s, CONTROL_APPROVE, b), 0);
    CHECK_EQ(claim_tasks(s, &k), 1);
    clock_advance(3601 * SECOND);
    CHECK_EQ(run_timers(s), 1);
    CHECK_EQ(task_status(s, w, "a"), S_TIMED_OUT);
    CHECK_STR(get(s, task_of(s, w, "a")).error, "nobody approved the task in time");
    settle_task(s, k.held[0], OUTCOME_OK, NULL);
    CHECK_EQ(status_of(s, b), S_SUCCEEDED);
    CHECK_EQ(status_of(s, w), S_FAILED);
    verify_clean(s);
    store_close(&s);
}

TEST(fan_out_or_nested_workflow_waits_for_its_approval_only_once)
{
    static const char *const files[] = {
        "w.yaml",
        "name: w\ntasks:\n  inner: {workflow: inner.yaml, approval: {message: in?}}\n"
        "  many: {run: x, foreach: [1, 2], approval: {message: many?}}\n",
        "inner.yaml", "name: inner\ntimeout: 1h\ntasks:\n  leaf: {run: x}\n", NULL};
    struct store *s = fixture_store();
    int64_t w = submit_workflow_text(s, workflow_text_of_files(files), NULL);
    int64_t many = task_of(s, w, "many"), inner = task_of(s, w, "inner");

    CHECK_EQ(status_of(s, many), S_PENDING);
    CHECK_EQ(get(s, many).held, HELD_APPROVAL);
    verify_clean(s);
    CHECK_EQ(control_execution(s, CONTROL_APPROVE, many), 0);
    CHECK_EQ(status_of(s, many), S_RUNNING);
    CHECK_EQ(get(s, inner).held, HELD_APPROVAL);
    CHECK_EQ(control_execution(s, CONTROL_APPROVE, inner), 0);
    CHECK_EQ(status_of(s, inner), S_RUNNING);
    verify_clean(s);
    run_workflows(s, "");
    CHECK_STR(tree_text(s, w), "inner:succeeded many:succeeded many[0]:succeeded many[1]:succeeded"
                               " leaf:succeeded");
    verify_clean(s);
    store_close(&s);
}

TEST(approved_nested_workflow_keeps_its_timeout)
{
    static const char *const files[] = {
        "w.yaml", "name: w\ntasks:\n  in: {workflow: in.yaml, approval: {timeout: 30m}}\n",
        "in.yaml", "name: in\ntimeout: 1h\ntasks:\n  leaf: {run: x}\n", NULL};
    struct store *s = fixture_store();
    int64_t w = submit_workflow_text(s, workflow_text_of_files(files), NULL);

    CHECK_EQ(control_execution(s, CONTROL_APPROVE, task_of(s, w, "in")), 0);
    clock_advance(1801 * SECOND);
    CHECK_EQ(run_timers(s), 0); /* the task was approved in time */
    clock_advance(1801 * SECOND);
    CHECK_EQ(run_timers(s), 1);
    CHECK_STR(tree_text(s, w), "in:timed_out leaf:cancelled");
    verify_clean(s);
    store_close(&s);
}

WORKFLOW_CASE(cancel_of_a_task_that_waits_for_approval_leaves_no_timer,
              .yaml = "name: w\ntasks:\n  a: {run: x, approval: {timeout: 1h}}\n",
              .steps = {{"cancel w", "a:cancelled"}, {"after 2h", "a:cancelled"}},
              .ends = S_CANCELLED);

/* ---- delays ---- */

TEST(fan_out_waits_for_its_delay_only_once)
{
    struct store *s = fixture_store();
    int64_t w =
        submit_workflow(s, "name: w\ntasks:\n  many: {run: x, foreach: 3, delay: 1h}\n", NULL);

    CHECK_EQ(get(s, task_of(s, w, "many")).held, HELD_DELAY);
    verify_clean(s);
    clock_advance(3601 * SECOND);
    CHECK_EQ(run_timers(s), 1);
    CHECK_EQ(claims(s), 3);
    verify_clean(s);
    store_close(&s);
}

/* ---- skip ---- */

WORKFLOW_CASE(
    task_skipped_on_request_counts_as_done,
    .yaml = "name: w\ntasks:\n  a: {run: x}\n  b: {run: x, needs: a}\n  c: {run: x, needs: b}\n",
    .steps = {{"skip b", "a:ready b:skipped c:ready"}, /* before its needs have ended */
              {"skip a, play, !skip c", "a:skipped b:skipped c:succeeded"}},
    .ends = S_SUCCEEDED);

TEST(running_task_cannot_be_skipped)
{
    struct store *s = fixture_store();
    int64_t w = submit_workflow(s, "name: w\ntasks:\n  a: {run: x}\n", NULL);
    struct task_claim k = {.push = false};

    CHECK_EQ(claim_tasks(s, &k), 1);
    CHECK_EQ(control_execution(s, CONTROL_SKIP, k.held[0].id), -E_INVALID);
    CHECK_EQ(control_execution(s, CONTROL_SKIP, w), -E_INVALID);
    CHECK_EQ(control_execution(s, CONTROL_SKIP, 999999), -E_NOT_FOUND);
    settle_task(s, k.held[0], OUTCOME_OK, NULL);
    verify_clean(s);
    store_close(&s);
}

/* ---- pause ---- */

TEST(paused_workflow_starts_nothing_new_and_its_running_jobs_continue)
{
    struct store *s = fixture_store();
    int64_t w =
        submit_workflow(s,
                        "name: w\ntasks:\n  a: {run: x}\n  b: {run: x}\n  c: {run: x, needs: a}\n"
                        "  d: {run: x, foreach: 2, needs: a}\n",
                        NULL);
    struct task_claim k = {.push = false};

    CHECK_EQ(claim_tasks(s, &k), 2);
    CHECK_EQ(control_execution(s, CONTROL_PAUSE, w), 0);
    CHECK_EQ(control_execution(s, CONTROL_PAUSE, w), -E_INVALID);
    verify_clean(s);
    settle_task(s, k.held[0], OUTCOME_OK, NULL);
    CHECK_STR(tree_text(s, w), "a:succeeded b:running c:ready d:pending");
    CHECK_EQ(get(s, task_of(s, w, "c")).held, HELD_PAUSED);
    CHECK_EQ(get(s, task_of(s, w, "d")).held, HELD_PAUSED);
    CHECK_EQ(claims(s), 0);
    verify_clean(s);
    settle_task(s, k.held[1], OUTCOME_OK, NULL);
    CHECK_EQ(status_of(s, w), S_RUNNING);
    CHECK_EQ(control_execution(s, CONTROL_RESUME, w), 0);
    CHECK_EQ(control_execution(s, CONTROL_RESUME, w), -E_INVALID);
    run_workflows(s, "");
    CHECK_EQ(status_of(s, w), S_SUCCEEDED);
    CHECK_STR(history(s, w), "created started paused resumed completed");
    verify_clean(s);
    store_close(&s);
}

TEST(pause_of_the_root_holds_jobs_three_levels_down)
{
    static const char *const files[] = {
        "w.yaml",   "name: w\ntasks:\n  one: {workflow: one.yaml}\n",
        "one.yaml", "name: one\ntasks:\n  two: {workflow: two.yaml, foreach: [1, 2]}\n",
        "two.yaml", "name: two\ntasks:\n  a: {run: x}\n  b: {run: x, needs: a}\n",
        NULL};
    struct store *s = fixture_store();
    int64_t w = submit_workflow_text(s, workflow_text_of_files(files), NULL);
    struct held_job a = claim_job(s, 1);

    CHECK_EQ(control_execution(s, CONTROL_PAUSE, w), 0);
    CHECK_EQ(settle_ok(s, a), 0);
    CHECK_EQ(claims(s), 0);
    CHECK_STR(tree_text(s, w), "one:running two:running two[0]:running two[1]:running"
                               " a:succeeded b:ready a:ready b:pending");
    verify_clean(s);
    store_close(&s);
    s = fixture_store(); /* a pause is stored, not a state of the process */
    CHECK_EQ(claims(s), 0);
    CHECK_EQ(control_execution(s, CONTROL_RESUME, w), 0);
    run_workflows(s, "");
    CHECK_EQ(status_of(s, w), S_SUCCEEDED);
    verify_clean(s);
    store_close(&s);
}

TEST(items_that_are_workflows_start_after_the_pause_ends)
{
    static const char *const files[] = {
        "w.yaml",
        "name: w\ntasks:\n  a: {run: x}\n"
        "  many: {workflow: in.yaml, foreach: [7, 8, 9], max_parallel: 1, with: {n: \"${{ item }}\"}}\n",
        "in.yaml", "name: in\nparams: {n: {type: integer}}\ntasks:\n  leaf: {run: x}\n", NULL};
    struct store *s = fixture_store();
    int64_t w = submit_workflow_text(s, workflow_text_of_files(files), NULL), second;
    struct task_claim k = {.push = false};

    CHECK_EQ(claim_tasks(s, &k), 2);
    CHECK_EQ(control_execution(s, CONTROL_PAUSE, w), 0);
    settle_task(s, k.held[0], OUTCOME_OK, NULL);
    settle_task(s, k.held[1], OUTCOME_OK, NULL);
    second = task_of(s, w, "many[1]");
    CHECK_EQ(status_of(s, second), S_PENDING);
    CHECK_EQ(get(s, second).held, HELD_PAUSED);
    verify_clean(s);
    CHECK_EQ(control_execution(s, CONTROL_RESUME, w), 0);
    CHECK_EQ(claim_tasks(s, &k), 1);
    CHECK(strstr(k.spec, "\"8\"") || strstr(k.input, "8"));
    settle_task(s, k.held[0], OUTCOME_OK, NULL);
    run_workflows(s, "");
    CHECK_EQ(status_of(s, w), S_SUCCEEDED);
    verify_clean(s);
    store_close(&s);
}

TEST(retry_in_a_paused_workflow_stays_held)
{
    struct store *s = fixture_store();
    int64_t w = submit_workflow(s, "name: w\ntasks:\n  a: {run: x, retry: 3}\n", NULL), a;
    struct held_job j;

    a = task_of(s, w, "a");
    j = claim_job(s, 1);
    CHECK_EQ(control_execution(s, CONTROL_PAUSE, w), 0);
    CHECK_EQ(settle_as(s, j, OUTCOME_FAILED, 10 * SECOND), 0);
    CHECK_EQ(get(s, a).held, HELD_PAUSED);
    verify_clean(s);
    clock_advance(11 * SECOND);
    run_timers(s);
    CHECK_EQ(claims(s), 0);
    CHECK_EQ(control_execution(s, CONTROL_RESUME, w), 0);
    CHECK_EQ(get(s, a).held, HELD_NONE);
    run_workflows(s, "");
    CHECK_EQ(status_of(s, w), S_SUCCEEDED);
    verify_clean(s);
    store_close(&s);
}

WORKFLOW_CASE(
    resume_does_not_end_pauses_of_ancestors_and_descendants,
    .yaml = "name: w\ntasks:\n  a: {run: x}\n  d: {run: x, foreach: 2}\n",
    .steps = {{"pause d, pause w, pause a, take", "a:ready d:running d[0]:ready d[1]:ready"},
              {"resume w, take",
               "a:ready d:running d[0]:ready d[1]:ready"}, /* a and d are paused themselves */
              {"pause w, resume d, resume a, take", "a:ready d:running d[0]:ready d[1]:ready"},
              {"resume w, take", "a:running d:running d[0]:running d[1]:running"},
              {"ok a, ok d[0], ok d[1]", "a:succeeded d:succeeded d[0]:succeeded d[1]:succeeded"}},
    .ends = S_SUCCEEDED);

WORKFLOW_CASE(pending_task_can_be_paused_before_it_is_ready,
              .yaml = "name: w\ntasks:\n  a: {run: x}\n  b: {run: x, needs: a}\n",
              .steps = {{"pause b", "a:ready b:pending"},
                        {"play", "a:succeeded b:ready"},
                        {"resume b, play", "a:succeeded b:succeeded"}},
              .ends = S_SUCCEEDED);

TEST(pause_and_resume_of_a_large_workflow_are_continued_in_slices_by_a_timer)
{
    struct store *s = fixture_store();
    int64_t w = submit_workflow(s, "name: w\ntasks:\n  d: {run: x, foreach: 30}\n", NULL);

    CHECK_EQ(control_first_slice(s, CONTROL_PAUSE, w, 7), 0);
    verify_clean(s); /* a partial pause is not a violation while a timer will continue it */
    run_timers(s);   /* the process that requested it has ended */
    CHECK_EQ(claims(s), 0);
    verify_clean(s);
    CHECK_EQ(control_first_slice(s, CONTROL_RESUME, w, 7), 0);
    verify_clean(s);
    run_timers(s);
    CHECK_EQ(claims(s), 30);
    verify_clean(s);
    store_close(&s);
}

TEST(child_submitted_in_a_paused_workflow_is_held)
{
    struct store *s = fixture_store();
    int64_t w = submit_workflow(s, "name: w\ntasks:\n  a: {run: x}\n", NULL), child;
    struct task_claim k = {.push = false};

    CHECK_EQ(claim_tasks(s, &k), 1);
    CHECK_EQ(control_execution(s, CONTROL_PAUSE, w), 0);
    child = submit_with(s, (struct submission){.name = "child", .parent = k.held[0].id});
    CHECK_EQ(get(s, child).held, HELD_PAUSED);
    verify_clean(s);
    CHECK_EQ(control_execution(s, CONTROL_RESUME, w), 0);
    CHECK_EQ(get(s, child).held, HELD_NONE);
    verify_clean(s);
    store_close(&s);
}

WORKFLOW_CASE(paused_workflow_can_be_cancelled,
              .yaml = "name: w\ntasks:\n  a: {run: x}\n  d: {run: x, foreach: 2, needs: a}\n"
                      "on_exit: {run: x}\n",
              .steps = {{"pause w, cancel w", /* the cancel ends the pause, also for on_exit */
                         "a:cancelled d:cancelled on_exit:ready"},
                        {"play", "a:cancelled d:cancelled on_exit:succeeded"}},
              .ends = S_CANCELLED);

/* ---- cancel ---- */

WORKFLOW_CASE(
    cancel_with_let_finish_does_not_stop_running_jobs,
    .yaml = "name: w\ntasks:\n  a: {run: x, retry: 3}\n  b: {run: x}\n  c: {run: x, needs: b}\n",
    .steps = {{"take, let-finish w, ok b", "a:running b:succeeded c:cancelled"},
              {"fail a", "a:failed b:succeeded c:cancelled"}}, /* a is not retried */
    .ends = S_FAILED);

TEST(condition_of_a_task_that_waits_for_approval_is_not_evaluated_again)
{
    struct store *s = fixture_store();
    int64_t w = submit_workflow(s,
                                "name: w\ntasks:\n  a: {run: x}\n  b: {run: x}\n"
                                "  each: {run: x, needs: [a, b], join: any, if: \"!failure()\", "
                                "foreach: 1, approval: true}\n",
                                NULL);
    struct held_job a = claim_job(s, 1), b = claim_job(s, 1);
    int64_t each = task_of(s, w, "each");

    CHECK_EQ(settle_ok(s, a), 0);
    CHECK_EQ(get(s, each).held, HELD_APPROVAL);
    CHECK_EQ(settle_as(s, b, OUTCOME_FAILED, -1), 0);
    CHECK_EQ(get(s, each).held, HELD_APPROVAL);
    CHECK_STR(history(s, each), "created held");
    verify_clean(s);
    store_close(&s);
}

WORKFLOW_CASE(on_exit_after_a_cancel_still_has_its_retries,
              .yaml = "name: w\ntasks:\n  a: {run: x, retry: 3}\non_exit: {run: x, retry: 1}\n",
              .steps = {{"take, let-finish w, fail a", "a:failed on_exit:ready"},
                        {"take, fail on_exit", "a:failed on_exit:ready"},
                        {"take, ok on_exit", "a:failed on_exit:succeeded"}},
              .ends = S_FAILED);

/* ---- concurrency ---- */

TEST(tasks_with_the_same_concurrency_key_run_one_at_a_time_across_workflows)
{
    struct store *s = fixture_store();
    const char *yaml = "name: w\nparams: {to: {type: string, default: x}}\ntasks:\n"
                       "  a: {run: x, concurrency: {key: \"deploy-${{ params.to }}\"}}\n";
    int64_t one = submit_workflow(s, yaml, NULL), two = submit_workflow(s, yaml, NULL);
    int64_t three = submit_workflow(s, yaml, "{\"to\":\"y\"}");
    struct task_claim k = {.push = false};

    CHECK_STR(get(s, task_of(s, one, "a")).concurrency, "deploy-x");
    CHECK_EQ(claim_tasks(s, &k), 2);
    CHECK_EQ(get(s, task_of(s, two, "a")).held, HELD_LIMIT);
    verify_clean(s);
    settle_task(s, k.held[0], OUTCOME_OK, NULL);
    settle_task(s, k.held[1], OUTCOME_OK, NULL);
    run_workflows(s, "");
    CHECK_EQ(status_of(s, two), S_SUCCEEDED);
    CHECK_EQ(status_of(s, three), S_SUCCEEDED);
    verify_clean(s);
    store_close(&s);
}

TEST(workflows_with_the_same_concurrency_key_run_one_after_another)
{
    struct store *s = fixture_store();
    const char *yaml = "name: w\nconcurrency: {key: nightly}\ntimeout: 1h\ntasks:\n"
                       "  a: {run: x}\n  b: {run: x, needs: a}\n";
    int64_t one = submit_workflow(s, yaml, NULL), two = submit_workflow(s, yaml, NULL);
    int64_t three = submit_workflow(s, yaml, NULL);
    struct held_job j;

    CHECK_EQ(status_of(s, two), S_PENDING);
    CHECK_EQ(get(s, two).held, HELD_LIMIT);
    verify_clean(s);
    clock_advance(3500 * SECOND); /* a workflow's timeout starts when the workflow starts */
    j = claim_job(s, 1);
    CHECK_EQ(control_execution(s, CONTROL_CANCEL, one), 0);
    verify_clean(s);
    CHECK_EQ(control_first_slice(s, CONTROL_PAUSE, two, 10), 0);
    verify_clean(s);
    CHECK_EQ(settle_as(s, j, OUTCOME_CANCELLED, -1), 0);
    CHECK_EQ(status_of(s, one), S_CANCELLED);
    verify_clean(s);
    CHECK_EQ(status_of(s, three), S_RUNNING); /* the second is paused, so the third starts first */
    CHECK_EQ(control_execution(s, CONTROL_RESUME, two), 0);
    CHECK_EQ(status_of(s, two), S_PENDING);
    verify_clean(s);
    run_workflows(s, "");
    CHECK_EQ(status_of(s, two), S_SUCCEEDED);
    CHECK_EQ(status_of(s, three), S_SUCCEEDED);
    verify_clean(s);
    store_close(&s);
}

TEST(timeout_of_a_task_limits_its_nested_workflow)
{
    static const char *const files[] = {
        "w.yaml",
        "name: w\ntasks:\n  in: {workflow: in.yaml, timeout: 10m}\n"
        "  many: {workflow: in.yaml, foreach: 2, timeout: 2h}\n  after: {run: x, needs: in, if: "
        "failure()}\n",
        "in.yaml", "name: in\ntimeout: 1h\ntasks:\n  leaf: {run: x, retry: 2}\n", NULL};
    struct store *s = fixture_store();
    int64_t w = submit_workflow_text(s, workflow_text_of_files(files), NULL);

    clock_advance(601 * SECOND);
    run_timers(s);
    CHECK_EQ(task_status(s, w, "in"), S_TIMED_OUT);
    CHECK_EQ(task_status(s, w, "after"), S_READY);
    CHECK_EQ(task_status(s, w, "many[1]"), S_RUNNING);
    verify_clean(s);
    clock_advance(3600 * SECOND);
    run_timers(s);
    CHECK_EQ(task_status(s, w, "many[1]"),
             S_TIMED_OUT); /* the nested workflow's own timeout is shorter */
    run_workflows(s, "");
    CHECK_EQ(status_of(s, w), S_FAILED);
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM timers"), 0);
    verify_clean(s);
    store_close(&s);
}
