/* test_followers.c - the followers of a task are notified of its end, and skipped followers notify
 * their own followers, one slice per turn. Whatever is requested of the workflow in between, no
 * follower counts an end twice, and none waits for an end that has already happened. */
#include "followers_fixture.h"
#include "rerun_fixture.h"

#include "core/graph.h"

#define MANY 150 /* two slices, both to create and to notify them */
#define FEW  100 /* three slices if a turn notifies at most 40 */

static struct task_claim k;

/* Each of the tasks t0, t1, … needs `needs`. */
static int64_t submit_many(struct store *s, const char *before, const char *needs, int n)
{
    struct buf yaml = BUF_INIT;
    int64_t w;
    int i;

    buf_addf(&yaml, "name: w\n%s", before);
    for (i = 0; i < n; i++)
        buf_addf(&yaml, "  t%d: {run: x, needs: %s}\n", i, needs);
    w = submit_workflow(s, yaml.ptr, NULL);
    buf_release(&yaml);
    return w;
}

static int64_t submit_star(struct store *s, int n)
{
    int64_t w = submit_many(s, "tasks:\n  first: {run: x}\n", "first", n);

    run_all_timers(s);
    return w;
}

static struct store *sliced_store(void)
{
    fixture_slices(100);
    return fixture_store();
}

/* A turn notifies only a few followers, so that small workflows are enough. */
static struct store *store_with_small_slices(void)
{
    struct store *s = fixture_store();

    store_set_workflow_options(s, &(struct store_workflow_options){.notify_max = 40});
    return s;
}

static int64_t submit_chain(struct store *s, int n)
{
    struct buf yaml = BUF_INIT;
    int64_t w;
    int i;

    buf_addstr(&yaml, "name: w\ntasks:\n  t0: {run: x}\n");
    for (i = 1; i < n; i++)
        buf_addf(&yaml, "  t%d: {run: x, needs: t%d}\n", i, i - 1);
    w = submit_workflow(s, yaml.ptr, NULL);
    buf_release(&yaml);
    run_all_timers(s);
    return w;
}

static void end_first(struct store *s, enum outcome_kind kind)
{
    CHECK_EQ(claim_tasks(s, &k), 1);
    settle_task(s, k.held[0], kind, NULL);
}

/* A star whose first task has ended and has notified one slice of its followers. */
static int64_t submit_half_notified(struct store *s, enum outcome_kind kind)
{
    int64_t w = submit_star(s, FEW);

    end_first(s, kind);
    CHECK_EQ(count(s, "notify_left > 0"), 1);
    return w;
}

static void rerun_or_fail(struct store *s, int64_t w, enum rerun_scope what, const char *from)
{
    if (!rerun(s, w, what, from))
        test_fail(__FILE__, __LINE__, "%s", refusal.msg);
}

/* ---- one slice per turn ---- */

TEST(followers_become_ready_one_slice_per_turn)
{
    struct store *s;
    int64_t w, first;

    fixture_slices(LARGE(1000));
    s = fixture_store();
    w = submit_star(s, LARGE(1500));
    first = task_of(s, w, "first");
    end_first(s, OUTCOME_OK);
    CHECK_EQ(count(s, "status = 2"), LARGE(1000));
    CHECK_EQ(get(s, first).notify_left, LARGE(500));
    verify_clean(s);
    CHECK_EQ(run_timers(s), 1);
    CHECK_EQ(count(s, "status = 2"), LARGE(1500));
    CHECK_EQ(get(s, first).notify_left, 0);
    verify_clean(s);
    CHECK_EQ(run_timers(s), 0);
    play_to_the_end(s, w, S_SUCCEEDED);
    store_close(&s);
}

