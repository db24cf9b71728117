/* test_workflow_slices.c - large changes to workflows are made in slices: the next turn continues
 * where the last one stopped, no matter which process started the change or was killed in between.
 * Verify, and running everything to its end, prove that no intermediate state is stranded. */
#include "workflow_fixture.h"

#include <unistd.h>

static struct task_claim k;

/* t0, and `tasks` tasks that need it. */
static int64_t submit_star(struct store *s, int tasks, const char *end)
{
    struct buf yaml = BUF_INIT;
    int64_t w;
    int i;

    buf_addf(&yaml, "name: w\n%stasks:\n  t0: {run: x}\n", end);
    for (i = 1; i <= tasks; i++)
        buf_addf(&yaml, "  t%d: {run: x, needs: t0}\n", i);
    w = submit_workflow(s, yaml.ptr, NULL);
    buf_release(&yaml);
    return w;
}

static struct store *sliced_store(void)
{
    fixture_slices(100);
    return fixture_store();
}

static int64_t open_executions(struct store *s)
{
    return sql_number(s, "SELECT count(*) FROM executions WHERE status < 4");
}

TEST(cancel_continues_after_the_process_that_requested_it_ended)
{
    struct store *s;
    int64_t w;

    fixture_slices(LARGE(1000));
    s = fixture_store();
    w = submit_star(s, LARGE(2500), "");
    run_all_timers(s);
    CHECK_EQ(claim_tasks(s, &k), 1);
    CHECK_OK(cancel(s, w)); /* makes only one slice of the cancel */
    CHECK(open_executions(s) > LARGE(1500));
    verify_clean(s);
    settle_task(s, k.held[0], OUTCOME_CANCELLED, NULL);
    verify_clean(s);
    run_workflows(s, "");
    CHECK_EQ(status_of(s, w), S_CANCELLED);
    CHECK_EQ(open_executions(s), 0);
    verify_clean(s);
    store_close(&s);
}

TEST(on_exit_is_not_cancelled_by_the_remaining_slices_of_a_cancel)
{
    struct store *s = sliced_store();
    int64_t w = submit_star(s, 150, "on_exit: {run: x}\n");

    run_all_timers(s);
    CHECK_OK(cancel(s, w));
    CHECK_OK(cancel(s, w)); /* the second slice; the timer of the first still exists */
    CHECK_EQ(task_status(s, w, "on_exit"), S_READY);
    verify_clean(s);
    run_timers(s);
    CHECK_OK(cancel(s, w)); /* a repeated request does not cancel on_exit either */
    CHECK_EQ(task_status(s, w, "on_exit"), S_READY);
    run_workflows(s, "");
    CHECK_EQ(task_status(s, w, "on_exit"), S_SUCCEEDED);
    CHECK_EQ(status_of(s, w), S_CANCELLED);
    verify_clean(s);
    store_close(&s);
}

/* ---- the request in the events ---- */

static int64_t events_without(struct store *s, int type, const char *text)
{
    char sql[200];

    snprintf(sql, sizeof(sql),
             "SELECT count(*) FROM execution_events WHERE type = %d AND (data IS NULL OR data NOT "
             "LIKE '%%%s%%')",
             type, text);
    return sql_number(s, sql);
}

TEST(each_slice_of_a_cancel_records_the_user_and_the_reason)
{
    struct store *s = sliced_store();
    int64_t w = submit_star(s, 250, "");

    run_all_timers(s);
    CHECK_EQ(control_execution(s, CONTROL_CANCEL, w), 0);
    run_all_timers(s);
    CHECK_EQ(status_of(s, w), S_CANCELLED);
    CHECK_EQ(events_without(s, EV_CANCELLED, "nobody"), 251);
    CHECK_EQ(events_without(s, EV_CANCELLED, "\"by\":\"ada\",\"reason\":\"a test\""), 0);
    verify_clean(s);
    store_close(&s);
}

