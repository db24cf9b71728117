/* rerun.c - running again in place. A node that runs again takes along all that is behind it, in
 * its own workflow and in those above; workflows and fan-outs above it that have ended run again,
 * too. What is below a node is not touched until it begins: then it finds its old rows and uses
 * them again (flow_make.c, flow_items.c), a slice at a time. */
#include "store/rerun.h"

#include "core/rerun.h"
#include "store/data.h"
#include "store/door.h"
#include "store/hold.h"

#include <stdlib.h>

/* ---- one node ---- */

/* The result and error that it had: only the history keeps them. */
static int old_outcome(struct turn *t, const struct row *row, const char **result,
                       const char **error, struct err *err)
{
    struct args a = ARGS_INIT;
    struct rows r = ROWS_INIT;
    int rc;

    args_begin(&a, Q_OUTCOME_OF);
    args_int(&a, row->now.id);
    if (!(rc = db_query(t->db, &a, &r, err)) && r.n) {
        *result = arena_strdup(&t->arena, rows_text(&r, 0, 0));
        *error = arena_strdup(&t->arena, rows_text(&r, 0, 1));
    }
    rows_release(&r);
    args_release(&a);
    return rc;
}

static void note(struct rerun *r, const struct row *row)
{
    struct rerun_node *n;

    if (!r)
        return;
    n = vec_add(&r->nodes);
    *n = (struct rerun_node){.id = row->now.id, .status = row->now.status};
    n->name = mem_strdup(row->now.name);
}

int rerun_reset(struct turn *t, struct row *row, enum status to, int tries, struct rerun *r,
                struct err *err)
{
    const char *result = NULL, *error = NULL;
    struct move_note move = {0};
    int rc;

    if ((rc = old_outcome(t, row, &result, &error, err)))
        return rc;
    note(r, row);
    move.data = data_rerun(t, r ? &r->request : NULL, result, error);
    door_outcome(row, NULL, NULL);
    if (kind_is_job(row->now.kind))
        row->now.max_attempts = row->now.attempts + tries;
    row->now.cursor = row->now.needs_left = 0;
    if ((rc = door_move(t, row, EV_RERUN, to, &move, err)))
        return rc;
    if (!kind_is_job(row->now.kind) && to == S_PENDING && row->now.started_at)
        row->now.failed_behind |= GRAPH_NOT_BEGUN;
    return 0;
}

bool rerun_has_begun(const struct row *row)
{
    return row->now.started_at && !(row->now.failed_behind & GRAPH_NOT_BEGUN);
}

/* A workflow that runs again takes its permit anew, or none of this happens. */
static int restart(struct turn *t, struct row *row, struct rerun *r, struct err *err)
{
    struct limit *limits[2];
    int rc;

    if (!row->now.concurrency)
        return rerun_reset(t, row, S_RUNNING, 0, r, err);
    limits_note(t, &row->now);
    if ((rc = limits_fetch(t, err)))
        return rc;
    if (limits_of(t, &row->now, limits) && limits[0]->used >= limits[0]->max)
        return err_set(err, E_REFUSED,
                       "%lld can't run again now: the limit %s has no room (%d of %d are in use)",
                       (long long)row->now.id, limits[0]->key, limits[0]->used, limits[0]->max);
    if ((rc = rerun_reset(t, row, S_PENDING, 0, r, err)) || (rc = door_admit(t, row, err)))
        return rc;
    return door_move(t, row, EV_STARTED, S_RUNNING, NULL, err);
}

/* ---- a workflow, in part ---- */

struct part {
    struct flow *f;
    enum rerun_mark *marks;
    struct row **rows;
    struct graph_need *states;
    bool deeper; /* of what failed, only that which failed below it */
};

