/* create.c - starts a workflow and creates its tasks as pending executions. A large graph takes
 * several turns; no task runs before all of them exist. */
#include "base/json.h"
#include "core/graph.h"
#include "core/resolve.h"
#include "store/door/door.h"
#include "store/ops/admission.h"
#include "store/store_internal.h"
#include "store/workflow/rerun.h"
#include "store/workflow/workflow.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#define CREATE_SLICE 1000 /* tasks of one workflow that one turn creates */
/* Tasks of all workflows that one turn creates, but at least one of each workflow. */
#define CREATE_MAX   4000
#define START_SLICE  500 /* tasks of one workflow that one turn makes ready */

static const char *task_full_name(struct turn *t, const struct workflow_state *f, const char *task)
{
    return arena_printf(&t->arena, "%s::%s", f->def->workflow->name, task);
}

/* The queue of a task. Tasks of a foreground run stay in its queue, even if they name another
 * one. */
static const char *task_find_queue(const struct workflow_state *f, const struct workflow_task *task)
{
    const char *parent_queue = f->row->now.queue;

    if (!task->queue || !strncmp(parent_queue, QUEUE_FOREGROUND, strlen(QUEUE_FOREGROUND)))
        return parent_queue;
    return task->queue;
}

int task_max_attempts(const struct turn *t, const struct workflow_task *task)
{
    int n = task->command.retry.max < 0 ? t->store->workflow_options.default_attempts
                                        : task->command.retry.max + 1;

    return n > 0 ? n : 1;
}

/* Resets the row that a task has from an earlier run; *out is NULL if the task has no such row. */
static int reset_old_task(struct turn *t, struct workflow_state *f,
                          const struct workflow_task *task, struct row **out, struct err *err)
{
    uint32_t index = task->index;

    *out = NULL;
    if (!(f->row->now.flags & FLAG_RERUN))
        return 0;
    TRY(tasks_get_rows(t, f, &index, 1, out, err));
    if (!*out)
        return 0;
    TRY(rerun_reset(t, *out, S_PENDING, task_max_attempts(t, task), NULL, err));
    (*out)->now.needs_left = (int)task->nneeds;
    f->row->now.children_open++;
    return 0;
}

int workflow_create_task(struct turn *t, struct workflow_state *f, const struct workflow_task *task,
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
                          .max_attempts = task_max_attempts(t, task),
                          .task_index = -1,
                          .needs_left = (int)task->nneeds,
                          .flags = w->flags & FLAG_CAPPED,
                          .name = task_full_name(t, f, task->name),
                          .queue = task_find_queue(f, task),
                          .task_name = task->name};
    int rc = reset_old_task(t, f, task, out, err);

    if (rc || *out)
        return rc;
    TRY(turn_next_id(t, w->id, &e.id, err));
    TRY(door_create(t, &e, NULL, out, err));
    workflow_state_put_task(f, task->index, *out);
    f->row->now.children_open++;
    return 0;
}

/* Loads the old rows of a whole slice of tasks with one statement. */
static int load_old_tasks(struct turn *t, struct workflow_state *f, uint32_t from, uint32_t n,
                          struct err *err)
{
    uint32_t *index = arena_alloc(&t->arena, (n + 1) * sizeof(*index)), i;
    struct row **rows = arena_alloc(&t->arena, (n + 1) * sizeof(*rows));

    for (i = 0; i < n; i++)
        index[i] = from + i;
    return tasks_get_rows(t, f, index, n, rows, err);
}

/* Creates a slice of tasks. Reserves their ids with one statement. */
static int create_task_slice(struct turn *t, struct workflow_state *f, uint32_t from, uint32_t n,
                             struct err *err)
{
    struct row *row;

    if (f->row->now.flags & FLAG_RERUN)
        TRY(load_old_tasks(t, f, from, n, err));
    TRY(turn_reserve_ids(t, n, f->row->now.id, err));
    for (uint32_t i = from; i < from + n; i++)
        TRY(workflow_create_task(t, f, &f->def->workflow->tasks[i], &row, err));
    return 0;
}

int workflow_set_progress(struct turn *t, struct workflow_state *f, uint32_t reuse_left,
                          uint32_t start_left, struct err *err)
{
    if (f->reuse_left == reuse_left && f->start_left == start_left)
        return 0;
    f->reuse_left = reuse_left;
    f->start_left = start_left;
    if (f->row->definition) /* write the workflow's row: the statement below expects it to exist */
        TRY(door_write(t, err));
    return db_queue(t->db, NULL, 1, err, Q_WORKFLOW_PROGRESS, f->row->now.id,
                    val_or_null(reuse_left), val_or_null(start_left));
}

