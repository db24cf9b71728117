/* test_deadlock.c - turns that meet. On PostgreSQL another turn steps in at a chosen statement
 * (env->point), or several processes are led into the order in which a wrong lock order would
 * deadlock. Whatever the order, no turn is redone, nothing is lost, and verify finds nothing.
 * SQLite runs the same tests, one turn after the other. */
#include "fixture.h"

#include "store/door.h"
#include "store/store_internal.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

TEST_LONG;

static bool on_sqlite(void)
{
    return !strcmp(test_db(), "sqlite");
}

static void check_not_redone(const struct watch *w)
{
    if (w->redone)
        test_fail(__FILE__, __LINE__, "%d times redone: %s", w->redone, w->said);
}

/* ---- every pair of operations, at every statement
 * ------------------------------------------------- */

/* One workflow in the middle of its life, and what the operations know of it. Each is more urgent
 * than those before, so that its own jobs are claimed. */
struct world {
    int number;
    int64_t flow, ready, paused;
    struct held_job one, two; /* running, as is a third one, whose lease has run out */
};

#define LANE                 \
    {                        \
        "process", "default" \
    }
static const struct lane_queue lanes[] = {LANE};

static struct claim claim_of(int64_t worker, size_t max, int64_t lease)
{
    return (struct claim){.worker = worker,
                          .folder = "folder-a",
                          .lease = lease,
                          .serves = lanes,
                          .nserves = 1,
                          .max = max};
}

static struct held_job held(const struct execution *e)
{
    return (struct held_job){.id = e->id,
                             .root = e->root,
                             .worker = e->worker,
                             .epoch = e->epoch,
                             .attempt = e->attempts};
}

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

    return op_started(t, j.worker, &s, 1, err);
}

static int reap_all(struct turn *t, void *arg, struct err *err)
{
    size_t n;

    (void)arg;
    return op_reap(t, 1000, &n, err);
}

static int adopt_dead(struct turn *t, void *arg, struct err *err)
{
    int64_t dead = ((struct world *)arg)->number;
    struct adoption a = {.claim = claim_of(1000003, 10, LEASE), .dead = &dead, .ndead = 1};
    struct job_list list;

    return op_adopt(t, &a, &list, err);
}

static int fire_timers(struct turn *t, void *arg, struct err *err)
{
    int64_t next;
    size_t n;

    (void)arg;
    return op_timers(t, 1000, &n, &next, err);
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

    (void)arg;
    CHECK(rc || to.trees == 1);
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
    return p->w.acted;
}

/* In `make test` only some of the statements of each pair, others for the next pair. */
TEST_SLOW(a_turn_may_happen_in_the_middle_of_any_other, 300)
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

/* ---- lines that must not become circles ---------------------------------------------------------
 */

/* Three things, a low, a middle and a high one. One process holds the middle one until two others
 * wait for a lock; one of these was given the three in rising, the other in falling order. If they
 * lock in the order given, each has one end, and when the middle is let go they have a circle. */
static struct {
    struct sign held;
    _Atomic int64_t backend[3];
    _Atomic int redone;
    struct held_job up[3], down[3];
    int64_t ids[3];
} * scene;

static void enter(int nth, struct store *s)
{
    if (!on_sqlite())
        scene->backend[nth] = sql_number(s, "SELECT pg_backend_pid()");
}

static void leave(struct store **s, const struct watch *w)
{
    check_not_redone(w);
    store_close(s);
}

/* Inside a turn that holds what the others want. */
static void hold_until_they_wait(struct store *looks, int others)
{
    int64_t until = clock_boot_us() + 500000; /* after a second the others would give up */
    char sql[200];

    sign_give(&scene->held);
    if (on_sqlite())
        return;
    do {
        clock_sleep_us(1000);
        snprintf(
            sql, sizeof(sql),
            "SELECT count(DISTINCT pid) FROM pg_locks WHERE NOT granted AND pid IN (%lld, %lld)",
            (long long)scene->backend[1], (long long)scene->backend[2]);
    } while (sql_number(looks, sql) < others && clock_boot_us() < until);
}

static void hold_until_both_wait(struct store *looks)
{
    hold_until_they_wait(looks, 2);
}

static void in_order(struct held_job *to, const struct held_job *from, bool falling)
{
    int i;

    for (i = 0; i < 3; i++)
        to[i] = from[falling ? 2 - i : i];
}

struct three {
    struct held_job job[3];
    int rc[3];
};

