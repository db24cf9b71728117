/* test_deadlock.c - every pair of operations, one in the middle of the other at each of its
 * statements. Whatever the order, no turn is redone, nothing is lost, and verify finds nothing. */
#include "meeting_fixture.h"
#include "store/operator.h"

#include <stdlib.h>

TEST_LONG;
TEST_ASAN_DB(sqlite); /* the same operations: on PostgreSQL only their order differs */

/* ---- every pair of operations, at every statement
 * ------------------------------------------------- */

/* One workflow in the middle of its life, and what the operations know of it. Each is more urgent
 * than those before, so that its own jobs are claimed. */
struct world {
    int number;
    int64_t flow, ready, paused;
    struct held_job one, two; /* running, as is a third one, whose lease has run out */
    int64_t removed;          /* trees, by retention */
};

/* Everything in one turn: this is done some thousand times. */
static int world_body(struct turn *t, void *arg, struct err *err)
{
    struct submission flow = {.kind = KIND_WORKFLOW, .task_index = -1, .name = "flow"}, jobs[7];
    struct world *w = arg;
    struct claim usual = claim_of(w->number, 2, LEASE), brief = claim_of(w->number, 1, 1);
    struct job_list list;
    int rc, i;

    if ((rc = op_submit(t, &flow, 1, err)))
        return rc;
    for (i = 0; i < 7; i++)
        jobs[i] = (struct submission){.kind = KIND_TASK,
                                      .task_index = -1,
                                      .name = "x",
                                      .parent = i < 6 ? flow.id : 0,
                                      .priority = w->number,
                                      .max_attempts = 3,
                                      .paused = i == 4,
                                      .delay = i == 5};
    if ((rc = door_flush(t, err)) || (rc = op_submit(t, jobs, 7, err)) ||
        (rc = op_claim(t, &usual, &list, err)))
        return rc;
    w->one = held(list.at[0]);
    w->two = held(list.at[1]);
    if ((rc = op_claim(t, &brief, &list, err)))
        return rc;
    w->flow = flow.id;
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

static int cancel_flow(struct turn *t, void *arg, struct err *err)
{
    return cancel_id(t, ((struct world *)arg)->flow, err);
}

static int cancel_ready(struct turn *t, void *arg, struct err *err)
{
    return cancel_id(t, ((struct world *)arg)->ready, err);
}

static int claim_two(struct turn *t, void *arg, struct err *err)
{
    struct claim c = claim_of(1000002, 2, LEASE);
    struct job_list list;

    (void)arg;
    return op_claim(t, &c, &list, err);
}

/* Settles, and ends the flow if that was its last open child: what an engine does. */
static int settle_up(struct turn *t, struct held_job j, int64_t flow, struct settlement *out,
                     struct err *err)
{
    struct outcome ok = {.kind = OUTCOME_OK, .duration = 1, .retry_delay = -1};
    struct rows open = ROWS_INIT;
    struct args a = ARGS_INIT;
    int rc;

    *out = (struct settlement){.lease = {.execution = j.id, .root = j.root, .epoch = j.epoch},
                               .outcome = ok};
    if ((rc = op_settle(t, j.worker, out, 1, err)) || out->lease.rc)
        return rc;
    if ((rc = door_flush(t, err)))
        return rc;
    args_begin(&a, Q_OPEN_BELOW);
    args_int(&a, flow);
    if (!(rc = turn_query(t, &a, &open, err)) && !open.n)
        rc = op_flow_end(t, flow, &ok, err);
    rows_release(&open);
    args_release(&a);
    return rc;
}

static int settle_one(struct turn *t, void *arg, struct err *err)
{
    struct world *w = arg;
    struct settlement s;

    return settle_up(t, w->one, w->flow, &s, err);
}

static int settle_two(struct turn *t, void *arg, struct err *err)
{
    struct world *w = arg;
    struct settlement s;

    return settle_up(t, w->two, w->flow, &s, err);
}

static int retry_one(struct turn *t, void *arg, struct err *err)
{
    struct held_job j = ((struct world *)arg)->one;
    struct settlement s = {
        .lease = {.execution = j.id, .root = j.root, .epoch = j.epoch},
        .outcome = {.kind = OUTCOME_FAILED, .error = "no", .duration = 1, .retry_delay = 0}};

    return op_settle(t, j.worker, &s, 1, err);
}

static int start_one(struct turn *t, void *arg, struct err *err)
{
    struct held_job j = ((struct world *)arg)->one;
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
    int64_t dead = ((struct world *)arg)->number;
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
    struct request r = {.execution = ((struct world *)arg)->ready};
    bool more;

    return op_pause(t, &r, 1, 1000, &more, err);
}

static int unhold_paused(struct turn *t, void *arg, struct err *err)
{
    struct request r = {.execution = ((struct world *)arg)->paused};
    bool more;

    return op_resume(t, &r, 1, 1000, &more, err);
}

static int submit_below(struct turn *t, void *arg, struct err *err)
{
    struct submission s = {
        .kind = KIND_TASK, .task_index = -1, .name = "late", .parent = ((struct world *)arg)->flow};

    return op_submit(t, &s, 1, err);
}

/* Never the last slice: that one waits for all turns that know the limits. */
static int retain_old(struct turn *t, void *arg, struct err *err)
{
    struct retention from = {.older_than = 1800 * SECOND, .max_trees = 1}, to;

    int rc = op_retain(t, &from, &to, err);

    ((struct world *)arg)->removed += to.trees;
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
    {"cancel_flow", cancel_flow}, {"cancel_ready", cancel_ready},
    {"claim", claim_two},         {"settle_one", settle_one},
    {"settle_two", settle_two},   {"retry_one", retry_one},
    {"start_one", start_one},     {"reap", reap_all},
    {"adopt", adopt_dead},        {"timers", fire_timers},
    {"hold", hold_ready},         {"unhold", unhold_paused},
    {"submit", submit_below},     {"retain", retain_old},
};
#define NOPS ((int)(sizeof(ops) / sizeof(*ops)))

/* Two stores, and what the second does in the middle of the first one's turn. */
struct pair {
    struct watch w, v;
    struct store *s, *other;
    const struct op *first, *second;
    struct world world;
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

static void run_op(struct store *s, const struct op *op, struct world *world)
{
    struct err err = ERR_INIT;

    CHECK_OK_ERR(store_turn(s, op->body, world, &err), &err);
}

static void step_in(void *arg)
{
    struct pair *p = arg;
    struct err err = ERR_INIT;

    /* What the first has queued so far is done on the server. */
    if (p->w.acted)
        CHECK_OK_ERR(db_flush(store_db(p->s), &err), &err);
    run_op(p->other, p->second, &p->world);
    if (p->v.redone)
        test_fail(__FILE__, __LINE__, "%s waits for %s, which is at %s: %s", p->second->name,
                  p->first->name, p->w.here, p->v.said);
}

/* The second operation at the nth statement of the first; false if that has fewer. */
static bool meet(struct pair *p, int nth)
{
    struct err err = ERR_INIT;

    watch_for(&p->w, NULL, 0, NULL, NULL);
    p->world = (struct world){.number = p->world.number + 1};
    CHECK_OK_ERR(store_turn(p->s, world_body, &p->world, &err), &err);
    if (on_sqlite())
        step_in(p);
    else
        watch_for(&p->w, NULL, nth, step_in, p);
    run_op(p->s, p->first, &p->world);
    if (p->w.redone)
        test_fail(__FILE__, __LINE__, "%s, and in it, at %d, %s: %s", p->first->name, nth,
                  p->second->name, p->w.said);
    if (p->first->body == retain_old || (p->w.acted && p->second->body == retain_old))
        CHECK(p->world.removed >= 1); /* of two at once, one may leave the tree to the other */
    return p->w.acted;
}

/* In `make test` only some of the statements of each pair, others for the next pair. */
TEST_SLOW(a_turn_may_happen_in_the_middle_of_any_other, 600)
{
    int a, b, nth, stride = test_full() ? 1 : SANITIZED ? 12 : 6;
    struct err err = ERR_INIT;
    struct pair p = {0};
    struct store *last;

    setenv("PGOPTIONS", "-c synchronous_commit=off", 1); /* nothing here is about the disk */
    last = fixture_store();
    CHECK_OK_ERR(store_turn(last, make_old, NULL, &err), &err);
    clock_advance(3600 * SECOND);
    open_pair(&p);
    for (a = 0; a < NOPS; a++) {
        for (b = 0; b < NOPS; b++) {
            p.first = &ops[a];
            p.second = &ops[b];
            for (nth = 1 + (a + b) % stride; meet(&p, nth); nth += stride)
                ;
        }
        watch_for(&p.w, NULL, 0, NULL, NULL);
        verify_clean(p.s);
        drain(last); /* its clock goes ahead: what ended is old now, for retention */
        verify_clean(last);
        p.w.env.clock_offset = p.v.env.clock_offset = fixture_env()->clock_offset;
    }
    store_close(&last);
    close_pair(&p);
}

/* Each settles its own child, and whoever is last ends the flow. If the second did not see the
 * first one's, and the first not the second one's, nobody would. */
TEST(two_siblings_that_end_at_once_do_not_lose_their_join)
{
    struct pair p = {.first = &ops[3], .second = &ops[4]};

    open_pair(&p);
    p.world.flow = submit_with(p.s, (struct submission){.name = "f", .kind = KIND_WORKFLOW});
    submit_child(p.s, p.world.flow, "one");
    submit_child(p.s, p.world.flow, "two");
    p.world.one = claim_job(p.s, 1);
    p.world.two = claim_job(p.s, 2);
    if (!on_sqlite())
        watch_for(&p.w, "commit", 1, step_in, &p);
    run_op(p.s, p.first, &p.world);
    CHECK(on_sqlite() || p.w.acted);
    step_in(&p); /* again: it was told that the tree is busy */
    CHECK_EQ(status_of(p.s, p.world.flow), S_SUCCEEDED);
    verify_clean(p.s);
    close_pair(&p);
}
