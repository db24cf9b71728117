/* test_workflow_concurrency.c - a permit is passed on, or a job is claimed, by a transaction
 * without the root lock, while followers in the tree are notified: no follower is notified twice,
 * and unlocked reads are read again. */
#include "followers_fixture.h"

static struct task_claim k;

/* ---- workflows that wait for a permit ---- */

/* n is decided when one of its two needs has succeeded, and then waits for a permit that c holds.
 */
struct waiting {
    struct store *other;
    int64_t w, n;
    struct held_job c, second; /* `second` is the other need of n */
};

static void wait_for_permit(struct store *s, struct waiting *p)
{
    static const char *const files[] = {
        "w.yaml",
        "name: w\ntasks:\n  a: {run: x}\n  b: {run: x}\n"
        "  n: {workflow: sub.yaml, needs: [a, b], join: any, concurrency: {key: k, max: 1}}\n",
        "sub.yaml", "name: sub\ntasks: {p: {run: x}, q: {run: x}}\n", NULL};

    submit_workflow(s, "name: v\nconcurrency: {key: k, max: 1}\ntasks: {c: {run: x}}\n", NULL);
    p->w = submit_workflow_text(s, workflow_text_of_files(files), NULL);
    p->n = task_of(s, p->w, "n");
    CHECK_EQ(claim_tasks(s, &k), 3);
    p->c = k.held[0];
    p->second = k.held[2];
    settle_task(s, k.held[1], OUTCOME_OK, NULL);
    CHECK_EQ(get(s, p->n).held, HELD_LIMIT);
    verify_clean(s);
}

static void run_to_the_end(struct store *s, const struct waiting *p)
{
    run_all_timers(s);
    CHECK_EQ(task_status(s, p->n, "p"), S_READY);
    CHECK_EQ(task_status(s, p->n, "q"), S_READY);
    play_to_the_end(s, p->w, S_SUCCEEDED);
}

TEST(need_that_ends_while_a_workflow_waits_for_its_permit_is_not_counted_as_one_of_its_tasks)
{
    struct store *s = fixture_store();
    struct waiting p = {0};

    wait_for_permit(s, &p);
    settle_task(s, p.second, OUTCOME_OK, NULL);
    CHECK_EQ(get(s, p.n).held, HELD_LIMIT);
    verify_clean(s);
    settle_task(s, p.c, OUTCOME_OK, NULL);
    run_to_the_end(s, &p);
    store_close(&s);
}

static void pass_permit(void *arg)
{
    const struct waiting *p = arg;

    settle_task(p->other, p->c, OUTCOME_OK, NULL);
}

/* The transaction that passes the permit does not hold the root lock. */
TEST(need_that_ends_while_a_workflow_gets_its_permit_does_not_block_the_workflow)
{
    struct watch watch = {0};
    struct store *s = watched_store(&watch);
    struct waiting p = {.other = fixture_store()};

    wait_for_permit(s, &p);
    if (!strcmp(test_db(), "sqlite"))
        pass_permit(&p);
    else
        watch_for(&watch, "execution_outcome", 1, pass_permit, &p);
    settle_task(s, p.second, OUTCOME_OK, NULL);
    CHECK_EQ(watch.redone, 0);
    verify_clean(s);
    run_to_the_end(s, &p);
    store_close(&p.other);
    store_close(&s);
}

/* ---- unlocked reads ---- */

struct ending {
    struct held_job ends;
    struct request cancel;
};

/* Followers are notified before the cancel, so they were loaded by an unlocked read only. */
static int end_and_cancel_body(struct turn *t, void *arg, struct err *err)
{
    struct ending *e = arg;
    struct held_job j = e->ends;
    struct settlement s = {.lease = {.execution = j.id, .root = j.root, .epoch = j.epoch},
                           .outcome = {.kind = OUTCOME_OK, .duration = 1, .retry_delay = -1}};
    bool more;
    int rc;

    if ((rc = op_settle(t, j.worker, &s, 1, err)) || (rc = op_advance(t, err)))
        return rc;
    return op_cancel(t, &e->cancel, 1, 100, &more, err);
}

/* Another transaction, which needs no root lock, acts in between. */
static void end_and_cancel(struct ending *e, struct store *s, struct watch *watch,
                           void (*act)(void *arg), void *arg)
{
    struct err err = ERR_INIT;

    if (!strcmp(test_db(), "sqlite"))
        act(arg);
    else
        watch_for(watch, "open_subtree", 1, act, arg);
    CHECK_OK_ERR(store_turn(s, end_and_cancel_body, e, &err), &err);
    CHECK_EQ(e->cancel.rc, 0);
    CHECK_EQ(watch->redone, 0);
    verify_clean(s);
}

