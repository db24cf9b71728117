/* test_pitfalls.c - cases in which workflow engines are known to lose, hang or repeat work, one
 * test for each. Each test ends with verify. */
#include "workflow_case.h"

/* ---- fan-outs ---- */

TEST(fan_out_with_failed_items_fails_even_if_its_last_item_succeeds)
{
    struct store *s = fixture_store();
    int64_t w = submit_workflow(
        s, "name: w\ntasks:\n  ten: {run: x, foreach: 10}\n  then: {run: x, needs: ten}\n", NULL);
    struct task_claim k = {.push = false};
    size_t i;

    CHECK_EQ(claim_tasks(s, &k), 10);
    for (i = 0; i < 9; i++)
        settle_task(s, k.held[i], OUTCOME_FAILED, NULL);
    CHECK_EQ(task_status(s, w, "ten"), S_RUNNING);
    settle_task(s, k.held[9], OUTCOME_OK, "{\"n\":1}");
    CHECK_EQ(task_status(s, w, "ten"), S_FAILED);
    CHECK_EQ(task_status(s, w, "then"), S_SKIPPED);
    CHECK_EQ(status_of(s, w), S_FAILED);
    CHECK_STR(get(s, w).error, "ten failed: ten[0] failed: it was made to fail (and 3 or more)");
    verify_clean(s);
    store_close(&s);
}

TEST(empty_fan_out_between_two_tasks_does_not_hang)
{
    struct store *s = fixture_store();
    int64_t w =
        submit_workflow(s,
                        "name: w\ntasks:\n  a: {run: x}\n"
                        "  none: {run: x, needs: a, foreach: \"${{ tasks.a.outputs.list }}\"}\n"
                        "  b: {run: x, needs: none}\n",
                        NULL);
    struct task_claim k = {.push = false};

    CHECK_EQ(claim_tasks(s, &k), 1);
    settle_task(s, k.held[0], OUTCOME_OK, "{\"list\":[]}");
    CHECK_STR(get(s, task_of(s, w, "none")).result, "[]");
    CHECK_EQ(task_status(s, w, "b"), S_READY);
    run_workflows(s, "");
    CHECK_EQ(status_of(s, w), S_SUCCEEDED);
    verify_clean(s);
    store_close(&s);
}

/* ---- joins ---- */

WORKFLOW_CASE(join_with_always_runs_after_a_failed_need,
              .yaml = "name: w\ntasks:\n  a: {run: x}\n  b: {run: x}\n"
                      "  join: {run: x, needs: [a, b], if: always()}\n",
              .steps = {{"play but a", "a:failed b:succeeded join:succeeded"}}, .ends = S_FAILED);

struct siblings {
    struct store *other;
    struct held_job job;
    int rc;
};

static int settle_one(struct store *s, struct held_job j)
{
    struct task_settlement f = {j, OUTCOME_OK, NULL};
    struct err err = ERR_INIT;

    return store_turn(s, settle_task_body, &f, &err);
}

static void settle_other(void *arg)
{
    struct siblings *b = arg;

    b->rc = settle_one(b->other, b->job);
}

/* The second engine finds the tree locked and tries again: it must not use the sibling's old state.
 */
TEST(join_becomes_ready_once_when_two_engines_settle_its_needs_simultaneously)
{
    struct watch w = {0};
    struct store *s = watched_store(&w);
    struct siblings b = {.other = fixture_store()};
    int64_t workflow = submit_workflow(s,
                                       "name: w\ntasks:\n  a: {run: x}\n  b: {run: x}\n"
                                       "  join: {run: x, needs: [a, b]}\n",
                                       NULL);
    struct task_claim k = {.push = false};

    CHECK_EQ(claim_tasks(s, &k), 2);
    b.job = k.held[1];
    if (strcmp(test_db(), "sqlite"))
        watch_for(&w, "commit", 1, settle_other, &b);
    CHECK_OK(settle_one(s, k.held[0]));
    if (strcmp(test_db(), "sqlite"))
        CHECK_EQ(b.rc, -E_BUSY);
    CHECK_OK(settle_one(b.other, k.held[1]));
    CHECK_STR(tree_text(s, workflow), "a:succeeded b:succeeded join:ready");
    CHECK_STR(history(s, task_of(s, workflow, "join")), "created marked_ready");
    run_workflows(s, "");
    CHECK_EQ(status_of(s, workflow), S_SUCCEEDED);
    verify_clean(s);
    store_close(&b.other);
    store_close(&s);
}

/* ---- definitions ---- */

