/* test_rerun_refused.c - executions that can't be rerun now, or not alone: a follower runs, an
 * ancestor is about to be rerun or has not reached them yet, or some executions do not exist. The
 * refusal says so, and changes nothing. */
#include "rerun_fixture.h"
#include "retention_fixture.h"
#include "workflow_case.h"

#define MANY 1500 /* tasks, created in two slices */

static void check_refused(struct store *s, int64_t id, const char *why)
{
    CHECK_EQ(rerun(s, id, RERUN_WHOLE, NULL), NULL);
    if (!strstr(refusal.msg, why))
        test_fail(__FILE__, __LINE__, "\"%s\" does not contain \"%s\"", refusal.msg, why);
    verify_clean(s);
}

TEST(rerun_of_a_task_is_refused_while_a_follower_runs)
{
    struct store *s = fixture_store();
    int64_t w = submit_workflow(s,
                                "name: w\ntasks:\n  a: {run: x}\n  b: {run: x, needs: a}\n"
                                "  c: {run: x}\n",
                                NULL);
    struct task_claim k = {.push = false};

    CHECK_EQ(rerun(s, w, RERUN_WHOLE, NULL), NULL);
    CHECK_STR(refusal.msg,
              "execution 1 can't be rerun, because it has not ended; its status is running: "
              "wait for its end, or cancel it first");
    CHECK_EQ(claim_tasks(s, &k), 2);
    settle_task(s, k.held[0], OUTCOME_FAILED, NULL);
    CHECK_STR(tree_text(s, w), "a:failed b:skipped c:running");
    CHECK_STR(rerun(s, task_of(s, w, "a"), RERUN_WHOLE, NULL), "a b"); /* while c still runs */
    CHECK_STR(tree_text(s, w), "a:ready b:pending c:running");
    verify_clean(s);
    settle_task(s, k.held[1], OUTCOME_OK, NULL);
    CHECK_EQ(claim_tasks(s, &k), 1);
    settle_task(s, k.held[0], OUTCOME_OK, NULL);
    CHECK_EQ(claim_tasks(s, &k), 1);
    CHECK_EQ(rerun(s, task_of(s, w, "a"), RERUN_WHOLE, NULL), NULL);
    CHECK(strstr(
        refusal.msg,
        "w::b (3) would have to run again, but is running: wait until it has ended, or cancel it"));
    settle_task(s, k.held[0], OUTCOME_OK, NULL);
    CHECK_EQ(status_of(s, w), S_SUCCEEDED);
    verify_clean(s);
    store_close(&s);
}

/* ---- an ancestor has not reached the execution yet ---- */

static const char *const nested[] = {
    "w.yaml", "name: w\ntasks:\n  a: {run: x}\n  n: {workflow: n.yaml, needs: a}\n", "n.yaml",
    "name: n\ntasks:\n  p: {run: x}\n  q: {run: x, needs: p}\n", NULL};

WORKFLOW_CASE(task_in_a_nested_workflow_that_is_about_to_rerun_cannot_be_rerun_first,
              .files = nested,
              .steps = {{"play", "a:succeeded n:succeeded p:succeeded q:succeeded"},
                        {"rerun a", "a:ready n:pending p:succeeded q:succeeded"},
                        {"!rerun p, !rerun q", "a:ready n:pending p:succeeded q:succeeded"},
                        {"play", "a:succeeded n:succeeded p:succeeded q:succeeded"}},
              .ends = S_SUCCEEDED);

/* One of the fan-out's two needs has succeeded. The counter of succeeded needs counts items once
 * the fan-out runs. */
WORKFLOW_CASE(
    item_of_a_fan_out_that_is_about_to_rerun_cannot_be_rerun_first,
    .yaml = "name: w\ntasks:\n  a: {run: x}\n  b: {run: x}\n"
            "  many: {run: x, foreach: 2, needs: [a, b]}\n",
    .steps =
        {{"play, rerun b", "a:succeeded b:ready many:pending many[0]:succeeded many[1]:succeeded"},
         {"!rerun many[0]", "a:succeeded b:ready many:pending many[0]:succeeded many[1]:succeeded"},
         {"play", "a:succeeded b:succeeded many:succeeded many[0]:succeeded many[1]:succeeded"}},
    .ends = S_SUCCEEDED);

TEST(task_inside_an_item_cannot_be_rerun_before_the_fan_out_reaches_the_item)
{
    static const char *const files[] = {
        "w.yaml", "name: w\ntasks:\n  many: {workflow: n.yaml, foreach: 2, max_parallel: 1}\n",
        "n.yaml", "name: n\ntasks:\n  p: {run: x}\n", NULL};
    struct store *s = fixture_store();
    int64_t w = submit_workflow_text(s, workflow_text_of_files(files), NULL), second;

    run_workflows(s, "");
    CHECK_EQ(status_of(s, w), S_SUCCEEDED);
    second = task_of(s, w, "many[1]");
    CHECK_STR(rerun(s, w, RERUN_WHOLE, NULL), "w");
    check_refused(s, second, "has not reached this item yet");
    check_refused(s, task_of(s, second, "p"), "has not reached this item yet");
    run_workflows(s, "");
    CHECK_EQ(status_of(s, w), S_SUCCEEDED);
    CHECK_EQ(get(s, task_of(s, second, "p")).attempts, 2);
    verify_clean(s);
    store_close(&s);
}

