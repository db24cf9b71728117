/* why.c - collects, in one snapshot, the facts that explain the state of an execution. The layers
 * above the store turn these facts into sentences. The definition of a task is parsed on each call,
 * since calls are rare. This file also counts the
 * open executions of a subtree, finds the one that waits for an approval, and counts all leases. */
#include "core/graph.h"
#include "core/workflow/model.h"
#include "store/query/query_internal.h"

#include <stdlib.h>
#include <string.h>

struct why_query {
    int64_t id;
    struct why *why;
};

/* ---- the parts ---- */

static int read_execution(struct db *db, struct why_query *g, struct err *err)
{
    struct why *w = g->why;
    AUTO_ROWS r = ROWS_INIT;

    TRY(db->driver->send_now(db, &w->now, err));
    TRY(ask(db, &r, err, Q_QUERY_EXECUTION, g->id));
    if (!r.n)
        return query_set_not_found(g->id, err);
    w->now += db->env->clock_offset;
    execution_read_whole(&w->execution, &r, 0, 0, &w->arena);
    query_read_history(&w->history, &r, 0, WHOLE_COLUMNS, &w->arena);
    return 0;
}

static int read_events(struct db *db, struct why_query *g, struct err *err)
{
    AUTO_ROWS r = ROWS_INIT;

    TRY(ask(db, &r, err, Q_WHY_EVENTS, g->id, WHY_EVENTS));
    query_add_events(&r, &g->why->events);
    return 0;
}

static void add_others(struct why *w, const struct rows *r)
{
    for (size_t i = 0; i < r->n && w->nothers < WHY_MAX_OTHERS; i++) {
        struct why_execution *o = &w->others[w->nothers++];

        rows_read(r, i, 0, &w->arena, &o->id, &o->status, &o->name);
    }
}

static int read_limit(struct db *db, struct why_query *g, struct err *err)
{
    const struct execution *e = &g->why->execution;
    const char *name = strchr(e->held_key, ':') + 1;
    bool of_queue = e->held_key[0] == 'q';
    AUTO_ROWS r = ROWS_INIT;
    struct why *w = g->why;
    int64_t resume_max;

    TRY(ask(db, &r, err, Q_WHY_LIMIT, e->held_key));
    if (r.n) {
        rows_read(&r, 0, 0, &w->arena, &w->limit_max, &w->limit_used, &resume_max, &w->paused_at,
                  &w->paused_by, &w->pause_reason);
        w->queue_paused = !rows_null(&r, 0, 2);
    }
    TRY(ask_one(db, INTO(&w->before), err, Q_WHY_LIMIT_AHEAD, e->held_key, -e->priority, e->id,
                WHY_MAX_AHEAD));
    w->limit_is_cap = !of_queue && !strcmp(name, LIMIT_CAP);
    TRY(ask(db, &r, err,
            of_queue          ? Q_WHY_HOLDERS_OF_QUEUE
            : w->limit_is_cap ? Q_WHY_HOLDERS_OF_CAP
                              : Q_WHY_HOLDERS_OF_KEY,
            name, WHY_MAX_OTHERS));
    add_others(w, &r);
    if (of_queue || w->limit_is_cap || (int64_t)w->nothers >= w->limit_used)
        return 0;
    TRY(ask(db, &r, err, Q_WHY_WORKFLOWS_OF_KEY, name, WHY_MAX_OTHERS));
    add_others(w, &r);
    return 0;
}

/* ---- the graph: open needs of a task, pauses of its ancestors, progress of a fan-out ---- */

/* Reads the definition of a workflow into why.arena. *out is NULL if it has none. */
static int read_definition(struct db *db, struct why_query *g, int64_t workflow,
                           const struct workflow **out, struct err *err)
{
    AUTO_ROWS r = ROWS_INIT;
    const char *text;

    *out = NULL;
    TRY(ask(db, &r, err, Q_QUERY_DEFINITION, workflow));
    if (!r.n)
        return 0;
    text = rows_text(&r, 0, 1);
    return workflow_read(text, strlen(text), &g->why->arena, out, err);
}

