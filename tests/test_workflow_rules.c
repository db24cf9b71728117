/* test_workflow_rules.c - workflows: the consequences of the end of a task. Each test ends with
 * verify. */
#include "workflow_case.h"

TEST_LONG;

TEST(task_becomes_ready_when_its_need_has_succeeded)
{
    struct store *s = fixture_store();
    struct task_claim k = {.push = false};
    int64_t w =
        submit_workflow(s, "name: w\ntasks:\n  a: {run: one}\n  b: {run: two, needs: a}\n", NULL);

    CHECK_EQ(status_of(s, w), S_RUNNING);
    CHECK_STR(tree_text(s, w), "a:ready b:pending");
    CHECK_EQ(claim_tasks(s, &k), 1);
    CHECK_STR(k.names[0], "a");
    settle_task(s, k.held[0], OUTCOME_OK, NULL);
    CHECK_STR(tree_text(s, w), "a:succeeded b:ready");
    CHECK_EQ(claim_tasks(s, &k), 1);
    CHECK(strstr(k.spec, "\"run\":\"two\""));
    settle_task(s, k.held[0], OUTCOME_OK, NULL);
    CHECK_EQ(status_of(s, w), S_SUCCEEDED);
    CHECK_STR(history(s, w), "created started completed");
    verify_clean(s);
    store_close(&s);
}

WORKFLOW_CASE(join_waits_for_all_needs_and_fires_once,
              .yaml = "name: w\ntasks:\n  a: {run: x}\n  b: {run: x, needs: a}\n"
                      "  c: {run: x, needs: a}\n  d: {run: x, needs: [b, c]}\n",
              .steps = {{"take, ok a, take, ok b", "a:succeeded b:succeeded c:running d:pending"},
                        {"ok c", "a:succeeded b:succeeded c:succeeded d:ready"},
                        {"play", "a:succeeded b:succeeded c:succeeded d:succeeded"}},
              .ends = S_SUCCEEDED);

WORKFLOW_CASE(failed_task_skips_its_followers_and_fails_its_workflow,
              .yaml = "name: w\ntasks:\n  a: {run: x}\n  b: {run: x, needs: a}\n"
                      "  c: {run: x, needs: b}\n  d: {run: x}\n",
              .steps = {{"play but a", "a:failed b:skipped c:skipped d:succeeded"}},
              .ends = S_FAILED, .error = "a failed: it was made to fail");

WORKFLOW_CASE(
    conditions_after_a_skipped_task_include_the_failure_that_skipped_it,
    .yaml = "name: w\ntasks:\n  a: {run: x}\n  b: {run: x, needs: a}\n"
            "  repair: {run: x, needs: b, if: failure()}\n"
            "  always: {run: x, needs: b, if: always()}\n"
            "  fine: {run: x, needs: [repair, always], if: success()}\n"
            "  by_status: {run: x, needs: b, if: \"always() && tasks.b.status == 'skipped'\"}\n",
    .steps = {{"play but a", "a:failed b:skipped repair:succeeded always:succeeded fine:succeeded "
                             "by_status:succeeded"}},
    .ends = S_FAILED);

WORKFLOW_CASE(
    allowed_failure_counts_as_success,
    .yaml = "name: w\ntasks:\n  a: {run: x, allow_failure: true}\n  b: {run: x, needs: a}\n",
    .steps = {{"play but a", "a:failed b:succeeded"}}, .ends = S_SUCCEEDED);

WORKFLOW_CASE(join_any_runs_after_the_first_success_and_is_skipped_when_no_success_is_possible,
              .yaml = "name: w\ntasks:\n  a: {run: x}\n  b: {run: x}\n"
                      "  any: {run: x, needs: [a, b], join: any}\n"
                      "  both: {run: x, needs: [a, b], join: 2}\n",
              .steps = {{"take, ok a", "a:succeeded b:running any:ready both:pending"},
                        {"fail b", "a:succeeded b:failed any:ready both:skipped"},
                        {"play", "a:succeeded b:failed any:succeeded both:skipped"}},
              .ends = S_FAILED);