TEST(followers_of_a_failed_task_are_skipped_one_slice_per_turn)
{
    struct store *s = store_with_small_slices();
    int64_t w = submit_half_notified(s, OUTCOME_FAILED);

    CHECK_EQ(count(s, "status = 8"), 40);
    CHECK_EQ(status_of(s, w), S_RUNNING);
    verify_clean(s);
    run_timers(s);
    CHECK_EQ(count(s, "status = 8"), 80);
    verify_clean(s);
    run_timers(s);
    CHECK_EQ(count(s, "status = 8 AND flags = 1"), FEW);
    play_to_the_end(s, w, S_FAILED);
    store_close(&s);
}

TEST(skip_through_a_long_chain_takes_several_turns)
{
    struct store *s = fixture_store();
    int64_t w = submit_chain(s, 500);
    int turns = 1;

    end_first(s, OUTCOME_FAILED);
    do {
        int64_t skipped = count(s, "status = 8");

        CHECK(skipped < turns * 200);
        CHECK(skipped > turns * 100 || skipped == 499);
        verify_clean(s);
        turns++;
    } while (run_timers(s));
    CHECK(turns > 3);
    CHECK_EQ(count(s, "status = 8"), 499);
    play_to_the_end(s, w, S_FAILED);
    store_close(&s);
}

/* Each of many tasks has its own followers: all of them share the limit of one turn. */
TEST(skip_of_many_tasks_with_followers_takes_several_turns)
{
    struct store *s = sliced_store();
    struct buf yaml = BUF_INIT;
    int64_t w;
    int i;

    buf_addstr(&yaml, "name: w\ntasks:\n  first: {run: x}\n");
    for (i = 0; i < 90; i++)
        buf_addf(&yaml, "  a%d: {run: x, needs: first}\n", i);
    for (i = 0; i < 500; i++)
        buf_addf(&yaml, "  b%d: {run: x, needs: [a%d, a%d]}\n", i, i % 90, (i + 1) % 90);
    buf_addstr(&yaml, "  last: {run: x, if: always(), needs: [first, b0, b123, b499]}\n");
    w = submit_workflow(s, yaml.ptr, NULL);
    buf_release(&yaml);
    run_all_timers(s);
    end_first(s, OUTCOME_FAILED);
    CHECK(count(s, "status = 8") >= 90);
    CHECK(count(s, "status = 8") < 400);
    verify_clean(s);
    CHECK(run_timers(s) > 1); /* each remaining task has its own timer */
    verify_clean(s);
    run_all_timers(s);
    CHECK_EQ(count(s, "status = 8"), 590);
    CHECK_EQ(task_status(s, w, "last"), S_READY);
    play_to_the_end(s, w, S_FAILED);
    store_close(&s);
}

/* A worker that drains its queue runs until the queue is no longer open. */
TEST(queue_has_unfinished_work_until_all_followers_are_notified)
{
    struct store *s = store_with_small_slices();
    int64_t w = submit_half_notified(s, OUTCOME_FAILED);
    struct err err = ERR_INIT;
    bool open = false;
    int turns = 0;

    do {
        CHECK_OK_ERR(query_queue_open(s, "default", &open, &err), &err);
        CHECK_EQ(open, status_of(s, w) == S_RUNNING);
        turns++;
    } while (run_timers(s));
    CHECK(turns > 2);
    CHECK(!open);
    play_to_the_end(s, w, S_FAILED);
    store_close(&s);
}

/* ---- requests between two slices ---- */

TEST(pause_between_two_slices_holds_every_follower)
{
    struct store *s = store_with_small_slices();
    int64_t w = submit_half_notified(s, OUTCOME_OK);

    CHECK_EQ(control_execution(s, CONTROL_PAUSE, w), 0);
    run_all_timers(s);
    CHECK_EQ(count(s, "status = 2 AND held = 2"), FEW);
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM task_outbox"), 0);
    verify_clean(s);
    CHECK_EQ(control_execution(s, CONTROL_RESUME, w), 0);
    run_all_timers(s);
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM task_outbox"), FEW);
    play_to_the_end(s, w, S_SUCCEEDED);
    store_close(&s);
}