TEST(each_slice_of_a_timeout_records_the_timeout)
{
    struct store *s = sliced_store();
    int64_t w = submit_star(s, 250, "timeout: 1m\n");

    run_all_timers(s);
    clock_advance(61 * SECOND);
    run_all_timers(s);
    CHECK_EQ(status_of(s, w), S_TIMED_OUT);
    CHECK_EQ(events_without(s, EV_CANCELLED, "nobody"), 251);
    CHECK_EQ(events_without(s, EV_CANCELLED, "it took longer than its timeout"), 0);
    verify_clean(s);
    store_close(&s);
}

static int rerun_body(struct turn *t, void *arg, struct err *err)
{
    return op_rerun(t, arg, err);
}

TEST(each_slice_of_a_rerun_records_the_user_and_the_reason)
{
    static const char *const files[] = {
        "w.yaml",
        "name: w\ntasks:\n  each: {foreach: 110, run: x}\n"
        "  sub: {workflow: sub.yaml, needs: each}\n",
        "sub.yaml", "name: sub\ntasks: {a: {run: x}, b: {run: x, needs: a}}\n", NULL};
    struct store *s = sliced_store();
    int64_t w = submit_workflow_text(s, workflow_text_of_files(files), NULL);
    struct rerun r = {.request = {.execution = w, .by = "ada", .reason = "a test"}};
    struct err err = ERR_INIT;

    run_workflows_in_sets(s);
    CHECK_OK_ERR(store_turn(s, rerun_body, &r, &err), &err);
    rerun_release(&r);
    run_workflows_in_sets(s);
    CHECK_EQ(status_of(s, w), S_SUCCEEDED);
    CHECK_EQ(events_without(s, EV_RERUN, "nobody"), 112);
    CHECK_EQ(events_without(s, EV_RERUN, "\"by\":\"ada\",\"reason\":\"a test\""), 0);
    CHECK_EQ(events_without(s, EV_RERUN + WORKFLOW_EVENT, "nobody"), 3);
    CHECK_EQ(events_without(s, EV_RERUN + WORKFLOW_EVENT, "\"by\":\"ada\",\"reason\":\"a test\""),
             0);
    verify_clean(s);
    store_close(&s);
}

/* ---- cancel with let_finish ---- */

struct cancelling {
    struct request request;
    bool more;
};

static int cancel_body(struct turn *t, void *arg, struct err *err)
{
    struct cancelling *l = arg;

    return op_cancel(t, &l->request, 1, 100, &l->more, err);
}

TEST(running_tasks_that_may_finish_do_not_block_the_cancel_of_waiting_tasks)
{
    struct store *s = sliced_store();
    struct buf yaml = BUF_INIT;
    struct cancelling l = {.request = {.let_finish = true}};
    struct err err = ERR_INIT;
    size_t n = 0;
    int i;

    buf_addstr(&yaml, "name: w\ntasks:\n");
    for (i = 0; i < 110; i++)
        buf_addf(&yaml, "  r%d: {run: x}\n", i);
    for (i = 0; i < 10; i++)
        buf_addf(&yaml, "  p%d: {run: x, needs: r0}\n", i);
    l.request.execution = submit_workflow(s, yaml.ptr, NULL);
    run_all_timers(s);
    while (claim_tasks(s, &k))
        n += k.n;
    CHECK_EQ(n, 110);
    CHECK_OK_ERR(store_turn(s, cancel_body, &l, &err), &err);
    run_all_timers(s);
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM executions WHERE status = 1"), 0);
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM executions WHERE status = 7"), 10);
    verify_clean(s);
    buf_release(&yaml);
    store_close(&s);
}

TEST(fail_fast_ends_more_than_one_slice_of_descendants)
{
    static const char *const files[] = {
        "w.yaml", "name: w\ntasks:\n  each: {foreach: 40, workflow: sub.yaml, fail_fast: true}\n",
        "sub.yaml",
        "name: sub\ntasks: {a: {run: x}, b: {run: x, needs: a}, c: {run: x, needs: b}}\n", NULL};
    struct store *s = sliced_store();
    int64_t w = submit_workflow_text(s, workflow_text_of_files(files), NULL);
    size_t i;

    CHECK_EQ(claim_tasks(s, &k), 40);
    settle_task(s, k.held[0], OUTCOME_FAILED, NULL);
    verify_clean(s);
    run_all_timers(s);
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM executions WHERE status IN (1, 2)"), 0);
    for (i = 1; i < k.n; i++)
        settle_task(s, k.held[i], OUTCOME_CANCELLED, NULL);
    CHECK_EQ(status_of(s, w), S_FAILED);
    CHECK_EQ(open_executions(s), 0);
    verify_clean(s);
    store_close(&s);
}