static int settle_three(struct turn *t, void *arg, struct err *err)
{
    struct three *g = arg;
    struct settlement list[3];
    int rc, i;

    for (i = 0; i < 3; i++)
        list[i] = (struct settlement){
            .lease = {.execution = g->job[i].id, .root = g->job[i].root, .epoch = g->job[i].epoch},
            .outcome = {.kind = OUTCOME_OK, .retry_delay = -1}};
    rc = op_settle(t, g->job[0].worker, list, 3, err);
    for (i = 0; i < 3; i++)
        g->rc[i] = list[i].lease.rc;
    return rc;
}

static int lock_middle_root(struct turn *t, void *looks, struct err *err)
{
    struct want want = {.id = scene->ids[1], .root = scene->ids[1]};
    int rc = turn_load(t, &want, 1, err);

    if (!rc)
        hold_until_both_wait(looks);
    return rc;
}

static void settle_in_three_workflows(int nth)
{
    struct watch w = {0};
    struct store *s = watched_store(&w), *looks = nth ? NULL : fixture_store();
    struct err err = ERR_INIT;
    struct three g = {0};
    int i;

    enter(nth, s);
    if (nth == 0) {
        CHECK_OK_ERR(store_turn(s, lock_middle_root, looks, &err), &err);
        store_close(&looks);
    } else {
        CHECK(sign_wait(&scene->held, 5 * SECOND));
        in_order(g.job, nth == 1 ? scene->up : scene->down, nth == 2);
        CHECK_OK_ERR(store_turn_waiting(s, settle_three, &g, &err), &err);
        for (i = 0; i < 3; i++)
            CHECK_EQ(g.rc[i], 0);
    }
    leave(&s, &w);
}

TEST(two_turns_with_the_same_workflows_stand_in_line)
{
    struct store *s = fixture_store();
    int i;

    scene = shared_memory(sizeof(*scene));
    for (i = 0; i < 3; i++) {
        scene->ids[i] = submit_with(s, (struct submission){.name = "f", .kind = KIND_WORKFLOW});
        submit_child(s, scene->ids[i], "up");
        submit_child(s, scene->ids[i], "down");
        scene->up[i] = claim_job(s, 1);
        scene->down[i] = claim_job(s, 2);
    }
    store_close(&s);
    run_processes(3, settle_in_three_workflows);
    s = fixture_store();
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM executions WHERE status = 4"), 6);
    drain(s);
    verify_clean(s);
    store_close(&s);
}

/* Runs one statement with the id as its parameter, inside a turn. */
static int lock_row(struct turn *t, const char *table, int64_t id, struct err *err)
{
    static char sql[100];
    static struct stmt stmt = {.name = "lock_row",
                               .sql = {[DIALECT_SQLITE] = "SELECT ?1", [DIALECT_POSTGRES] = sql},
                               .nscalars = 1,
                               .types = {T_I64}};
    struct args a = {.stmt = &stmt};
    int rc;

    snprintf(sql, sizeof(sql), "SELECT 1 FROM %s WHERE %s = $1 FOR UPDATE", table,
             strcmp(table, "leases") ? "id" : "execution");
    args_int(&a, id);
    if (!(rc = db_send(t->db, &a, NULL, ANY_ROWS, err)))
        rc = turn_sync(t, err);
    args_release(&a);
    return rc;
}

static int lock_middle_lease(struct turn *t, void *looks, struct err *err)
{
    int rc = lock_row(t, "leases", scene->up[1].id, err);

    if (!rc)
        hold_until_both_wait(looks);
    return rc;
}

static int renew_three(struct turn *t, void *arg, struct err *err)
{
    struct three *g = arg;
    struct lease_ref list[3];
    int rc, i;

    for (i = 0; i < 3; i++)
        list[i] = (struct lease_ref){
            .execution = g->job[i].id, .root = g->job[i].root, .epoch = g->job[i].epoch};
    rc = op_heartbeat(t, g->job[0].worker, LEASE, list, 3, err);
    for (i = 0; i < 3; i++)
        g->rc[i] = list[i].rc;
    return rc;
}

