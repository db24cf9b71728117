/* test_limits_cap.c - queue.cap, the cap of processes whose queues are disabled: it counts all jobs
 * that they submit, the tasks of workflows too, in all processes together. A single job above it is
 * refused; tasks wait. Each test ends with verify. */
#include "core/graph.h"
#include "rerun_fixture.h"
#include "sql_submission_fixture.h"

#include <stdatomic.h>

#define CAP   "key:pawl:here"
#define TASKS "name: w\ntasks: {a: {run: x}, b: {run: x}, c: {run: x}, d: {run: x}}\n"

static struct task_claim k;

/* The store of a process whose queues are disabled, with this cap; 0 if they are enabled. */
static struct store *open_with_cap(int cap)
{
    struct store *s = fixture_store();

    store_set_workflow_options(s, &(struct store_workflow_options){.cap = cap});
    return s;
}

static struct submission submit_job(struct store *s, struct submission one)
{
    struct err err = ERR_INIT;

    one.kind = KIND_EXEC;
    one.task_index = -1;
    one.name = "x";
    CHECK_OK_ERR(store_turn(s, submit_workflow_body, &one, &err), &err);
    return one;
}

static int64_t limit_number(struct store *s, const char *column)
{
    char sql[100];

    snprintf(sql, sizeof(sql), "SELECT %s FROM limits WHERE key = '" CAP "'", column);
    return sql_number(s, sql);
}

static int64_t held(struct store *s)
{
    return sql_number(s, "SELECT count(*) FROM limit_waits WHERE key = '" CAP "'");
}

TEST(tasks_of_a_workflow_beyond_the_cap_are_held_until_others_end)
{
    struct store *s = open_with_cap(2);
    int64_t w = submit_workflow(s, TASKS, NULL);
    size_t ended = 0, n;

    CHECK_EQ(held(s), 2);
    while ((n = claim_tasks(s, &k))) {
        CHECK(n <= 2);
        CHECK_EQ(limit_number(s, "used"), n);
        verify_clean(s);
        for (size_t i = 0; i < n; i++)
            settle_task(s, k.held[i], OUTCOME_OK, NULL);
        ended += n;
    }
    CHECK_EQ(ended, 4);
    CHECK_EQ(status_of(s, w), S_SUCCEEDED);
    CHECK_EQ(limit_number(s, "used"), 0);
    verify_clean(s);
    store_close(&s);
}

TEST(items_and_nested_workflows_count_against_the_cap)
{
    static const char *const files[] = {"w.yaml",
                                        "name: w\ntasks:\n  f: {foreach: 3, run: x}\n"
                                        "  n: {workflow: sub.yaml}\n",
                                        "sub.yaml",
                                        "name: sub\ntasks: {p: {run: x}, q: {run: x}}\n", NULL};
    struct store *s = open_with_cap(1);

    submit_workflow_text(s, workflow_text_of_files(files), NULL);
    for (int i = 0; i < 5; i++) {
        CHECK_EQ(claim_tasks(s, &k), 1);
        verify_clean(s);
        settle_task(s, k.held[0], OUTCOME_OK, NULL);
    }
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM executions WHERE finished_at IS NULL"), 0);
    verify_clean(s);
    store_close(&s);
}

TEST(single_job_above_the_cap_is_refused_and_nothing_is_stored)
{
    struct store *s = open_with_cap(2), *with_queues = open_with_cap(0);
    struct submission refused;

    submit_workflow(s, "name: w\ntasks: {a: {run: x}}\n", NULL);
    CHECK_OK(submit_job(s, (struct submission){.concurrency = "own"}).rc);
    refused = submit_job(s, (struct submission){.key = "once"});
    CHECK_EQ(refused.rc, -E_REFUSED);
    CHECK_STR(refused.err.msg,
              "queue.cap (2) is reached, and queues are disabled: try again when a "
              "run has ended, or raise queue.cap in pawl.yaml");
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM submit_keys"), 0);
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM executions WHERE parent IS NULL"), 2);
    CHECK_OK(submit_job(s, (struct submission){.shares_slot = true}).rc);
    CHECK_OK(submit_job(with_queues, (struct submission){0}).rc); /* this job waits for a worker */
    CHECK_EQ(limit_number(s, "used"), 2);
    verify_clean(s);
    store_close(&with_queues);
    store_close(&s);
}

TEST(job_with_a_delay_waits_for_the_cap_when_its_delay_ends)
{
    struct store *s = open_with_cap(1);
    struct submission later = submit_job(s, (struct submission){.delay = SECOND});

    CHECK_OK(later.rc);
    CHECK_OK(submit_job(s, (struct submission){0}).rc);
    clock_advance(2 * SECOND);
    run_timers(s);
    CHECK_EQ(get(s, later.id).held, HELD_LIMIT);
    CHECK_STR(get(s, later.id).held_key, CAP);
    drain(s);
    verify_clean(s);
    store_close(&s);
}

