/* reuse.c - a workflow that runs anew, with other params or another definition, and takes over what
 * stands before the point from which it differs: tasks that succeeded in the run before it. A slice
 * in a turn, what comes last in the graph first: so whatever becomes ready meanwhile, because all
 * that it needs was taken over, is a task that has to run. */
#include "core/rerun.h"
#include "store/door/door.h"
#include "store/door/event_data.h"
#include "store/store_internal.h"
#include "store/workflow/workflow.h"

#include <jansson.h>
#include <stdlib.h>

#define REUSE_SLICE         500  /* results that are taken over in a turn */
#define REUSE_MAX_FOLLOWERS 2000 /* or fewer, if so many are behind them */

/* ---- what stands ---- */

void reuse_cache_clear(struct store *s)
{
    free(s->reuse.is_reusable);
    s->reuse.is_reusable = NULL;
    s->reuse.execution = 0;
}

static void save_need(void *arg, const struct workflow_task *task, const struct execution *e)
{
    struct graph_need *ended = arg;

    ended[task->index] = task_as_need(task, e);
}

/* What failed in the run before, and all behind it. A task that was not there has not ended well.
 */
static int mark_failed(struct turn *t, const struct workflow_state *f, enum rerun_mark *marks,
                       struct err *err)
{
    uint32_t n = f->def->workflow->ntasks, i;
    struct graph_need *ended = arena_alloc(&t->arena, (n + 1) * sizeof(*ended));
    int rc;

    for (i = 0; i < n; i++)
        ended[i] = (struct graph_need){.status = S_FAILED};
    if (!(rc = tasks_read_states(t, f->row->now.rerun_of, f->def, save_need, ended, err)))
        (void)rerun_failed(f->def->workflow, ended, marks);
    return rc;
}

static int mark_reruns(struct turn *t, const struct workflow_state *f, enum rerun_mark *marks,
                       struct err *err)
{
    json_t *reuse = json_loads(f->reuse, 0, NULL);
    const char *from = json_string_value(json_object_get(reuse, "from"));
    const struct workflow_task *task = from ? definition_find_task(f->def, from) : NULL;
    int rc = 0;

    if (from && (!task || task->index >= f->def->workflow->ntasks))
        rc = workflow_no_task(f->def->workflow, from, err);
    else if (task)
        rerun_from(f->def->workflow, task->index, true, marks);
    else
        rc = mark_failed(t, f, marks, err);
    json_decref(reuse);
    return rc;
}

/* Which of its tasks stand, if they succeeded: judged once by whoever takes it over. */
static int decide_reusable(struct turn *t, const struct workflow_state *f, struct err *err)
{
    struct store *s = t->store;
    uint32_t n = f->def->workflow->ntasks, i;
    enum rerun_mark *marks;
    int rc;

    if (s->reuse.execution == f->row->now.id)
        return 0;
    marks = arena_zalloc(&t->arena, (n + 1) * sizeof(*marks));
    if ((rc = mark_reruns(t, f, marks, err)))
        return rc;
    reuse_cache_clear(s);
    s->reuse.execution = f->row->now.id;
    s->reuse.is_reusable = mem_alloc((n + 1) * sizeof(*s->reuse.is_reusable));
    for (i = 0; i < n; i++)
        s->reuse.is_reusable[i] = marks[i] == RERUN_KEPT;
    return 0;
}

/* ---- taking it over ---- */

/* The next of them, the last in the order of the graph first. */
static uint32_t choose_slice(struct turn *t, const struct workflow_state *f, uint32_t *at,
                             uint32_t *index)
{
    const struct workflow *w = f->def->workflow;
    uint32_t *order = arena_alloc(&t->arena, (w->ntasks + 1) * sizeof(*order)), behind = 0, n = 0,
             i;

    for (i = 0; i < w->ntasks; i++)
        order[w->ntasks - f->def->rank[i]] = i;
    for (; *at < w->ntasks && n < REUSE_SLICE && behind < REUSE_MAX_FOLLOWERS; ++*at)
        if (t->store->reuse.is_reusable[order[*at]]) {
            index[n++] = order[*at];
            behind += w->tasks[order[*at]].nfollowers;
        }
    return n;
}

/* The results that the tasks of those names had; rows of them. */
static int read_old_results(struct turn *t, const struct workflow_state *f, const uint32_t *index,
                            uint32_t n, struct rows *out, struct err *err)
{
    struct args a = ARGS_INIT;
    uint32_t i;
    int rc;

    args_begin(&a, Q_ENDED_TASKS);
    for (i = 0; i < n; i++) {
        args_int(&a, f->row->now.rerun_of);
        args_text(&a, f->def->workflow->tasks[index[i]].name);
    }
    rc = db_query(t->db, &a, out, err);
    args_release(&a);
    return rc;
}

/* Unless somebody skipped or cancelled it meanwhile. */
static int reuse_result(struct turn *t, struct row *row, int64_t before, const char *result,
                        struct err *err)
{
    struct move_note note = {.data = data_reused(t, before)};

    if (row->now.status != S_PENDING || row->now.held)
        return 0;
    door_set_outcome(row, arena_strdup(&t->arena, result), NULL);
    return door_move(t, row, EV_REUSED, S_SUCCEEDED, &note, err);
}

int workflow_reuse_results(struct turn *t, struct workflow_state *f, uint32_t *at, struct err *err)
{
    uint32_t index[REUSE_SLICE], n;
    struct row *rows[REUSE_SLICE];
    struct rows before = ROWS_INIT;
    size_t i;
    int rc;

    if ((rc = decide_reusable(t, f, err)))
        return rc;
    n = choose_slice(t, f, at, index);
    if (!n || (rc = read_old_results(t, f, index, n, &before, err)) ||
        (rc = tasks_get_rows(t, f, index, n, rows, err)))
        goto done;
    for (i = 0; !rc && i < before.n; i++)
        if (rows_int(&before, i, 2) == S_SUCCEEDED) {
            uint32_t of = definition_find_task(f->def, rows_text(&before, i, 0))->index;

            rc = reuse_result(t, idmap_get(&f->tasks, (int64_t)of + 1), rows_int(&before, i, 1),
                              rows_text(&before, i, 3), err);
        }
done:
    if (*at >= f->def->workflow->ntasks)
        reuse_cache_clear(t->store);
    rows_release(&before);
    return rc;
}