static void renew_and_settle(int nth)
{
    struct watch w = {0};
    struct store *s = watched_store(&w), *looks = nth ? NULL : fixture_store();
    struct err err = ERR_INIT;
    struct three g = {0};
    int i;

    enter(nth, s);
    if (nth == 0) {
        CHECK_OK_ERR(store_turn(s, lock_middle_lease, looks, &err), &err);
        store_close(&looks);
    } else {
        CHECK(sign_wait(&scene->held, 5 * SECOND));
        in_order(g.job, scene->up, nth == 2);
        if (nth == 1)
            CHECK_OK_ERR(store_turn(s, settle_three, &g, &err), &err);
        else
            CHECK_OK_ERR(store_light_turn(s, renew_three, &g, &err), &err);
        for (i = 0; i < 3; i++)
            CHECK(g.rc[i] == 0 || (nth == 2 && g.rc[i] == -E_LEASE_LOST));
    }
    leave(&s, &w);
}

TEST(a_heartbeat_and_a_settle_of_the_same_jobs_stand_in_line)
{
    struct store *s = fixture_store();
    int i;

    scene = shared_memory(sizeof(*scene));
    for (i = 0; i < 3; i++) {
        submit(s, "x");
        scene->up[i] = claim_job(s, 1);
    }
    store_close(&s);
    run_processes(3, renew_and_settle);
    s = fixture_store();
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM executions WHERE status = 4"), 3);
    verify_clean(s);
    store_close(&s);
}

/* ---- limits: the same
 * ---------------------------------------------------------------------------- */

static struct submission with_key(const char *key)
{
    return (struct submission){.kind = KIND_EXEC,
                               .task_index = -1,
                               .name = "x",
                               .concurrency = key,
                               .concurrency_max = 100};
}

static void at_commit(void *looks)
{
    hold_until_both_wait(looks);
}

static int submit_three(struct turn *t, void *arg, struct err *err)
{
    return op_submit(t, arg, 3, err);
}

static void submit_with_new_keys(int nth)
{
    static const char *const keys[] = {"a", "m", "z"};
    struct watch w = {0};
    struct store *s = watched_store(&w), *looks = nth ? NULL : fixture_store();
    struct submission list[3];
    struct err err = ERR_INIT;
    int i;

    enter(nth, s);
    submit(s, "first"); /* what a store does only once is done */
    if (nth == 0) {
        watch_for(&w, "commit", 1, at_commit, looks);
        submit_with(s, with_key("m"));
        store_close(&looks);
    } else {
        CHECK(sign_wait(&scene->held, 5 * SECOND));
        for (i = 0; i < 3; i++)
            list[i] = with_key(keys[nth == 1 ? i : 2 - i]);
        CHECK_OK_ERR(store_turn(s, submit_three, list, &err), &err);
        for (i = 0; i < 3; i++)
            CHECK_OK_ERR(list[i].rc, &list[i].err);
    }
    leave(&s, &w);
}

TEST(two_submits_with_the_same_new_keys_stand_in_line)
{
    struct store *s;

    scene = shared_memory(sizeof(*scene));
    run_processes(3, submit_with_new_keys);
    s = fixture_store();
    CHECK_EQ(sql_number(s, "SELECT sum(used) FROM limits"), 7);
    drain(s);
    verify_clean(s);
    store_close(&s);
}

/* A submit has its key's limit, and is about to take the queue's; a settle needs both. */
struct submitting {
    struct store *s, *looks;
};

static void between_two_limits(void *arg)
{
    struct submitting *b = arg;
    struct err err = ERR_INIT;

    CHECK_OK_ERR(db_flush(store_db(b->s), &err), &err);
    hold_until_they_wait(b->looks, 1);
}

static void submit_and_settle(int nth)
{
    struct watch w = {0};
    struct store *s = watched_store(&w), *looks = nth ? NULL : fixture_store();
    struct submitting b = {s, looks};

    enter(nth, s);
    if (nth == 0) {
        submit(s, "first"); /* what a store does only once is done */
        watch_for(&w, "lock_limits", 1, between_two_limits, &b);
        submit_with(s, with_key("k"));
        CHECK(w.acted);
        store_close(&looks);
    } else {
        CHECK(sign_wait(&scene->held, 5 * SECOND));
        CHECK_EQ(settle_ok(s, scene->up[0]), 0);
    }
    leave(&s, &w);
}

TEST(a_submit_and_a_settle_of_the_same_key_stand_in_line)
{
    struct store *s = fixture_store();

    scene = shared_memory(sizeof(*scene));
    set_limit(s, "queue:default", 10);
    submit_with(s, with_key("k"));
    scene->up[0] = claim_job(s, 1);
    store_close(&s);
    run_processes(2, submit_and_settle);
    s = fixture_store();
    verify_clean(s);
    drain(s);
    verify_clean(s);
    store_close(&s);
}

