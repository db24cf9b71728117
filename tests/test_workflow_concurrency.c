/* test_workflow_concurrency.c - a permit is handed over, or a job claimed, by somebody who needs no
 * lock of the tree, while in it an end is told: nobody is told twice, and what was only looked at
 * is looked at again. */
#include "followers_fixture.h"

static struct flow_claiming k;

/* ---- who waits to begin ---- */

/* n is decided on when one of two has succeeded, and then waits for a permit that c holds. */
struct waiting {
    struct store *other;
    int64_t w, n;
    struct held_job c, second; /* of those that n needs */
};

static void wait_for_permit(struct store *s, struct waiting *p)
{
    static const char *const files[] = {
        "w.yaml",
        "name: w\ntasks:\n  a: {run: x}\n  b: {run: x}\n"
        "  n: {workflow: sub.yaml, needs: [a, b], join: any, concurrency: {key: k, max: 1}}\n",
        "sub.yaml", "name: sub\ntasks: {p: {run: x}, q: {run: x}}\n", NULL};

    flow_submit(s, "name: v\nconcurrency: {key: k, max: 1}\ntasks: {c: {run: x}}\n", NULL);
    p->w = flow_submit_text(s, flow_text_of_files(files), NULL);
    p->n = flow_task(s, p->w, "n");
    CHECK_EQ(flow_claim(s, &k), 3);
    p->c = k.held[0];
    p->second = k.held[2];
    flow_settle(s, k.held[1], OUTCOME_OK, NULL);
    CHECK_EQ(get(s, p->n).held, HELD_LIMIT);
    verify_clean(s);
}

static void begin_and_end(struct store *s, const struct waiting *p)
{
    run_all_timers(s);
    CHECK_EQ(flow_status(s, p->n, "p"), S_READY);
    CHECK_EQ(flow_status(s, p->n, "q"), S_READY);
    play_to_the_end(s, p->w, S_SUCCEEDED);
}

TEST(a_need_that_ends_while_a_workflow_waits_for_its_permit_is_none_of_its_tasks)
{
    struct store *s = fixture_store();
    struct waiting p = {0};

    wait_for_permit(s, &p);
    flow_settle(s, p.second, OUTCOME_OK, NULL);
    CHECK_EQ(get(s, p.n).held, HELD_LIMIT);
    verify_clean(s);
    flow_settle(s, p.c, OUTCOME_OK, NULL);
    begin_and_end(s, &p);
    store_close(&s);
}

static void hand_over(void *arg)
{
    const struct waiting *p = arg;

    flow_settle(p->other, p->c, OUTCOME_OK, NULL);
}

/* Whoever hands it over does not have the lock of the tree. */
TEST(a_need_that_ends_while_a_workflow_gets_its_permit_is_no_obstacle)
{
    struct watch watch = {0};
    struct store *s = watched_store(&watch);
    struct waiting p = {.other = fixture_store()};

    wait_for_permit(s, &p);
    if (!strcmp(test_db(), "sqlite"))
        hand_over(&p);
    else
        watch_for(&watch, "execution_outcome", 1, hand_over, &p);
    flow_settle(s, p.second, OUTCOME_OK, NULL);
    CHECK_EQ(watch.redone, 0);
    verify_clean(s);
    begin_and_end(s, &p);
    store_close(&p.other);
    store_close(&s);
}

/* ---- what is only looked at ---- */

struct ending {
    struct held_job ends;
    struct request cancel;
};

/* What ended is told before the cancel comes: so what is behind it was looked at for that alone. */
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

/* Others come in between, who need no lock of the tree. */
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

TEST(a_workflow_that_gets_its_permit_before_it_is_cancelled_is_asked_to_end)
{
    struct watch watch = {0};
    struct store *s = watched_store(&watch);
    struct waiting p = {.other = fixture_store()};
    struct ending e = {0};

    wait_for_permit(s, &p);
    e = (struct ending){.ends = p.second, .cancel = {.execution = p.n, .by = "ada"}};
    end_and_cancel(&e, s, &watch, hand_over, &p);
    run_all_timers(s);
    CHECK_EQ(status_of(s, p.n), S_CANCELLED);
    play_to_the_end(s, p.w, S_CANCELLED);
    store_close(&p.other);
    store_close(&s);
}

