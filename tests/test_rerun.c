/* test_rerun.c - running again what has ended: the whole, what failed, or from a task on. Each test
 * ends with verify. */
#include "flow_case.h"
#include "rerun_fixture.h"

TEST(a_whole_workflow_runs_again_in_the_same_executions)
{
    struct store *s = fixture_store();
    int64_t w = flow_submit(s,
                            "name: w\ntasks:\n  a: {run: x}\n  b: {run: x, needs: a}\n"
                            "  many: {run: x, foreach: 3, needs: a}\non_exit: {run: x}\n",
                            NULL);
    int64_t a = flow_task(s, w, "a"), item;

    flow_play(s, " b ");
    CHECK_EQ(status_of(s, w), S_FAILED);
    item = flow_task(s, w, "many[2]");
    CHECK_STR(rerun(s, w, RERUN_WHOLE, NULL), "w");
    CHECK_EQ(status_of(s, w), S_RUNNING);
    CHECK_EQ(get(s, w).error, NULL);
    CHECK_EQ(status_of(s, a), S_READY);
    CHECK_EQ(status_of(s, flow_task(s, w, "b")), S_PENDING);
    verify_clean(s);
    flow_play(s, "");
    CHECK_EQ(status_of(s, w), S_SUCCEEDED);
    CHECK_EQ(flow_task(s, w, "many[2]"), item);
    CHECK_STR(history(s, a), "created marked_ready claimed completed rerun marked_ready claimed "
                             "completed");
    CHECK_EQ(get(s, a).attempts, 2);
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM executions"), 8);
    verify_clean(s);
    store_close(&s);
}

TEST(only_what_failed_runs_again_with_all_behind_it)
{
    struct store *s = fixture_store();
    int64_t w = flow_submit(s,
                            "name: w\ntasks:\n  a: {run: x}\n  b: {run: x, needs: a}\n"
                            "  c: {run: x, needs: b}\n  d: {run: x, needs: a}\n"
                            "  e: {run: x, needs: [c, d]}\n",
                            NULL);
    int64_t d = flow_task(s, w, "d");

    flow_play(s, " b ");
    CHECK_STR(flow_shape(s, w), "a:succeeded b:failed c:skipped d:succeeded e:skipped");
    CHECK_STR(rerun(s, w, RERUN_ONLY_FAILED, NULL), "w b c e");
    CHECK_STR(flow_shape(s, w), "a:succeeded b:ready c:pending d:succeeded e:pending");
    verify_clean(s);
    flow_play(s, "");
    CHECK_EQ(status_of(s, w), S_SUCCEEDED);
    CHECK_EQ(get(s, d).attempts, 1);
    verify_clean(s);
    CHECK_EQ(rerun(s, w, RERUN_ONLY_FAILED, NULL), NULL);
    CHECK_STR(refusal.msg, "no task of execution 1 failed or was cancelled");
    store_close(&s);
}

TEST(a_task_runs_again_with_all_behind_it_and_gets_its_tries_anew)
{
    struct store *s = fixture_store();
    int64_t w = flow_submit(s,
                            "name: w\ntasks:\n  a: {run: x}\n"
                            "  b: {run: x, needs: a, retry: 1}\n  c: {run: x, needs: b}\n",
                            NULL);
    int64_t b = flow_task(s, w, "b");
    struct held_job j;

    flow_play(s, "");
    CHECK_STR(rerun(s, w, RERUN_FROM_TASK, "b"), "w b c");
    CHECK_EQ(get(s, b).max_attempts, 3);
    j = claim_job(s, 1);
    CHECK_EQ(settle_as(s, j, OUTCOME_FAILED, 0), 0);
    j = claim_job(s, 1);
    CHECK_EQ(settle_as(s, j, OUTCOME_FAILED, 0), 0);
    CHECK_STR(flow_shape(s, w), "a:succeeded b:failed c:skipped");
    verify_clean(s);
    CHECK_STR(rerun(s, b, RERUN_WHOLE, NULL), "w b c"); /* the same by its own id */
    flow_play(s, "");
    CHECK_EQ(status_of(s, w), S_SUCCEEDED);
    CHECK_EQ(rerun(s, w, RERUN_FROM_TASK, "nobody"), NULL);
    CHECK_STR(refusal.msg, "the workflow w has no task 'nobody'");
    verify_clean(s);
    store_close(&s);
}