static void cancel_two_trees(int nth)
{
    struct watch w = {0};
    struct store *s = watched_store(&w), *looks = nth ? NULL : fixture_store();

    enter(nth, s);
    if (nth == 0) {
        watch_for(&w, "commit", 1, at_commit, looks);
        CHECK_EQ(cancel(s, scene->ids[0]), 0);
        store_close(&looks);
    } else {
        CHECK(sign_wait(&scene->held, 5 * SECOND));
        CHECK_EQ(cancel(s, scene->ids[nth]), 0);
    }
    leave(&s, &w);
}

TEST(two_cancels_with_the_same_limits_stand_in_line)
{
    static const char *const keys[] = {"a", "m", "z"};
    struct store *s = fixture_store();
    int tree, i;

    scene = shared_memory(sizeof(*scene));
    scene->ids[0] = submit_with(s, with_key("m"));
    for (tree = 1; tree <= 2; tree++) {
        scene->ids[tree] = submit_with(s, (struct submission){.name = "f", .kind = KIND_WORKFLOW});
        for (i = 0; i < 3; i++) {
            struct submission sub = with_key(keys[tree == 1 ? i : 2 - i]);

            sub.parent = scene->ids[tree];
            submit_with(s, sub);
        }
    }
    store_close(&s);
    run_processes(3, cancel_two_trees);
    s = fixture_store();
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM executions WHERE status = 7"), 7);
    drain(s);
    verify_clean(s);
    store_close(&s);
}

/* Two jobs end. The permit of the first could go to one that also needs the second's limit, and the
 * permit of the second to one that needs the first's. */
static struct {
    struct sign there[2];
    struct held_job job[2];
} * crossing;

static void wait_for_the_other(void *arg)
{
    int nth = *(int *)arg;

    sign_give(&crossing->there[nth]);
    sign_wait(&crossing->there[!nth], 300000); /* it may not come this far, and that is right too */
}

static void settle_crossing(int nth)
{
    struct watch w = {0};
    struct store *s = watched_store(&w);

    if (!on_sqlite())
        watch_for(&w, "waiters", 1, wait_for_the_other, &nth);
    while (settle_ok(s, crossing->job[nth]) == -E_BUSY)
        ;
    leave(&s, &w);
}

static int claim_other_body(struct turn *t, void *arg, struct err *err)
{
    static const struct lane_queue other[] = {{"process", "other"}};
    struct claim c = claim_of(2, 1, LEASE);
    struct job_list list;
    int rc;

    c.serves = other;
    if (!(rc = op_claim(t, &c, &list, err)))
        *(struct held_job *)arg = held(list.at[0]);
    return rc;
}

static void cross(struct store **s)
{
    store_close(s);
    run_processes(2, settle_crossing);
    *s = fixture_store();
    verify_clean(*s);
    drain(*s);
    verify_clean(*s);
    store_close(s);
}

TEST(permits_that_cross_within_a_queue_do_not_block_each_other)
{
    struct store *s = fixture_store();
    int64_t a, b;

    crossing = shared_memory(sizeof(*crossing));
    set_limit(s, "queue:default", 2);
    submit_with(s, (struct submission){.name = "0", .concurrency = "a"});
    crossing->job[0] = claim_job(s, 1);
    submit_with(s, (struct submission){.name = "1", .concurrency = "b"});
    crossing->job[1] = claim_job(s, 2);
    a = submit_with(s, (struct submission){.name = "x", .concurrency = "b"});
    b = submit_with(s, (struct submission){.name = "y", .concurrency = "a"});
    CHECK_STR(get(s, a).held_key, "queue:default");
    CHECK_STR(get(s, b).held_key, "queue:default");
    cross(&s);
}

TEST(permits_that_cross_between_queues_do_not_block_each_other)
{
    struct store *s = fixture_store();
    struct err err = ERR_INIT;
    int64_t a, b;

    crossing = shared_memory(sizeof(*crossing));
    set_limit(s, "queue:default", 2);
    submit_with(s, (struct submission){.name = "0", .concurrency = "a"});
    crossing->job[0] = claim_job(s, 1);
    submit_with(s, (struct submission){.name = "1", .concurrency = "b", .queue = "other"});
    CHECK_OK_ERR(store_turn(s, claim_other_body, &crossing->job[1], &err), &err);
    b = submit_with(s, (struct submission){.name = "x", .concurrency = "b"});
    submit(s, "the queue is full with this one");
    a = submit_with(s, (struct submission){.name = "y", .concurrency = "b"});
    CHECK_STR(get(s, a).held_key, "queue:default");
    CHECK_STR(get(s, b).held_key, "key:b");
    cross(&s);
}