TEST(workflow_that_gets_its_permit_just_before_a_cancel_is_cancelled)
{
    struct watch watch = {0};
    struct store *s = watched_store(&watch);
    struct waiting p = {.other = fixture_store()};
    struct ending e = {0};

    wait_for_permit(s, &p);
    e = (struct ending){.ends = p.second, .cancel = {.execution = p.n, .by = "ada"}};
    end_and_cancel(&e, s, &watch, pass_permit, &p);
    run_all_timers(s);
    CHECK_EQ(status_of(s, p.n), S_CANCELLED);
    play_to_the_end(s, p.w, S_CANCELLED);
    store_close(&p.other);
    store_close(&s);
}

static struct held_job claimed;

static void claim_one_job(void *other)
{
    claimed = claim_job(other, 7);
}

/* A join reads all needs when one of them has ended. */
TEST(job_claimed_just_before_a_cancel_is_asked_to_stop)
{
    struct watch watch = {0};
    struct store *s = watched_store(&watch), *other = fixture_store();
    int64_t w = submit_workflow(s,
                                "name: w\ntasks:\n  a: {run: x}\n  b: {run: x}\n"
                                "  c: {run: x, needs: [a, b], join: any}\n",
                                NULL);
    struct ending e = {.ends = claim_job(s, 7), .cancel = {.execution = w, .by = "ada"}};

    end_and_cancel(&e, s, &watch, claim_one_job, other);
    CHECK_STR(tree_text(s, w), "a:succeeded b:running c:cancelled");
    CHECK_EQ(settle_as(s, claimed, OUTCOME_CANCELLED, -1), 0);
    play_to_the_end(s, w, S_CANCELLED);
    store_close(&other);
    store_close(&s);
}

/* ---- items cancelled by the turn that frees their permit ---- */

TEST(item_cancelled_by_fail_fast_does_not_start_with_the_permit_of_the_failed_item)
{
    static const char *const files[] = {
        "w.yaml", "name: w\ntasks: {each: {foreach: 3, workflow: sub.yaml, fail_fast: true}}\n",
        "sub.yaml",
        "name: sub\nconcurrency: {key: k, max: 1}\ntasks: {a: {run: x, retry: 0}}\n"
        "on_exit: {run: x}\n",
        NULL};
    struct store *s = fixture_store();
    int64_t w = submit_workflow_text(s, workflow_text_of_files(files), NULL),
            each = task_of(s, w, "each");

    CHECK_EQ(claim_tasks(s, &k), 1);
    settle_task(s, k.held[0], OUTCOME_FAILED, NULL);
    CHECK_EQ(claim_tasks(s, &k), 1);
    CHECK_STR(k.names[0], "on_exit");
    settle_task(s, k.held[0], OUTCOME_OK, NULL);
    CHECK_EQ(claim_tasks(s, &k), 0);
    CHECK_EQ(status_of(s, each), S_FAILED);
    CHECK_STR(history(s, task_of(s, w, "each[1]")), "created held cancelled");
    play_to_the_end(s, w, S_FAILED);
    store_close(&s);
}

/* A timeout cancels the task of the first item, which frees its permit, and fail_fast cancels the
 * second item. */
TEST(item_cancelled_by_fail_fast_does_not_start_with_a_permit_freed_by_a_timeout)
{
    static const char *const files[] = {
        "w.yaml", "name: w\ntasks: {each: {foreach: 2, workflow: sub.yaml, fail_fast: true}}\n",
        "sub.yaml",
        "name: sub\ntimeout: 10s\nconcurrency: {key: k, max: 2}\n"
        "tasks: {a: {run: x, concurrency: {key: k, max: 2}}}\n",
        NULL};
    struct store *s = fixture_store();
    int64_t w = submit_workflow_text(s, workflow_text_of_files(files), NULL);

    CHECK_STR(tree_text(s, w), "each:running each[0]:running each[1]:pending a:ready");
    clock_advance(11 * SECOND);
    CHECK_EQ(run_timers(s), 1);
    CHECK_STR(tree_text(s, w), "each:failed each[0]:timed_out each[1]:cancelled a:cancelled");
    CHECK_STR(history(s, task_of(s, w, "each[1]")), "created held cancelled");
    play_to_the_end(s, w, S_FAILED);
    store_close(&s);
}