static int load_part(struct turn *t, struct flow *f, struct part *p, struct err *err)
{
    const struct workflow *w = f->def->workflow;
    uint32_t *all = arena_alloc(&t->arena, (w->ntasks + 1) * sizeof(*all)), i;
    int rc;

    *p = (struct part){.f = f,
                       .marks = arena_zalloc(&t->arena, (w->ntasks + 1) * sizeof(*p->marks)),
                       .rows = arena_alloc(&t->arena, (w->ntasks + 1) * sizeof(*p->rows)),
                       .states = arena_zalloc(&t->arena, (w->ntasks + 1) * sizeof(*p->states))};
    for (i = 0; i < w->ntasks; i++)
        all[i] = i;
    if ((rc = flow_tasks(t, f, all, w->ntasks, p->rows, err)))
        return rc;
    for (i = 0; i < w->ntasks; i++)
        if (p->rows[i])
            p->states[i] = flow_need(&w->tasks[i], p->rows[i]);
    return 0;
}

static int refuse_what_runs(const struct part *p, struct err *err)
{
    const struct workflow *w = p->f->def->workflow;
    const struct execution *e = &p->f->row->now;
    uint32_t i;

    if (e->cancel_requested && e->status == S_RUNNING)
        return err_set(err, E_INVALID, "workflow %lld is being cancelled: wait for its end",
                       (long long)e->id);
    if (e->status == S_RUNNING && (e->failed_behind & (GRAPH_HANDLED | GRAPH_EXITED)))
        return err_set(err, E_INVALID, "workflow %lld is at its end already: wait for it",
                       (long long)e->id);
    for (i = 0; i < w->ntasks; i++) {
        const struct execution *c = &p->rows[i]->now;

        if (p->marks[i] && !status_is_terminal(c->status) && (c->status != S_PENDING || c->held))
            return err_set(err, E_INVALID, "%s (%lld) would have to run again, but is %s now",
                           c->name, (long long)c->id,
                           c->held ? hold_text(c->held) : status_text(c->status));
    }
    return 0;
}

/* Whether only what failed below it runs again: its own needs are as they were. */
static int go_deeper(struct turn *t, const struct part *p, uint32_t i, struct rerun *r, bool *done,
                     struct err *err)
{
    struct row *row = p->rows[i];
    bool whole = false;
    int rc = 0;

    *done = false;
    if (!p->deeper || p->marks[i] != RERUN_FIRST || !rerun_has_begun(row))
        return 0;
    if (row->now.kind == KIND_FOREACH)
        rc = items_rerun_failed(t, row, r, err);
    else if (row->now.kind == KIND_WORKFLOW)
        rc = rerun_nested(t, row, r, &whole, err);
    else
        return 0;
    *done = !rc && !whole;
    return rc;
}

/* The marked ones are pending again; *n counts those that had ended. */
static int reset_marked(struct turn *t, const struct part *p, struct rerun *r, int *n,
                        struct err *err)
{
    const struct workflow *w = p->f->def->workflow;
    uint32_t i;
    bool done;
    int rc;

    for (i = 0; i < w->ntasks; i++) {
        struct row *row = p->rows[i];

        if (!p->marks[i] || !status_is_terminal(row->now.status))
            continue;
        ++*n;
        if ((rc = go_deeper(t, p, i, r, &done, err)))
            return rc;
        if (!done && (rc = rerun_reset(t, row, S_PENDING, flow_tries(t, &w->tasks[i]), r, err)))
            return rc;
    }
    return 0;
}

/* What a pending task waits for, from what its needs are now. */
static void count_needs(struct turn *t, const struct part *p, uint32_t i)
{
    const struct workflow_task *task = &p->f->def->workflow->tasks[i];
    struct execution *e = &p->rows[i]->now;
    uint32_t k;

    e->needs_left = e->cursor = 0;
    for (k = 0; k < task->nneeds; k++) {
        struct graph_need n =
            flow_need(&p->f->def->workflow->tasks[task->needs[k]], p->rows[task->needs[k]]);

        if (!status_is_terminal(n.status))
            e->needs_left++;
        else
            e->cursor += graph_is_success(&n);
    }
    door_touch(t, p->rows[i]);
}

/* All that is pending is looked at anew. */
static void look_at_pending(struct turn *t, const struct part *p)
{
    uint32_t i;

    for (i = 0; i < p->f->def->workflow->ntasks; i++)
        if (p->rows[i]->now.status == S_PENDING && !p->rows[i]->now.held) {
            count_needs(t, p, i);
            flow_look(t, p->rows[i], p->f->def->rank[i]);
        }
}