/* Decides on the tasks without needs, one slice per turn, once all tasks exist. */
static int start_tasks_without_needs(struct turn *t, struct workflow_state *f, struct err *err)
{
    const struct workflow *w = f->def->workflow;
    uint32_t at = f->start_left ? w->ntasks - f->start_left : 0;
    uint32_t most = slice_bound(t, START_SLICE), index[START_SLICE], n = 0, i;
    struct row *rows[START_SLICE];

    for (; at < w->ntasks && n < most; at++)
        if (!w->tasks[at].nneeds)
            index[n++] = at;
    if (n)
        TRY(tasks_get_rows(t, f, index, n, rows, err));
    for (i = 0; i < n; i++)
        TRY(task_decide(t, f, &w->tasks[index[i]], rows[i], err));
    TRY(workflow_set_progress(t, f, 0, w->ntasks - at, err));
    if (at < w->ntasks)
        return execution_continue_later(t, f->row, err);
    return workflow_end_if_done(t, f, err); /* the workflow may have no task to run */
}

bool workflow_is_starting(const struct workflow_state *f)
{
    return (uint32_t)f->row->now.children_made < f->def->workflow->ntasks || f->reuse_left ||
           f->start_left;
}

/* Takes over results of the earlier execution, one slice per turn, once all tasks exist. */
static int reuse_slice(struct turn *t, struct workflow_state *f, struct err *err)
{
    uint32_t n = f->def->workflow->ntasks, at = f->reuse_left ? n - f->reuse_left : 0;

    TRY(workflow_reuse_results(t, f, &at, err));
    TRY(workflow_set_progress(t, f, n - at, 0, err));
    return at < n ? execution_continue_later(t, f->row, err) : start_tasks_without_needs(t, f, err);
}

uint32_t tasks_slice_size(const struct turn *t, uint32_t tasks_created, uint32_t left)
{
    uint32_t all = slice_bound(t, CREATE_MAX), slice = slice_bound(t, CREATE_SLICE);
    uint32_t most = tasks_created < all ? all - tasks_created : 1;

    most = most < slice ? most : slice;
    return left < most ? left : most;
}

int workflow_create_tasks(struct turn *t, struct workflow_state *f, struct err *err)
{
    struct execution *e = &f->row->now;
    uint32_t all = f->def->workflow->ntasks, tasks_created = (uint32_t)e->children_made, n;

    if (tasks_created >= all)
        return f->reuse_left ? reuse_slice(t, f, err) : start_tasks_without_needs(t, f, err);
    n = tasks_slice_size(t, t->tasks_created, all - tasks_created);
    TRY(workflow_set_progress(t, f, 0, 0, err)); /* clears the progress of an earlier run */
    TRY(create_task_slice(t, f, tasks_created, n, err));
    t->tasks_created += n;
    e->children_made += (int)n;
    door_mark_changed(t, f->row);
    if ((uint32_t)e->children_made < all)
        return execution_continue_later(t, f->row, err);
    if (f->reuse && !(e->flags & FLAG_RERUN))
        return reuse_slice(t, f, err);
    return start_tasks_without_needs(t, f, err);
}

/* ---- start ---- */

/* Sets the concurrency key from the workflow's own definition. Not called if the task that nests
 * the workflow has set a key. */
static int set_own_key(struct turn *t, struct workflow_state *f, struct err *err)
{
    struct eval_subject s = {.facts = {.success = true}};
    struct resolve_scope scope;
    int rc = 0;

    TRY(workflow_build_scope(t, f, &s, &scope, err));
    rc = concurrency_set_key(t, f->row, &f->def->workflow->concurrency, &scope, err);
    resolve_scope_release(&scope);
    return rc;
}

int workflow_start_unheld(struct turn *t, struct workflow_state *f, struct err *err)
{
    if (f->row->now.concurrency) {
        TRY(door_admit(t, f->row, err));
        if (f->row->now.held)
            return 0; /* it will start when it gets its permit */
    }
    TRY(door_move(t, f->row, EV_STARTED, S_RUNNING, NULL, err));
    TRY(workflow_set_timeout(t, f, err));
    return workflow_create_tasks(t, f, err);
}

int workflow_start(struct turn *t, struct row *row, const struct definition *def,
                   const struct workflow_input *in, struct err *err)
{
    json_t *params = turn_keep_json(t, in->params), *variables = NULL;
    struct err why = ERR_INIT;
    struct workflow_state *f;
    bool held = false;
    int rc = in->params_checked ? 0 : resolve_check_params(def->workflow, params, &why);

    if (!rc)
        rc = resolve_variables(def->templates, params, &variables, &why);
    /* Store the state nevertheless, so that readers see which definition and params failed. */
    if (rc)
        variables = json_pack("{s:O, s:{}}", "params", params, "vars");
    if (in->due)
        json_object_set(variables, "due_at", in->due);
    row->definition = def->hash;
    row->variables = json_arena_text(variables, &t->arena);
    door_mark_changed(t, row);
    f = workflow_state_add(t, row, def, variables);
    f->reuse = row->reuse;
    if (why.code)
        return task_fail(t, row, why.msg, err);
    if (!row->now.concurrency && def->workflow->concurrency.key && (rc = set_own_key(t, f, err)))
        return task_fail_if_invalid(t, row, rc, err);
    if (in->holds && ((rc = row_hold_if_needed(t, row, in->holds, &held, err)) || held))
        return rc;
    return workflow_start_unheld(t, f, err);
}
