/* test_unlocked_read.c - a turn that decides about a task reads its needs without a lock. When the
 * same turn then claims, adopts or reaps such a job, it uses the row read under the lock, not the
 * unlocked read: other transactions, which do not hold the root lock, may have changed the job in
 * between. SQLite excludes this. */
#include "concurrent_turns_fixture.h"
#include "workflow_fixture.h"

/* c is decided when a has ended, and its join reads all of its needs. */
#define JOIN "  c: {run: x, needs: [a, b], join: any}\n"

static struct store *other;

/* The turn settles one job, decides its followers, then claims or adopts jobs. */
struct settling_turn {
    struct held_job ends;
    struct adoption adoption; /* a claim uses only its `claim` */
    bool adopts;
    struct held_job got[4];
    size_t n;
};

static int settle_and_claim_body(struct turn *t, void *arg, struct err *err)
{
    struct settling_turn *g = arg;
    struct held_job j = g->ends;
    struct settlement s = {.lease = {.execution = j.id, .root = j.root, .epoch = j.epoch},
                           .outcome = {.kind = OUTCOME_OK, .duration = 1, .retry_delay = -1}};
    struct job_list jobs;
    int rc;

    if ((rc = op_settle(t, j.worker, &s, 1, err)) || (rc = op_advance(t, err)))
        return rc;
    rc = g->adopts ? op_adopt(t, &g->adoption, &jobs, err)
                   : op_claim(t, &g->adoption.claim, &jobs, err);
    for (g->n = 0; !rc && g->n < jobs.n; g->n++)
        g->got[g->n] = held_job_of(jobs.at[g->n]);
    return rc;
}

/* Another engine acts when the turn reaches `where`, after the unlocked read of b. */
static void run_turn_with_action_at(struct settling_turn *g, struct store *s, struct watch *watch,
                                    const char *where, void (*act)(void *arg), void *arg)
{
    struct err err = ERR_INIT;

    g->adoption.claim = claim_of(9, 4, LEASE);
    if (on_sqlite())
        act(arg);
    else
        watch_for(watch, where, 1, act, arg);
    CHECK_OK_ERR(store_turn(s, settle_and_claim_body, g, &err), &err);
    check_not_redone(watch);
    CHECK(on_sqlite() || watch->acted);
    verify_clean(s);
}

static bool was_claimed(const struct settling_turn *g, int64_t id)
{
    size_t i;

    for (i = 0; i < g->n; i++)
        if (g->got[i].id == id)
            return true;
    return false;
}

static void settle_job(void *job)
{
    CHECK_EQ(settle_ok(other, *(struct held_job *)job), 0);
}

static void check_succeeded_and_close(struct store *s, int64_t workflow)
{
    CHECK_EQ(status_of(s, workflow), S_SUCCEEDED);
    verify_clean(s);
    store_close(&other);
    store_close(&s);
}

TEST(job_that_gets_its_permit_after_a_turns_unlocked_read_is_claimed_by_that_turn)
{
    struct watch watch = {0};
    struct store *s = watched_store(&watch);
    struct settling_turn g = {0};
    struct held_job first;
    int64_t w;

    other = fixture_store();
    submit_with(s, (struct submission){.name = "x", .concurrency = "k", .concurrency_max = 1});
    first = claim_job(s, 7);
    w = submit_workflow(s,
                        "name: w\ntasks:\n  a: {run: x}\n"
                        "  b: {run: x, concurrency: {key: k, max: 1}}\n" JOIN,
                        NULL);
    CHECK_EQ(get(s, task_of(s, w, "b")).held, HELD_LIMIT);
    g.ends = claim_job(s, 7);
    run_turn_with_action_at(&g, s, &watch, "claim", settle_job, &first);
    CHECK(was_claimed(&g, task_of(s, w, "b")));
    CHECK_EQ(g.n, 2); /* b and c were claimed */
    CHECK_EQ(settle_ok(s, g.got[0]), 0);
    CHECK_EQ(settle_ok(s, g.got[1]), 0);
    check_succeeded_and_close(s, w);
}

static void claim_as_dead_worker(void *job)
{
    *(struct held_job *)job = claim_job(other, 8);
}

/* The claim was still in progress when the worker was killed. */
TEST(job_that_a_dead_worker_claimed_after_a_turns_unlocked_read_is_adopted_by_that_turn)
{
    static const int64_t dead[] = {8};
    struct watch watch = {0};
    struct store *s = watched_store(&watch);
    struct settling_turn g = {.adopts = true,
                              .adoption = {.dead_workers = dead, .ndead_workers = 1}};
    struct held_job b;
    int64_t w = submit_workflow(s, "name: w\ntasks:\n  a: {run: x}\n  b: {run: x}\n" JOIN, NULL);

    other = fixture_store();
    g.ends = claim_job(s, 7);
    run_turn_with_action_at(&g, s, &watch, "leases_of_dead_workers", claim_as_dead_worker, &b);
    CHECK_EQ(g.n, 1);
    CHECK_EQ(g.got[0].id, b.id);
    CHECK_EQ(g.got[0].epoch, b.epoch + 1);
    CHECK_STR(history(s, b.id), "created marked_ready claimed lease_expired adopted");
    CHECK_EQ(settle_ok(s, b), -E_LEASE_LOST);
    CHECK_EQ(settle_ok(s, g.got[0]), 0);
    run_workflows_in_sets(s);
    check_succeeded_and_close(s, w);
}

static void reap_one(void *unused)
{
    (void)unused;
    CHECK_EQ(reap(other), 1);
}

TEST(job_that_is_reaped_after_a_turns_unlocked_read_is_adopted_by_that_turn)
{
    struct watch watch = {0};
    struct store *s = watched_store(&watch);
    struct settling_turn g = {.adopts = true};
    struct held_job b;
    int64_t w = submit_workflow(s, "name: w\ntasks:\n  a: {run: x}\n  b: {run: x}\n" JOIN, NULL);

    other = fixture_store();
    g.ends = claim_job(s, 7);
    b = claim_job(s, 8);
    clock_advance(LEASE / 2);
    CHECK_EQ(heartbeat(other, g.ends), 0);
    clock_advance(LEASE / 2 + SECOND);
    watch.env.clock_offset = fixture_env()->clock_offset;
    run_turn_with_action_at(&g, s, &watch, "orphans", reap_one, NULL);
    CHECK_EQ(g.n, 1);
    CHECK_EQ(g.got[0].id, b.id);
    CHECK_STR(history(s, b.id), "created marked_ready claimed lease_expired adopted");
    CHECK_EQ(settle_ok(s, g.got[0]), 0);
    run_workflows_in_sets(s);
    check_succeeded_and_close(s, w);
}
