/* test_reuse_slices.c - a rerun as a new execution reuses the results of the earlier one, a slice
 * in each turn. Whatever happens in between, no task with a reused result runs, and all others run.
 */
#include "rerun_fixture.h"

#define PAIRS 600 /* tasks a0 … and b0 …, where each b needs its a: three slices */

static int64_t count(struct store *s, int64_t w, const char *where)
{
    char sql[200];

    snprintf(sql, sizeof(sql), "SELECT count(*) FROM executions WHERE parent = %lld AND %s",
             (long long)w, where);
    return sql_number(s, sql);
}

/* In the file, tasks come before the tasks that they need. */
static const char *definition_of_pairs(const char *more)
{
    static const char *texts[2]; /* kept until the test ends */
    static size_t n;
    struct buf yaml = BUF_INIT;
    int i;

    CHECK(n < 2);
    buf_addf(&yaml, "name: w\nparams: {day: {type: string, default: mon}}\ntasks:\n%s", more);
    for (i = 0; i < PAIRS; i++)
        buf_addf(&yaml, "  b%d: {run: x, needs: a%d}\n", i, i);
    for (i = 0; i < PAIRS; i++)
        buf_addf(&yaml, "  a%d: {run: x}\n", i);
    buf_addstr(&yaml, "  last: {run: x, needs: [");
    for (i = 0; i < PAIRS; i++)
        buf_addf(&yaml, "%sb%d", i ? ", " : "", i);
    buf_addstr(&yaml, "]}\n");
    texts[n] = workflow_text(yaml.ptr);
    buf_release(&yaml);
    return texts[n++];
}

static int64_t submit_rerun(struct store *s, int64_t of, const char *definition, const char *reuse)
{
    struct submission w = {
        .definition = definition, .input = "{\"day\":\"tue\"}", .rerun_of = of, .reuse = reuse};
    struct err err = ERR_INIT;

    CHECK_OK_ERR(store_turn(s, submit_workflow_body, &w, &err), &err);
    CHECK_OK_ERR(w.rc, &w.err);
    return w.id;
}

static int64_t run_first(struct store *s, const char *definition, const char *fails)
{
    int64_t w = submit_workflow_text(s, definition, NULL);

    if (*fails)
        run_workflows(s, fails);
    else
        run_workflows_in_sets(s);
    return w;
}

static void start_rerun(struct store *s, int64_t w, enum rerun_scope what, const char *from)
{
    struct rerun r = {.request = {.execution = w, .by = "ada"}, .what = what, .from = from};
    struct err err = ERR_INIT;

    CHECK_OK_ERR(store_turn(s, rerun_body, &r, &err), &err);
    rerun_release(&r);
}

/* Runs timers until a part of the results is reused. */
static void run_until_partly_reused(struct store *s, int64_t w)
{
    while (!count(s, w, "status = 4"))
        CHECK(run_timers(s) > 0);
    CHECK_EQ(count(s, w, "status = 4"), 500);
    CHECK_EQ(count(s, w, "status > 1"), 500);
    verify_clean(s);
}

TEST(results_are_reused_one_slice_per_turn_and_their_tasks_do_not_run)
{
    struct store *s = fixture_store();
    int64_t old = run_first(s, definition_of_pairs(""), ""),
            w = submit_rerun(s, old, definition_of_pairs(""), "{\"from\":\"last\"}"), before,
            now = 0;

    run_until_partly_reused(s, w);
    do {
        before = now;
        CHECK(run_timers(s) > 0);
        now = count(s, w, "status = 4");
        CHECK(now - before <= 500 || !before);
        CHECK_EQ(count(s, w, "status IN (2, 3) AND task_name <> 'last'"), 0);
        verify_clean(s);
    } while (now < 2 * PAIRS);
    run_all_timers(s);
    CHECK_EQ(count(s, w, "attempts > 0"), 0);
    CHECK_STR(history(s, task_of(s, w, "a0")), "created reused");
    run_workflows_in_sets(s);
    CHECK_EQ(status_of(s, w), S_SUCCEEDED);
    CHECK_EQ(count(s, w, "attempts > 0"), 1);
    verify_clean(s);
    store_close(&s);
}