TEST(outputs_and_params_reach_the_tasks_that_refer_to_them)
{
    struct store *s = fixture_store();
    struct task_claim k = {.push = false};
    int64_t w = submit_workflow(
        s,
        "name: w\nparams: {day: {type: string, default: mon}}\nvars: {where: \"at ${{ params.day }}\"}\n"
        "env: {REGION: eu}\n"
        "tasks:\n  a: {run: x}\n"
        "  b: {argv: [echo, \"${{ tasks.a.outputs.n }}\", \"${{ vars.where }}\"], needs: a}\n"
        "outputs: {total: \"${{ tasks.b.outputs.n }}\"}\n",
        "{\"day\":\"tue\"}");

    CHECK_EQ(claim_tasks(s, &k), 1);
    CHECK(strstr(k.spec, "\"day\":\"tue\""));
    CHECK(strstr(k.spec, "\"REGION\":\"eu\""));
    settle_task(s, k.held[0], OUTCOME_OK, "{\"n\":42}");
    CHECK_EQ(claim_tasks(s, &k), 1);
    CHECK(strstr(k.spec, "[\"echo\",\"42\",\"at tue\"]"));
    settle_task(s, k.held[0], OUTCOME_OK, "{\"n\":43}");
    CHECK_STR(get(s, w).result, "{\"total\":43}");
    verify_clean(s);
    store_close(&s);
}

TEST(number_reaches_a_task_as_it_was_written)
{
    static struct task_claim k;
    struct store *s = fixture_store();

    submit_workflow(s,
                    "name: w\nparams: {x: {type: number}}\nvars: {y: 0.3}\ntasks:\n"
                    "  a: {run: x, env: {Y: '${{ vars.y }}', Z: '${{ vars }}'}}\n",
                    "{\"x\": 0.1}");
    CHECK_EQ(claim_tasks(s, &k), 1);
    CHECK(strstr(k.spec, "\"x\":\"0.1\""));
    CHECK(strstr(k.spec, "\"Y\":\"0.3\""));
    CHECK(strstr(k.spec, "{\\\"y\\\":0.3}"));
    settle_task(s, k.held[0], OUTCOME_OK, "{\"z\":0.7}");
    verify_clean(s);
    store_close(&s);
}

/* The error gives the location of the task in its file, since a position within the expression
 * alone would not help there. */
TEST(failed_expression_fails_its_task_and_the_error_has_its_location)
{
    static const char *const files[] = {
        "w.yaml",
        "name: w\ntasks:\n  a: {run: x}\n"
        "  b: {run: x, needs: a, env: {X: \"${{ tasks.a.outputs.gone }}\"}}\n"
        "  c: {run: x, needs: a, if: 1 < 2 && tasks.a.outputs.gone}\n"
        "  d: {run: x, needs: a, foreach: \"${{ tasks.a.outputs.gone }}\"}\n",
        NULL};
    struct store *s = fixture_store();
    int64_t w = submit_workflow_text(s, workflow_text_of_files(files), NULL);

    run_workflows(s, "");
    CHECK_STR(tree_text(s, w), "a:succeeded b:failed c:failed d:failed");
    CHECK_STR(get(s, task_of(s, w, "b")).error,
              "X: w.yaml:4:3: tasks.a.outputs has no field 'gone'; its fields are: n (in: "
              "tasks.a.outputs.gone)");
    CHECK_STR(get(s, task_of(s, w, "c")).error,
              "w.yaml:5:3: tasks.a.outputs has no field 'gone'; its fields are: n (in: "
              "success() && (1 < 2 && tasks.a.outputs.gone))");
    CHECK_STR(get(s, task_of(s, w, "d")).error,
              "foreach: w.yaml:6:3: tasks.a.outputs has no field 'gone'; its fields are: n (in: "
              "tasks.a.outputs.gone)");
    CHECK_EQ(status_of(s, w), S_FAILED);
    verify_clean(s);
    store_close(&s);
}

WORKFLOW_CASE(invalid_param_fails_the_workflow_before_anything_runs,
              .yaml = "name: w\nparams: {n: {type: integer}}\ntasks: {a: {run: x}}\n",
              .params = "{\"n\":\"seven\"}", .ends = S_FAILED,
              .error = "the param n must be an integer, not a string");