static struct held_job claimed;

static void claim_it(void *other)
{
    claimed = claim_job(other, 7);
}

/* With a join all needs are looked at when one has ended. */
TEST(a_job_that_is_claimed_before_it_is_cancelled_is_asked_to_end)
{
    struct watch watch = {0};
    struct store *s = watched_store(&watch), *other = fixture_store();
    int64_t w = flow_submit(s,
                            "name: w\ntasks:\n  a: {run: x}\n  b: {run: x}\n"
                            "  c: {run: x, needs: [a, b], join: any}\n",
                            NULL);
    struct ending e = {.ends = claim_job(s, 7), .cancel = {.execution = w, .by = "ada"}};

    end_and_cancel(&e, s, &watch, claim_it, other);
    CHECK_STR(flow_shape(s, w), "a:succeeded b:running c:cancelled");
    CHECK_EQ(settle_as(s, claimed, OUTCOME_CANCELLED, -1), 0);
    play_to_the_end(s, w, S_CANCELLED);
    store_close(&other);
    store_close(&s);
}

/* ---- who is cancelled by the turn that frees it ---- */

TEST(an_item_that_fail_fast_cancels_does_not_begin_with_the_permit_of_the_failed_one)
{
    static const char *const files[] = {
        "w.yaml", "name: w\ntasks: {each: {foreach: 3, workflow: sub.yaml, fail_fast: true}}\n",
        "sub.yaml",
        "name: sub\nconcurrency: {key: k, max: 1}\ntasks: {a: {run: x, retry: 0}}\n"
        "on_exit: {run: x}\n",
        NULL};
    struct store *s = fixture_store();
    int64_t w = flow_submit_text(s, flow_text_of_files(files), NULL),
            each = flow_task(s, w, "each");

    CHECK_EQ(flow_claim(s, &k), 1);
    flow_settle(s, k.held[0], OUTCOME_FAILED, NULL);
    CHECK_EQ(flow_claim(s, &k), 1);
    CHECK_STR(k.names[0], "on_exit");
    flow_settle(s, k.held[0], OUTCOME_OK, NULL);
    CHECK_EQ(flow_claim(s, &k), 0);
    CHECK_EQ(status_of(s, each), S_FAILED);
    CHECK_STR(history(s, flow_task(s, w, "each[1]")), "created held cancelled");
    play_to_the_end(s, w, S_FAILED);
    store_close(&s);
}

/* A timeout cancels the task of the first, whose permit is free then, and fail_fast the second. */
TEST(an_item_that_fail_fast_cancels_does_not_begin_with_a_permit_that_a_timeout_frees)
{
    static const char *const files[] = {
        "w.yaml", "name: w\ntasks: {each: {foreach: 2, workflow: sub.yaml, fail_fast: true}}\n",
        "sub.yaml",
        "name: sub\ntimeout: 10s\nconcurrency: {key: k, max: 2}\n"
        "tasks: {a: {run: x, concurrency: {key: k, max: 2}}}\n",
        NULL};
    struct store *s = fixture_store();
    int64_t w = flow_submit_text(s, flow_text_of_files(files), NULL);

    CHECK_STR(flow_shape(s, w), "each:running each[0]:running each[1]:pending a:ready");
    clock_advance(11 * SECOND);
    CHECK_EQ(run_timers(s), 1);
    CHECK_STR(flow_shape(s, w), "each:failed each[0]:timed_out each[1]:cancelled a:cancelled");
    CHECK_STR(history(s, flow_task(s, w, "each[1]")), "created held cancelled");
    play_to_the_end(s, w, S_FAILED);
    store_close(&s);
}
