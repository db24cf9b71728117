/* test_slices_control.c - pauses, their ends and reruns of large trees take several turns, and so
 * does the end of a task that has much behind it. Whoever does them is killed before and after
 * every commit: what was once written is carried out by whoever comes next, and what was not has
 * changed nothing. */
#include "workflow_fixture.h"

#include "core/graph.h"

#define MANY  110 /* two slices of what goes on by itself, */
#define SLICE 30  /* and some of what is asked for */

static int64_t tree; /* what is paused, resumed, or run again; the same in each round */

/* ---- how it is played ---- */

static int64_t open_executions(struct store *s)
{
    return sql_number(s, "SELECT count(*) FROM executions WHERE status < 4");
}

static int64_t claimable(struct store *s)
{
    return sql_number(s, "SELECT count(*) FROM task_outbox");
}

static int64_t held(struct store *s)
{
    return sql_number(s, "SELECT count(*) FROM executions WHERE held = 2");
}

static void run_all_timers(struct store *s)
{
    while (run_timers(s))
        ;
}

/* To its end; the items of `each` fail, the others succeed. */
static int settle_body(struct turn *t, void *arg, struct err *err)
{
    static struct settlement list[200];
    const struct flow_claiming *k = arg;
    size_t i;

    for (i = 0; i < k->n; i++) {
        bool fails = !strncmp(k->names[i], "each", 4);

        list[i] = (struct settlement){.lease = {.execution = k->held[i].id,
                                                .root = k->held[i].root,
                                                .epoch = k->held[i].epoch},
                                      .outcome = {.kind = fails ? OUTCOME_FAILED : OUTCOME_OK,
                                                  .error = fails ? "as it should" : NULL,
                                                  .duration = 1,
                                                  .retry_delay = -1}};
    }
    return op_settle(t, 7, list, k->n, err);
}

static void play_on(struct store *s)
{
    static struct flow_claiming k;
    struct err err = ERR_INIT;

    for (;;) {
        size_t fired = run_timers(s);

        if (!flow_claim(s, &k) && !fired)
            return;
        CHECK_OK_ERR(store_turn(s, settle_body, &k, &err), &err);
    }
}

/* t0, if it is wanted, and many that need it. */
static void submit_tasks(struct store *s, bool first)
{
    struct buf yaml = BUF_INIT;
    int i;

    buf_addf(&yaml, "name: w\ntasks:\n%s", first ? "  t0: {run: x}\n" : "");
    for (i = 1; i <= MANY; i++)
        buf_addf(&yaml, "  t%d: {run: x%s}\n", i, first ? ", needs: t0" : "");
    tree = flow_submit(s, yaml.ptr, NULL);
    buf_release(&yaml);
    run_all_timers(s);
}

/* ---- pauses ---- */

struct pausing {
    struct request request;
    bool pause, more;
};

static int pause_body(struct turn *t, void *arg, struct err *err)
{
    struct pausing *p = arg;

    return p->pause ? op_pause(t, &p->request, 1, SLICE, &p->more, err)
                    : op_resume(t, &p->request, 1, SLICE, &p->more, err);
}

static void pause_or_resume(struct store *s, bool pause)
{
    struct pausing p = {.request = {.execution = tree, .by = "ada"}, .pause = pause};
    struct err err = ERR_INIT;

    do {
        CHECK_OK_ERR(store_turn(s, pause_body, &p, &err), &err);
        CHECK_EQ(p.request.rc, 0);
        p.request.is_continuation = true;
    } while (p.more);
}

static bool is_paused(struct store *s)
{
    return (get(s, tree).flags & FLAG_PAUSED) != 0;
}

static void submit_ready(struct store *s)
{
    submit_tasks(s, false);
    CHECK_EQ(claimable(s), MANY);
}

static void submit_paused(struct store *s)
{
    submit_ready(s);
    pause_or_resume(s, true);
    CHECK_EQ(held(s), MANY);
}

static void live_pause(struct store *s, void *arg)
{
    (void)arg;
    pause_or_resume(s, true);
}

static void live_resume(struct store *s, void *arg)
{
    (void)arg;
    pause_or_resume(s, false);
}

/* All of it, or nothing. */
static void check_pause(struct store *s)
{
    bool paused = is_paused(s);

    CHECK_EQ(claimable(s), paused ? 0 : MANY);
    CHECK_EQ(held(s), paused ? MANY : 0);
}

static void after_pause(struct store *s)
{
    run_all_timers(s);
    check_pause(s);
    if (is_paused(s))
        pause_or_resume(s, false);
    check_pause(s);
}

static void after_resume(struct store *s)
{
    run_all_timers(s);
    check_pause(s);
    if (!is_paused(s))
        pause_or_resume(s, true);
    check_pause(s);
}

/* ---- reruns ---- */

static int rerun_body(struct turn *t, void *arg, struct err *err)
{
    return op_rerun(t, arg, err);
}

static void live_rerun(struct store *s, void *arg)
{
    struct rerun r = *(const struct rerun *)arg;
    struct err err = ERR_INIT;

    r.request = (struct request){.execution = tree, .by = "ada"};
    CHECK_OK_ERR(store_turn(s, rerun_body, &r, &err), &err);
    rerun_release(&r);
    run_all_timers(s);
}

static void submit_and_play(struct store *s)
{
    submit_tasks(s, true);
    play_on(s);
    CHECK_EQ(status_of(s, tree), S_SUCCEEDED);
}