/* The workflow goes on with its marked tasks, and `opened` more that others of us opened. */
static int reopen(struct turn *t, struct part *p, int opened, struct rerun *r, struct err *err)
{
    const struct workflow *w = p->f->def->workflow;
    struct row *row = p->f->row;
    bool ended = status_is_terminal(row->now.status);
    int left = ended ? 0 : row->now.needs_left, bits = row->now.failed_behind & GRAPH_PAUSED, rc;
    uint32_t i;

    if ((rc = refuse_what_runs(p, err)))
        return rc;
    if (ended && (rc = restart(t, row, r, err)))
        return rc;
    if ((rc = reset_marked(t, p, r, &opened, err)))
        return rc;
    for (i = 0; i < w->ntasks; i++) {
        struct graph_need n = flow_need(&w->tasks[i], p->rows[i]);

        bits |= graph_bits_of(&n);
    }
    row->now.failed_behind = bits | GRAPH_AGAIN;
    row->now.needs_left = left + opened;
    row->now.cursor = (int)w->ntasks;
    door_touch(t, row);
    if (ended && (rc = flow_set_timeout(t, p->f, err)))
        return rc;
    look_at_pending(t, p);
    return 0;
}

int rerun_nested(struct turn *t, struct row *row, struct rerun *r, bool *whole, struct err *err)
{
    struct part p;
    struct flow *f;
    int rc;

    *whole = true;
    if (!rerun_has_begun(row))
        return 0;
    if ((rc = flow_of(t, row->now.id, row->now.root, &f, err)) || !f ||
        (uint32_t)row->now.cursor < f->def->workflow->ntasks)
        return rc;
    if ((rc = load_part(t, f, &p, err)) || !rerun_failed(f->def->workflow, p.states, p.marks))
        return rc;
    *whole = false;
    p.deeper = true;
    return reopen(t, &p, 0, r, err);
}

/* ---- what is above ---- */

/* The row of what is right above it. */
static int load_above(struct turn *t, int64_t id, int64_t root, struct row **out, struct err *err)
{
    struct want want = {.id = id, .root = root};
    int rc = turn_load(t, &want, 1, err);

    if (!rc && want.rc)
        rc = err_set(err, E_REDO, "execution %lld is locked by another turn", (long long)id);
    *out = rc ? NULL : turn_row(t, id);
    return rc;
}

/* on_failure and on_exit, and what is below them, come when all others have ended: alone they can't
 * run again. */
static int refuse_at_the_end(const struct flow *f, const struct workflow_task *task,
                             const struct row *row, struct err *err)
{
    if (task->index < f->def->workflow->ntasks)
        return 0;
    return err_set(err, E_INVALID,
                   "%s runs at the end of its workflow: rerun the workflow, or a task of it",
                   row->now.name);
}

static int above(struct turn *t, struct row *row, struct rerun *r, struct err *err);

/* The workflow above, of which `task` is open again; NULL: something that a task started is. */
static int above_in_flow(struct turn *t, int64_t id, struct row *row,
                         const struct workflow_task *task, struct flow *f, struct rerun *r,
                         struct err *err)
{
    struct part p;
    bool ended;
    int rc;

    if (!f && ((rc = flow_of(t, id, row->now.root, &f, err)) || !f))
        return rc;
    ended = status_is_terminal(f->row->now.status);
    if ((task && (rc = refuse_at_the_end(f, task, row, err))) || (rc = load_part(t, f, &p, err)))
        return rc;
    if (task)
        rerun_from(f->def->workflow, task->index, false, p.marks);
    if ((rc = reopen(t, &p, 1, r, err)))
        return rc;
    return ended ? above(t, f->row, r, err) : 0;
}

