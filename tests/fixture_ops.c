/* fixture_ops.c - see fixture.h: the operations, one turn each, and drain. */
#include "fixture.h"
#include "store/door/door.h"
#include "store/operator.h"
#include "store/workflow/workflow.h"

#include <string.h>

#define FOLDER "folder-a"

static int submit_body(struct turn *t, void *arg, struct err *err)
{
    return op_submit(t, arg, 1, err);
}

int64_t submit_with(struct store *s, struct submission sub)
{
    struct err err = ERR_INIT;

    if (!sub.kind)
        sub.kind = KIND_EXEC;
    if (!sub.task_index)
        sub.task_index = -1;
    CHECK_OK_ERR(store_turn(s, submit_body, &sub, &err), &err);
    CHECK_OK_ERR(sub.rc, &sub.err);
    return sub.id;
}

int64_t submit(struct store *s, const char *name)
{
    return submit_with(s, (struct submission){.name = name});
}

int64_t submit_child(struct store *s, int64_t parent, const char *name)
{
    return submit_with(s, (struct submission){.name = name, .parent = parent});
}

static const struct lane_queue serves[] = {{"process", "default"}};

struct claiming {
    struct adoption adoption;
    bool adopt;
    struct held_job *out;
    size_t n;
};

static int claim_body(struct turn *t, void *arg, struct err *err)
{
    struct claiming *c = arg;
    struct job_list jobs;
    size_t i;
    int rc = c->adopt ? op_adopt(t, &c->adoption, &jobs, err)
                      : op_claim(t, &c->adoption.claim, &jobs, err);

    if (rc)
        return rc;
    for (i = 0; i < jobs.n; i++)
        c->out[i] = (struct held_job){.id = jobs.at[i]->id,
                                      .root = jobs.at[i]->root,
                                      .worker = jobs.at[i]->worker,
                                      .epoch = jobs.at[i]->epoch,
                                      .attempt = jobs.at[i]->attempts};
    c->n = jobs.n;
    return 0;
}

static size_t claim_or_adopt(struct store *s, int64_t worker, bool adopt, size_t max,
                             struct held_job *out)
{
    struct claiming c = {.adopt = adopt, .out = out};
    struct err err = ERR_INIT;

    c.adoption = (struct adoption){.claim = {.worker = worker,
                                             .folder = FOLDER,
                                             .lease = LEASE,
                                             .serves = serves,
                                             .nserves = 1,
                                             .max = max},
                                   .host_grace = 300 * SECOND};
    CHECK_OK_ERR(store_turn(s, claim_body, &c, &err), &err);
    return c.n;
}

size_t claim_many(struct store *s, int64_t worker, size_t max, struct held_job *out)
{
    return claim_or_adopt(s, worker, false, max, out);
}

bool claim_one(struct store *s, int64_t worker, struct held_job *out)
{
    return claim_or_adopt(s, worker, false, 1, out) == 1;
}

struct held_job claim_job(struct store *s, int64_t worker)
{
    struct held_job j = {0};

    CHECK(claim_one(s, worker, &j));
    return j;
}

bool adopt_one(struct store *s, int64_t worker, struct held_job *out)
{
    return claim_or_adopt(s, worker, true, 1, out) == 1;
}

struct settling {
    int64_t worker;
    struct start start;
    struct settlement settlement;
    struct lease_ref lease;
};

static int start_body(struct turn *t, void *arg, struct err *err)
{
    struct settling *g = arg;

    return op_record_starts(t, g->worker, &g->start, 1, err);
}

static int settle_body(struct turn *t, void *arg, struct err *err)
{
    struct settling *g = arg;

    return op_settle(t, g->worker, &g->settlement, 1, err);
}

static int heartbeat_body(struct turn *t, void *arg, struct err *err)
{
    struct settling *g = arg;

    return op_heartbeat(t, g->worker, LEASE, &g->lease, 1, err);
}

static struct lease_ref ref(struct held_job j)
{
    return (struct lease_ref){.execution = j.id, .root = j.root, .epoch = j.epoch};
}

