/* test_deadlock.c - every pair of operations, with the second run at each statement of the first.
 * Whatever the order, no turn is redone, nothing is lost, and verify finds nothing. */
#include "concurrent_turns_fixture.h"
#include "store/operator.h"

#include <stdlib.h>

TEST_LONG;
TEST_ASAN_DB(sqlite); /* the same operations: on PostgreSQL only their order differs */

/* ---- every pair of operations, at every statement ---- */

/* A workflow in progress, and the ids that the operations need. Each scenario has a higher priority
 * than those before, so that its own jobs are claimed. */
struct scenario {
    int number;
    int64_t workflow, ready, paused;
    struct held_job one, two; /* running; so is a third job, whose lease has expired */
    int64_t removed;          /* how many trees retention removed */
};

/* Does everything in one turn, because this runs some thousand times. */
static int scenario_body(struct turn *t, void *arg, struct err *err)
{
    struct submission workflow = {.kind = KIND_WORKFLOW, .task_index = -1, .name = "flow"}, jobs[7];
    struct scenario *w = arg;
    struct claim normal = claim_of(w->number, 2, LEASE), brief = claim_of(w->number, 1, 1);
    struct job_list list;
    int rc, i;

    if ((rc = op_submit(t, &workflow, 1, err)))
        return rc;
    for (i = 0; i < 7; i++)
        jobs[i] = (struct submission){.kind = KIND_TASK,
                                      .task_index = -1,
                                      .name = "x",
                                      .parent = i < 6 ? workflow.id : 0,
                                      .priority = w->number,
                                      .max_attempts = 3,
                                      .paused = i == 4,
                                      .delay = i == 5};
    if ((rc = door_flush(t, err)) || (rc = op_submit(t, jobs, 7, err)) ||
        (rc = op_claim(t, &normal, &list, err)))
        return rc;
    w->one = held_job_of(list.at[0]);
    w->two = held_job_of(list.at[1]);
    if ((rc = op_claim(t, &brief, &list, err)))
        return rc;
    w->workflow = workflow.id;
    w->ready = jobs[3].id;
    w->paused = jobs[4].id;
    CHECK_EQ(w->one.id, jobs[0].id);
    CHECK_EQ(list.at[0]->id, jobs[2].id);
    return 0;
}

struct op {
    const char *name;
    int (*body)(struct turn *t, void *arg, struct err *err);
};

static int cancel_id(struct turn *t, int64_t id, struct err *err)
{
    struct request r = {.execution = id};
    bool more;

    return op_cancel(t, &r, 1, 100, &more, err);
}

static int cancel_workflow(struct turn *t, void *arg, struct err *err)
{
    return cancel_id(t, ((struct scenario *)arg)->workflow, err);
}

static int cancel_ready(struct turn *t, void *arg, struct err *err)
{
    return cancel_id(t, ((struct scenario *)arg)->ready, err);
}

static int claim_two(struct turn *t, void *arg, struct err *err)
{
    struct claim c = claim_of(1000002, 2, LEASE);
    struct job_list list;

    (void)arg;
    return op_claim(t, &c, &list, err);
}

/* Settles a job, and ends the workflow if that was its last open child, as an engine does. */
static int settle_and_end_workflow(struct turn *t, struct held_job j, int64_t workflow,
                                   struct settlement *out, struct err *err)
{
    struct outcome ok = {.kind = OUTCOME_OK, .duration = 1, .retry_delay = -1};
    struct workflow_end end = {.id = workflow, .status = S_SUCCEEDED};
    int rc;

    *out = (struct settlement){.lease = {.execution = j.id, .root = j.root, .epoch = j.epoch},
                               .outcome = ok};
    if ((rc = op_settle(t, j.worker, out, 1, err)) || out->lease.rc)
        return rc;
    rc = workflow_end_body(t, &end, err);
    return rc == -E_INVALID ? 0 : rc; /* it has another open child */
}

static int settle_one(struct turn *t, void *arg, struct err *err)
{
    struct scenario *w = arg;
    struct settlement s;

    return settle_and_end_workflow(t, w->one, w->workflow, &s, err);
}

static int settle_two(struct turn *t, void *arg, struct err *err)
{
    struct scenario *w = arg;
    struct settlement s;

    return settle_and_end_workflow(t, w->two, w->workflow, &s, err);
}

