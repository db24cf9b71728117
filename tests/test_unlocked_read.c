/* test_unlocked_read.c - a turn that decides on a task looks at what it needs without a lock. When
 * the same turn then claims, adopts or reaps such a job it goes by what the job is under the lock,
 * not by what it was when it was looked at: others may have been there in between who do not have
 * the lock of the tree. On SQLite nobody can be. */
#include "meeting_fixture.h"
#include "workflow_fixture.h"

/* c is decided on when a has ended, and with a join all of its needs are looked at. */
#define JOIN "  c: {run: x, needs: [a, b], join: any}\n"

static struct store *other;

/* The turn: one job ends, what follows is decided, then jobs are taken. */
struct taking {
    struct held_job ends;
    struct adoption adoption; /* its claim is all that a claim needs */
    bool adopts;
    struct held_job got[4];
    size_t n;
};

static int take_body(struct turn *t, void *arg, struct err *err)
{
    struct taking *g = arg;
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
        g->got[g->n] = held(jobs.at[g->n]);
    return rc;
}

/* Another engine acts when the turn comes to `where`, after it has looked at b. */
static void take_after(struct taking *g, struct store *s, struct watch *watch, const char *where,
                       void (*act)(void *arg), void *arg)
{
    struct err err = ERR_INIT;

    g->adoption.claim = claim_of(9, 4, LEASE);
    if (on_sqlite())
        act(arg);
    else
        watch_for(watch, where, 1, act, arg);
    CHECK_OK_ERR(store_turn(s, take_body, g, &err), &err);
    check_not_redone(watch);
    CHECK(on_sqlite() || watch->acted);
    verify_clean(s);
}

static bool has_got(const struct taking *g, int64_t id)
{
    size_t i;

    for (i = 0; i < g->n; i++)
        if (g->got[i].id == id)
            return true;
    return false;
}

static void end_it(void *job)
{
    CHECK_EQ(settle_ok(other, *(struct held_job *)job), 0);
}

TEST(a_job_that_gets_its_permit_after_it_was_looked_at_is_claimed_by_that_turn)
{
    struct watch watch = {0};
    struct store *s = watched_store(&watch);
    struct taking g = {0};
    struct held_job first;
    int64_t w;

    other = fixture_store();
    submit_with(s, (struct submission){.name = "x", .concurrency = "k", .concurrency_max = 1});
    first = claim_job(s, 7);
    w = flow_submit(s,
                    "name: w\ntasks:\n  a: {run: x}\n"
                    "  b: {run: x, concurrency: {key: k, max: 1}}\n" JOIN,
                    NULL);
    CHECK_EQ(get(s, flow_task(s, w, "b")).held, HELD_LIMIT);
    g.ends = claim_job(s, 7);
    take_after(&g, s, &watch, "claim", end_it, &first);
    CHECK(has_got(&g, flow_task(s, w, "b")));
    CHECK_EQ(g.n, 2); /* and c */
    CHECK_EQ(settle_ok(s, g.got[0]), 0);
    CHECK_EQ(settle_ok(s, g.got[1]), 0);
    CHECK_EQ(status_of(s, w), S_SUCCEEDED);
    verify_clean(s);
    store_close(&other);
    store_close(&s);
}

static void claim_it(void *job)
{
    *(struct held_job *)job = claim_job(other, 8);
}

/* Its claim was on the way when it was killed. */
TEST(a_job_that_a_dead_worker_claims_after_it_was_looked_at_is_adopted_by_that_turn)
{
    static const int64_t dead[] = {8};
    struct watch watch = {0};
    struct store *s = watched_store(&watch);
    struct taking g = {.adopts = true, .adoption = {.dead_workers = dead, .ndead_workers = 1}};
    struct held_job b;
    int64_t w = flow_submit(s, "name: w\ntasks:\n  a: {run: x}\n  b: {run: x}\n" JOIN, NULL);

    other = fixture_store();
    g.ends = claim_job(s, 7);
    take_after(&g, s, &watch, "leases_of_dead_workers", claim_it, &b);
    CHECK_EQ(g.n, 1);
    CHECK_EQ(g.got[0].id, b.id);
    CHECK_EQ(g.got[0].epoch, b.epoch + 1);
    CHECK_STR(history(s, b.id), "created marked_ready claimed lease_expired adopted");
    CHECK_EQ(settle_ok(s, b), -E_LEASE_LOST);
    CHECK_EQ(settle_ok(s, g.got[0]), 0);
    flow_play_sets(s);
    CHECK_EQ(status_of(s, w), S_SUCCEEDED);
    verify_clean(s);
    store_close(&other);
    store_close(&s);
}

static void reap_it(void *unused)
{
    (void)unused;
    CHECK_EQ(reap(other), 1);
}

TEST(a_job_that_is_reaped_after_it_was_looked_at_is_adopted_by_that_turn)
{
    struct watch watch = {0};
    struct store *s = watched_store(&watch);
    struct taking g = {.adopts = true};
    struct held_job b;
    int64_t w = flow_submit(s, "name: w\ntasks:\n  a: {run: x}\n  b: {run: x}\n" JOIN, NULL);

    other = fixture_store();
    g.ends = claim_job(s, 7);
    b = claim_job(s, 8);
    clock_advance(LEASE / 2);
    CHECK_EQ(heartbeat(other, g.ends), 0);
    clock_advance(LEASE / 2 + SECOND);
    watch.env.clock_offset = fixture_env()->clock_offset;
    take_after(&g, s, &watch, "orphans", reap_it, NULL);
    CHECK_EQ(g.n, 1);
    CHECK_EQ(g.got[0].id, b.id);
    CHECK_STR(history(s, b.id), "created marked_ready claimed lease_expired adopted");
    CHECK_EQ(settle_ok(s, g.got[0]), 0);
    flow_play_sets(s);
    CHECK_EQ(status_of(s, w), S_SUCCEEDED);
    verify_clean(s);
    store_close(&other);
    store_close(&s);
}