/* Failed tasks, their followers and new tasks run. */
TEST(only_failed_and_new_tasks_run_whichever_store_processes_the_slices)
{
    struct store *s = fixture_store(), *other = fixture_store();
    int64_t old = run_first(s, definition_of_pairs(""), " b7 "), w;

    CHECK_EQ(status_of(s, old), S_FAILED);
    w = submit_rerun(s, old,
                     definition_of_pairs("  first: {run: x}\n  c: {run: x, needs: [a7, b9]}\n"),
                     "{\"failed\":true}");
    run_until_partly_reused(s, w);
    while (run_timers(other) && run_timers(s))
        ;
    CHECK_EQ(count(s, w, "status = 4"), 2 * PAIRS - 1);
    CHECK_EQ(task_status(s, w, "b7"), S_READY);
    CHECK_EQ(task_status(s, w, "first"), S_READY);
    CHECK_EQ(task_status(s, w, "c"), S_READY);
    CHECK_EQ(task_status(s, w, "last"), S_PENDING);
    verify_clean(s);
    run_workflows_in_sets(s);
    CHECK_EQ(status_of(s, w), S_SUCCEEDED);
    CHECK_EQ(count(s, w, "attempts > 0"), 4);
    verify_clean(s);
    store_close(&other);
    store_close(&s);
}

TEST(workflow_cancelled_while_it_reuses_results_ends_and_can_be_rerun)
{
    struct store *s = fixture_store();
    int64_t old = run_first(s, definition_of_pairs(""), ""),
            w = submit_rerun(s, old, definition_of_pairs(""), "{\"from\":\"last\"}");

    run_until_partly_reused(s, w);
    CHECK_EQ(control_execution(s, CONTROL_CANCEL, w), 0);
    run_all_timers(s);
    CHECK_EQ(status_of(s, w), S_CANCELLED);
    CHECK_EQ(count(s, w, "status = 4"), 500);
    verify_clean(s);
    start_rerun(s, w, RERUN_ONLY_FAILED, NULL);
    run_workflows_in_sets(s);
    CHECK_EQ(status_of(s, w), S_SUCCEEDED);
    CHECK_EQ(count(s, w, "attempts > 0"),
             2 * PAIRS + 1); /* followers of cancelled tasks ran, too */
    verify_clean(s);
    store_close(&s);
}

TEST(task_skipped_while_results_are_reused_stays_skipped)
{
    struct store *s = fixture_store();
    int64_t old = run_first(s, definition_of_pairs(""), ""),
            w = submit_rerun(s, old, definition_of_pairs(""), "{\"from\":\"last\"}"), id;

    run_until_partly_reused(s, w);
    CHECK_EQ(rerun(s, w, RERUN_FROM_TASK, "b0"), NULL);
    CHECK(strstr(refusal.msg, "is still reusing results of execution"));
    id = task_of(s, w, "a3");
    CHECK_EQ(control_execution(s, CONTROL_SKIP, id), 0);
    verify_clean(s);
    run_all_timers(s);
    CHECK_EQ(status_of(s, id), S_SKIPPED);
    CHECK_EQ(task_status(s, w, "b3"), S_READY); /* the result of its need has changed */
    CHECK_EQ(count(s, w, "status = 4"), 2 * PAIRS - 2);
    verify_clean(s);
    run_workflows_in_sets(s);
    CHECK_EQ(status_of(s, w), S_SUCCEEDED);
    verify_clean(s);
    store_close(&s);
}

/* The results to be reused are chosen once. A task whose result is gone when its slice is processed
 * runs. */
TEST(result_of_a_task_that_is_rerun_meanwhile_in_the_earlier_run_is_not_reused)
{
    struct store *s = fixture_store();
    int64_t old = run_first(s, definition_of_pairs(""), ""),
            w = submit_rerun(s, old, definition_of_pairs(""), "{\"from\":\"last\"}");

    run_until_partly_reused(s, w);
    start_rerun(s, old, RERUN_FROM_TASK, "a0");
    run_all_timers(s);
    CHECK_EQ(count(s, w, "status = 4"), 2 * PAIRS - 2);
    CHECK_EQ(task_status(s, w, "a0"), S_READY);
    CHECK_EQ(task_status(s, w, "b0"), S_PENDING);
    verify_clean(s);
    run_workflows_in_sets(s);
    CHECK_EQ(status_of(s, w), S_SUCCEEDED);
    verify_clean(s);
    store_close(&s);
}