static int retry_one(struct turn *t, void *arg, struct err *err)
{
    struct held_job j = ((struct scenario *)arg)->one;
    struct settlement s = {
        .lease = {.execution = j.id, .root = j.root, .epoch = j.epoch},
        .outcome = {.kind = OUTCOME_FAILED, .error = "no", .duration = 1, .retry_delay = 0}};

    return op_settle(t, j.worker, &s, 1, err);
}

static int start_one(struct turn *t, void *arg, struct err *err)
{
    struct held_job j = ((struct scenario *)arg)->one;
    struct start s = {.lease = {.execution = j.id, .root = j.root, .epoch = j.epoch}, .ago = 1};

    return op_record_starts(t, j.worker, &s, 1, err);
}

static int reap_all(struct turn *t, void *arg, struct err *err)
{
    (void)arg;
    return op_reap(t, &(struct reap_slice){.max = 1000}, err);
}

static int adopt_dead(struct turn *t, void *arg, struct err *err)
{
    int64_t dead = ((struct scenario *)arg)->number;
    struct adoption a = {
        .claim = claim_of(1000003, 10, LEASE), .dead_workers = &dead, .ndead_workers = 1};
    struct job_list list;

    return op_adopt(t, &a, &list, err);
}

static int fire_timers(struct turn *t, void *arg, struct err *err)
{
    (void)arg;
    return op_fire_timers(t, &(struct timer_slice){.max = 1000}, err);
}

static int hold_ready(struct turn *t, void *arg, struct err *err)
{
    struct request r = {.execution = ((struct scenario *)arg)->ready};
    bool more;

    return op_pause(t, &r, 1, 1000, &more, err);
}

static int unhold_paused(struct turn *t, void *arg, struct err *err)
{
    struct request r = {.execution = ((struct scenario *)arg)->paused};
    bool more;

    return op_resume(t, &r, 1, 1000, &more, err);
}

static int submit_below(struct turn *t, void *arg, struct err *err)
{
    struct submission s = {.kind = KIND_TASK,
                           .task_index = -1,
                           .name = "late",
                           .parent = ((struct scenario *)arg)->workflow};

    return op_submit(t, &s, 1, err);
}

/* Never reaches the last slice, which waits for all turns that have read the limits. */
static int retain_old(struct turn *t, void *arg, struct err *err)
{
    struct retention from = {.older_than = 1800 * SECOND, .max_trees = 1}, to;

    int rc = op_retain(t, &from, &to, err);

    ((struct scenario *)arg)->removed += to.trees;
    return rc;
}

#define OLD_TREES 600

static int make_old(struct turn *t, void *arg, struct err *err)
{
    static struct submission list[OLD_TREES];
    static struct request requests[OLD_TREES];
    bool more;
    int i, rc;

    (void)arg;
    for (i = 0; i < OLD_TREES; i++)
        list[i] = (struct submission){.kind = KIND_EXEC, .task_index = -1, .name = "old"};
    if ((rc = op_submit(t, list, OLD_TREES, err)) || (rc = door_flush(t, err)))
        return rc;
    for (i = 0; i < OLD_TREES; i++)
        requests[i] = (struct request){.execution = list[i].id};
    return op_cancel(t, requests, OLD_TREES, 10, &more, err);
}

static const struct op ops[] = {
    {"cancel_flow", cancel_workflow},
    {"cancel_ready", cancel_ready},
    {"claim", claim_two},
    {"settle_one", settle_one},
    {"settle_two", settle_two},
    {"retry_one", retry_one},
    {"start_one", start_one},
    {"reap", reap_all},
    {"adopt", adopt_dead},
    {"timers", fire_timers},
    {"hold", hold_ready},
    {"unhold", unhold_paused},
    {"submit", submit_below},
    {"retain", retain_old},
};
#define NOPS ((int)(sizeof(ops) / sizeof(*ops)))

/* Two stores; the second runs its operation in the middle of a turn of the first. */
struct pair {
    struct watch w, v;
    struct store *s, *other;
    const struct op *first, *second;
    struct scenario scenario;
};

static void open_pair(struct pair *p)
{
    p->s = watched_store(&p->w);
    p->other = watched_store(&p->v);
}