TEST(execution_keeps_the_definition_it_started_with)
{
    struct store *s = fixture_store();
    int64_t old =
        submit_workflow(s, "name: w\ntasks:\n  a: {run: one}\n  b: {run: two, needs: a}\n", NULL);
    int64_t new;
    struct task_claim k = {.push = false};

    CHECK_EQ(claim_tasks(s, &k), 1);
    new =
        submit_workflow(s, "name: w\ntasks:\n  a: {run: one}\n  c: {run: three, needs: a}\n", NULL);
    store_close(&s);
    s = fixture_store(); /* a new store has no definition in memory */
    settle_task(s, k.held[0], OUTCOME_OK, NULL);
    CHECK_STR(tree_text(s, old), "a:succeeded b:ready");
    run_workflows(s, "");
    CHECK_STR(tree_text(s, old), "a:succeeded b:succeeded");
    CHECK_STR(tree_text(s, new), "a:succeeded c:succeeded");
    verify_clean(s);
    store_close(&s);
}

WORKFLOW_CASE(condition_with_an_error_fails_its_task,
              .yaml = "name: w\ntasks:\n  a: {run: x}\n"
                      "  b: {run: x, needs: a, if: \"tasks.a.outputs.n > 'three'\"}\n"
                      "  c: {run: x, needs: b}\n",
              .steps = {{"play", "a:succeeded b:failed c:skipped"}}, .ends = S_FAILED,
              .error = "tasks.a.outputs.n > 'three'");

/* ---- cancels ---- */

WORKFLOW_CASE(cancel_before_a_fan_out_starts_leaves_no_children,
              .yaml = "name: w\ntasks:\n  a: {run: x}\n  many: {run: x, foreach: 5, needs: a}\n",
              .steps = {{"take, cancel w, ok a",
                         "a:succeeded many:cancelled"}, /* a ended before the cancel reached it */
                        {"after 1s", "a:succeeded many:cancelled"}},
              .ends = S_CANCELLED);

TEST(task_cancelled_while_it_waits_for_a_retry_never_runs)
{
    struct store *s = fixture_store();
    int64_t w = submit_workflow(s, "name: w\ntasks:\n  a: {run: x, retry: 3}\n", NULL);
    struct held_job a = claim_job(s, 1);

    CHECK_EQ(settle_as(s, a, OUTCOME_FAILED, 60 * SECOND), 0);
    CHECK_EQ(get(s, a.id).held, HELD_DELAY);
    CHECK_EQ(cancel(s, w), 0);
    CHECK_EQ(status_of(s, w), S_CANCELLED);
    clock_advance(61 * SECOND);
    CHECK_EQ(run_timers(s), 0);
    CHECK(!claim_one(s, 1, &a));
    CHECK_STR(history(s, task_of(s, w, "a")),
              "created marked_ready claimed retry_scheduled held cancelled");
    verify_clean(s);
    store_close(&s);
}

/* ---- long waits ---- */

TEST(workflow_that_waits_three_days_is_not_reaped)
{
    struct store *s = fixture_store();
    int64_t w =
        submit_workflow(s,
                        "name: w\ntasks:\n  a: {run: x}\n  later: {run: x, needs: a, delay: 3d}\n"
                        "  ask: {run: x, needs: a, approval: true}\n",
                        NULL);
    int hours;

    run_workflows(s, "");
    for (hours = 0; hours < 71; hours++) {
        clock_advance(3600 * SECOND);
        CHECK_EQ(reap(s), 0);
        CHECK_EQ(run_timers(s), 0);
    }
    CHECK_STR(tree_text(s, w), "a:succeeded later:ready ask:ready");
    CHECK_EQ(status_of(s, w), S_RUNNING);
    verify_clean(s);
    clock_advance(3601 * SECOND);
    run_workflows(s, "");
    CHECK_STR(tree_text(s, w), "a:succeeded later:succeeded ask:ready");
    verify_clean(s);
    store_close(&s);
}

/* ---- lost workers ---- */

TEST(task_without_attempts_left_fails_and_is_not_claimable)
{
    struct store *s = fixture_store();
    int64_t w = submit_workflow(s, "name: w\ntasks:\n  a: {run: x, retry: 1}\n", NULL);
    struct held_job a;
    int i;

    for (i = 0; i < 2; i++) { /* the worker dies each time */
        a = claim_job(s, 1);
        clock_advance(LEASE + SECOND);
        CHECK_EQ(reap(s), 1);
        CHECK(adopt_one(s, 2, &a));
        CHECK_EQ(settle_as(s, a, OUTCOME_LOST, 0), 0);
    }
    CHECK_STR(tree_text(s, w), "a:failed");
    CHECK_EQ(status_of(s, w), S_FAILED);
    CHECK(!claim_one(s, 1, &a));
    verify_clean(s);
    store_close(&s);
}