static void submit_and_fail(struct store *s)
{
    tree = flow_submit(s, "name: w\ntasks:\n  each: {run: x, foreach: 110}\n  b: {run: x}\n", NULL);
    play_on(s);
    CHECK_EQ(status_of(s, tree), S_FAILED);
}

/* What was written of it was done whole: as many attempts as it was run. */
static void after_rerun(struct store *s)
{
    play_on(s);
    CHECK_EQ(open_executions(s), 0);
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM timers"), 0);
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM executions WHERE kind = 1 AND name <> 'w::b' AND "
                           "attempts <> 1 + (SELECT count(*) FROM execution_events WHERE type = 52 "
                           "AND execution = root)"),
             0);
}

/* ---- ends ---- */

/* Runs again from the first task on, which ends so; what is behind it is left to be told. */
static void live_end(struct store *s, const char *first, enum outcome_kind kind)
{
    struct held_job j;

    live_rerun(s, &(struct rerun){.what = RERUN_FROM_TASK, .from = first});
    j = claim_job(s, 7);
    CHECK_EQ(settle_as(s, j, kind, -1), 0);
    run_all_timers(s);
}

static void live_tell(struct store *s, void *arg)
{
    (void)arg;
    live_end(s, "t0", OUTCOME_OK);
}

static void live_skip(struct store *s, void *arg)
{
    (void)arg;
    live_end(s, "each0", OUTCOME_FAILED);
}

/* What was claimed by the one that was killed; its server may not have noticed yet, and hold it. */
static void take_over(struct store *s, enum outcome_kind kind)
{
    struct held_job j;
    int round;

    clock_advance(LEASE + SECOND);
    for (round = 0; sql_number(s, "SELECT count(*) FROM leases"); round++) {
        CHECK(round < 10000);
        reap(s);
        while (adopt_one(s, 7, &j))
            CHECK_EQ(settle_as(s, j, kind, -1), 0);
    }
    verify_clean(s);
}

static void after_told(struct store *s)
{
    take_over(s, OUTCOME_OK);
    after_rerun(s);
}

/* each0, which fails, and many behind it, one behind the other. */
static void submit_and_skip(struct store *s)
{
    struct buf yaml = BUF_INIT;
    int i;

    buf_addstr(&yaml, "name: w\ntasks:\n  each0: {run: x}\n  t0: {run: x, needs: each0}\n");
    for (i = 1; i < MANY; i++)
        buf_addf(&yaml, "  t%d: {run: x, needs: t%d}\n", i, i - 1);
    tree = flow_submit(s, yaml.ptr, NULL);
    buf_release(&yaml);
    play_on(s);
    CHECK_EQ(status_of(s, tree), S_FAILED);
}

static void after_skipped(struct store *s)
{
    take_over(s, OUTCOME_FAILED);
    play_on(s);
    CHECK_EQ(status_of(s, tree), S_FAILED);
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM executions WHERE status = 8"), MANY);
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM timers"), 0);
}

/* ---- killed ---- */

struct story {
    void (*begin)(struct store *s);
    void (*live)(struct store *s, void *arg);
    void (*after)(struct store *s); /* leaves all as it was in the beginning */
    void *arg;
    int least; /* commits of a life */
};

static void tell(const struct story *story)
{
    int stride = test_full() ? 1 : 5, nth = 1 + (int)(getpid() % stride);
    struct store *s;

    setenv("PGOPTIONS", "-c synchronous_commit=off", 1); /* the server is not killed */
    fixture_slices(100);
    s = fixture_store();
    story->begin(s);
    store_close(&s);
    for (; killed_at(nth % 2 ? "commit" : "committed", (nth + 1) / 2, story->live, story->arg);
         nth += stride) {
        printf("killed %s commit %d\n", nth % 2 ? "before" : "after", (nth + 1) / 2);
        s = fixture_store();
        verify_clean(s);
        story->after(s);
        verify_clean(s);
        store_close(&s);
    }
    CHECK(nth > 2 * story->least); /* it was a life */
}

TEST_SLOW(a_pause_that_is_killed_between_two_slices_is_whole_in_the_end, 600)
{
    tell(&(struct story){submit_ready, live_pause, after_pause, NULL, 4});
}

TEST_SLOW(the_end_of_a_pause_that_is_killed_between_two_slices_is_whole_in_the_end, 600)
{
    tell(&(struct story){submit_paused, live_resume, after_resume, NULL, 4});
}

TEST_SLOW(a_rerun_of_the_whole_that_is_killed_strands_nothing, 600)
{
    tell(&(struct story){submit_and_play, live_rerun, after_rerun,
                         &(struct rerun){.what = RERUN_WHOLE}, 2});
}

TEST_SLOW(a_rerun_of_what_failed_that_is_killed_strands_nothing, 600)
{
    tell(&(struct story){submit_and_fail, live_rerun, after_rerun,
                         &(struct rerun){.what = RERUN_ONLY_FAILED}, 2});
}

TEST_SLOW(a_rerun_from_a_task_that_is_killed_strands_nothing, 600)
{
    tell(&(struct story){submit_and_play, live_rerun, after_rerun,
                         &(struct rerun){.what = RERUN_FROM_TASK, .from = "t0"}, 1});
}

TEST_SLOW(an_end_that_is_told_by_one_who_is_killed_is_told_to_all, 600)
{
    tell(&(struct story){submit_and_play, live_tell, after_told, NULL, 5});
}

TEST_SLOW(a_skip_through_a_long_chain_by_one_who_is_killed_goes_on, 600)
{
    tell(&(struct story){submit_and_skip, live_skip, after_skipped, NULL, 8});
}