TEST(of_a_fan_out_only_the_failed_items_run_again_in_their_window)
{
    struct store *s = fixture_store();
    int64_t w = flow_submit(s,
                            "name: w\ntasks:\n  many: {run: x, foreach: 7, max_parallel: 2}\n"
                            "  after: {run: x, needs: many}\n",
                            NULL);
    struct flow_claiming k = {.push = false};

    flow_play(s, " many[1] many[3] many[4] many[6] ");
    CHECK_EQ(status_of(s, w), S_FAILED);
    CHECK_STR(rerun(s, w, RERUN_ONLY_FAILED, NULL), "w many after");
    CHECK_EQ(flow_claim(s, &k), 2); /* not four */
    CHECK_STR(k.names[0], "many[1]");
    CHECK_STR(k.names[1], "many[3]");
    verify_clean(s);
    flow_settle(s, k.held[0], OUTCOME_OK, NULL);
    flow_settle(s, k.held[1], OUTCOME_OK, NULL);
    flow_play(s, "");
    CHECK_EQ(status_of(s, w), S_SUCCEEDED);
    CHECK_EQ(get(s, flow_task(s, w, "many[0]")).attempts, 1);
    CHECK_EQ(get(s, flow_task(s, w, "many[6]")).attempts, 2);
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM executions"), 10);
    verify_clean(s);
    store_close(&s);
}

FLOW_CASE(
    a_fan_out_that_was_stopped_makes_the_rest_when_it_runs_again,
    .yaml = "name: w\ntasks:\n  many: {run: x, foreach: 4, max_parallel: 2, fail_fast: true}\n",
    .steps = {{"take, fail many[0], end many[1]", "many:failed many[0]:failed many[1]:cancelled"},
              {"rerun-failed w", "many:running many[0]:ready many[1]:ready"},
              {"play", "many:succeeded many[0]:succeeded many[1]:succeeded many[2]:succeeded "
                       "many[3]:succeeded"}},
    .ends = S_SUCCEEDED);

FLOW_CASE(
    one_item_runs_again_and_what_needs_the_fan_out_after_it,
    .yaml = "name: w\ntasks:\n  many: {run: x, foreach: 3}\n  after: {run: x, needs: many}\n",
    .steps = {{"play but many[0] many[1]",
               "many:failed after:skipped many[0]:failed many[1]:failed many[2]:succeeded"},
              {"rerun many[1]",
               "many:running after:pending many[0]:failed many[1]:ready many[2]:succeeded"},
              {"play", /* the other one that failed still counts */
               "many:failed after:skipped many[0]:failed many[1]:succeeded many[2]:succeeded"},
              {"rerun many[0], play",
               "many:succeeded after:succeeded many[0]:succeeded many[1]:succeeded "
               "many[2]:succeeded"}},
    .ends = S_SUCCEEDED);

FLOW_CASE(an_item_may_run_again_while_the_others_still_run,
          .yaml = "name: w\ntasks:\n  many: {run: x, foreach: 3}\n",
          .steps = {{"take, fail many[0]",
                     "many:running many[0]:failed many[1]:running many[2]:running"},
                    {"rerun many[0], take",
                     "many:running many[0]:running many[1]:running many[2]:running"},
                    {"ok many[0], ok many[1], ok many[2]", /* the failure was mended */
                     "many:succeeded many[0]:succeeded many[1]:succeeded many[2]:succeeded"}},
          .ends = S_SUCCEEDED);

