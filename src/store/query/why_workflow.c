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
    AUTO_ROWS r = ROWS_INIT;
    const char *text;

    *out = NULL;
    TRY(ask(db, &r, err, Q_QUERY_DEFINITION, workflow));
    if (!r.n)
        return 0;
    text = rows_text(&r, 0, 0);
    TRY(workflow_read(text, strlen(text), &g->why->arena, workflow_def, err));
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

/* Reads the needs of a task that waits for them or was skipped because of them. */
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

/* ---- the rest ---- */

static int read_pause(struct db *db, struct why_query *g, struct err *err)
{
    struct why *w = g->why;
    AUTO_ROWS r = ROWS_INIT;

    TRY(ask(db, &r, err, Q_WHY_PAUSE, g->id));
    if (r.n)
        rows_read(&r, 0, 0, &w->arena, &w->pause.id, &w->pause.name, &w->pause.at, &w->pause.data);
    return 0;
}

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

int why_read_workflow(struct db *db, struct why_query *g, struct err *err)
{
    const struct execution *e = &g->why->execution;

    if (!status_is_terminal(e->status))
        TRY(read_pause(db, g, err));
    if ((e->status == S_PENDING && !e->held) ||
        (e->status == S_SKIPPED && !(e->flags & FLAG_BY_OPERATOR)))
        return read_graph(db, g, err);
    return e->kind == KIND_FOREACH && e->status == S_RUNNING ? read_items(db, g, err) : 0;
}
