/* test_workflow_large.c - workflows that are too large for one turn, and outputs that are too large
 * for one row. Each test ends with verify; most of them also run it in between. */
#include "workflow_fixture.h"

TEST_LONG;
TEST_ASAN_DB(sqlite); /* the same operations: large values are encoded in test_large_values */

static int64_t count(struct store *s, const char *where)
{
    char sql[200];

    snprintf(sql, sizeof(sql), "SELECT count(*) FROM executions WHERE %s", where);
    return sql_number(s, sql);
}

/* The definition of a workflow of n tasks without needs. */
static const char *flat_workflow(int n)
{
    struct buf yaml = BUF_INIT;
    const char *text;
    int i;

    buf_addstr(&yaml, "name: w\ntasks:\n");
    for (i = 0; i < n; i++)
        buf_addf(&yaml, "  t%d: {run: x}\n", i);
    text = workflow_text(yaml.ptr);
    buf_release(&yaml);
    return text;
}

/* ---- slices ---- */

TEST(tasks_without_needs_become_ready_one_slice_per_turn)
{
    struct store *s;
    int64_t w;

    fixture_slices(LARGE(1000));
    s = fixture_store();
    w = submit_workflow_text(s, flat_workflow(LARGE(1200)), NULL);
    CHECK_EQ(count(s, "status = 1"), LARGE(1000)); /* not all tasks are created yet */
    run_timers(s);
    CHECK_EQ(count(s, "status = 2"), LARGE(500));
    CHECK_EQ(count(s, "status = 1"), LARGE(700));
    verify_clean(s);
    run_timers(s);
    CHECK_EQ(count(s, "status = 2"), LARGE(1000));
    run_timers(s);
    CHECK_EQ(count(s, "status = 2"), LARGE(1200));
    CHECK_EQ(run_timers(s), 0);
    run_workflows_in_sets(s);
    CHECK_EQ(status_of(s, w), S_SUCCEEDED);
    verify_clean(s);
    store_close(&s);
}

TEST(ready_tasks_may_end_before_the_other_tasks_become_ready)
{
    static struct task_claim k;
    struct store *s;
    int64_t w;
    size_t i;

    fixture_slices(100);
    s = fixture_store();
    w = submit_workflow_text(s, flat_workflow(60), NULL);
    while (claim_tasks(s, &k) > 0)
        for (i = 0; i < k.n; i++)
            settle_task(s, k.held[i], OUTCOME_OK, NULL);
    CHECK_EQ(count(s, "status = 4"), 50);
    CHECK_EQ(status_of(s, w), S_RUNNING);
    verify_clean(s);
    run_workflows(s, "");
    CHECK_EQ(status_of(s, w), S_SUCCEEDED);
    verify_clean(s);
    store_close(&s);
}

TEST(workflow_cancelled_while_its_tasks_become_ready_ends)
{
    struct store *s = fixture_store();
    int64_t w = submit_workflow_text(s, flat_workflow(600), NULL);

    CHECK_EQ(count(s, "status = 2"), 500);
    CHECK_EQ(cancel(s, w), 0);
    run_all_timers(s);
    CHECK_EQ(count(s, "status = 7"), 601);
    verify_clean(s);
    store_close(&s);
}

struct several {
    struct submission list[6];
};

static int submit_several(struct turn *t, void *arg, struct err *err)
{
    struct several *m = arg;

    return op_submit(t, m->list, 6, err);
}

TEST(workflows_started_in_one_turn_share_one_slice)
{
    struct store *s;
    const char *text = flat_workflow(LARGE(900));
    struct err err = ERR_INIT;
    struct several m;
    size_t i;

    fixture_slices(LARGE(1000));
    s = fixture_store();
    for (i = 0; i < 6; i++)
        m.list[i] = (struct submission){.definition = text};
    CHECK_OK_ERR(store_turn(s, submit_several, &m, &err), &err);
    CHECK_EQ(count(s, "parent IS NOT NULL"),
             LARGE(4000) + 1); /* the last workflow has a single task */
    verify_clean(s);
    run_all_timers(s);
    CHECK_EQ(count(s, "parent IS NOT NULL AND status = 2"), LARGE(5400));
    free((char *)text);
    verify_clean(s);
    store_close(&s);
}

