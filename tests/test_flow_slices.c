/* test_flow_slices.c - large work of workflows goes in slices: what a turn leaves over is found by
 * the next, whoever began it and whoever died in between. Verify says that nothing is stranded in
 * the middle, and running on shows it. */
#include "flow_fixture.h"

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

static int64_t open_executions(struct store *s)
{
    return sql_number(s, "SELECT count(*) FROM executions WHERE status < 4");
}

TEST(a_cancel_goes_on_though_whoever_asked_for_it_is_gone)
{
    struct store *s = fixture_store();
    int64_t w = submit_star(s, 2500, "");

    make_all(s);
    CHECK_EQ(flow_claim(s, &k), 1);
    CHECK_OK(cancel(s, w)); /* a slice of 1000, and no more */
    CHECK(open_executions(s) > 1500);
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
    struct store *s = fixture_store();
    int64_t w = submit_star(s, 1500, "on_exit: {run: x}\n");

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

struct letting {
    struct request request;
    bool more;
};

static int let_finish_body(struct turn *t, void *arg, struct err *err)
{
    struct letting *l = arg;

    return op_cancel(t, &l->request, 1, 1000, &l->more, err);
}

TEST(those_that_may_finish_are_not_in_the_way_of_those_that_are_cancelled)
{
    struct store *s = fixture_store();
    struct buf yaml = BUF_INIT;
    struct letting l = {.request = {.let_finish = true}};
    struct err err = ERR_INIT;
    size_t n = 0;
    int i;

    buf_addstr(&yaml, "name: w\ntasks:\n");
    for (i = 0; i < 1100; i++)
        buf_addf(&yaml, "  r%d: {run: x}\n", i);
    for (i = 0; i < 100; i++)
        buf_addf(&yaml, "  p%d: {run: x, needs: r0}\n", i);
    l.request.execution = flow_submit(s, yaml.ptr, NULL);
    make_all(s);
    while (flow_claim(s, &k))
        n += k.n;
    CHECK_EQ(n, 1100);
    CHECK_OK_ERR(store_turn(s, let_finish_body, &l, &err), &err);
    make_all(s);
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM executions WHERE status = 1"), 0);
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM executions WHERE status = 7"), 100);
    verify_clean(s);
    buf_release(&yaml);
    store_close(&s);
}

TEST(fail_fast_ends_more_than_one_slice_below_it)
{
    static const char *const files[] = {
        "w.yaml", "name: w\ntasks:\n  each: {foreach: 400, workflow: sub.yaml, fail_fast: true}\n",
        "sub.yaml",
        "name: sub\ntasks: {a: {run: x}, b: {run: x, needs: a}, c: {run: x, needs: b}}\n", NULL};
    struct store *s = fixture_store();
    int64_t w = flow_submit_text(s, flow_text_of_files(files), NULL);
    size_t i;

    CHECK_EQ(flow_claim(s, &k), 200);
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
