/* test_slices_control.c - pausing, resuming and rerunning a large tree takes several turns, and so
 * does ending a task with many followers. The process is killed before and after every commit: once
 * the first turn is committed, another process completes the action; otherwise nothing has changed.
 */
#include "workflow_fixture.h"

#include "core/graph.h"

#define MANY  110 /* two slices of automatic work */
#define SLICE 30  /* several slices of an operator's request */

static int64_t tree; /* the tree that is paused, resumed or rerun; the same one in every round */

/* ---- running a tree ---- */

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

/* The items of `each` fail, all other jobs succeed. */
static int settle_body(struct turn *t, void *arg, struct err *err)
{
    static struct settlement list[200];
    const struct task_claim *k = arg;
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

static void run_to_the_end(struct store *s)
{
    run_workflows_settled_by(s, settle_body);
}

/* t0, if `first` is set, and many tasks that need it. */
static void submit_tasks(struct store *s, bool first)
{
    struct buf yaml = BUF_INIT;
    int i;

    buf_addf(&yaml, "name: w\ntasks:\n%s", first ? "  t0: {run: x}\n" : "");
    for (i = 1; i <= MANY; i++)
        buf_addf(&yaml, "  t%d: {run: x%s}\n", i, first ? ", needs: t0" : "");
    tree = submit_workflow(s, yaml.ptr, NULL);
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

static void act_pause(struct store *s, void *arg)
{
    (void)arg;
    pause_or_resume(s, true);
}

static void act_resume(struct store *s, void *arg)
{
    (void)arg;
    pause_or_resume(s, false);
}

/* Either all jobs are paused or none is. */
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

static void act_rerun(struct store *s, void *arg)
{
    struct rerun r = *(const struct rerun *)arg;
    struct err err = ERR_INIT;

    r.request = (struct request){.execution = tree, .by = "ada"};
    CHECK_OK_ERR(store_turn(s, rerun_body, &r, &err), &err);
    rerun_release(&r);
    run_all_timers(s);
}

static void submit_and_succeed(struct store *s)
{
    submit_tasks(s, true);
    run_to_the_end(s);
    CHECK_EQ(status_of(s, tree), S_SUCCEEDED);
}

static void submit_and_fail(struct store *s)
{
    tree = submit_workflow(s, "name: w\ntasks:\n  each: {run: x, foreach: 110}\n  b: {run: x}\n",
                           NULL);
    run_to_the_end(s);
    CHECK_EQ(status_of(s, tree), S_FAILED);
}

/* Every committed rerun was completed: each job has one attempt for each time it was run. */
static void after_rerun(struct store *s)
{
    run_to_the_end(s);
    CHECK_EQ(open_executions(s), 0);
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM timers"), 0);
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM executions WHERE kind = 1 AND name <> 'w::b' AND "
                           "attempts <> 1 + (SELECT count(*) FROM execution_events WHERE type = 52 "
                           "AND execution = root)"),
             0);
}

/* ---- ends of tasks ---- */

/* Reruns from the first task and settles it with the given outcome; its followers are notified by
 * timers. */
static void act_settle_first(struct store *s, const char *first, enum outcome_kind kind)
{
    struct held_job j;

    act_rerun(s, &(struct rerun){.what = RERUN_FROM_TASK, .from = first});
    j = claim_job(s, 7);
    CHECK_EQ(settle_as(s, j, kind, -1), 0);
    run_all_timers(s);
}

static void act_notify_followers(struct store *s, void *arg)
{
    (void)arg;
    act_settle_first(s, "t0", OUTCOME_OK);
}

static void act_skip_followers(struct store *s, void *arg)
{
    (void)arg;
    act_settle_first(s, "each0", OUTCOME_FAILED);
}

/* Adopts the jobs of the killed process; its database session may still hold its locks for a
 * moment. */
static void adopt_and_settle(struct store *s, enum outcome_kind kind)
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

static void after_notified(struct store *s)
{
    adopt_and_settle(s, OUTCOME_OK);
    after_rerun(s);
}