/* ---- permits that nobody may forget
 * --------------------------------------------------------------- */

/* A permit becomes free while those who wait for it are all locked, by turns that then leave them
 * as they are, or take them away. Somebody must still get it. */
struct chain {
    struct store *s[3];
    struct watch w[3];
    struct held_job job;
    int64_t first, second;
};

static void settle_innermost(void *arg)
{
    struct chain *c = arg;

    CHECK_EQ(settle_ok(c->s[2], c->job), 0);
}

/* It is not held for a pause, so nothing happens; but the row is locked meanwhile. */
static void touch_second(void *arg)
{
    struct chain *c = arg;

    if (!on_sqlite())
        watch_for(&c->w[1], "lock_limits", 1, settle_innermost, c);
    CHECK_EQ(unhold(c->s[1], c->second), -E_INVALID);
}

TEST(a_permit_that_nobody_could_take_goes_to_the_next_though_the_first_is_cancelled)
{
    struct store *last = fixture_store();
    struct chain c = {0};
    int i;

    for (i = 0; i < 3; i++)
        c.s[i] = watched_store(&c.w[i]);
    submit_with(last, (struct submission){.name = "holds it", .concurrency = "k"});
    c.first = submit_with(last, (struct submission){.name = "first", .concurrency = "k"});
    c.second = submit_with(last, (struct submission){.name = "second", .concurrency = "k"});
    c.job = claim_job(last, 1);
    if (on_sqlite())
        settle_innermost(&c);
    else
        watch_for(&c.w[0], "lock_limits", 1, touch_second, &c);
    CHECK_EQ(cancel(c.s[0], c.first), 0);
    CHECK_EQ(status_of(last, c.first), S_CANCELLED);
    run_timers(last);
    CHECK_EQ(get(last, c.second).held, HELD_NONE);
    verify_clean(last);
    for (i = 0; i < 3; i++) {
        check_not_redone(&c.w[i]);
        store_close(&c.s[i]);
    }
    store_close(&last);
}

struct limiting {
    struct store *s;
    const char *key;
    int max;
    size_t slice;
    bool more;
};

static int limit_once_body(struct turn *t, void *arg, struct err *err)
{
    struct limiting *l = arg;

    return op_limit(t, l->key, l->max, l->slice, &l->more, err);
}

static void limit_once(void *arg)
{
    struct limiting *l = arg;
    struct err err = ERR_INIT;

    CHECK_OK_ERR(store_turn(l->s, limit_once_body, l, &err), &err);
}

TEST(a_limit_that_goes_leaves_nobody_waiting_for_it)
{
    struct watch w = {0};
    struct store *s = watched_store(&w), *other = fixture_store();
    struct limiting l = {.s = other, .key = "key:k", .max = -1, .slice = 100};
    int64_t id;

    submit_with(s, (struct submission){.name = "holds it", .concurrency = "k"});
    id = submit_with(s, (struct submission){.name = "waits", .concurrency = "k"});
    if (on_sqlite())
        limit_once(&l);
    else
        watch_for(&w, "lock_limits", 1, limit_once, &l);
    CHECK_EQ(unhold(s, id), -E_INVALID); /* locks it, and leaves it as it is */
    while (l.more)
        limit_once(&l);
    CHECK_EQ(get(s, id).held, HELD_NONE);
    verify_clean(s);
    submit_with(s, (struct submission){.name = "new", .concurrency = "k"});
    verify_clean(s);
    drain(other);
    verify_clean(other);
    check_not_redone(&w);
    store_close(&other);
    store_close(&s);
}

/* Else it would be run uncounted, and the next submit would make a new limit that knows nothing of
 * it. */
TEST(the_limit_of_a_key_stays_while_a_job_of_it_is_held_for_something_else)
{
    struct store *s = fixture_store();
    int64_t id =
        submit_with(s, (struct submission){.name = "x", .concurrency = "k", .paused = true});

    set_limit(s, "key:k", -1);
    verify_clean(s);
    CHECK_EQ(unhold(s, id), 0);
    verify_clean(s);
    submit_with(s, (struct submission){.name = "y", .concurrency = "k"});
    verify_clean(s);
    drain(s);
    verify_clean(s);
    store_close(&s);
}