TEST(cancel_between_two_slices_leaves_no_follower_to_notify)
{
    struct store *s = store_with_small_slices();
    int64_t w = submit_half_notified(s, OUTCOME_OK);

    CHECK_EQ(control_execution(s, CONTROL_CANCEL, w), 0);
    verify_clean(s);
    run_all_timers(s);
    CHECK_EQ(count(s, "status = 7"), FEW + 1);
    CHECK_EQ(count(s, "notify_left > 0"), 0);
    play_to_the_end(s, w, S_CANCELLED);
    rerun_or_fail(s, w, RERUN_WHOLE, NULL);
    play_to_the_end(s, w, S_SUCCEEDED);
    store_close(&s);
}

TEST(rerun_between_two_slices_counts_each_finished_need_once)
{
    struct store *s = store_with_small_slices();
    struct held_job b;
    int64_t w = submit_many(s, "tasks:\n  a: {run: x}\n  b: {run: x, retry: 0}\n", "[a, b]", FEW);

    run_all_timers(s);
    CHECK_EQ(claim_tasks(s, &k), 2);
    b = k.held[1];
    settle_task(s, k.held[0], OUTCOME_OK, NULL);
    CHECK_EQ(count(s, "status = 1 AND needs_left = 1"), 40);
    rerun_or_fail(s, w, RERUN_FROM_TASK, "a");
    CHECK_EQ(count(s, "status = 1 AND needs_left = 2"), FEW);
    verify_clean(s);
    run_all_timers(s);
    verify_clean(s);
    end_first(s, OUTCOME_OK); /* task a ends again */
    run_all_timers(s);
    CHECK_EQ(count(s, "status = 1 AND needs_left = 1"), FEW);
    settle_task(s, b, OUTCOME_OK, NULL);
    play_to_the_end(s, w, S_SUCCEEDED);
    store_close(&s);
}

/* The timer of the first run finds a workflow that runs again and is partly recreated. */
TEST(task_that_ended_in_an_earlier_run_does_not_notify_the_followers_of_a_rerun)
{
    struct store *s = sliced_store();
    int64_t w = submit_star(s, MANY), first = task_of(s, w, "first");
    char sql[120];

    end_first(s, OUTCOME_OK);
    CHECK_EQ(control_execution(s, CONTROL_CANCEL, w), 0);
    while (status_of(s, w) == S_RUNNING) /* as if the timers of the workflow came first */
        CHECK_EQ(control_execution(s, CONTROL_CANCEL, w), 0);
    CHECK(get(s, first).notify_left > 0);
    rerun_or_fail(s, w, RERUN_WHOLE, NULL);
    snprintf(sql, sizeof(sql), "SELECT count(*) FROM timers WHERE execution = %lld",
             (long long)first);
    CHECK_EQ(sql_number(s, sql), 1);
    verify_clean(s);
    run_timers(s);
    verify_clean(s);
    run_all_timers(s);
    CHECK_EQ(count(s, "status = 1 AND needs_left = 1"), MANY);
    play_to_the_end(s, w, S_SUCCEEDED);
    store_close(&s);
}

/* ---- tasks that do not exist yet ---- */

TEST(task_skipped_before_its_followers_are_created_notifies_them)
{
    struct store *s = sliced_store();
    int64_t w = submit_many(s, "tasks:\n  first: {run: x}\n", "first", MANY);

    CHECK_EQ(count(s, "status = 1"), 100);
    CHECK_EQ(control_execution(s, CONTROL_SKIP, task_of(s, w, "first")), 0);
    verify_clean(s);
    CHECK(run_timers(s) > 0);
    verify_clean(s);
    run_all_timers(s);
    CHECK_EQ(count(s, "status = 2"), MANY);
    play_to_the_end(s, w, S_SUCCEEDED);
    store_close(&s);
}

