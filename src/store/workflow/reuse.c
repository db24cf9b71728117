/* reuse.c - a rerun as a new execution, with other params or another definition, takes over the
 * results of tasks that succeeded in the earlier execution and do not have to run again. This is
 * done in slices, in reverse topological order: followers before their needs. So a task that
 * becomes ready between two slices, because the results of all its needs were taken over, is always
 * a task that must run. */
#include "core/graph.h"
#include "core/rerun.h"
#include "store/door/door.h"
#include "store/door/event_data.h"
#include "store/store_internal.h"
#include "store/workflow/workflow.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#define REUSE_SLICE         500  /* results that one turn takes over */
#define REUSE_MAX_FOLLOWERS 2000 /* a slice ends when its tasks have this many followers */

/* ---- which results are reusable ---- */

void reuse_cache_clear(struct store *s)
{
    free(s->reuse.marks);
    s->reuse.marks = NULL;
    s->reuse.execution = 0;
}

/* Marks the tasks that failed in the earlier execution, and their followers. A task that the
 * earlier execution did not have counts as failed. */
static int mark_failed(struct turn *t, const struct workflow_state *f, enum rerun_mark *marks,
                       struct err *err)
{
    uint32_t n = f->def->workflow->ntasks, i;
    struct graph_need *ended = arena_alloc(&t->arena, (n + 1) * sizeof(*ended));
    struct task_state *states;

    TRY(tasks_read_states(t, f->row->now.rerun_of, f->def, &states, err));
    for (i = 0; i < n; i++)
        ended[i] = states[i].id ? states[i].need : (struct graph_need){.status = S_FAILED};
    (void)rerun_failed(f->def->workflow, ended, marks);
    return 0;
}

static int mark_reruns(struct turn *t, const struct workflow_state *f, enum rerun_mark *marks,
                       struct err *err)
{
    json_auto_t *reuse = json_loads(f->reuse, 0, NULL);
    const char *from = json_string_value(json_object_get(reuse, "from"));
    const struct workflow_task *task = from ? definition_find_task(f->def, from) : NULL;
    int rc = 0;

    if (from && (!task || task->index >= f->def->workflow->ntasks))
        rc = workflow_no_task(f->def->workflow, from, err);
    else if (task)
        rerun_from(f->def->workflow, task->index, true, marks);
    else
        rc = mark_failed(t, f, marks, err);
    return rc;
}

/* Decides which tasks run again; the others are reusable if they succeeded. Done once per execution
 * and cached in the store. */
static int decide_reruns(struct turn *t, const struct workflow_state *f, struct err *err)
{
    struct store *s = t->store;
    uint32_t n = f->def->workflow->ntasks;
    enum rerun_mark *marks;

    if (s->reuse.execution == f->row->now.id)
        return 0;
    marks = arena_zalloc(&t->arena, (n + 1) * sizeof(*marks));
    TRY(mark_reruns(t, f, marks, err));
    reuse_cache_clear(s);
    s->reuse.execution = f->row->now.id;
    s->reuse.marks = mem_alloc((n + 1) * sizeof(*s->reuse.marks));
    memcpy(s->reuse.marks, marks, n * sizeof(*marks));
    return 0;
}

int workflow_reuses_items(struct turn *t, struct workflow_state *f, uint32_t task, bool *out,
                          struct err *err)
{
    json_auto_t *reuse = f->reuse ? json_loads(f->reuse, 0, NULL) : NULL;

    *out = false;
    if (!json_is_true(json_object_get(reuse, "failed")) || (f->row->now.flags & FLAG_RERUN) ||
        task >= f->def->workflow->ntasks)
        return 0;
    TRY(decide_reruns(t, f, err));
    *out = t->store->reuse.marks[task] == RERUN_FIRST;
    return 0;
}

/* ---- take over results ---- */

/* Chooses the next slice of reusable tasks, in reverse topological order. */
static uint32_t choose_slice(struct turn *t, const struct workflow_state *f, uint32_t *at,
                             uint32_t *index)
{
    const struct workflow *w = f->def->workflow;
    uint32_t *order = arena_alloc(&t->arena, (w->ntasks + 1) * sizeof(*order)), followers = 0,
             n = 0, i;

    for (i = 0; i < w->ntasks; i++)
        order[w->ntasks - f->def->rank[i]] = i;
    for (; *at < w->ntasks && n < REUSE_SLICE && followers < REUSE_MAX_FOLLOWERS; ++*at)
        if (t->store->reuse.marks[order[*at]] == RERUN_KEPT) {
            index[n++] = order[*at];
            followers += w->tasks[order[*at]].nfollowers;
        }
    return n;
}

/* Reads the results of the tasks with the same names in the earlier execution. */
static int read_old_results(struct turn *t, const struct workflow_state *f, const uint32_t *index,
                            uint32_t n, struct rows *out, struct err *err)
{
    AUTO_ARGS a = ARGS_INIT;

    args_begin(&a, Q_ENDED_TASKS);
    for (uint32_t i = 0; i < n; i++)
        args_row(&a, f->row->now.rerun_of, f->def->workflow->tasks[index[i]].name);
    return db_query(t->db, &a, out, err);
}

int task_reuse_result(struct turn *t, struct row *row, int64_t before, const char *result,
                      struct err *err)
{
    struct move_note note = {.data = data_build(t, "n", "of", before)};

    if (row->now.status != S_PENDING || row->now.held)
        return 0;
    door_set_outcome(row, arena_strdup(&t->arena, result), NULL);
    return door_move(t, row, EV_REUSED, S_SUCCEEDED, &note, err);
}

int workflow_reuse_results(struct turn *t, struct workflow_state *f, uint32_t *at, struct err *err)
{
    uint32_t index[REUSE_SLICE], n;
    struct row *rows[REUSE_SLICE];
    AUTO_ROWS before = ROWS_INIT;
    int rc = 0;

    TRY(decide_reruns(t, f, err));
    n = choose_slice(t, f, at, index);
    if (!n || (rc = read_old_results(t, f, index, n, &before, err)) ||
        (rc = tasks_get_rows(t, f, index, n, rows, err)))
        goto done;
    for (size_t i = 0; !rc && i < before.n; i++)
        if (rows_int(&before, i, 2) == S_SUCCEEDED) {
            uint32_t task_index = definition_find_task(f->def, rows_text(&before, i, 0))->index;

            rc = task_reuse_result(t, idmap_get(&f->tasks, (int64_t)task_index + 1),
                                   rows_int(&before, i, 1), rows_text(&before, i, 3), err);
        }
done:
    if (*at >= f->def->workflow->ntasks)
        reuse_cache_clear(t->store);
    return rc;
}