int start(struct store *s, struct held_job j)
{
    struct settling g = {.worker = j.worker, .start = {.lease = ref(j), .ago = 5}};
    struct err err = ERR_INIT;

    CHECK_OK_ERR(store_turn(s, start_body, &g, &err), &err);
    return g.start.lease.rc;
}

int settle_as(struct store *s, struct held_job j, enum outcome_kind kind, int64_t retry_delay)
{
    struct settling g = {.worker = j.worker,
                         .settlement = {.lease = ref(j),
                                        .outcome = {.kind = kind,
                                                    .has_exit_code = true,
                                                    .exit_code = kind == OUTCOME_OK ? 0 : 1,
                                                    .result = "{\"n\":1}",
                                                    .error = "it said no",
                                                    .duration = 1000,
                                                    .retry_delay = retry_delay}}};
    struct err err = ERR_INIT;

    CHECK_OK_ERR(store_turn(s, settle_body, &g, &err), &err);
    return g.settlement.lease.rc;
}

int settle_unstarted(struct store *s, struct held_job j)
{
    struct settling g = {.worker = j.worker,
                         .settlement = {.lease = ref(j),
                                        .outcome = {.kind = OUTCOME_REFUSED,
                                                    .unstarted = 1,
                                                    .error = "it did not start",
                                                    .duration = -1}}};
    struct err err = ERR_INIT;

    CHECK_OK_ERR(store_turn(s, settle_body, &g, &err), &err);
    return g.settlement.lease.rc;
}

int settle_ok(struct store *s, struct held_job j)
{
    return settle_as(s, j, OUTCOME_OK, -1);
}

int heartbeat(struct store *s, struct held_job j)
{
    struct settling g = {.worker = j.worker, .lease = ref(j)};
    struct err err = ERR_INIT;

    CHECK_OK_ERR(store_light_turn(s, heartbeat_body, &g, &err), &err);
    return g.lease.rc;
}

static int reap_body(struct turn *t, void *arg, struct err *err)
{
    return op_reap(t, arg, err);
}

static int timers_body(struct turn *t, void *arg, struct err *err)
{
    return op_fire_timers(t, arg, err);
}

size_t reap(struct store *s)
{
    struct reap_slice r = {.max = 1000};
    struct err err = ERR_INIT;

    CHECK_OK_ERR(store_turn(s, reap_body, &r, &err), &err);
    return r.n;
}

size_t run_timers(struct store *s)
{
    struct timer_slice r = {.max = 1000};
    struct err err = ERR_INIT;

    CHECK_OK_ERR(store_turn(s, timers_body, &r, &err), &err);
    return r.n;
}

void run_all_timers(struct store *s)
{
    while (run_timers(s))
        ;
}

struct one_request {
    struct request request;
    bool more;
};

static int cancel_body(struct turn *t, void *arg, struct err *err)
{
    struct one_request *a = arg;

    return op_cancel(t, &a->request, 1, fixture_slice(), &a->more, err);
}

static int hold_body(struct turn *t, void *arg, struct err *err)
{
    struct one_request *a = arg;

    return op_pause(t, &a->request, 1, fixture_slice(), &a->more, err);
}

static int unhold_body(struct turn *t, void *arg, struct err *err)
{
    struct one_request *a = arg;

    return op_resume(t, &a->request, 1, fixture_slice(), &a->more, err);
}

static int run_request(struct store *s, int (*body)(struct turn *, void *, struct err *),
                       int64_t id)
{
    struct one_request a = {.request = {.execution = id, .by = "tester", .reason = "a test"}};
    struct err err = ERR_INIT;

    CHECK_OK_ERR(store_turn(s, body, &a, &err), &err);
    return a.request.rc;
}

int cancel(struct store *s, int64_t id)
{
    return run_request(s, cancel_body, id);
}

int hold(struct store *s, int64_t id)
{
    return run_request(s, hold_body, id);
}

int unhold(struct store *s, int64_t id)
{
    return run_request(s, unhold_body, id);
}

int limit_body(struct turn *t, void *limit_change, struct err *err)
{
    struct limit_change *l = limit_change;
    struct queue_action q = {.verb = QUEUE_SET,
                             .queue = l->key + strlen("queue:"),
                             .max = l->max,
                             .slice = l->slice ? l->slice : 100};
    int rc;

    CHECK(!strncmp(l->key, "queue:", strlen("queue:")));
    rc = op_change_queue(t, &q, err);
    l->more = q.more;
    return rc;
}