TEST(task_cancelled_before_its_followers_are_recreated_notifies_them)
{
    struct store *s = sliced_store();
    int64_t w = submit_star(s, MANY);

    play_to_the_end(s, w, S_SUCCEEDED);
    rerun_or_fail(s, w, RERUN_WHOLE, NULL);
    CHECK_EQ(control_execution(s, CONTROL_CANCEL, task_of(s, w, "first")), 0);
    verify_clean(s);
    CHECK(run_timers(s) > 0);
    verify_clean(s);
    play_to_the_end(s, w, S_CANCELLED);
    CHECK_EQ(count(s, "status = 8"), MANY);
    store_close(&s);
}

/* ---- executions that end at once ---- */

/* No item needs a worker, so each end leads to the next. */
TEST(items_that_end_immediately_are_created_one_slice_per_turn)
{
    static const char *const files[] = {
        "w.yaml",
        SANITIZED ? "name: w\ntasks:\n  each: {foreach: 450, workflow: sub.yaml}\n"
                  : "name: w\ntasks:\n  each: {foreach: 4500, workflow: sub.yaml}\n",
        "sub.yaml", "name: sub\ntasks: {a: {run: x, if: 1 > 2}}\n", NULL};
    struct store *s;
    int64_t w, before = 0, now;

    fixture_slices(LARGE(1000));
    s = fixture_store();
    w = submit_workflow_text(s, workflow_text_of_files(files), NULL);
    do {
        now = count(s, "kind = 3");
        CHECK(now - before <= LARGE(4000) + 1);
        before = now;
        verify_clean(s);
    } while (run_timers(s));
    CHECK_EQ(now, LARGE(4500) + 1);
    play_to_the_end(s, w, S_SUCCEEDED);
    store_close(&s);
}

/* ---- scale ---- */

static long written, most_written; /* rows of executions and events, in one turn */

static void count_rows(void *arg, const char *what, int64_t took, long rows)
{
    (void)arg;
    (void)took;
    if (!strncmp(what, "execution_", 10) || !strcmp(what, "event_insert"))
        written += rows;
}

static void count_turn(void *arg, const char *where)
{
    (void)arg;
    if (strcmp(where, "commit"))
        return;
    most_written = written > most_written ? written : most_written;
    written = 0;
}

/* Notifies 20,000 followers of one task, and 20,000 followers of these. */
TEST_SLOW(turn_writes_a_bounded_number_of_rows_however_many_followers_a_task_has, 600)
{
    int n = LARGE(test_full() ? 20000 : 5000), i;
    struct buf yaml = BUF_INIT;
    struct store *s;
    int64_t w;

    fixture_slices(LARGE(1000));
    s = fixture_store();
    buf_addstr(&yaml, "name: w\ntasks:\n  good: {run: x}\n  bad: {run: x, needs: good}\n");
    for (i = 0; i < n; i++)
        buf_addf(&yaml,
                 "  a%d: {run: x, needs: bad}\n"
                 "  b%d: {run: x, needs: a%d}\n"
                 "  c%d: {run: x, if: 1 > 2, needs: good}\n",
                 i, i, i, i);
    w = submit_workflow(s, yaml.ptr, NULL);
    buf_release(&yaml);
    run_all_timers(s);
    fixture_env()->trace = count_rows;
    fixture_env()->point = count_turn;
    written = 0;
    end_first(s, OUTCOME_OK);
    run_all_timers(s);
    CHECK_EQ(count(s, "status = 8"), n);
    end_first(s, OUTCOME_FAILED);
    run_all_timers(s);
    fixture_env()->trace = NULL;
    fixture_env()->point = NULL;
    printf("at most %ld rows of executions and events in a turn\n", most_written);
    CHECK(most_written > LARGE(2000));
    CHECK(most_written < LARGE(10000));
    CHECK_EQ(count(s, "status = 8"), 3 * n);
    CHECK_EQ(status_of(s, w), S_FAILED);
    verify_clean(s);
    store_close(&s);
}
