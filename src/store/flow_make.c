/* flow_make.c - from a definition to rows: a workflow's tasks are made as pending executions before
 * the first of them may run. A large graph takes several turns; it is held back until all are
 * there. */
#include "base/json.h"
#include "core/graph.h"
#include "core/resolve.h"
#include "store/door.h"
#include "store/flow.h"
#include "store/hold.h"
#include "store/rerun.h"
#include "store/store_internal.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#define MAKE_SLICE 1000 /* tasks of one workflow in a turn */
#define MAKE_MAX   4000 /* of all together, as soon as each has some */
#define OPEN_SLICE 500  /* tasks of a workflow that become ready in a turn */

static const char *full_name(struct turn *t, const struct flow *f, const char *task)
{
    const char *w = f->def->workflow->name;
    char *name = arena_alloc(&t->arena, strlen(w) + strlen(task) + 3);

    stpcpy(stpcpy(stpcpy(name, w), "::"), task);
    return name;
}

/* What is run here and now stays here, whatever its queue says. */
static const char *queue_of(const struct flow *f, const struct workflow_task *task)
{
    const char *above = f->row->now.queue;

    if (!task->queue || !strncmp(above, QUEUE_HERE, strlen(QUEUE_HERE)))
        return above;
    return task->queue;
}

const char *flow_lane(struct turn *t, const struct workflow_task *task, const char *name)
{
    const struct store_flow_options *o = &t->store->flow;
    const char *lane;

    if (task->function) {
        char *text = arena_alloc(&t->arena, strlen("function:") + strlen(task->function) + 1);

        stpcpy(stpcpy(text, "function:"), task->function);
        return text;
    }
    if (task->executor)
        return task->executor;
    lane = o->route ? o->route(o->arg, name, task->container != NULL, &t->arena) : NULL;
    return lane ? lane : task->container ? "container" : "process";
}

int flow_tries(const struct turn *t, const struct workflow_task *task)
{
    int n = task->retry.max < 0 ? t->store->flow.default_attempts : task->retry.max + 1;

    return n > 0 ? n : 1;
}

/* The row that the task has from an earlier run. */
static int use_again(struct turn *t, struct flow *f, const struct workflow_task *task,
                     struct row **out, struct err *err)
{
    uint32_t index = task->index;
    int rc;

    *out = NULL;
    if (!(f->row->now.failed_behind & GRAPH_AGAIN))
        return 0;
    if ((rc = flow_tasks(t, f, &index, 1, out, err)) || !*out)
        return rc;
    if ((rc = rerun_reset(t, *out, S_PENDING, flow_tries(t, task), NULL, err)))
        return rc;
    (*out)->now.needs_left = (int)task->nneeds;
    f->row->now.needs_left++;
    return 0;
}

int flow_make_one(struct turn *t, struct flow *f, const struct workflow_task *task,
                  struct row **out, struct err *err)
{
    const struct execution *w = &f->row->now;
    struct execution e = {.parent = w->id,
                          .root = w->root,
                          .workflow = w->id,
                          .depth = w->depth + 1,
                          .kind = task->foreach  ? KIND_FOREACH
                                  : task->nested ? KIND_WORKFLOW
                                                 : KIND_TASK,
                          .priority = task->priority + w->priority,
                          .max_attempts = flow_tries(t, task),
                          .task_index = -1,
                          .needs_left = (int)task->nneeds,
                          .name = full_name(t, f, task->name),
                          .queue = queue_of(f, task),
                          .task_name = task->name};
    int rc = use_again(t, f, task, out, err);

    if (rc || *out)
        return rc;
    if (kind_is_job(e.kind))
        e.lane = flow_lane(t, task, e.name);
    if ((rc = turn_take_id(t, w->id, &e.id, err)) || (rc = door_create(t, &e, NULL, out, err)))
        return rc;
    flow_put_task(f, task->index, *out);
    f->row->now.needs_left++;
    return 0;
}

/* One statement for the old rows of a whole slice. */
static int load_old(struct turn *t, struct flow *f, uint32_t from, uint32_t n, struct err *err)
{
    uint32_t *index = arena_alloc(&t->arena, (n + 1) * sizeof(*index)), i;
    struct row **rows = arena_alloc(&t->arena, (n + 1) * sizeof(*rows));

    for (i = 0; i < n; i++)
        index[i] = from + i;
    return flow_tasks(t, f, index, n, rows, err);
}

/* One statement for the ids of a whole slice. */
static int make_rows(struct turn *t, struct flow *f, uint32_t from, uint32_t n, struct err *err)
{
    struct row *row;
    uint32_t i;
    int rc;

    if ((f->row->now.failed_behind & GRAPH_AGAIN) && (rc = load_old(t, f, from, n, err)))
        return rc;
    if ((rc = turn_reserve_ids(t, n, f->row->now.id, err)))
        return rc;
    for (i = from; i < from + n; i++)
        if ((rc = flow_make_one(t, f, &f->def->workflow->tasks[i], &row, err)))
            return rc;
    return 0;
}

/* All are there: what needs nothing is decided, a slice in a turn. While that lasts the cursor goes
 * on: tasks before cursor - ntasks have been looked at. */