/* Reads the definition of a task into why.arena. *out is NULL if the workflow has no definition or
 * no such task. */
static int read_task(struct db *db, struct why_query *g, int64_t workflow, const char *name,
                     const struct workflow **workflow_def, const struct workflow_task **out,
                     struct err *err)
{
    TRY(read_definition(db, g, workflow, workflow_def, err));
    *out = *workflow_def ? workflow_task(*workflow_def, name) : NULL;
    return 0;
}

static int by_name(const void *a, const void *b)
{
    const struct why_need *const *x = a, *const *y = b;

    return strcmp((*x)->name, (*y)->name);
}

/* Copies id and status from the rows to the needs. Sorts the needs first, so that each row is found
 * quickly. */
static void set_needs(struct why *w, const struct rows *r)
{
    struct why_need **sorted = arena_alloc(&w->arena, w->nneeds * sizeof(*sorted));

    for (size_t i = 0; i < w->nneeds; i++)
        sorted[i] = &w->needs[i];
    qsort(sorted, w->nneeds, sizeof(*sorted), by_name);
    for (size_t i = 0; i < r->n; i++) {
        struct why_need key = {.name = rows_text(r, i, 0)}, *wanted = &key;
        struct why_need **found = bsearch(&wanted, sorted, w->nneeds, sizeof(*sorted), by_name);

        if (found)
            rows_read(r, i, 1, NULL, &(*found)->id, &(*found)->status);
    }
}

static int read_needs(struct db *db, struct why_query *g, const struct workflow *workflow_def,
                      const struct workflow_task *task, struct err *err)
{
    AUTO_ARGS a = ARGS_INIT;
    AUTO_ROWS r = ROWS_INIT;
    struct why *w = g->why;

    w->needs = arena_zalloc(&w->arena, (task->nneeds + 1) * sizeof(*w->needs));
    args_begin(&a, Q_WHY_TASKS, w->execution.workflow);
    for (size_t i = 0; i < task->nneeds; i++) {
        const struct workflow_task *need = &workflow_def->tasks[task->needs[i]];

        w->needs[w->nneeds++] = (struct why_need){.name = need->name};
        args_text(&a, need->name);
    }
    if (!task->nneeds)
        return 0;
    TRY(db_query(db, &a, &r, err));
    set_needs(w, &r);
    return 0;
}

/* Reads the needs of a task that waits for its needs or was skipped because of them. */
static int read_graph(struct db *db, struct why_query *g, struct err *err)
{
    const struct execution *e = &g->why->execution;
    const struct workflow_task *task = NULL;
    const struct workflow *workflow_def;

    if (!e->workflow || !e->task_name || e->task_index >= 0)
        return 0;
    TRY(read_task(db, g, e->workflow, e->task_name, &workflow_def, &task, err));
    if (!task)
        return 0;
    g->why->has_task = true;
    g->why->join = task->join;
    g->why->condition = task->condition;
    return read_needs(db, g, workflow_def, task, err);
}

static int read_pause(struct db *db, struct why_query *g, struct err *err)
{
    struct why *w = g->why;
    AUTO_ROWS r = ROWS_INIT;

    TRY(ask(db, &r, err, Q_WHY_PAUSE, g->id));
    if (r.n)
        rows_read(&r, 0, 0, &w->arena, &w->pause.id, &w->pause.name, &w->pause.at, &w->pause.data);
    return 0;
}

/* ---- the failed job that explains the failure of a workflow ---- */

struct failed_child {
    int64_t id;
    int status, kind, attempts;
    const char *name, *task;
};

/* Reads the first failed child that is not a task with allow_failure, and whether it is the only
 * one. Its id is 0 if none failed. */
