/* why_workflow.c - the part of query_why that concerns the graph: open needs of a task, pauses of
 * its ancestors, progress of a fan-out. Parses the definition on each call, since calls are
 * rare. */
#include "core/graph.h"
#include "core/workflow/model.h"
#include "store/query/why.h"

#include <stdlib.h>
#include <string.h>

/* ---- the task ---- */

/* Reads the definition of a task into why.arena. *out is NULL if the workflow has no definition or
 * no such task. */
static int read_task(struct db *db, struct why_query *g, int64_t workflow, const char *name,
                     const struct workflow **workflow_def, const struct workflow_task **out,
                     struct err *err)
{
    const char *text;
    int rc;

    *out = NULL;
    args_begin(&g->args, Q_QUERY_DEFINITION);
    args_int(&g->args, workflow);
    if ((rc = why_run_query(db, g, err)) || !g->rows.n)
        return rc;
    text = rows_text(&g->rows, 0, 0);
    if ((rc = workflow_read(text, strlen(text), &g->why->arena, workflow_def, err)))
        return rc;
    *out = workflow_task(*workflow_def, name);
    return 0;
}

static int by_name(const void *a, const void *b)
{
    const struct why_need *const *x = a, *const *y = b;

    return strcmp((*x)->name, (*y)->name);
}

/* Copies id and status from the rows to the needs. Sorts the needs first, since both may be
 * many. */
static void set_needs(struct why *w, const struct rows *r)
{
    struct why_need **sorted = arena_alloc(&w->arena, w->nneeds * sizeof(*sorted));
    size_t i;

    for (i = 0; i < w->nneeds; i++)
        sorted[i] = &w->needs[i];
    qsort(sorted, w->nneeds, sizeof(*sorted), by_name);
    for (i = 0; i < r->n; i++) {
        struct why_need key = {.name = rows_text(r, i, 0)}, *wanted = &key;
        struct why_need **found = bsearch(&wanted, sorted, w->nneeds, sizeof(*sorted), by_name);

        if (found) {
            (*found)->id = rows_int(r, i, 1);
            (*found)->status = (int)rows_int(r, i, 2);
        }
    }
}

static int read_needs(struct db *db, struct why_query *g, const struct workflow *workflow_def,
                      const struct workflow_task *task, struct err *err)
{
    struct why *w = g->why;
    size_t i;
    int rc;

    w->needs = arena_zalloc(&w->arena, (task->nneeds + 1) * sizeof(*w->needs));
    args_begin(&g->args, Q_WHY_TASKS);
    args_int(&g->args, w->execution.workflow);
    for (i = 0; i < task->nneeds; i++) {
        const struct workflow_task *need = &workflow_def->tasks[task->needs[i]];

        w->needs[w->nneeds++] = (struct why_need){.name = need->name};
        args_text(&g->args, need->name);
    }
    if (!task->nneeds)
        return 0;
    if (!(rc = why_run_query(db, g, err)))
        set_needs(w, &g->rows);
    return rc;
}

/* Reads the needs of a task that waits for them or was skipped because of them. */
static int read_graph(struct db *db, struct why_query *g, struct err *err)
{
    const struct execution *e = &g->why->execution;
    const struct workflow_task *task = NULL;
    const struct workflow *workflow_def;
    int rc;

    if (!e->workflow || !e->task_name || e->task_index >= 0)
        return 0;
    if ((rc = read_task(db, g, e->workflow, e->task_name, &workflow_def, &task, err)) || !task)
        return rc;
    g->why->has_task = true;
    g->why->join = task->join;
    g->why->condition = task->condition;
    return read_needs(db, g, workflow_def, task, err);
}

/* ---- the rest ---- */

static int read_pause(struct db *db, struct why_query *g, struct err *err)
{
    struct why *w = g->why;
    int rc;

    args_begin(&g->args, Q_WHY_PAUSE);
    args_int(&g->args, g->id);
    if ((rc = why_run_query(db, g, err)) || !g->rows.n)
        return rc;
    w->pause.id = rows_int(&g->rows, 0, 0);
    w->pause.name = arena_strdup(&w->arena, rows_text(&g->rows, 0, 1));
    w->pause.at = rows_int(&g->rows, 0, 2);
    w->pause.data = arena_strdup(&w->arena, rows_text(&g->rows, 0, 3));
    return 0;
}

/* Reads how many items a fan-out has, and how many may be open at once. */
static int read_items(struct db *db, struct why_query *g, struct err *err)
{
    const struct execution *e = &g->why->execution;
    const struct workflow_task *task = NULL;
    const struct workflow *workflow_def;
    int rc;

    args_begin(&g->args, Q_WHY_ITEMS);
    args_int(&g->args, g->id);
    if ((rc = why_run_query(db, g, err)))
        return rc;
    g->why->items = g->rows.n && !rows_null(&g->rows, 0, 0) ? rows_int(&g->rows, 0, 0) : -1;
    if (!e->workflow || !e->task_name)
        return 0;
    if (!(rc = read_task(db, g, e->workflow, e->task_name, &workflow_def, &task, err)) && task)
        g->why->max_parallel = task->max_parallel;
    return rc;
}

int why_read_workflow(struct db *db, struct why_query *g, struct err *err)
{
    const struct execution *e = &g->why->execution;
    int rc;

    if (!status_is_terminal(e->status) && (rc = read_pause(db, g, err)))
        return rc;
    if ((e->status == S_PENDING && !e->held) ||
        (e->status == S_SKIPPED && !(e->flags & FLAG_BY_OPERATOR)))
        return read_graph(db, g, err);
    return e->kind == KIND_FOREACH && e->status == S_RUNNING ? read_items(db, g, err) : 0;
}
