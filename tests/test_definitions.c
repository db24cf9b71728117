/* test_definitions.c - workflow definitions: stored while something needs them, and removed by
 * retention when nothing does. */
#include "retention_fixture.h"
#include "schedule_fixture.h"
#include "workflow_fixture.h"

static const char *const plain = "name: w\ntasks:\n  a: {run: x}\n";

static const char *const nesting[] = {
    "w.yaml", "name: w\ntasks:\n  a: {run: x}\n  in: {workflow: in.yaml, needs: a}\n", "in.yaml",
    "name: in\ntasks:\n  leaf: {run: x}\n", NULL};

static int64_t count_definitions(struct store *s)
{
    return sql_number(s, "SELECT count(*) FROM workflow_definitions");
}

TEST(unused_definition_is_removed_by_retention)
{
    struct store *s = fixture_store();

    submit_workflow(s, plain, NULL);
    run_workflows(s, "");
    submit_workflow(s, "name: v\ntasks:\n  b: {run: x}\n", NULL);
    clock_advance(10 * DAY);
    retain(s, 90 * DAY);
    CHECK_EQ(count_definitions(s), 2); /* neither definition is old enough */
    clock_advance(90 * DAY);
    retain(s, 90 * DAY);
    CHECK_EQ(count_definitions(s), 1); /* v is still running */
    run_workflows(s, "");
    clock_advance(100 * DAY);
    retain(s, 90 * DAY);
    CHECK_EQ(count_definitions(s), 0);
    verify_clean(s);
    store_close(&s);
}

TEST(definition_is_kept_as_long_as_its_executions)
{
    struct store *s = fixture_store();
    int64_t w = submit_workflow(s, plain, NULL);

    clock_advance(100 * DAY);
    run_workflows(s, ""); /* a long run that has just ended */
    retain(s, 90 * DAY);
    CHECK_EQ(count_definitions(s), 1);
    CHECK_EQ(status_of(s, w), S_SUCCEEDED);
    verify_clean(s);
    store_close(&s);
}

TEST(recently_used_definition_is_kept_despite_a_short_retention)
{
    struct store *s = fixture_store();

    submit_workflow(s, plain, NULL);
    run_workflows(s, "");
    clock_advance(DAY);
    retain(s, 0);
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM executions"), 0);
    CHECK_EQ(count_definitions(s), 1);
    clock_advance(DAY + SECOND);
    retain(s, 0);
    CHECK_EQ(count_definitions(s), 0);
    store_close(&s);
}

TEST(applied_definition_is_kept_until_another_definition_is_applied)
{
    struct store *s = fixture_store();

    apply_schedules(s, "'@yearly'");
    clock_advance(100 * DAY);
    retain(s, 90 * DAY);
    CHECK_EQ(count_definitions(s), 1);
    CHECK_EQ(change_schedule(s, SCHEDULE_RUN, "w", NULL), 0);
    run_workflows(s, "");
    apply_schedules(s, "'@monthly'");
    CHECK_EQ(count_definitions(s), 2);
    clock_advance(100 * DAY);
    apply_schedules(s, "'@weekly'");
    retain(s, 90 * DAY);
    /* Another process may have just looked it up by its name. */
    CHECK_EQ(count_definitions(s), 2);
    clock_advance(100 * DAY);
    retain(s, 90 * DAY);
    CHECK_EQ(count_definitions(s), 1);
    verify_clean(s);
    store_close(&s);
}

TEST(each_new_run_counts_as_a_use_of_its_definition)
{
    struct store *s = fixture_store();
    int i;

    for (i = 0; i < 4; i++) {
        submit_workflow(s, plain, NULL);
        run_workflows(s, "");
        clock_advance(40 * DAY);
        retain(s, 60 * DAY);
        CHECK_EQ(count_definitions(s), 1);
    }
    verify_clean(s);
    store_close(&s);
}

TEST(removed_nested_definition_is_stored_again_when_a_run_reaches_it)
{
    struct store *s = fixture_store(), *other = fixture_store();
    const char *text = workflow_text_of_files(nesting);
    int64_t w;

    submit_workflow_text(s, mem_strdup(text), NULL);
    run_workflows(s, "");
    /* both stores have now cached both definitions */
    submit_workflow_text(other, mem_strdup(text), NULL);
    run_workflows(other, "");
    CHECK_EQ(count_definitions(s), 2);
    clock_advance(80 * DAY);
    w = submit_workflow_text(s, text, NULL);
    clock_advance(20 * DAY);
    retain(s, 90 * DAY);
    CHECK_EQ(count_definitions(s), 1); /* only the outer definition is in use */
    verify_clean(s);
    run_workflows(other, "");
    CHECK_STR(tree_text(s, w), "a:succeeded in:succeeded leaf:succeeded");
    CHECK_EQ(count_definitions(s), 2);
    verify_clean(s);
    store_close(&other);
    store_close(&s);
}

TEST(cached_definition_that_was_removed_is_stored_again)
{
    struct store *s = fixture_store(), *other = fixture_store();
    int64_t w;

    submit_workflow(other, plain, NULL);
    run_workflows(s, "");
    clock_advance(100 * DAY);
    retain(s, 90 * DAY);
    CHECK_EQ(count_definitions(s), 0);
    w = submit_workflow(other, plain, NULL);
    CHECK_EQ(count_definitions(s), 1);
    verify_clean(s);
    run_workflows(s, "");
    CHECK_EQ(status_of(s, w), S_SUCCEEDED);
    store_close(&other);
    store_close(&s);
}

static int submit_and_fail_body(struct turn *t, void *arg, struct err *err)
{
    int rc = submit_workflow_body(t, arg, err);

    return rc ? rc : err_set(err, E_INVALID, "the turn is rolled back");
}

TEST(rolled_back_turn_stores_and_caches_no_definition)
{
    struct submission w = {.definition = workflow_text(plain)};
    struct store *s = fixture_store();
    struct err err = ERR_INIT;

    CHECK_EQ(store_turn(s, submit_and_fail_body, &w, &err), -E_INVALID);
    CHECK_EQ(count_definitions(s), 0);
    submit_workflow(s, plain, NULL);
    CHECK_EQ(count_definitions(s), 1);
    run_workflows(s, "");
    verify_clean(s);
    free((char *)w.definition);
    store_close(&s);
}

/* ---- concurrency ---- */

static const char *nested_text; /* what both processes submit */

static void submit_or_retain(int nth)
{
    struct store *s = fixture_store();

    if (nth == 0)
        retain(s, 90 * DAY);
    else
        submit_workflow_text(s, mem_strdup(nested_text), NULL);
    store_close(&s);
}

TEST_SLOW(retention_keeps_a_definition_that_is_being_submitted, 600)
{
    int rounds = test_full() ? 200 : 20, i;
    struct store *s;

    nested_text = workflow_text_of_files(nesting);
    for (i = 0; i < rounds; i++) {
        clock_advance(100 * DAY); /* earlier runs are old now */
        run_processes(3, submit_or_retain);
        s = fixture_store();
        verify_clean(s);
        CHECK_EQ(
            sql_number(s, "SELECT count(*) FROM executions WHERE status < 4 AND parent IS NULL"),
            2);
        run_workflows(s, "");
        CHECK_EQ(sql_number(s, "SELECT count(*) FROM executions WHERE status < 4"), 0);
        verify_clean(s);
        store_close(&s);
    }
}