void set_limit(struct store *s, const char *key, int max)
{
    struct limit_change l = {.key = key, .max = max};
    struct err err = ERR_INIT;

    do
        CHECK_OK_ERR(store_turn(s, limit_body, &l, &err), &err);
    while (l.more);
}

/* ---- workflows without a definition ---- */

static int has_open_descendants(struct turn *t, int64_t id, bool *out, struct err *err)
{
    struct rows r = ROWS_INIT;
    int rc;

    args_begin(&t->args, Q_QUERY_OPEN);
    args_int(&t->args, id);
    if (!(rc = turn_query(t, &t->args, &r, err)))
        *out = rows_int(&r, 0, 0) > 1; /* the workflow itself is open, too */
    rows_release(&r);
    return rc;
}

int workflow_end_body(struct turn *t, void *workflow_end, struct err *err)
{
    struct workflow_end *e = workflow_end;
    struct outcome o = {.result = e->result};
    struct row_ref ref = {.id = e->id};
    struct row *row;
    bool open;
    int rc;

    if ((rc = turn_find_roots(t, &ref, 1, err)) || (rc = turn_load(t, &ref, 1, err)))
        return rc;
    row = turn_row(t, e->id);
    if (ref.rc || kind_is_job(row->now.kind) || row->now.status != S_RUNNING)
        return err_set(err, E_INVALID, "it is not a running workflow");
    if ((rc = door_flush(t, err)) || (rc = has_open_descendants(t, e->id, &open, err)))
        return rc;
    if (open)
        return err_set(err, E_INVALID, "a descendant is still open");
    return execution_finish(t, row, (int)e->status, &o, err);
}

void end_workflow(struct store *s, int64_t id)
{
    struct workflow_end e = {.id = id, .status = S_SUCCEEDED};
    struct err err = ERR_INIT;

    CHECK_OK_ERR(store_turn(s, workflow_end_body, &e, &err), &err);
}

/* ---- drain ---- */

/* The workflow that may end: the deepest one whose children have all ended. */
#define WORKFLOW_TO_END                                                                 \
    "SELECT COALESCE(max(id), 0) FROM executions e WHERE kind >= 3 AND status < 4 AND " \
    "NOT EXISTS (SELECT 1 FROM executions c WHERE c.parent = e.id AND c.status < 4)"
#define PAUSED "SELECT COALESCE(min(id), 0) FROM executions WHERE status < 4 AND flags & 128 <> 0"

struct settling_list {
    struct settlement at[100];
    size_t n;
};

static int settle_list_body(struct turn *t, void *arg, struct err *err)
{
    struct settling_list *l = arg;

    return op_settle(t, 99, l->at, l->n, err);
}

void drain(struct store *s)
{
    static const struct outcome ok = {.kind = OUTCOME_OK, .duration = 1, .retry_delay = -1};
    struct settling_list list;
    struct held_job jobs[100];
    struct workflow_end end = {.status = S_SUCCEEDED};
    struct err err = ERR_INIT;
    int64_t id;
    size_t n, i;
    int round;

    for (round = 0; sql_number(s, "SELECT count(*) FROM executions WHERE status < 4"); round++) {
        CHECK(round < 200);
        clock_advance(3600 * SECOND);
        while ((id = sql_number(s, PAUSED)))
            unhold(s, id);
        reap(s);
        run_timers(s);
        n = claim_or_adopt(s, 99, true, 50, jobs);
        n += claim_or_adopt(s, 99, false, 50, jobs + n);
        for (i = 0; i < n; i++)
            list.at[i] = (struct settlement){.lease = ref(jobs[i]), .outcome = ok};
        list.n = n;
        CHECK_OK_ERR(store_turn(s, settle_list_body, &list, &err), &err);
        while ((end.id = sql_number(s, WORKFLOW_TO_END)) &&
               !store_turn(s, workflow_end_body, &end, &err))
            ; /* the workflow is locked, or a descendant is open: try again in the next round */
    }
}