static int above_in_items(struct turn *t, struct row *foreach, struct rerun *r, struct err *err)
{
    int bits, cursor = foreach->now.cursor, rc;
    struct flow *f;

    if (!status_is_terminal(foreach->now.status)) {
        foreach->now.needs_left++;
        door_touch(t, foreach);
        return 0;
    }
    if ((rc = flow_of(t, foreach->now.workflow, foreach->now.root, &f, err)) || !f)
        return rc;
    if ((rc = items_bits(t, foreach, &bits, err)) ||
        (rc = rerun_reset(t, foreach, S_RUNNING, 0, r, err)))
        return rc;
    if ((bits & GRAPH_FAILED) && definition_task(f->def, foreach->now.task_name)->fail_fast)
        bits |= GRAPH_STOPPED; /* by one that stands: it is no reason to cancel this one */
    foreach->now.failed_behind |= bits;
    foreach->now.cursor = cursor;
    foreach->now.needs_left = 1;
    door_touch(t, foreach);
    flow_look(t, foreach, 0); /* those that it never came to */
    return above(t, foreach, r, err);
}

/* A node that had ended is open again: so is what is above it, and what comes behind it. */
static int above(struct turn *t, struct row *row, struct rerun *r, struct err *err)
{
    struct row *parent;
    struct flow *f;
    int rc;

    if (!row->now.parent)
        return 0;
    if ((rc = load_above(t, row->now.parent, row->now.root, &parent, err)))
        return rc;
    if (kind_is_job(parent->now.kind) || !row->now.task_name)
        return row->now.workflow ? above_in_flow(t, row->now.workflow, row, NULL, NULL, r, err) : 0;
    if (parent->now.kind == KIND_FOREACH)
        return above_in_items(t, parent, r, err);
    if ((rc = flow_of(t, parent->now.id, row->now.root, &f, err)) || !f)
        return rc;
    return above_in_flow(t, parent->now.id, row, definition_task(f->def, row->now.task_name), f, r,
                         err);
}

/* ---- what was asked for ---- */

static int whole_workflow(struct turn *t, struct flow *f, struct rerun *r, struct err *err)
{
    int rc;

    if ((rc = restart(t, f->row, r, err)))
        return rc;
    if ((rc = flow_set_timeout(t, f, err)))
        return rc;
    return flow_make(t, f, err);
}

/* How many attempts a job that no definition speaks of had from the start. */
static int own_tries(struct turn *t, const struct row *row, int *out, struct err *err)
{
    struct args a = ARGS_INIT;
    struct rows r = ROWS_INIT;
    int rc;

    args_begin(&a, Q_TRIES_OF);
    args_int(&a, row->now.root);
    args_int(&a, row->now.id);
    if (!(rc = db_query(t->db, &a, &r, err)))
        *out = row->now.max_attempts - (int)rows_int(&r, 0, 0);
    if (*out < 1)
        *out = 1;
    rows_release(&r);
    args_release(&a);
    return rc;
}

static int single_job(struct turn *t, struct row *row, struct rerun *r, struct err *err)
{
    int tries = 1, rc;

    limits_note(t, &row->now);
    if ((rc = limits_fetch(t, err)) || (rc = own_tries(t, row, &tries, err)) ||
        (rc = rerun_reset(t, row, S_PENDING, tries, r, err)) ||
        (rc = door_move(t, row, EV_MARKED_READY, S_READY, NULL, err)))
        return rc;
    return hold_or_go(t, row, &(struct holds){0}, err);
}

/* A task, fan-out or nested workflow inside of a workflow: as a whole, with what is behind it. */
static int as_task(struct turn *t, struct flow *f, struct row *row, struct rerun *r,
                   struct err *err)
{
    bool ended = status_is_terminal(f->row->now.status);
    const struct workflow_task *task = definition_task(f->def, row->now.task_name);
    struct part p;
    int rc;

    if ((rc = refuse_at_the_end(f, task, row, err)) || (rc = load_part(t, f, &p, err)))
        return rc;
    rerun_from(f->def->workflow, task->index, true, p.marks);
    if ((rc = reopen(t, &p, 0, r, err)))
        return rc;
    return ended ? above(t, f->row, r, err) : 0;
}

static int as_item(struct turn *t, struct row *foreach, struct row *row, struct rerun *r,
                   struct err *err)
{
    int rc;