/* ---- many needs ---- */

static void do_nothing(void *unused)
{
    (void)unused;
}

/* t0 …, of which t7 may fail, and two tasks that need all of them. */
static int64_t submit_join(struct store *s, int n)
{
    struct buf yaml = BUF_INIT;
    int64_t w;
    int i;

    buf_addstr(&yaml, "name: w\ntasks:\n");
    for (i = 0; i < n; i++)
        buf_addf(&yaml, "  t%d: {run: x, retry: 0, allow_failure: %s}\n", i,
                 i == 7 ? "true" : "false");
    for (i = 0; i < 2 * n; i++) {
        if (i % n == 0)
            buf_addstr(&yaml, i ? "]}\n  bad: {run: x, if: failure(), needs: ["
                                : "  good: {run: x, needs: [");
        buf_addf(&yaml, "%st%d", i % n ? ", " : "", i % n);
    }
    buf_addstr(&yaml, "]}\n");
    w = submit_workflow(s, yaml.ptr, NULL);
    buf_release(&yaml);
    run_all_timers(s);
    return w;
}

TEST(task_with_many_needs_is_decided_without_loading_their_rows)
{
    struct watch watch = {0};
    struct store *s = watched_store(&watch);
    int64_t w = submit_join(s, 1100);

    watch_for(&watch, "task_states", 1, do_nothing, NULL);
    run_workflows(s, " t7 ");
    CHECK(watch.acted);
    CHECK_EQ(watch.seen, 1); /* one query for both tasks */
    CHECK_EQ(task_status(s, w, "good"), S_SUCCEEDED);
    CHECK_EQ(task_status(s, w, "bad"), S_SKIPPED);
    verify_clean(s);
    w = submit_join(s, 1100);
    run_workflows(s, " t8 ");
    CHECK_EQ(task_status(s, w, "good"), S_SKIPPED);
    CHECK_EQ(task_status(s, w, "bad"), S_SUCCEEDED);
    verify_clean(s);
    store_close(&s);
}

/* ---- outputs ---- */

/* Settles all items, each with a text of `bytes` bytes and its number. */
static void settle_items(struct store *s, size_t bytes)
{
    static struct task_claim k;
    struct buf result = BUF_INIT;
    size_t i;

    while (claim_tasks(s, &k) > 0)
        for (i = 0; i < k.n; i++) {
            if (!strchr(k.names[i], '['))
                goto done;
            result.len = 0;
            buf_addf(&result, "{\"n\":%ld, \"text\":\"%*s\"}",
                     strtol(strchr(k.names[i], '[') + 1, NULL, 10), (int)bytes, "");
            settle_task(s, k.held[i], OUTCOME_OK, buf_cstr(&result));
        }
done:
    CHECK_EQ(k.n, 1);
    CHECK(strstr(k.spec, "\"argv\":[\"echo\",\"300\",\"299\"]"));
    settle_task(s, k.held[0], OUTCOME_OK, NULL);
    buf_release(&result);
}

static const char each_and_after[] =
    "name: w\ntasks:\n  each: {foreach: 300, run: x}\n  after:\n    needs: each\n"
    "    argv: [echo, \"${{ length(tasks.each.outputs) }}\", "
    "\"${{ tasks.each.outputs[299].outputs.n }}\"]\n";

TEST(small_outputs_of_items_are_also_stored_in_the_fan_out)
{
    struct store *s = fixture_store();
    int64_t w = submit_workflow(s, each_and_after, NULL);

    settle_items(s, 10);
    CHECK_EQ(status_of(s, w), S_SUCCEEDED);
    CHECK_EQ(count(s, "task_name = 'each' AND task_index IS NULL AND result IS NOT NULL"), 1);
    verify_clean(s);
    store_close(&s);
}