/* ---- killed between two slices ---- */

#define FEW 10

struct progress {
    int64_t star, fan; /* 0 if not acknowledged */
    bool cancelled;
};

static struct progress *progress; /* shared with the process that is killed */

static int cancel_slice_body(struct turn *t, void *arg, struct err *err)
{
    struct cancelling *l = arg;

    return op_cancel(t, &l->request, 1, 30, &l->more, err);
}

/* Submits a graph and a list and cancels the graph, each in several slices, as an engine and its
 * users would. */
static void run_until_killed(struct store *s, void *arg)
{
    struct cancelling l = {.more = true};
    struct held_job few[FEW];
    struct err err = ERR_INIT;
    size_t n, i;

    (void)arg;
    progress->star = submit_star(s, 110, "on_exit: {run: x}\n");
    progress->fan = submit_workflow(s,
                                    "name: v\ntasks:\n  each: {foreach: 110, run: x}\n"
                                    "  b: {run: x, needs: each}\n",
                                    NULL);
    run_all_timers(s);
    n = claim_many(s, 7, FEW, few);
    for (i = 1; i < n; i++) /* the first one, which all tasks of the graph need, is left running */
        CHECK_EQ(settle_ok(s, few[i]), 0);
    l.request.execution = progress->star;
    while (l.more) {
        CHECK_OK_ERR(store_turn(s, cancel_slice_body, &l, &err), &err);
        progress->cancelled = true;
    }
    run_all_timers(s);
}

static int retain_body(struct turn *t, void *arg, struct err *err)
{
    struct retention from = {.older_than = SECOND, .max_trees = 10, .max_rows = 100000};

    return op_retain(t, &from, arg, err);
}

/* The next process brings everything to its end. */
static void check_next_process(void)
{
    struct store *s = fixture_store();
    struct retention gone;
    struct held_job j;
    struct err err = ERR_INIT;

    verify_clean(s);
    clock_advance(LEASE + SECOND);
    reap(s);
    while (adopt_one(s, 7, &j))
        CHECK_EQ(settle_ok(s, j), 0);
    verify_clean(s);
    run_workflows_in_sets(s);
    CHECK_EQ(open_executions(s), 0);
    if (progress->fan)
        CHECK_EQ(status_of(s, progress->fan), S_SUCCEEDED);
    if (progress->cancelled)
        CHECK_EQ(status_of(s, progress->star), S_CANCELLED);
    verify_clean(s);
    clock_advance(10 * SECOND);
    CHECK_OK_ERR(store_turn(s, retain_body, &gone, &err), &err);
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM executions"), 0);
    store_close(&s);
}

/* A turn is stored completely or not at all, so only the points before and after each commit
 * matter. `make test` kills at some of them, different ones each time. */
TEST_SLOW(kill_between_any_two_slices_strands_nothing, 600)
{
    int stride = test_full() ? 1 : SANITIZED ? 18 : 9;
    int nth = 1 + (int)(getpid() % stride), kills = 0;

    progress = shared_memory(sizeof(*progress));
    setenv("PGOPTIONS", "-c synchronous_commit=off", 1); /* only processes of Pawl are killed */
    fixture_url();
    fixture_slices(100);
    for (; killed_at(nth % 2 ? "commit" : "committed", (nth + 1) / 2, run_until_killed, NULL);
         nth += stride) {
        kills++;
        printf("killed %s commit %d\n", nth % 2 ? "before" : "after", (nth + 1) / 2);
        check_next_process();
        *progress = (struct progress){0};
    }
    printf("%d kills, up to %d\n", kills, nth);
    CHECK(nth > 30); /* enough commits were made */
}
