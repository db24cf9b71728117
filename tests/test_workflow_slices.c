/* test_workflow_slices.c - large work of workflows goes in slices: what a turn leaves over is found
 * by the next, whoever began it and whoever died in between. Verify says that nothing is stranded
 * in the middle, and running on shows it. */
#include "workflow_fixture.h"

#include <unistd.h>

static struct flow_claiming k;

/* t0, and so many that need it. */
static int64_t submit_star(struct store *s, int tasks, const char *end)
{
    struct buf yaml = BUF_INIT;
    int64_t w;
    int i;

    buf_addf(&yaml, "name: w\n%stasks:\n  t0: {run: x}\n", end);
    for (i = 1; i <= tasks; i++)
        buf_addf(&yaml, "  t%d: {run: x, needs: t0}\n", i);
    w = flow_submit(s, yaml.ptr, NULL);
    buf_release(&yaml);
    return w;
}

static void make_all(struct store *s)
{
    while (run_timers(s))
        ;
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

TEST(a_cancel_goes_on_though_whoever_asked_for_it_is_gone)
{
    struct store *s;
    int64_t w;

    fixture_slices(LARGE(1000));
    s = fixture_store();
    w = submit_star(s, LARGE(2500), "");
    make_all(s);
    CHECK_EQ(flow_claim(s, &k), 1);
    CHECK_OK(cancel(s, w)); /* one slice, and no more */
    CHECK(open_executions(s) > LARGE(1500));
    verify_clean(s);
    flow_settle(s, k.held[0], OUTCOME_CANCELLED, NULL);
    verify_clean(s);
    flow_play(s, "");
    CHECK_EQ(status_of(s, w), S_CANCELLED);
    CHECK_EQ(open_executions(s), 0);
    verify_clean(s);
    store_close(&s);
}

TEST(what_runs_at_the_end_is_not_cancelled_by_the_rest_of_a_cancel)
{
    struct store *s = sliced_store();
    int64_t w = submit_star(s, 150, "on_exit: {run: x}\n");

    make_all(s);
    CHECK_OK(cancel(s, w));
    CHECK_OK(cancel(s, w)); /* the second slice; the timer of the first is still there */
    CHECK_EQ(flow_status(s, w, "on_exit"), S_READY);
    verify_clean(s);
    run_timers(s);
    CHECK_OK(cancel(s, w)); /* nor by somebody who asks again */
    CHECK_EQ(flow_status(s, w, "on_exit"), S_READY);
    flow_play(s, "");
    CHECK_EQ(flow_status(s, w, "on_exit"), S_SUCCEEDED);
    CHECK_EQ(status_of(s, w), S_CANCELLED);
    verify_clean(s);
    store_close(&s);
}

/* ---- who asked for it ---- */

static int64_t events_without(struct store *s, int type, const char *words)
{
    char sql[200];

    snprintf(sql, sizeof(sql),
             "SELECT count(*) FROM execution_events WHERE type = %d AND (data IS NULL OR data NOT "
             "LIKE '%%%s%%')",
             type, words);
    return sql_number(s, sql);
}

TEST(each_slice_of_a_cancel_says_who_asked_for_it_and_why)
{
    struct store *s = sliced_store();
    int64_t w = submit_star(s, 250, "");

    make_all(s);
    CHECK_EQ(flow_ask(s, FLOW_CANCEL, w), 0);
    make_all(s);
    CHECK_EQ(status_of(s, w), S_CANCELLED);
    CHECK_EQ(events_without(s, EV_CANCELLED, "nobody"), 251);
    CHECK_EQ(events_without(s, EV_CANCELLED, "\"by\":\"ada\",\"reason\":\"a test\""), 0);
    verify_clean(s);
    store_close(&s);
}

TEST(each_slice_of_a_timeout_says_that_it_was_one)
{
    struct store *s = sliced_store();
    int64_t w = submit_star(s, 250, "timeout: 1m\n");

    make_all(s);
    clock_advance(61 * SECOND);
    make_all(s);
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

TEST(each_slice_of_a_rerun_says_who_asked_for_it)
{
    static const char *const files[] = {
        "w.yaml",
        "name: w\ntasks:\n  each: {foreach: 110, run: x}\n"
        "  sub: {workflow: sub.yaml, needs: each}\n",
        "sub.yaml", "name: sub\ntasks: {a: {run: x}, b: {run: x, needs: a}}\n", NULL};
    struct store *s = sliced_store();
    int64_t w = flow_submit_text(s, flow_text_of_files(files), NULL);
    struct rerun r = {.request = {.execution = w, .by = "ada", .reason = "a test"}};
    struct err err = ERR_INIT;

    flow_play_sets(s);
    CHECK_OK_ERR(store_turn(s, rerun_body, &r, &err), &err);
    rerun_release(&r);
    flow_play_sets(s);
    CHECK_EQ(status_of(s, w), S_SUCCEEDED);
    CHECK_EQ(events_without(s, EV_RERUN, "nobody"), 112);
    CHECK_EQ(events_without(s, EV_RERUN, "\"by\":\"ada\",\"reason\":\"a test\""), 0);
    CHECK_EQ(events_without(s, EV_RERUN + WORKFLOW_EVENT, "nobody"), 3);
    CHECK_EQ(events_without(s, EV_RERUN + WORKFLOW_EVENT, "\"by\":\"ada\",\"reason\":\"a test\""),
             0);
    verify_clean(s);
    store_close(&s);
}

/* ---- what may finish ---- */

struct letting {
    struct request request;
    bool more;
};

static int let_finish_body(struct turn *t, void *arg, struct err *err)
{
    struct letting *l = arg;

    return op_cancel(t, &l->request, 1, 100, &l->more, err);
}

TEST(those_that_may_finish_are_not_in_the_way_of_those_that_are_cancelled)
{
    struct store *s = sliced_store();
    struct buf yaml = BUF_INIT;
    struct letting l = {.request = {.let_finish = true}};
    struct err err = ERR_INIT;
    size_t n = 0;
    int i;

    buf_addstr(&yaml, "name: w\ntasks:\n");
    for (i = 0; i < 110; i++)
        buf_addf(&yaml, "  r%d: {run: x}\n", i);
    for (i = 0; i < 10; i++)
        buf_addf(&yaml, "  p%d: {run: x, needs: r0}\n", i);
    l.request.execution = flow_submit(s, yaml.ptr, NULL);
    make_all(s);
    while (flow_claim(s, &k))
        n += k.n;
    CHECK_EQ(n, 110);
    CHECK_OK_ERR(store_turn(s, let_finish_body, &l, &err), &err);
    make_all(s);
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM executions WHERE status = 1"), 0);
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM executions WHERE status = 7"), 10);
    verify_clean(s);
    buf_release(&yaml);
    store_close(&s);
}

TEST(fail_fast_ends_more_than_one_slice_below_it)
{
    static const char *const files[] = {
        "w.yaml", "name: w\ntasks:\n  each: {foreach: 40, workflow: sub.yaml, fail_fast: true}\n",
        "sub.yaml",
        "name: sub\ntasks: {a: {run: x}, b: {run: x, needs: a}, c: {run: x, needs: b}}\n", NULL};
    struct store *s = sliced_store();
    int64_t w = flow_submit_text(s, flow_text_of_files(files), NULL);
    size_t i;

    CHECK_EQ(flow_claim(s, &k), 40);
    flow_settle(s, k.held[0], OUTCOME_FAILED, NULL);
    verify_clean(s);
    make_all(s);
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM executions WHERE status IN (1, 2)"), 0);
    for (i = 1; i < k.n; i++)
        flow_settle(s, k.held[i], OUTCOME_CANCELLED, NULL);
    CHECK_EQ(status_of(s, w), S_FAILED);
    CHECK_EQ(open_executions(s), 0);
    verify_clean(s);
    store_close(&s);
}

/* ---- killed between two slices ---- */

#define FEW 10

struct life {
    int64_t star, fan; /* 0: not acknowledged */
    bool cancelled;
};

static struct life *life; /* shared with the one that dies */

static int cancel_slice_body(struct turn *t, void *arg, struct err *err)
{
    struct letting *l = arg;

    return op_cancel(t, &l->request, 1, 30, &l->more, err);
}

/* A graph, a list and a cancel, each of several slices, as an engine and its users go on with
 * them. */
static void live(struct store *s, void *arg)
{
    struct letting l = {.more = true};
    struct held_job few[FEW];
    struct err err = ERR_INIT;
    size_t n, i;

    (void)arg;
    life->star = submit_star(s, 110, "on_exit: {run: x}\n");
    life->fan = flow_submit(s,
                            "name: v\ntasks:\n  each: {foreach: 110, run: x}\n"
                            "  b: {run: x, needs: each}\n",
                            NULL);
    make_all(s);
    n = claim_many(s, 7, FEW, few);
    for (i = 1; i < n; i++) /* the first, that all tasks of the graph wait for, is left running */
        CHECK_EQ(settle_ok(s, few[i]), 0);
    l.request.execution = life->star;
    while (l.more) {
        CHECK_OK_ERR(store_turn(s, cancel_slice_body, &l, &err), &err);
        life->cancelled = true;
    }
    make_all(s);
}

static int forget_body(struct turn *t, void *arg, struct err *err)
{
    struct retention from = {.older_than = SECOND, .max_trees = 10, .max_rows = 100000};

    return op_retain(t, &from, arg, err);
}

/* Whoever comes next brings all of it to its end. */
static void go_on(void)
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
    flow_play_sets(s);
    CHECK_EQ(open_executions(s), 0);
    if (life->fan)
        CHECK_EQ(status_of(s, life->fan), S_SUCCEEDED);
    if (life->cancelled)
        CHECK_EQ(status_of(s, life->star), S_CANCELLED);
    verify_clean(s);
    clock_advance(10 * SECOND);
    CHECK_OK_ERR(store_turn(s, forget_body, &gone, &err), &err);
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM executions"), 0);
    store_close(&s);
}

/* A turn is stored whole or not at all, so what counts is between them: before a commit, and after
 * it. Not all of them in `make test`, but others each time. */
TEST_SLOW(a_kill_between_any_two_slices_strands_nothing, 600)
{
    int stride = test_full() ? 1 : SANITIZED ? 18 : 9;
    int nth = 1 + (int)(getpid() % stride), kills = 0;

    life = shared_memory(sizeof(*life));
    setenv("PGOPTIONS", "-c synchronous_commit=off", 1); /* the server is not killed */
    fixture_url();
    fixture_slices(100);
    for (; killed_at(nth % 2 ? "commit" : "committed", (nth + 1) / 2, live, NULL); nth += stride) {
        kills++;
        printf("killed %s commit %d\n", nth % 2 ? "before" : "after", (nth + 1) / 2);
        go_on();
        *life = (struct life){0};
    }
    printf("%d kills, up to %d\n", kills, nth);
    CHECK(nth > 30); /* it was a life */
}