TEST(a_limit_that_was_raised_in_part_when_the_process_died_strands_nobody)
{
    struct store *s = fixture_store();
    struct limiting l = {.s = s, .key = "queue:default", .max = -1, .slice = 2};
    int i;

    set_limit(s, "queue:default", 0);
    for (i = 0; i < 9; i++)
        submit(s, "x");
    limit_once(&l);
    CHECK(l.more);
    /* Here it dies. What it let go runs, and each end makes way for the next. */
    verify_clean(s);
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM task_outbox"), 2);
    drain(s);
    verify_clean(s);
    store_close(&s);
}

/* ---- the rest of what may happen in between
 * -------------------------------------------------------- */

struct early {
    struct store *s;
    int64_t id;
};

/* The timer is seen to be due; before its job is looked at, the job ran, failed, and waits again.
 */
static void run_and_fail(void *arg)
{
    struct early *e = arg;

    CHECK_EQ(run_timers(e->s), 1);
    CHECK_EQ(settle_as(e->s, claim_job(e->s, 1), OUTCOME_FAILED, 3600 * SECOND), 0);
}

TEST(a_timer_that_was_overtaken_does_not_end_a_later_delay)
{
    struct watch w = {0};
    struct store *s = watched_store(&w), *other = fixture_store();
    struct early e = {.s = other};

    e.id = submit_with(s, (struct submission){.name = "x", .max_attempts = 3, .delay = 1});
    if (on_sqlite())
        run_and_fail(&e);
    else
        watch_for(&w, "load", 1, run_and_fail, &e);
    run_timers(s);
    CHECK(on_sqlite() || w.acted);
    CHECK_EQ(get(other, e.id).held, HELD_DELAY);
    verify_clean(other);
    drain(other);
    verify_clean(other);
    check_not_redone(&w);
    store_close(&other);
    store_close(&s);
}

/* The outbox says what may be claimed, the execution whether that is true. */
TEST(an_outbox_row_alone_gives_nobody_a_job)
{
    struct store *s = fixture_store();
    struct held_job j;
    int64_t cancelled, paused;

    cancelled = submit(s, "cancelled");
    CHECK_EQ(cancel(s, cancelled), 0);
    paused = submit_with(s, (struct submission){.name = "paused", .paused = true});
    CHECK_EQ(verify_count(s, NULL, 0), 0);
    sql_run(s, "INSERT INTO task_outbox (lane, queue, rank, execution, ready_at) "
               "SELECT lane, queue, 0, id, requested_at FROM executions");
    CHECK(!claim_one(s, 1, &j));
    CHECK_EQ(status_of(s, cancelled), S_CANCELLED);
    CHECK_EQ(status_of(s, paused), S_READY);
    sql_run(s, "DELETE FROM task_outbox");
    verify_clean(s);
    store_close(&s);
}

struct slicing {
    struct request request;
    bool more;
};

static int cancel_two_body(struct turn *t, void *arg, struct err *err)
{
    struct slicing *c = arg;

    return op_cancel(t, &c->request, 1, 2, &c->more, err);
}

TEST(a_cancel_in_slices_reaches_everything)
{
    struct store *s = fixture_store();
    int64_t flow = submit_with(s, (struct submission){.name = "flow", .kind = KIND_WORKFLOW});
    struct slicing c = {.request = {.execution = flow}};
    struct err err = ERR_INIT;
    struct held_job jobs[45];
    int i, turns = 0;

    for (i = 0; i < 52; i++)
        submit_child(s, flow, "x");
    CHECK_EQ(claim_many(s, 1, 45, jobs), 45); /* these stay open, with a request */
    do
        CHECK_OK_ERR(store_turn(s, cancel_two_body, &c, &err), &err);
    while (c.more && ++turns < 100);
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM executions WHERE status = 7"), 7);
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM executions WHERE cancel_requested = 1"), 46);
    verify_clean(s);
    store_close(&s);
}

TEST(a_submit_is_safe_to_repeat_though_the_parent_has_ended)
{
    struct store *s = fixture_store();
    int64_t parent = submit(s, "parent");
    struct submission sub = {.name = "child", .parent = parent, .key = "k"};
    int64_t id = submit_with(s, sub);

    CHECK_EQ(settle_ok(s, claim_job(s, 1)), 0);
    CHECK_EQ(settle_ok(s, claim_job(s, 1)), 0);
    CHECK_EQ(submit_with(s, sub), id);
    verify_clean(s);
    store_close(&s);
}