static int read_failed_child(struct db *db, struct why_query *g, const struct failed_child *parent,
                             struct failed_child *out, bool *is_only, struct err *err)
{
    const struct workflow *def = NULL;
    size_t most = 2, found = 0;
    AUTO_ROWS r = ROWS_INIT;

    if (parent->kind == KIND_WORKFLOW)
        TRY(read_definition(db, g, parent->id, &def, err));
    for (uint32_t i = 0; def && i < def->ntasks; i++)
        most += def->tasks[i].allow_failure;
    TRY(ask(db, &r, err, Q_WHY_FAILED, parent->id, most));
    for (size_t i = 0; i < r.n && found < 2; i++) {
        struct failed_child c;
        const struct workflow_task *task;

        rows_read(&r, i, 0, &g->why->arena, &c.id, &c.status, &c.kind, &c.attempts, &c.name,
                  &c.task);
        task = def && c.task ? workflow_task(def, c.task) : NULL;
        if ((!task || !task->allow_failure) && !found++)
            *out = c;
    }
    *is_only = *is_only && found < 2;
    return 0;
}

/* Follows the first failed child of each level down to a job. A workflow that timed out ends the
 * search, because no failed task explains that. */
static int read_failed(struct db *db, struct why_query *g, struct err *err)
{
    const struct execution *e = &g->why->execution;
    struct failed_child c = {.id = e->id, .status = e->status, .kind = e->kind};
    bool is_only = true;

    while (c.id && !kind_is_job(c.kind) && c.status == S_FAILED) {
        struct failed_child next = {0};

        TRY(read_failed_child(db, g, &c, &next, &is_only, err));
        c = next;
    }
    if (c.id && kind_is_job(c.kind) && c.attempts)
        g->why->failed = (struct why_failed){c.id, c.name, is_only};
    return 0;
}

/* ---- the state of a workflow or fan-out ---- */

/* Reads how many items a fan-out has, and how many may be open at once. */
static int read_items(struct db *db, struct why_query *g, struct err *err)
{
    const struct execution *e = &g->why->execution;
    const struct workflow_task *task = NULL;
    const struct workflow *workflow_def;
    AUTO_ROWS r = ROWS_INIT;

    TRY(ask(db, &r, err, Q_WHY_ITEMS, g->id));
    g->why->items = r.n && !rows_null(&r, 0, 0) ? rows_int(&r, 0, 0) : -1;
    if (!e->workflow || !e->task_name)
        return 0;
    TRY(read_task(db, g, e->workflow, e->task_name, &workflow_def, &task, err));
    if (task)
        g->why->max_parallel = task->max_parallel;
    return 0;
}

static int read_workflow(struct db *db, struct why_query *g, struct err *err)
{
    const struct execution *e = &g->why->execution;

    if (!status_is_terminal(e->status))
        TRY(read_pause(db, g, err));
    if (!kind_is_job(e->kind) && e->status == S_FAILED)
        return read_failed(db, g, err);
    if ((e->status == S_PENDING && !e->held) ||
        (e->status == S_SKIPPED && !(e->flags & FLAG_BY_OPERATOR)))
        return read_graph(db, g, err);
    return e->kind == KIND_FOREACH && e->status == S_RUNNING ? read_items(db, g, err) : 0;
}

/* ---- the ready execution that a workflow or fan-out waits for ---- */

/* Finds the child to follow among open children, which are sorted by status, running ones first.
 * Returns the number of its row; r->n if there is none, or if a job runs. */
static size_t child_to_follow(const struct rows *r)
{
    size_t found = r->n;

    for (size_t i = r->n; i-- > 0;) {
        int64_t status = rows_int(r, i, 1);

        if (status == S_RUNNING && kind_is_job((int)rows_int(r, i, 3)))
            return r->n;
        if (status == S_RUNNING || status == S_READY)
            found = i;
    }
    return found;
}