/* ---- some executions do not exist ---- */

static int64_t submit_many(struct store *s)
{
    struct buf yaml = BUF_INIT;
    int64_t w;
    int i;

    buf_addstr(&yaml, "name: w\ntasks:\n  first: {run: x}\n  alone: {run: x}\n");
    for (i = 0; i < MANY; i++)
        buf_addf(&yaml, "  t%d: {run: x, needs: first}\n", i);
    w = submit_workflow(s, yaml.ptr, NULL);
    buf_release(&yaml);
    return w;
}

TEST(rerun_is_refused_while_followers_are_still_being_created)
{
    struct store *s = fixture_store();
    int64_t w = submit_many(s), first = task_of(s, w, "first");

    CHECK_EQ(control_execution(s, CONTROL_SKIP, first), 0);
    check_refused(s, first, "still creating its tasks");
    run_workflows_in_sets(s);
    CHECK_EQ(status_of(s, w), S_SUCCEEDED);
    CHECK_STR(rerun(s, w, RERUN_WHOLE, NULL), "w");
    check_refused(s, task_of(s, w, "t1400"), "still creating its tasks");
    run_workflows_in_sets(s);
    CHECK_EQ(status_of(s, w), S_SUCCEEDED);
    CHECK_EQ(get(s, first).attempts, 1);
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM executions WHERE attempts = 2"), MANY + 1);
    verify_clean(s);
    store_close(&s);
}

TEST(workflow_that_ended_before_creating_its_tasks_is_rerun_only_as_a_whole)
{
    struct store *s = fixture_store();
    int64_t w = submit_many(s), alone = task_of(s, w, "alone");

    while (!status_is_terminal(status_of(s, w)))
        CHECK_EQ(control_execution(s, CONTROL_CANCEL, w), 0);
    check_refused(s, alone, "rerun it as a whole");
    CHECK_EQ(rerun(s, w, RERUN_ONLY_FAILED, NULL), NULL);
    CHECK_STR(rerun(s, w, RERUN_WHOLE, NULL), "w");
    run_workflows_in_sets(s);
    CHECK_EQ(status_of(s, w), S_SUCCEEDED);
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM executions"), MANY + 3);
    verify_clean(s);
    store_close(&s);
}

TEST(workflow_partly_removed_by_retention_is_rerun_only_as_a_whole)
{
    struct store *s = fixture_store();
    struct retention r = {.older_than = DAY, .max_trees = 100, .max_rows = 2};
    int64_t w = submit_workflow_text(s, workflow_text_of_files(nested), NULL), n, a;

    run_workflows(s, "");
    n = task_of(s, w, "n");
    a = task_of(s, w, "a");
    clock_advance(2 * DAY);
    r = retain_slice(s, r); /* removes the tasks of n */
    CHECK_EQ(r.executions, 2);
    CHECK_EQ(rerun(s, n, RERUN_FROM_TASK, "q"), NULL);
    CHECK_STR(refusal.msg, "retention has removed tasks of execution 3: rerun it as a whole");
    CHECK_STR(rerun(s, n, RERUN_WHOLE, NULL), "w n");
    run_workflows(s, "");
    CHECK_EQ(status_of(s, w), S_SUCCEEDED);
    CHECK_EQ(task_status(s, n, "q"), S_SUCCEEDED);
    CHECK_EQ(get(s, a).attempts, 1);
    verify_clean(s);
    store_close(&s);
}

TEST(on_exit_hook_cannot_be_rerun_without_its_workflow)
{
    static const char *const files[] = {
        "w.yaml", "name: w\ntasks:\n  a: {run: x}\non_exit: {workflow: in.yaml}\n", "in.yaml",
        "name: in\ntasks:\n  one: {run: x}\n", NULL};
    struct store *s = fixture_store();
    int64_t w = submit_workflow_text(s, workflow_text_of_files(files), NULL);

    run_workflows(s, " one ");
    CHECK_EQ(status_of(s, w), S_FAILED);
    CHECK_EQ(rerun(s, task_of(s, w, "on_exit"), RERUN_WHOLE, NULL), NULL);
    CHECK_EQ(rerun(s, task_of(s, w, "one"), RERUN_WHOLE, NULL), NULL);
    CHECK_STR(refusal.msg,
              "w::on_exit can't be rerun alone, because it runs at the end of its workflow: "
              "rerun the workflow, or one of its tasks");
    CHECK_EQ(status_of(s, w), S_FAILED);
    CHECK_EQ(get(s, task_of(s, w, "one")).attempts, 1);
    verify_clean(s);
    store_close(&s);
}