/* each0, which fails, and a long chain of tasks after it, each needing the previous one. */
static void submit_and_skip(struct store *s)
{
    struct buf yaml = BUF_INIT;
    int i;

    buf_addstr(&yaml, "name: w\ntasks:\n  each0: {run: x}\n  t0: {run: x, needs: each0}\n");
    for (i = 1; i < MANY; i++)
        buf_addf(&yaml, "  t%d: {run: x, needs: t%d}\n", i, i - 1);
    tree = submit_workflow(s, yaml.ptr, NULL);
    buf_release(&yaml);
    run_to_the_end(s);
    CHECK_EQ(status_of(s, tree), S_FAILED);
}

static void after_skipped(struct store *s)
{
    adopt_and_settle(s, OUTCOME_FAILED);
    run_to_the_end(s);
    CHECK_EQ(status_of(s, tree), S_FAILED);
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM executions WHERE status = 8"), MANY);
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM timers"), 0);
}

/* ---- kills ---- */

struct scenario {
    void (*prepare)(struct store *s);
    void (*act)(struct store *s, void *arg);
    void (*check)(struct store *s); /* also restores the initial state */
    void *arg;
    int least; /* minimum number of commits of `act` */
};

static void kill_at_each_commit(const struct scenario *scenario)
{
    int stride = test_full() ? 1 : 5, nth = 1 + (int)(getpid() % stride);
    struct store *s;

    setenv("PGOPTIONS", "-c synchronous_commit=off", 1); /* only processes of Pawl are killed */
    fixture_slices(100);
    s = fixture_store();
    scenario->prepare(s);
    store_close(&s);
    for (; killed_at(nth % 2 ? "commit" : "committed", (nth + 1) / 2, scenario->act, scenario->arg);
         nth += stride) {
        printf("killed %s commit %d\n", nth % 2 ? "before" : "after", (nth + 1) / 2);
        s = fixture_store();
        verify_clean(s);
        scenario->check(s);
        verify_clean(s);
        store_close(&s);
    }
    CHECK(nth > 2 * scenario->least); /* enough commits were made */
}

TEST_SLOW(pause_killed_between_two_slices_is_completed_later, 600)
{
    kill_at_each_commit(&(struct scenario){submit_ready, act_pause, after_pause, NULL, 4});
}

TEST_SLOW(resume_killed_between_two_slices_is_completed_later, 600)
{
    kill_at_each_commit(&(struct scenario){submit_paused, act_resume, after_resume, NULL, 4});
}

TEST_SLOW(rerun_of_a_whole_tree_killed_at_a_commit_strands_nothing, 600)
{
    kill_at_each_commit(&(struct scenario){submit_and_succeed, act_rerun, after_rerun,
                                           &(struct rerun){.what = RERUN_WHOLE}, 2});
}

TEST_SLOW(rerun_of_failed_tasks_killed_at_a_commit_strands_nothing, 600)
{
    kill_at_each_commit(&(struct scenario){submit_and_fail, act_rerun, after_rerun,
                                           &(struct rerun){.what = RERUN_ONLY_FAILED}, 2});
}

TEST_SLOW(rerun_from_a_task_killed_at_a_commit_strands_nothing, 600)
{
    kill_at_each_commit(&(struct scenario){submit_and_succeed, act_rerun, after_rerun,
                                           &(struct rerun){.what = RERUN_FROM_TASK, .from = "t0"},
                                           1});
}

TEST_SLOW(notification_of_followers_killed_at_a_commit_still_reaches_all_of_them, 600)
{
    kill_at_each_commit(
        &(struct scenario){submit_and_succeed, act_notify_followers, after_notified, NULL, 5});
}

TEST_SLOW(skip_through_a_long_chain_killed_at_a_commit_is_completed_later, 600)
{
    kill_at_each_commit(
        &(struct scenario){submit_and_skip, act_skip_followers, after_skipped, NULL, 8});
}