/* ---- time after a wait
 * ------------------------------------------------------------------------------ */

/* Another process holds the row for a while. Whoever waited for it must take the time when it came
 * free, not when it began to wait: else a lease is given that is partly over already. */
#define WAIT_US 400000 /* less than the lock timeout */

static struct {
    struct sign locked;
    _Atomic int64_t freed_at; /* by the database's clock */
    struct held_job job;
} * waiting;

/* Asked by a statement of our own on PostgreSQL: how turns take their time is what is tested. */
static int database_time(struct turn *t, struct err *err)
{
    static const struct stmt now = {
        .name = "database_time",
        .sql = {[DIALECT_SQLITE] = "SELECT 0",
                [DIALECT_POSTGRES] =
                    "SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint"}};
    struct args a = {.stmt = &now};
    struct rows r = ROWS_INIT;
    int rc = turn_query(t, &a, &r, err);

    if (!rc)
        waiting->freed_at = on_sqlite() ? turn_now(t) : rows_int(&r, 0, 0);
    rows_release(&r);
    args_release(&a);
    return rc;
}

static int hold_row(struct turn *t, void *arg, struct err *err)
{
    const char *table = arg;
    int rc = lock_row(t, table, waiting->job.id, err);

    if (rc)
        return rc;
    sign_give(&waiting->locked);
    clock_sleep_us(WAIT_US);
    return database_time(t, err);
}

static void hold_for_a_while(struct store *s, const char *table)
{
    struct err err = ERR_INIT;

    CHECK_OK_ERR(store_turn(s, hold_row, (void *)(uintptr_t)table, &err), &err);
}

static void renew_after_a_wait(int nth)
{
    struct store *s = fixture_store();

    if (nth == 0) {
        hold_for_a_while(s, "leases");
    } else {
        CHECK(sign_wait(&waiting->locked, 5 * SECOND));
        CHECK_EQ(heartbeat(s, waiting->job), 0);
    }
    store_close(&s);
}

static int retry_in_a_minute(struct turn *t, void *arg, struct err *err)
{
    struct held_job j = waiting->job;
    struct settlement s = {
        .lease = {.execution = j.id, .root = j.root, .epoch = j.epoch},
        .outcome = {
            .kind = OUTCOME_FAILED, .error = "no", .duration = 1, .retry_delay = 60 * SECOND}};
    int rc = op_settle(t, j.worker, &s, 1, err);

    (void)arg;
    CHECK(rc || !s.lease.rc);
    return rc;
}

static void settle_after_a_wait(int nth)
{
    struct store *s = fixture_store();
    struct err err = ERR_INIT;

    if (nth == 0) {
        hold_for_a_while(s, "executions");
    } else {
        CHECK(sign_wait(&waiting->locked, 5 * SECOND));
        CHECK_OK_ERR(store_turn_waiting(s, retry_in_a_minute, NULL, &err), &err);
    }
    store_close(&s);
}

static struct store *one_job_waited_for(void (*body)(int nth))
{
    struct store *s = fixture_store();

    waiting = shared_memory(sizeof(*waiting));
    submit_with(s, (struct submission){.name = "x", .max_attempts = 2});
    waiting->job = claim_job(s, 1);
    store_close(&s);
    run_processes(2, body);
    return fixture_store();
}

TEST(a_lease_renewed_after_a_wait_is_a_whole_one)
{
    struct store *s = one_job_waited_for(renew_after_a_wait);

    CHECK(get(s, waiting->job.id).until >= waiting->freed_at + LEASE);
    verify_clean(s);
    store_close(&s);
}

static int next_timer_body(struct turn *t, void *arg, struct err *err)
{
    size_t n;

    return op_timers(t, 100, &n, arg, err);
}

TEST(a_delay_after_a_wait_is_a_whole_one)
{
    struct store *s = one_job_waited_for(settle_after_a_wait);
    struct err err = ERR_INIT;
    int64_t due = 0;

    CHECK(get(s, waiting->job.id).updated_at >= waiting->freed_at);
    CHECK_OK_ERR(store_turn(s, next_timer_body, &due, &err), &err);
    CHECK(due >= waiting->freed_at + 60 * SECOND);
    verify_clean(s);
    store_close(&s);
}

/* The reaper has the job, and is not done. Whoever waits for it must see what it made of the lease.
 */