static int open_gates(struct turn *t, struct flow *f, struct err *err)
{
    const struct workflow *w = f->def->workflow;
    uint32_t at = (uint32_t)f->row->now.cursor - w->ntasks, index[OPEN_SLICE], n = 0, i;
    uint32_t most = flow_bound(t, OPEN_SLICE);
    struct row *rows[OPEN_SLICE];
    int rc = 0;

    for (; at < w->ntasks && n < most; at++)
        if (!w->tasks[at].nneeds)
            index[n++] = at;
    if (n && (rc = flow_tasks(t, f, index, n, rows, err)))
        return rc;
    for (i = 0; i < n; i++)
        if ((rc = flow_decide(t, f, &w->tasks[index[i]], rows[i], err)))
            return rc;
    f->row->now.cursor = (int)(at < w->ntasks ? w->ntasks + at : w->ntasks);
    door_touch(t, f->row);
    if (at < w->ntasks)
        return flow_go_on_later(t, f->row, err);
    return flow_end_if_done(t, f, err); /* nothing to do at all */
}

bool flow_is_reusing(const struct flow *f)
{
    return f->reuse && (uint32_t)f->row->now.cursor >= 2 * f->def->workflow->ntasks;
}

/* All are there: what stands of the run before is taken over, also a slice in a turn. While that
 * lasts the cursor is further on: it has come to cursor - 2 * ntasks of them. */
static int take_over(struct turn *t, struct flow *f, struct err *err)
{
    uint32_t n = f->def->workflow->ntasks,
             at = flow_is_reusing(f) ? (uint32_t)f->row->now.cursor - 2 * n : 0;
    int rc;

    if ((rc = flow_reuse(t, f, &at, err)))
        return rc;
    f->row->now.cursor = (int)(at < n ? 2 * n + at : n);
    door_touch(t, f->row);
    return at < n ? flow_go_on_later(t, f->row, err) : open_gates(t, f, err);
}

uint32_t flow_slice(const struct turn *t, uint32_t made, uint32_t left)
{
    uint32_t all = flow_bound(t, MAKE_MAX), slice = flow_bound(t, MAKE_SLICE);
    uint32_t most = made < all ? all - made : 1;

    most = most < slice ? most : slice;
    return left < most ? left : most;
}

int flow_make(struct turn *t, struct flow *f, struct err *err)
{
    struct execution *e = &f->row->now;
    uint32_t all = f->def->workflow->ntasks, made = (uint32_t)e->cursor, n;
    int rc;

    if (made >= all)
        return flow_is_reusing(f) ? take_over(t, f, err) : open_gates(t, f, err);
    n = flow_slice(t, t->made, all - made);
    if ((rc = make_rows(t, f, made, n, err)))
        return rc;
    t->made += n;
    e->cursor += (int)n;
    door_touch(t, f->row);
    if ((uint32_t)e->cursor < all)
        return flow_go_on_later(t, f->row, err);
    if (f->reuse && !(e->failed_behind & GRAPH_AGAIN))
        return take_over(t, f, err);
    return open_gates(t, f, err);
}

/* ---- the beginning ---- */

static int write_state(struct turn *t, const struct row *row, const struct definition *def,
                       const json_t *variables, struct err *err)
{
    char *text = json_text(variables);
    char *kept = arena_strdup(&t->arena, text);

    free(text);
    args_begin(&t->args, Q_FLOW_INSERT);
    args_int(&t->args, row->now.id);
    args_text(&t->args, def->hash);
    args_text(&t->args, kept);
    args_text(&t->args, row->reuse);
    return db_send(t->db, &t->args, NULL, 1, err);
}

/* The key that its definition names; what the task above it names comes before that. */
static int own_key(struct turn *t, struct flow *f, struct err *err)
{
    struct flow_subject s = {.facts = {.success = true}};
    struct resolve_scope scope;
    int rc = flow_scope(t, f, &s, &scope, err);

    if (rc)
        return rc;
    rc = flow_take_key(t, f->row, &f->def->workflow->concurrency, &scope, err);
    resolve_scope_release(&scope);
    return rc;
}

int flow_open(struct turn *t, struct flow *f, struct err *err)
{
    int rc;

    if (f->row->now.concurrency) {
        if ((rc = door_admit(t, f->row, err)))
            return rc;
        if (f->row->now.held)
            return 0; /* until it gets its permit */
    }
    if ((rc = door_move(t, f->row, EV_STARTED, S_RUNNING, NULL, err)))
        return rc;
    if ((rc = flow_set_timeout(t, f, err)))
        return rc;
    return flow_make(t, f, err);
}

int flow_begin(struct turn *t, struct row *row, const struct definition *def, json_t *params,
               json_t *due, const struct holds *h, struct err *err)
{
    json_t *variables = NULL;
    struct err why = ERR_INIT;
    struct flow *f;
    bool held = false;
    int rc = resolve_variables(def->workflow, turn_keep(t, params), &variables, &why);

    if (rc) /* kept with nothing, so that what it was to run by is known */
        variables = json_pack("{s:O, s:{}}", "params", params, "vars");
    if (due)
        json_object_set(variables, "due_at", due);
    if ((rc = write_state(t, row, def, variables, err)))
        return rc;
    f = flow_add(t, row, def, variables);
    f->reuse = row->reuse;
    if (why.code)
        return flow_fail(t, row, why.msg, err);
    if (!row->now.concurrency && def->workflow->concurrency.key && (rc = own_key(t, f, err)))
        return flow_or_fail(t, row, rc, err);
    if (h && ((rc = hold_if_any(t, row, h, &held, err)) || held))
        return rc;
    return flow_open(t, f, err);
}