WORKFLOW_CASE(null_for_an_optional_param_equals_no_value,
              .yaml = "name: w\nparams: {n: {type: integer}, m: {type: list, default: null}}\n"
                      "tasks: {a: {run: x}}\n",
              .params = "{\"n\":null,\"m\":null}", .steps = {{"play", "a:succeeded"}},
              .ends = S_SUCCEEDED);

WORKFLOW_CASE(null_for_a_param_with_a_default_is_refused,
              .yaml = "name: w\nparams: {n: 1}\ntasks: {a: {run: x}}\n", .params = "{\"n\":null}",
              .ends = S_FAILED, .error = "the param n must be an integer, not null");

TEST(error_of_a_workflow_does_not_count_failures_that_are_allowed)
{
    struct store *s = fixture_store();
    int64_t w =
        submit_workflow(s,
                        "name: w\ntasks:\n  a: {run: x, allow_failure: true}\n  b: {run: x}\n"
                        "  c: {run: x, allow_failure: true}\n  d: {run: x}\n",
                        NULL);

    run_workflows(s, " a b c ");
    CHECK_STR(get(s, w).error, "b failed: it was made to fail");
    w = submit_workflow(s,
                        "name: w\ntasks:\n  a: {run: x, allow_failure: true}\n  b: {run: x}\n"
                        "  c: {run: x}\n",
                        NULL);
    run_workflows(s, " a b c ");
    CHECK_STR(get(s, w).error, "b failed: it was made to fail (and 1 more)");
    verify_clean(s);
    store_close(&s);
}

TEST(fan_out_runs_every_item_and_returns_their_outputs_in_order)
{
    struct store *s = fixture_store();
    struct task_claim k = {.push = false};
    int64_t w =
        submit_workflow(s,
                        "name: w\ntasks:\n  each: {foreach: [a, b, c], run: x, max_parallel: 2}\n"
                        "  sum: {run: x, needs: each}\n"
                        "outputs: {all: \"${{ tasks.each.outputs }}\"}\n",
                        NULL);

    CHECK_EQ(claim_tasks(s, &k), 2);
    CHECK(strstr(k.spec, "\"ITEM\":\"b\""));
    settle_task(s, k.held[1], OUTCOME_OK, "{\"i\":1}");
    settle_task(s, k.held[0], OUTCOME_OK, "{\"i\":0}");
    CHECK_EQ(claim_tasks(s, &k), 1);
    settle_task(s, k.held[0], OUTCOME_OK, "{\"i\":2}");
    run_workflows(s, "");
    CHECK_EQ(status_of(s, w), S_SUCCEEDED);
    CHECK_STR(
        get(s, w).result,
        "{\"all\":[{\"status\":\"succeeded\",\"outputs\":{\"i\":0},\"item\":\"a\",\"error\":null},"
        "{\"status\":\"succeeded\",\"outputs\":{\"i\":1},\"item\":\"b\",\"error\":null},"
        "{\"status\":\"succeeded\",\"outputs\":{\"i\":2},\"item\":\"c\",\"error\":null}]}");
    verify_clean(s);
    store_close(&s);
}

TEST(output_with_a_nul_character_does_not_hide_other_outputs)
{
    struct store *s = fixture_store();
    struct task_claim k = {.push = false};
    int64_t w = submit_workflow(
        s,
        "name: w\ntasks:\n  a: {run: x}\n"
        "  b: {function: f, needs: a, with: {n: \"${{ tasks.a.outputs.n }}\"}}\n"
        "  each: {function: f, needs: a, foreach: \"${{ tasks.a.outputs.list }}\"}\n"
        "  after: {run: x, needs: each}\n",
        NULL);

    CHECK_EQ(claim_tasks(s, &k), 1);
    settle_task(s, k.held[0], OUTCOME_OK, "{\"n\":1,\"list\":[\"x\\u0000y\"]}");
    run_workflows(s, "");
    CHECK_STR(tree_text(s, w), "a:succeeded b:succeeded each:succeeded after:succeeded "
                               "each[0]:succeeded");
    CHECK_EQ(status_of(s, w), S_SUCCEEDED);
    verify_clean(s);
    store_close(&s);
}