static void keep_the_other_waiting(void *looks)
{
    hold_until_they_wait(looks, 1);
}

static int settle_up_body(struct turn *t, void *arg, struct err *err)
{
    struct settlement *s = arg;

    return op_settle(t, scene->up[0].worker, s, 1, err);
}

static void reap_and_settle(int nth)
{
    struct held_job j = scene->up[0];
    struct settlement end = {.lease = {.execution = j.id, .root = j.root, .epoch = j.epoch},
                             .outcome = {.kind = OUTCOME_OK, .duration = 1, .retry_delay = -1}};
    struct watch w = {0};
    struct store *s = watched_store(&w), *looks = nth ? NULL : fixture_store();
    struct err err = ERR_INIT;

    enter(nth, s);
    if (nth == 0) {
        watch_for(&w, "commit", 1, keep_the_other_waiting, looks);
        CHECK_EQ(reap(s), 1);
        store_close(&looks);
    } else {
        CHECK(sign_wait(&scene->held, 5 * SECOND));
        CHECK_OK_ERR(store_turn_waiting(s, settle_up_body, &end, &err), &err);
        CHECK_EQ(end.lease.rc, -E_LEASE_LOST);
    }
    leave(&s, &w);
}

TEST(a_settle_that_waited_for_the_reaper_has_lost_its_lease)
{
    struct store *s = fixture_store();

    scene = shared_memory(sizeof(*scene));
    submit(s, "x");
    scene->up[0] = claim_job(s, 1);
    store_close(&s);
    clock_advance(LEASE + SECOND);
    run_processes(2, reap_and_settle);
    s = fixture_store();
    CHECK_STR(history(s, scene->up[0].id), "created marked_ready claimed lease_expired");
    verify_clean(s);
    store_close(&s);
}

/* ---- what must exclude each other
 * ------------------------------------------------------------------- */

/* The first has decided and not yet committed; the second must not decide by the same numbers. */
static struct {
    struct sign decided, done;
} * deciding;

static void while_undecided(void *arg)
{
    (void)arg;
    sign_give(&deciding->decided);
    sign_wait(&deciding->done, 300000); /* it is to wait for us, so this runs out */
}

static void submit_limited(int nth)
{
    struct watch w = {0};
    struct store *s = watched_store(&w);

    submit_with(s, (struct submission){.name = "warm", .queue = "other"});
    if (nth == 0) {
        if (on_sqlite())
            sign_give(&deciding->decided);
        else
            watch_for(&w, "execution_insert", 1, while_undecided, NULL);
        submit(s, "x");
    } else {
        CHECK(sign_wait(&deciding->decided, 5 * SECOND));
        submit(s, "x");
        sign_give(&deciding->done);
    }
    leave(&s, &w);
}

TEST(two_submits_at_once_do_not_both_take_the_last_permit)
{
    struct store *s = fixture_store();

    deciding = shared_memory(sizeof(*deciding));
    set_limit(s, "queue:default", 1);
    store_close(&s);
    run_processes(2, submit_limited);
    s = fixture_store();
    verify_clean(s);
    CHECK_EQ(sql_number(s, "SELECT count(*) FROM task_outbox WHERE queue = 'default'"), 1);
    store_close(&s);
}

static int look_around(struct turn *t, void *arg, struct err *err)
{
    struct rows r = ROWS_INIT;
    struct args a = ARGS_INIT;
    sqlite3 *other = arg;
    int rc;

    args_begin(&a, Q_TIMER_NEXT);
    rc = turn_query(t, &a, &r, err);
    CHECK_EQ(sqlite3_exec(other, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_BUSY);
    rows_release(&r);
    args_release(&a);
    return rc;
}

/* Other programs do not know our lock file. They must be kept out before the first look, not by the
 * first write: what the turn saw would be out of date by then. */
TEST(a_turn_on_sqlite_keeps_out_other_programs_from_its_first_moment)
{
    struct store *s;
    struct err err = ERR_INIT;
    sqlite3 *other = NULL;

    if (!on_sqlite())
        SKIP("for SQLite only");
    s = fixture_store();
    submit(s, "the first turn of all writes the clock's row"); /* this one is to write nothing */
    CHECK_EQ(sqlite3_open(store_url(s)->file, &other), SQLITE_OK);
    CHECK_OK_ERR(store_light_turn(s, look_around, other, &err), &err);
    sqlite3_close(other);
    verify_clean(s);
    store_close(&s);
}