TEST(large_outputs_of_items_are_stored_only_in_the_items_and_visible_to_expressions)
{
    struct store *s = fixture_store();
    int64_t w = submit_workflow(s, each_and_after, NULL);

    settle_items(s, 1000);
    CHECK_EQ(status_of(s, w), S_SUCCEEDED);
    CHECK_EQ(count(s, "task_name = 'each' AND task_index IS NULL AND result IS NULL"), 1);
    verify_clean(s);
    store_close(&s);
}

TEST(outputs_too_large_for_an_expression_fail_the_task_that_uses_them)
{
    struct store *s = fixture_store();
    static struct task_claim k;
    char *result = mem_printf("{\"text\":\"%900000s\"}", "");
    int64_t w =
        submit_workflow(s,
                        "name: w\ntasks:\n  each: {foreach: 20, run: x}\n  after:\n"
                        "    needs: each\n    argv: [\"${{ length(tasks.each.outputs) }}\"]\n",
                        NULL);
    size_t i;

    CHECK_EQ(claim_tasks(s, &k), 20);
    for (i = 0; i < 20; i++)
        settle_task(s, k.held[i], OUTCOME_OK, result);
    CHECK_EQ(task_status(s, w, "each"), S_SUCCEEDED);
    CHECK_EQ(task_status(s, w, "after"), S_FAILED);
    CHECK_EQ(count(s, "error LIKE '%items of each together are larger than 16 MB%'"), 2);
    CHECK_EQ(status_of(s, w), S_FAILED);
    free(result);
    verify_clean(s);
    store_close(&s);
}

TEST(item_whose_input_is_too_large_fails_without_storing_its_input)
{
    struct store *s = fixture_store();
    char *result = mem_printf("{\"text\":\"%700000s\"}", "");
    static struct task_claim k;
    int64_t w =
        submit_workflow(s,
                        "name: w\ntasks:\n  a: {run: x}\n  each:\n    needs: a\n    foreach: 3\n"
                        "    function: f\n    with: {x: \"${{ tasks.a.outputs.text }}\",\n"
                        "           y: \"${{ tasks.a.outputs.text }}\"}\n",
                        NULL);

    CHECK_EQ(claim_tasks(s, &k), 1);
    settle_task(s, k.held[0], OUTCOME_OK, result);
    CHECK_EQ(task_status(s, w, "each"), S_FAILED);
    CHECK_EQ(count(s, "error LIKE 'the input is 14000%'"), 3);
    CHECK_EQ(count(s, "task_index IS NOT NULL AND input IS NOT NULL"), 0);
    free(result);
    verify_clean(s);
    store_close(&s);
}

/* Two engines may create items alternately, so that later items may have lower ids. */
TEST(outputs_of_a_fan_out_are_in_list_order_regardless_of_ids)
{
    struct store *s = fixture_store();
    static struct task_claim k;

    submit_workflow(
        s,
        "name: w\ntasks:\n  each: {foreach: [a, b], run: x}\n  after:\n    needs: each\n"
        "    argv: [\"${{ tasks.each.outputs[0].outputs.n }}\"]\n",
        NULL);
    CHECK_EQ(claim_tasks(s, &k), 2);
    sql_run(s, "UPDATE executions SET task_index = 1 - task_index WHERE task_index IS NOT NULL");
    settle_task(s, k.held[0], OUTCOME_OK, "{\"n\":\"lower id\"}");
    settle_task(s, k.held[1], OUTCOME_OK, "{\"n\":\"higher id\"}");
    CHECK_EQ(claim_tasks(s, &k), 1);
    CHECK(strstr(k.spec, "\"higher id\""));
    verify_clean(s);
    store_close(&s);
}