TEST(a_list_that_became_shorter_leaves_the_old_items_alone)
{
    struct store *s = fixture_store();
    int64_t w =
        flow_submit(s,
                    "name: w\ntasks:\n  a: {run: x}\n"
                    "  many: {run: x, needs: a, foreach: \"${{ tasks.a.outputs.list }}\"}\n",
                    NULL);
    struct flow_claiming k = {.push = false};

    CHECK_EQ(flow_claim(s, &k), 1);
    flow_settle(s, k.held[0], OUTCOME_OK, "{\"list\":[1,2,3]}");
    flow_play(s, " many[2] ");
    CHECK_EQ(status_of(s, w), S_FAILED);
    CHECK_STR(rerun(s, w, RERUN_WHOLE, NULL), "w");
    CHECK_EQ(flow_claim(s, &k), 1);
    flow_settle(s, k.held[0], OUTCOME_OK, "{\"list\":[7]}");
    CHECK_EQ(flow_claim(s, &k), 1);
    flow_settle(s, k.held[0], OUTCOME_OK, "{\"n\":1}");
    CHECK_EQ(status_of(s, w), S_SUCCEEDED);
    CHECK_STR(get(s, flow_task(s, w, "many")).result,
              "[{\"status\":\"succeeded\",\"outputs\":{\"n\":1}}]");
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

static void answer(struct store *s, int64_t id, bool yes)
{
    struct answer a = {.q = {.execution = id, .by = "ada"}, .yes = yes};
    struct err err = ERR_INIT;

    CHECK_OK_ERR(store_turn(s, answer_body, &a, &err), &err);
    CHECK_EQ(a.q.rc, 0);
}

TEST(items_that_a_later_run_did_not_come_to_are_not_taken_for_done)
{
    struct store *s = fixture_store();
    int64_t w = flow_submit(s,
                            "name: w\ntasks:\n  a: {run: x}\n"
                            "  many: {run: x, needs: a, foreach: \"${{ tasks.a.outputs.list }}\","
                            " max_parallel: 1, fail_fast: true}\n",
                            NULL);
    struct flow_claiming k = {.push = false};
    int i;

    for (i = 0; i < 2; i++) { /* the second list is another, and its first item fails */
        CHECK_EQ(flow_claim(s, &k), 1);
        flow_settle(s, k.held[0], OUTCOME_OK, i ? "{\"list\":[7,8,9]}" : "{\"list\":[1,2,3]}");
        flow_play(s, i ? " many[0] " : "");
        clock_advance(1);
        CHECK(rerun(s, w, i ? RERUN_ONLY_FAILED : RERUN_WHOLE, NULL));
    }
    flow_play(s, "");
    CHECK_EQ(status_of(s, w), S_SUCCEEDED);
    CHECK_EQ(get(s, flow_task(s, w, "many[0]")).attempts, 3);
    CHECK_EQ(get(s, flow_task(s, w, "many[1]")).attempts, 2); /* with 8, not only with 2 */
    CHECK_EQ(get(s, flow_task(s, w, "many[2]")).attempts, 2);
    verify_clean(s);
    store_close(&s);
}

TEST(what_was_rejected_before_it_began_again_runs_as_a_whole)
{
    static const char *const files[] = {
        "w.yaml",
        "name: w\ntasks:\n  a: {run: x}\n  b: {run: x}\n"
        "  in: {workflow: in.yaml, needs: [a, b], approval: {}}\n"
        "  many: {run: x, needs: [a, b], foreach: 2, approval: {}}\n",
        "in.yaml", "name: in\ntasks:\n  one: {run: x}\n", NULL};
    struct store *s = fixture_store();
    int64_t w = flow_submit_text(s, flow_text_of_files(files), NULL);
    int64_t in = flow_task(s, w, "in"), many = flow_task(s, w, "many");

    flow_play(s, "");
    answer(s, in, true);
    answer(s, many, true);
    flow_play(s, "");
    CHECK_EQ(status_of(s, w), S_SUCCEEDED);
    CHECK_STR(rerun(s, w, RERUN_WHOLE, NULL), "w");
    flow_play(s, "");
    answer(s, in, false);
    answer(s, many, false);
    CHECK_EQ(status_of(s, w), S_FAILED);
    CHECK_EQ(rerun(s, in, RERUN_ONLY_FAILED, NULL), NULL);
    CHECK(strstr(refusal.msg, "ended before its tasks were made"));
    CHECK_STR(rerun(s, w, RERUN_ONLY_FAILED, NULL), "w in many");
    CHECK_EQ(get(s, in).held, HELD_APPROVAL); /* it is asked for again */
    CHECK_EQ(get(s, many).held, HELD_APPROVAL);
    verify_clean(s);
    answer(s, in, true);
    answer(s, many, true);
    flow_play(s, "");
    CHECK_EQ(status_of(s, w), S_SUCCEEDED);
    CHECK_EQ(get(s, flow_task(s, w, "one")).attempts, 2);
    CHECK_EQ(get(s, flow_task(s, w, "many[1]")).attempts, 2);
    verify_clean(s);
    store_close(&s);
}

FLOW_CASE(
    a_fan_out_that_one_item_opens_makes_the_rest_unless_another_failed,
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

TEST(only_what_failed_runs_again_at_any_depth)
{
    struct store *s = fixture_store();
    int64_t w = flow_submit_text(s, flow_text_of_files(nested), NULL);
    struct flow_claiming k = {.push = false};
    size_t i;

    CHECK_EQ(flow_claim(s, &k), 1);
    flow_settle(s, k.held[0], OUTCOME_OK, NULL);
    CHECK_EQ(flow_claim(s, &k), 2);
    for (i = 0; i < 2; i++)
        flow_settle(s, k.held[i], OUTCOME_OK, NULL);
    CHECK_EQ(flow_claim(s, &k), 2);
    flow_settle(s, k.held[0], OUTCOME_OK, NULL);
    flow_settle(s, k.held[1], OUTCOME_FAILED, NULL);
    flow_play(s, "");
    CHECK_EQ(status_of(s, w), S_FAILED);
    verify_clean(s);
    CHECK_STR(rerun(s, w, RERUN_ONLY_FAILED, NULL), "w in z");
    CHECK_EQ(flow_claim(s, &k), 1);
    CHECK_STR(k.names[0], "two");
    verify_clean(s);
    flow_settle(s, k.held[0], OUTCOME_OK, NULL);
    flow_play(s, "");
    CHECK_EQ(status_of(s, w), S_SUCCEEDED);
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM executions WHERE attempts = 2"), 1);
    verify_clean(s);
    store_close(&s);
}

TEST(a_task_deep_below_opens_everything_above_it)
{
    struct store *s = fixture_store();
    int64_t w = flow_submit_text(s, flow_text_of_files(nested), NULL);

    flow_play(s, "");
    CHECK_EQ(status_of(s, w), S_SUCCEEDED);
    CHECK_STR(rerun(s, flow_task(s, w, "two"), RERUN_WHOLE, NULL), "in[0] two three in w z");
    verify_clean(s);
    flow_play(s, " three ");
    CHECK_EQ(status_of(s, w), S_FAILED);
    verify_clean(s);
    CHECK_STR(rerun(s, flow_task(s, w, "in"), RERUN_WHOLE, NULL), "w in z");
    flow_play(s, "");
    CHECK_EQ(status_of(s, w), S_SUCCEEDED);
    verify_clean(s);
    store_close(&s);
}

TEST(a_cancelled_workflow_runs_again)
{
    struct store *s = fixture_store();
    int64_t w = flow_submit(s,
                            "name: w\ntimeout: 1h\ntasks:\n  a: {run: x}\n  b: {run: x, needs: a}\n"
                            "on_failure: {run: x}\non_exit: {run: x}\n",
                            NULL);

    CHECK_EQ(cancel(s, w), 0);
    flow_play(s, "");
    CHECK_EQ(status_of(s, w), S_CANCELLED);
    CHECK_STR(rerun(s, w, RERUN_ONLY_FAILED, NULL), "w a b");
    flow_play(s, " b ");
    CHECK_EQ(status_of(s, w), S_FAILED);
    verify_clean(s);
    CHECK_STR(rerun(s, w, RERUN_ONLY_FAILED, NULL), "w b");
    clock_advance(3601 * SECOND);
    run_timers(s);
    flow_play(s, "");
    CHECK_EQ(status_of(s, w), S_TIMED_OUT); /* the timeout counts from the rerun on */
    verify_clean(s);
    CHECK_STR(rerun(s, w, RERUN_WHOLE, NULL), "w");
    flow_play(s, "");
    CHECK_EQ(status_of(s, w), S_SUCCEEDED);
    verify_clean(s);
    store_close(&s);
}

TEST(a_single_command_runs_again_with_as_many_tries_as_it_had)
{
    struct store *s = fixture_store();
    int64_t id = submit_with(s, (struct submission){.name = "x", .max_attempts = 2});
    int i;

    for (i = 0; i < 3; i++) {
        struct held_job j = claim_job(s, 1);

        CHECK_EQ(settle_as(s, j, OUTCOME_REFUSED, 0), 0); /* given back: costs nothing */
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

TEST(what_a_task_started_runs_again_and_its_workflow_waits_for_it)
{
    struct store *s = fixture_store();
    int64_t w = flow_submit(s, "name: w\ntasks:\n  a: {run: x}\n", NULL), child;
    struct flow_claiming k = {.push = false};

    CHECK_EQ(flow_claim(s, &k), 1);
    child = submit_with(s, (struct submission){.name = "child", .parent = k.held[0].id});
    flow_settle(s, k.held[0], OUTCOME_OK, NULL);
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

TEST(a_workflow_with_a_key_takes_its_permit_again_or_is_refused)
{
    struct store *s = fixture_store();
    const char *yaml = "name: w\nconcurrency: {key: k}\ntasks:\n  a: {run: x}\n";
    int64_t one = flow_submit(s, yaml, NULL), two;

    flow_play(s, " a ");
    two = flow_submit(s, yaml, NULL);
    CHECK_EQ(rerun(s, one, RERUN_WHOLE, NULL), NULL);
    CHECK(strstr(refusal.msg, "the limit key:k has no room (1 of 1 are in use)"));
    verify_clean(s);
    flow_play(s, "");
    CHECK_EQ(status_of(s, two), S_SUCCEEDED);
    CHECK_STR(rerun(s, one, RERUN_ONLY_FAILED, NULL), "w a");
    verify_clean(s);
    two = flow_submit(s, yaml, NULL);
    CHECK_EQ(get(s, two).held, HELD_LIMIT);
    flow_play(s, "");
    CHECK_EQ(status_of(s, one), S_SUCCEEDED);
    CHECK_EQ(status_of(s, two), S_SUCCEEDED);
    verify_clean(s);
    store_close(&s);
}

TEST(a_dry_run_tells_and_changes_nothing)
{
    struct store *s = fixture_store();
    int64_t w = flow_submit(s, "name: w\ntasks:\n  a: {run: x}\n  b: {run: x, needs: a}\n", NULL);
    struct rerun r = {.request = {.execution = w}, .what = RERUN_ONLY_FAILED, .dry = true};
    struct err err = ERR_INIT;

    flow_play(s, " a ");
    CHECK_EQ(store_turn(s, rerun_body, &r, &err), -E_INVALID);
    CHECK(r.planned);
    CHECK_EQ(r.nodes.n, 3);
    CHECK_STR(r.nodes.at[1].name, "w::a");
    CHECK_EQ(r.nodes.at[1].status, S_FAILED);
    rerun_release(&r);
    CHECK_EQ(status_of(s, w), S_FAILED);
    verify_clean(s);
    store_close(&s);
}

TEST(a_large_graph_runs_again_in_slices)
{
    struct store *s = fixture_store();
    struct buf yaml = BUF_INIT;
    int64_t w;
    int i;

    buf_addstr(&yaml, "name: w\ntasks:\n  last: {run: x, needs: [t0, t1099]}\n");
    for (i = 0; i < 1100; i++)
        buf_addf(&yaml, "  t%d: {run: x}\n", i);
    w = flow_submit(s, buf_cstr(&yaml), NULL);
    flow_play(s, " t7 ");
    CHECK_EQ(status_of(s, w), S_FAILED);
    CHECK_STR(rerun(s, w, RERUN_WHOLE, NULL), "w");
    verify_clean(s);
    flow_play(s, "");
    CHECK_EQ(status_of(s, w), S_SUCCEEDED);
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM executions WHERE attempts = 2"), 1101);
    verify_clean(s);
    buf_release(&yaml);
    store_close(&s);
}

/* ---- anew, with other params or another definition ---- */

static int64_t run_anew(struct store *s, int64_t of, const char *yaml, const char *params,
                        const char *reuse)
{
    struct submission w = {
        .definition = flow_text(yaml), .input = params, .rerun_of = of, .reuse = reuse};
    struct err err = ERR_INIT;

    CHECK_OK_ERR(store_turn(s, flow_submit_body, &w, &err), &err);
    CHECK_OK_ERR(w.rc, &w.err);
    free((char *)w.definition);
    return w.id;
}

#define FOUR                                                                                      \
    "name: w\nparams: {day: {type: string, default: mon}}\ntasks:\n  a: {run: x}\n"               \
    "  many: {run: x, foreach: 2, needs: a}\n"                                                    \
    "  b: {run: x, needs: a, env: {N: \"${{ tasks.a.outputs.n }}\", D: \"${{ params.day }}\"}}\n" \
    "  c: {run: x, needs: [b, many]}\n"

TEST(a_run_with_other_params_takes_over_what_stands_before)
{
    struct store *s = fixture_store();
    int64_t old = flow_submit(s, FOUR, NULL), w;
    struct flow_claiming k = {.push = false};

    flow_play(s, " b ");
    w = run_anew(s, old, FOUR, "{\"day\":\"tue\"}", "{\"from\":\"b\"}");
    CHECK_STR(flow_shape(s, w), "a:succeeded many:succeeded b:ready c:pending");
    CHECK_EQ(get(s, w).rerun_of, old);
    CHECK_STR(history(s, flow_task(s, w, "a")), "created reused");
    CHECK_EQ(flow_claim(s, &k), 1);
    CHECK(strstr(k.spec, "\"N\":\"1\""));
    CHECK(strstr(k.spec, "\"D\":\"tue\""));
    verify_clean(s);
    flow_settle(s, k.held[0], OUTCOME_OK, NULL);
    flow_play(s, "");
    CHECK_EQ(status_of(s, w), S_SUCCEEDED);
    CHECK_EQ(status_of(s, old), S_FAILED);
    verify_clean(s);
    store_close(&s);
}

TEST(a_mended_definition_runs_what_failed_and_what_is_new)
{
    struct store *s = fixture_store();
    int64_t old = flow_submit(s, FOUR, NULL), w;

    flow_play(s, " b ");
    w = run_anew(s, old, FOUR "  d: {run: x}\n", NULL, "{\"failed\":true}");
    CHECK_STR(flow_shape(s, w), "a:succeeded many:succeeded b:ready c:pending d:ready");
    flow_play(s, "");
    CHECK_EQ(status_of(s, w), S_SUCCEEDED);
    verify_clean(s);
    CHECK_STR(rerun(s, w, RERUN_WHOLE, NULL), "w"); /* which takes over nothing any more */
    CHECK_STR(flow_shape(s, w), "a:ready many:pending b:pending c:pending d:ready");
    flow_play(s, "");
    CHECK_EQ(status_of(s, w), S_SUCCEEDED);
    CHECK_EQ(flow_status(s, w, "many[1]"), S_SUCCEEDED);
    verify_clean(s);
    store_close(&s);
}