TEST(task_with_its_own_concurrency_key_needs_both_permits)
{
    struct store *s = open_with_cap(2);
    int64_t w = submit_workflow(
        s,
        "name: w\ntasks:\n  a: {run: x, concurrency: k}\n  b: {run: x, concurrency: k}\n"
        "  c: {run: x}\n  d: {run: x, concurrency: 'pawl:here'}\n",
        NULL);

    CHECK_STR(get(s, task_of(s, w, "b")).held_key, "key:k");
    CHECK_STR(get(s, task_of(s, w, "d")).held_key, CAP);
    CHECK_EQ(limit_number(s, "used"), 2);
    verify_clean(s);
    CHECK_EQ(claim_tasks(s, &k), 2); /* a and c */
    settle_task(s, k.held[0], OUTCOME_OK, NULL);
    CHECK_EQ(limit_number(s, "used"), 2);
    verify_clean(s);
    settle_task(s, k.held[1], OUTCOME_OK, NULL);
    run_workflows(s, "");
    CHECK_EQ(limit_number(s, "used"), 0);
    verify_clean(s);
    store_close(&s);
}

TEST(higher_cap_admits_held_tasks_and_a_lower_one_is_reached_as_jobs_end)
{
    struct store *two = open_with_cap(2), *three = open_with_cap(3), *one = open_with_cap(1);
    struct held_job last;

    submit_workflow(two, TASKS, NULL);
    CHECK_EQ(limit_number(two, "used"), 2);
    submit_workflow(three, "name: v\ntasks: {e: {run: x}}\n", NULL);
    CHECK_EQ(limit_number(two, "used"), 3);
    CHECK_EQ(limit_number(two, "max"), 3);
    CHECK_EQ(submit_job(one, (struct submission){0}).rc, -E_REFUSED);
    CHECK_EQ(claim_tasks(one, &k), 3);
    last = k.held[2];
    settle_task(one, k.held[0], OUTCOME_OK, NULL);
    settle_task(one, k.held[1], OUTCOME_OK, NULL);
    CHECK_EQ(limit_number(two, "max"), 1);
    CHECK_EQ(limit_number(two, "used"), 1);
    CHECK_EQ(claim_tasks(one, &k), 0);
    verify_clean(one);
    settle_task(one, last, OUTCOME_OK, NULL);
    CHECK_EQ(claim_tasks(one, &k), 1);
    settle_task(one, k.held[0], OUTCOME_OK, NULL);
    run_workflows(one, "");
    verify_clean(one);
    store_close(&two);
    store_close(&three);
    store_close(&one);
}

TEST(rerun_and_retry_of_a_capped_task_count_against_the_cap)
{
    struct store *s = open_with_cap(1);
    int64_t w = submit_workflow(s, "name: w\ntasks: {a: {run: x, retry: 1}}\n", NULL);
    int64_t a = task_of(s, w, "a");
    struct submission other;

    CHECK_OK(settle_as(s, claim_job(s, 1), OUTCOME_FAILED, SECOND));
    other = submit_job(s, (struct submission){0}); /* a permit is free between two attempts */
    CHECK_OK(other.rc);
    clock_advance(2 * SECOND);
    run_timers(s);
    CHECK_STR(get(s, a).held_key, CAP);
    drain(s);
    CHECK_EQ(status_of(s, w), S_SUCCEEDED);
    CHECK_STR(rerun(s, w, RERUN_WHOLE, NULL), "w");
    CHECK(get(s, a).flags & FLAG_CAPPED);
    CHECK_EQ(limit_number(s, "used"), 1);
    verify_clean(s);
    drain(s);
    verify_clean(s);
    store_close(&s);
}

TEST(sql_submission_taken_by_a_process_without_queues_counts_against_its_cap)
{
    struct store *s = open_with_cap(2);

    apply(s, TASKS);
    sql_submit(s, (struct sql_call){0});
    sql_submit(s, (struct sql_call){0});
    CHECK_EQ(take_submissions(s), 2);
    CHECK_EQ(limit_number(s, "used"), 2);
    CHECK_EQ(held(s), 6);
    run_workflows(s, "");
    verify_clean(s);
    store_close(&s);
}

/* Shared by the processes of the next test. */
static _Atomic int *running, *most;

static void work_with_cap(int nth)
{
    struct store *s = open_with_cap(3);

    submit_workflow(s, TASKS, NULL);
    for (int i = 0; sql_number(s, "SELECT count(*) FROM executions WHERE finished_at IS NULL");
         i++) {
        struct held_job j;
        int now;

        if (i < 10)
            submit_job(s, (struct submission){0});
        if (!claim_one(s, nth + 1, &j))
            continue;
        now = ++*running;
        for (int m = *most; now > m && !atomic_compare_exchange_weak(most, &m, now);)
            ;
        --*running;                        /* before the settle, which frees the permit */
        while (settle_ok(s, j) == -E_BUSY) /* another process has locked its tree */
            ;
    }
    store_close(&s);
}

TEST(concurrent_processes_with_jobs_and_workflows_do_not_exceed_the_cap)
{
    struct store *s = fixture_store();

    store_close(&s);
    running = shared_memory(sizeof(*running));
    most = shared_memory(sizeof(*most));
    run_processes(4, work_with_cap);
    CHECK(*most <= 3);
    s = fixture_store();
    verify_clean(s);
    store_close(&s);
}