/* Follows the running workflows and fan-outs from the open children in `r` down to an execution
 * that is ready. *id is 0 if there is none. */
static int find_ready(struct db *db, const struct rows *children, int64_t *id, struct err *err)
{
    AUTO_ROWS below = ROWS_INIT;
    const struct rows *r = children;
    size_t i;

    for (*id = 0; (i = child_to_follow(r)) < r->n; r = &below) {
        int64_t child = rows_int(r, i, 0);

        if (rows_int(r, i, 1) == S_READY) {
            *id = child;
            return 0;
        }
        TRY(ask(db, &below, err, Q_WHY_CHILDREN, child, WHY_MAX_OTHERS));
    }
    return 0;
}

static int why_body(struct db *db, void *arg, struct err *err);

static int read_children(struct db *db, struct why_query *g, struct err *err)
{
    AUTO_ROWS r = ROWS_INIT;
    struct why_query ready;

    TRY(ask(db, &r, err, Q_WHY_CHILDREN, g->id, WHY_MAX_OTHERS));
    add_others(g->why, &r);
    TRY(find_ready(db, &r, &ready.id, err));
    if (!ready.id)
        return 0;
    ready.why = g->why->ready = mem_zalloc(sizeof(*ready.why));
    return why_body(db, &ready, err); /* a ready execution has none itself */
}

/* ---- all of it ---- */

static int why_body(struct db *db, void *arg, struct err *err)
{
    struct why_query *g = arg;
    const struct execution *e = &g->why->execution;

    why_release(g->why); /* start anew: the body may run more than once */
    TRY(read_execution(db, g, err));
    TRY(read_events(db, g, err));
    TRY(read_workflow(db, g, err));
    if (execution_is_claimable(e))
        return ask_one(db, INTO(&g->why->before), err, Q_WHY_AHEAD, e->lane, e->queue, -e->priority,
                       e->id, WHY_MAX_AHEAD);
    if (e->held == HELD_LIMIT && e->held_key)
        return read_limit(db, g, err);
    return !kind_is_job(e->kind) && e->status == S_RUNNING ? read_children(db, g, err) : 0;
}

int query_why(struct store *s, int64_t id, struct why *out, struct err *err)
{
    struct why found = {0};
    struct why_query g = {.id = id, .why = &found};
    int rc = query_read(s, why_body, &g, err);

    if (rc == -E_NOT_FOUND)
        rc = query_explain_missing(s, id, err);
    if (rc)
        why_release(&found);
    else
        *out = found;
    return rc;
}

void why_release(struct why *w)
{
    if (w->ready)
        why_release(w->ready);
    free(w->ready);
    event_list_release(&w->events);
    arena_release(&w->arena);
    *w = (struct why){0};
}

/* ---- counts ---- */

int query_open(struct store *s, int64_t id, int64_t *n, struct err *err)
{
    return ask_one(s, INTO(n), err, Q_QUERY_OPEN, id);
}

int query_only_approval(struct store *s, int64_t top, struct arena *arena, int64_t *id,
                        const char **name, struct err *err)
{
    AUTO_ROWS r = ROWS_INIT;
    int64_t now;

    *id = 0;
    TRY(ask_all(s, &now, err, ASKED(&r, Q_QUERY_APPROVALS, top, 2)));
    if (r.n == 1)
        rows_read(&r, 0, 0, arena, id, name);
    return 0;
}

int query_attempts(struct store *s, int64_t id, int *attempts, int *status, struct err *err)
{
    *status = 0;
    TRY(ask_one(s, INTO(attempts, status), err, Q_QUERY_ATTEMPTS, id));
    return *status ? 0 : query_explain_missing(s, id, err);
}

int query_lease_totals(struct store *s, struct lease_totals *out, struct err *err)
{
    return ask_one(s, INTO(&out->all, &out->orphans), err, Q_QUERY_LEASE_TOTALS);
}