WORKFLOW_CASE(
    fan_out_of_an_empty_list_succeeds,
    .yaml = "name: w\ntasks:\n  each: {foreach: [], run: x}\n  b: {run: x, needs: each}\n",
    .steps = {{"play", "each:succeeded b:succeeded"}}, .ends = S_SUCCEEDED);

TEST(fail_fast_ends_the_remaining_items)
{
    struct store *s = fixture_store();
    struct task_claim k = {.push = false};
    int64_t w = submit_workflow(
        s, "name: w\ntasks:\n  each: {foreach: 10, run: x, max_parallel: 3, fail_fast: true}\n",
        NULL);

    CHECK_EQ(claim_tasks(s, &k), 3);
    settle_task(s, k.held[0], OUTCOME_FAILED, NULL);
    CHECK(get(s, k.held[1].id).cancel_requested);
    settle_task(s, k.held[1], OUTCOME_CANCELLED, NULL);
    settle_task(s, k.held[2], OUTCOME_CANCELLED, NULL);
    CHECK_EQ(task_status(s, w, "each"), S_FAILED);
    CHECK_EQ(status_of(s, w), S_FAILED);
    CHECK_EQ(claim_tasks(s, &k), 0);
    verify_clean(s);
    store_close(&s);
}

WORKFLOW_CASE(fail_fast_ends_items_created_in_the_same_turn_as_the_failed_item,
              .yaml = "name: w\ntasks:\n  each:\n    foreach: [{a: 1}, {b: 2}]\n"
                      "    argv: [echo, \"${{ item.a }}\"]\n    fail_fast: true\n",
              .steps = {{"play", "each:failed each[0]:cancelled each[1]:failed"}},
              .ends = S_FAILED);

TEST(fail_fast_ends_more_items_than_fit_into_one_turn)
{
    struct store *s = fixture_store();
    struct task_claim k = {.push = false};
    struct buf yaml = BUF_INIT;
    int64_t w;
    int i;

    buf_addstr(&yaml, "name: inner\ntasks:\n  first: {run: x}\n");
    for (i = 0; i < 500; i++)
        buf_addf(&yaml, "  t%d: {run: x, needs: first}\n", i);
    w = submit_workflow_text(s,
                             workflow_text_of_files((const char *[]){
                                 "w.flow.yaml",
                                 "tasks:\n  bad: {foreach: 4, workflow: inner.flow.yaml, "
                                 "fail_fast: true}\n",
                                 "inner.flow.yaml", yaml.ptr, NULL}),
                             NULL);
    buf_release(&yaml);
    CHECK_EQ(claim_tasks(s, &k), 4);
    for (i = 1; i < 4; i++)
        settle_task(s, k.held[i], OUTCOME_OK, NULL);
    settle_task(s, k.held[0], OUTCOME_FAILED, NULL);
    run_all_timers(s);
    CHECK_EQ(task_status(s, w, "bad"), S_FAILED);
    CHECK_EQ(status_of(s, w), S_FAILED);
    CHECK_EQ(claim_tasks(s, &k), 0);
    verify_clean(s);
    store_close(&s);
}

TEST(many_fan_outs_start_in_one_turn)
{
    struct store *s = fixture_store();
    struct buf yaml = BUF_INIT;
    int64_t w;
    int i;

    buf_addstr(&yaml, "name: w\ntasks:\n");
    for (i = 0; i < 20; i++)
        buf_addf(&yaml, "  t%d: {run: x, foreach: 2}\n", i);
    w = submit_workflow(s, yaml.ptr, NULL);
    run_workflows(s, "");
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM executions WHERE status = 4"), 61);
    CHECK_EQ(status_of(s, w), S_SUCCEEDED);
    buf_release(&yaml);
    verify_clean(s);
    store_close(&s);
}

TEST(items_of_a_long_list_are_created_in_slices)
{
    struct store *s = fixture_store();
    int64_t w = submit_workflow(s, "name: w\ntasks:\n  each: {foreach: 2500, run: x}\n", NULL);

    CHECK_EQ(sql_number(s, "SELECT count(*) FROM executions WHERE task_index IS NOT NULL"), 500);
    run_workflows_in_sets(s);
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM executions WHERE status = 4"), 2502);
    CHECK_EQ(status_of(s, w), S_SUCCEEDED);
    verify_clean(s);
    store_close(&s);
}

