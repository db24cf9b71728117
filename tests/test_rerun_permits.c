/* test_rerun_permits.c - partial reruns of items that are workflows with a concurrency key: they
 * wait for their permit, and then only their failed tasks run again. */
#include "rerun_fixture.h"

#include <stdio.h>

#define SUB "name: sub\nconcurrency: {key: k}\ntasks: {a: {run: x}, b: {run: x, needs: a}}\n"

static int64_t attempts_of_tasks(struct store *s, int64_t root)
{
    char sql[100];

    snprintf(sql, sizeof(sql), "SELECT sum(attempts) FROM executions WHERE root = %lld",
             (long long)root);
    return sql_number(s, sql);
}

/* A fan-out of two such workflows, in both of which b has failed. */
static int64_t run_items(struct store *s, const char *fan_out)
{
    const char *const files[] = {"w.yaml", fan_out, "sub.yaml", SUB, NULL};
    int64_t w = submit_workflow_text(s, workflow_text_of_files(files), NULL);

    run_workflows(s, " b ");
    CHECK_EQ(status_of(s, w), S_FAILED);
    CHECK_EQ(attempts_of_tasks(s, w), 4);
    return w;
}

#define ONE_BY_ONE "name: w\ntasks: {o: {foreach: 2, max_parallel: 1, workflow: sub.yaml}}\n"
#define AT_ONCE    "name: w\ntasks: {o: {foreach: 2, workflow: sub.yaml}}\n"

/* In the turn that stores the end of the first item, its permit is not free yet. */
TEST(end_of_a_rerun_item_is_stored_although_the_next_one_must_wait_for_its_permit)
{
    struct store *s = fixture_store();
    int64_t w = run_items(s, ONE_BY_ONE), other;
    struct task_claim k = {.push = false};

    CHECK_STR(rerun(s, w, RERUN_ONLY_FAILED, NULL), "w o");
    other = submit_workflow(s, SUB, NULL);
    CHECK_EQ(get(s, other).held, HELD_LIMIT);
    CHECK_EQ(claim_tasks(s, &k), 1);
    CHECK_STR(k.names[0], "b");
    settle_task(s, k.held[0], OUTCOME_OK, NULL);
    CHECK_EQ(get(s, other).held, HELD_LIMIT);
    verify_clean(s);
    run_workflows(s, "");
    CHECK_EQ(status_of(s, other), S_SUCCEEDED);
    CHECK_EQ(status_of(s, w), S_SUCCEEDED);
    CHECK_EQ(attempts_of_tasks(s, w), 6); /* only the two that had failed */
    verify_clean(s);
    store_close(&s);
}

TEST(rerun_items_with_one_concurrency_key_run_one_after_another)
{
    struct store *s = fixture_store();
    int64_t w = run_items(s, AT_ONCE);
    struct task_claim k = {.push = false};

    CHECK_STR(rerun(s, w, RERUN_ONLY_FAILED, NULL), "w o");
    CHECK_EQ(claim_tasks(s, &k), 1);
    verify_clean(s);
    settle_task(s, k.held[0], OUTCOME_OK, NULL);
    run_workflows(s, "");
    CHECK_EQ(status_of(s, w), S_SUCCEEDED);
    CHECK_EQ(attempts_of_tasks(s, w), 6);
    verify_clean(s);
    store_close(&s);
}

TEST(rerun_item_that_waits_for_its_permit_can_be_paused)
{
    struct store *s = fixture_store();
    int64_t w = run_items(s, AT_ONCE), item = task_of(s, w, "o[1]");
    struct task_claim k = {.push = false};

    CHECK_STR(rerun(s, w, RERUN_ONLY_FAILED, NULL), "w o");
    CHECK_EQ(get(s, item).held, HELD_LIMIT);
    CHECK_EQ(control_execution(s, CONTROL_PAUSE, item), 0);
    CHECK_EQ(claim_tasks(s, &k), 1);
    settle_task(s, k.held[0], OUTCOME_OK, NULL);
    CHECK_EQ(claim_tasks(s, &k), 0);
    verify_clean(s);
    CHECK_EQ(control_execution(s, CONTROL_RESUME, item), 0);
    run_workflows(s, "");
    CHECK_EQ(status_of(s, w), S_SUCCEEDED);
    CHECK_EQ(attempts_of_tasks(s, w), 6);
    verify_clean(s);
    store_close(&s);
}

TEST(rerun_item_that_was_cancelled_while_it_waited_for_its_permit_is_rerun_as_a_whole)
{
    struct store *s = fixture_store();
    int64_t w = run_items(s, AT_ONCE);

    CHECK_STR(rerun(s, w, RERUN_ONLY_FAILED, NULL), "w o");
    CHECK_EQ(cancel(s, task_of(s, w, "o[1]")), 0);
    run_workflows(s, "");
    CHECK_EQ(status_of(s, w), S_CANCELLED);
    verify_clean(s);
    CHECK_STR(rerun(s, w, RERUN_ONLY_FAILED, NULL), "w o");
    run_workflows(s, "");
    CHECK_EQ(status_of(s, w), S_SUCCEEDED);
    CHECK_EQ(attempts_of_tasks(s, w), 7); /* b of o[0], a and b of o[1] */
    verify_clean(s);
    store_close(&s);
}