    if ((foreach->now.cancel_requested && foreach->now.status == S_RUNNING) ||
        row->now.task_index >= foreach->now.cursor)
        return err_set(err, E_INVALID, "the fan-out of %s %s", row->now.name,
                       foreach->now.cancel_requested ? "is being cancelled"
                                                     : "does not have that item any more");
    if ((rc = items_again(t, foreach, row, r, err)))
        return rc;
    return above_in_items(t, foreach, r, err);
}

static int part_of_workflow(struct turn *t, struct row *row, struct rerun *r, struct err *err)
{
    bool ended = status_is_terminal(row->now.status);
    const struct workflow_task *task = NULL;
    struct part p;
    struct flow *f;
    int rc;

    if ((rc = flow_of(t, row->now.id, row->now.root, &f, err)))
        return rc;
    if (!f || row->now.kind != KIND_WORKFLOW)
        return err_set(err, E_INVALID, "execution %lld is no workflow: it runs again as a whole",
                       (long long)row->now.id);
    if (r->what == RERUN_FROM_TASK) {
        task = definition_task(f->def, r->from);
        if (!task || task->index >= f->def->workflow->ntasks)
            return err_set(err, E_INVALID, "the workflow %s has no task '%s'",
                           f->def->workflow->name, r->from);
    }
    if (!rerun_has_begun(row) || (uint32_t)row->now.cursor < f->def->workflow->ntasks)
        return err_set(err, E_INVALID,
                       "execution %lld ended before its tasks were made: rerun it as a whole",
                       (long long)row->now.id);
    if ((rc = load_part(t, f, &p, err)))
        return rc;
    if (task)
        rerun_from(f->def->workflow, task->index, true, p.marks);
    else if (!rerun_failed(f->def->workflow, p.states, p.marks))
        return err_set(err, E_INVALID, "no task of execution %lld failed or was cancelled",
                       (long long)row->now.id);
    p.deeper = !task;
    if ((rc = reopen(t, &p, 0, r, err)))
        return rc;
    return ended ? above(t, row, r, err) : 0;
}

/* As a whole: what it is decides how. */
static int whole(struct turn *t, struct row *row, struct rerun *r, struct err *err)
{
    struct row *parent = NULL;
    struct flow *f;
    int rc;

    if (row->now.parent && (rc = load_above(t, row->now.parent, row->now.root, &parent, err)))
        return rc;
    if (parent && row->now.task_name && parent->now.kind == KIND_FOREACH)
        return as_item(t, parent, row, r, err);
    if (parent && row->now.task_name && parent->now.kind == KIND_WORKFLOW) {
        if ((rc = flow_of(t, parent->now.id, row->now.root, &f, err)))
            return rc;
        if (f)
            return as_task(t, f, row, r, err);
    }
    if (kind_is_job(row->now.kind)) {
        rc = single_job(t, row, r, err);
    } else {
        if ((rc = flow_of(t, row->now.id, row->now.root, &f, err)))
            return rc;
        if (!f)
            return err_set(err, E_INVALID, "execution %lld has no definition to run again by",
                           (long long)row->now.id);
        rc = whole_workflow(t, f, r, err);
    }
    return rc ? rc : above(t, row, r, err);
}

void rerun_release(struct rerun *r)
{
    size_t i;

    for (i = 0; i < r->nodes.n; i++)
        free(r->nodes.at[i].name);
    vec_release(&r->nodes);
}

int op_rerun(struct turn *t, struct rerun *r, struct err *err)
{
    struct row *row;
    int rc;

    rerun_release(r); /* the turn may be done again */
    if ((rc = load_named(t, &r->request, 1, err)) || r->request.rc)
        return rc;
    row = turn_row(t, r->request.execution);
    if (r->what != RERUN_FROM_TASK && !status_is_terminal(row->now.status))
        return err_set(err, E_INVALID, "execution %lld has not ended: it is %s",
                       (long long)row->now.id, status_text(row->now.status));
    rc = r->what == RERUN_WHOLE ? whole(t, row, r, err) : part_of_workflow(t, row, r, err);
    if (rc)
        return rc;
    r->request.status = row->now.status;
    r->planned = true;
    return r->dry ? err_set(err, E_INVALID, "nothing was changed: it was only to be told") : 0;
}