WORKFLOW_CASE(on_failure_and_on_exit_run_after_all_other_tasks,
              .yaml = "name: w\ntasks:\n  a: {run: x}\n"
                      "on_failure: {run: page}\non_exit: {run: tidy}\n",
              .steps = {{"play but a", "a:failed on_failure:succeeded on_exit:succeeded"}},
              .ends = S_FAILED);

WORKFLOW_CASE(on_failure_without_a_failure_does_not_run,
              .yaml = "name: w\ntasks:\n  a: {run: x}\non_failure: {run: page}\n",
              .steps = {{"play", "a:succeeded"}}, .ends = S_SUCCEEDED);

WORKFLOW_CASE(failed_on_exit_fails_the_workflow_and_does_not_start_on_failure,
              .yaml = "name: w\ntasks:\n  a: {run: x}\n"
                      "on_failure: {run: page}\non_exit: {run: tidy}\n",
              .steps = {{"play but on_exit", "a:succeeded on_exit:failed"}}, .ends = S_FAILED);

WORKFLOW_CASE(cancel_of_a_workflow_ends_all_tasks_except_on_exit,
              .yaml = "name: w\ntasks:\n  a: {run: x}\n  b: {run: x, needs: a, if: always()}\n"
                      "on_failure: {run: page}\non_exit: {run: tidy}\n",
              .steps = {{"take, cancel w", "a:running b:cancelled"},
                        {"end a", "a:cancelled b:cancelled on_exit:ready"},
                        {"play", "a:cancelled b:cancelled on_exit:succeeded"}},
              .ends = S_CANCELLED);

WORKFLOW_CASE(workflow_with_a_failure_before_its_cancel_ends_as_failed,
              .yaml = "name: w\ntasks:\n  a: {run: x}\n  b: {run: x}\n",
              .steps = {{"take, fail a, cancel w, end b", "a:failed b:cancelled"}},
              .ends = S_FAILED);

WORKFLOW_CASE(followers_of_a_cancelled_task_are_decided_by_their_conditions,
              .yaml = "name: w\ntasks:\n  a: {run: x}\n  b: {run: x, needs: a}\n"
                      "  c: {run: x, needs: a, if: cancelled()}\n",
              .steps = {{"take, cancel a, end a", "a:cancelled b:skipped c:ready"},
                        {"play", "a:cancelled b:skipped c:succeeded"}},
              .ends = S_CANCELLED);

TEST(workflow_that_exceeds_its_timeout_times_out)
{
    struct store *s = fixture_store();
    struct task_claim k = {.push = false};
    int64_t w = submit_workflow(
        s, "name: w\ntimeout: 1m\ntasks:\n  a: {run: x}\n  b: {run: x, needs: a}\n", NULL);

    CHECK_EQ(claim_tasks(s, &k), 1);
    clock_advance(61 * SECOND);
    run_timers(s);
    CHECK(get(s, k.held[0].id).cancel_requested);
    settle_task(s, k.held[0], OUTCOME_CANCELLED, NULL);
    CHECK_EQ(status_of(s, w), S_TIMED_OUT);
    verify_clean(s);
    store_close(&s);
}

TEST(graph_of_thousands_of_tasks_is_created_in_slices_and_runs)
{
    struct store *s = fixture_store();
    struct buf yaml = BUF_INIT;
    int64_t w;
    int i;

    buf_addstr(&yaml, "name: w\ntasks:\n  t0: {run: x}\n");
    for (i = 1; i < 2500; i++)
        buf_addf(&yaml, "  t%d: {run: x, needs: t0}\n", i);
    w = submit_workflow(s, yaml.ptr, NULL);
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM executions"), 1001);
    CHECK_EQ(task_status(s, w, "t0"), S_PENDING);
    run_workflows_in_sets(s);
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM executions WHERE status = 4"), 2501);
    CHECK_EQ(status_of(s, w), S_SUCCEEDED);
    buf_release(&yaml);
    verify_clean(s);
    store_close(&s);
}