static void close_pair(struct pair *p)
{
    check_not_redone(&p->w);
    check_not_redone(&p->v);
    store_close(&p->other);
    store_close(&p->s);
}

static void run_op(struct store *s, const struct op *op, struct scenario *scenario)
{
    struct err err = ERR_INIT;

    CHECK_OK_ERR(store_turn(s, op->body, scenario, &err), &err);
}

static void run_second(void *arg)
{
    struct pair *p = arg;
    struct err err = ERR_INIT;

    /* The server must have executed what the first turn has queued so far. */
    if (p->w.acted)
        CHECK_OK_ERR(db_flush(store_db(p->s), &err), &err);
    run_op(p->other, p->second, &p->scenario);
    if (p->v.redone)
        test_fail(__FILE__, __LINE__, "%s waits for %s, which is at %s: %s", p->second->name,
                  p->first->name, p->w.here, p->v.message);
}

/* Runs the second operation at the nth statement of the first. Returns false if the first has fewer
 * statements. */
static bool run_pair(struct pair *p, int nth)
{
    struct err err = ERR_INIT;

    watch_for(&p->w, NULL, 0, NULL, NULL);
    p->scenario = (struct scenario){.number = p->scenario.number + 1};
    CHECK_OK_ERR(store_turn(p->s, scenario_body, &p->scenario, &err), &err);
    if (on_sqlite())
        run_second(p);
    else
        watch_for(&p->w, NULL, nth, run_second, p);
    run_op(p->s, p->first, &p->scenario);
    if (p->w.redone)
        test_fail(__FILE__, __LINE__, "%s was redone; at its statement %d ran %s: %s",
                  p->first->name, nth, p->second->name, p->w.message);
    /* If both are retention, one may leave the tree to the other. */
    if (p->first->body == retain_old || (p->w.acted && p->second->body == retain_old))
        CHECK(p->scenario.removed >= 1);
    return p->w.acted;
}

/* `make test` covers only some statements of each pair, different ones for the next pair. */
TEST_SLOW(turn_that_starts_at_any_statement_of_another_turn_does_not_deadlock, 600)
{
    int a, b, nth, stride = test_full() ? 1 : SANITIZED ? 12 : 6;
    struct err err = ERR_INIT;
    struct pair p = {0};
    struct store *last;

    setenv("PGOPTIONS", "-c synchronous_commit=off", 1); /* durability is not tested here */
    last = fixture_store();
    CHECK_OK_ERR(store_turn(last, make_old, NULL, &err), &err);
    clock_advance(3600 * SECOND);
    open_pair(&p);
    for (a = 0; a < NOPS; a++) {
        for (b = 0; b < NOPS; b++) {
            p.first = &ops[a];
            p.second = &ops[b];
            for (nth = 1 + (a + b) % stride; run_pair(&p, nth); nth += stride)
                ;
        }
        watch_for(&p.w, NULL, 0, NULL, NULL);
        verify_clean(p.s);
        /* Draining advances the clock, so that ended trees are old enough for retention. */
        drain(last);
        verify_clean(last);
        p.w.env.clock_offset = p.v.env.clock_offset = fixture_env()->clock_offset;
    }
    store_close(&last);
    close_pair(&p);
}

/* Each turn settles its own child, and the later one ends the workflow. If neither saw that the
 * other child has ended, the workflow would never end. */
TEST(siblings_that_end_at_the_same_time_end_their_workflow)
{
    struct pair p = {.first = &ops[3], .second = &ops[4]};

    open_pair(&p);
    p.scenario.workflow = submit_with(p.s, (struct submission){.name = "f", .kind = KIND_WORKFLOW});
    submit_child(p.s, p.scenario.workflow, "one");
    submit_child(p.s, p.scenario.workflow, "two");
    p.scenario.one = claim_job(p.s, 1);
    p.scenario.two = claim_job(p.s, 2);
    if (!on_sqlite())
        watch_for(&p.w, "commit", 1, run_second, &p);
    run_op(p.s, p.first, &p.scenario);
    CHECK(on_sqlite() || p.w.acted);
    run_second(&p); /* once more, because the first time the tree was busy */
    CHECK_EQ(status_of(p.s, p.scenario.workflow), S_SUCCEEDED);
    verify_clean(p.s);
    close_pair(&p);
}