TEST(workflow_waits_for_children_that_its_task_submitted)
{
    struct store *s = fixture_store();
    struct task_claim k = {.push = false};
    int64_t w = submit_workflow(s, "name: w\ntasks: {a: {run: x}}\n", NULL), child;

    CHECK_EQ(claim_tasks(s, &k), 1);
    child = submit_child(s, k.held[0].id, "exec::child");
    settle_task(s, k.held[0], OUTCOME_OK, NULL);
    CHECK_EQ(task_status(s, w, "a"), S_SUCCEEDED);
    CHECK_EQ(status_of(s, w), S_RUNNING);
    CHECK_EQ(claim_tasks(s, &k), 1);
    CHECK_EQ(k.held[0].id, child);
    settle_task(s, k.held[0], OUTCOME_OK, NULL);
    CHECK_EQ(status_of(s, w), S_SUCCEEDED);
    verify_clean(s);
    store_close(&s);
}

WORKFLOW_CASE(item_with_a_failing_expression_fails_and_the_other_items_run,
              .yaml = "name: w\ntasks:\n  each:\n    foreach: [{a: 1}, {b: 2}, {a: 3}]\n"
                      "    argv: [echo, \"${{ item.a }}\"]\n",
              .steps = {{"play", "each:failed each[0]:succeeded each[1]:failed each[2]:succeeded"}},
              .ends = S_FAILED);

TEST(task_that_becomes_ready_in_a_turn_is_claimed_in_the_same_turn)
{
    struct store *s = fixture_store();
    struct task_claim k = {.push = false};
    int64_t w = submit_workflow(s, "name: w\ntasks:\n  a: {run: x}\n  b: {run: y, needs: a}\n",
                                NULL),
            b;

    CHECK_EQ(claim_tasks(s, &k), 1);
    b = task_of(s, w, "b");
    settle_and_claim(s, k.held[0], &k);
    CHECK_EQ(k.n, 1);
    CHECK_EQ(k.held[0].id, b);
    CHECK(strstr(k.spec, "\"run\":\"y\"")); /* the spec was resolved in this turn */
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM task_outbox"), 0);
    CHECK_STR(history(s, b), "created marked_ready claimed");
    settle_task(s, k.held[0], OUTCOME_OK, NULL);
    CHECK_EQ(status_of(s, w), S_SUCCEEDED);
    verify_clean(s);
    store_close(&s);
}

WORKFLOW_CASE(
    fan_out_with_join_any_creates_every_item_from_the_first_on,
    .yaml = "name: w\ntasks:\n  a: {run: x}\n  b: {run: x}\n"
            "  each: {foreach: 2, run: x, needs: [a, b], join: any}\n",
    .steps = {{"play",
               "a:succeeded b:succeeded each:succeeded each[0]:succeeded each[1]:succeeded"}},
    .ends = S_SUCCEEDED);

TEST(container_task_gets_the_container_lane_and_its_expressions_evaluated)
{
    struct submission w = {
        .definition = workflow_text(
            "name: w\nvars: {tag: 7}\ntasks:\n"
            "  a: {run: x, container: 'i:${{ vars.tag }}'}\n"
            "  b: {run: x, container: {image: i, volumes: ['v${{ vars.tag }}:/v', "
            "/a:/b:ro]}}\n"
            "  c: {run: x, container: {image: '${{ vars.tag }}', options: [--cpus, '${{ "
            "vars.tag }}', '${{ true }}', '${{ range(2) }}']}}\n")};
    struct store *s = fixture_store();
    struct err err = ERR_INIT;

    CHECK_OK_ERR(store_turn(s, submit_workflow_body, &w, &err), &err);
    CHECK_EQ(w.rc, 0);
    free((char *)w.definition);
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM executions WHERE lane = 'container'"), 3);
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM executions WHERE task_name = 'a' AND spec LIKE "
                           "'%\"container\":{\"image\":\"i:7\"}%'"),
             1);
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM executions WHERE task_name = 'b' AND spec LIKE "
                           "'%\"volumes\":[\"v7:/v\",\"/a:/b:ro\"]%'"),
             1);
    CHECK_EQ(sql_number(
                 s, "SELECT count(*) FROM executions WHERE task_name = 'c' AND spec LIKE "
                    "'%{\"image\":\"7\",\"options\":[\"--cpus\",\"7\",\"true\",[\"0\",\"1\"]]}%'"),
             1);
    verify_clean(s);
    store_close(&s);
}
