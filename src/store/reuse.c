/* reuse.c - a workflow that runs anew, with other params or another definition, and takes over what
 * stands before the point from which it differs: tasks that succeeded in the run before it. */
#include "core/rerun.h"
#include "store/data.h"
#include "store/door.h"
#include "store/flow.h"

#include <jansson.h>

struct before {
    int64_t id;
    const char *result;
};

/* How the tasks of that name ended, and what they gave. A task that was not there has not ended
 * well. */
static int read_before(struct turn *t, const struct flow *f, struct graph_need *ended,
                       struct before *before, struct err *err)
{
    const struct workflow *w = f->def->workflow;
    struct args a = ARGS_INIT;
    struct rows r = ROWS_INIT;
    uint32_t i;
    int rc;

    for (i = 0; i < w->ntasks; i++)
        ended[i] = (struct graph_need){.status = S_FAILED};
    args_begin(&a, Q_ENDED_TASKS);
    for (i = 0; i < w->ntasks; i++) {
        args_int(&a, f->row->now.rerun_of);
        args_text(&a, w->tasks[i].name);
    }
    if ((rc = db_query(t->db, &a, &r, err)))
        goto done;
    for (i = 0; i < r.n; i++) {
        const struct workflow_task *task = definition_task(f->def, rows_text(&r, i, 0));
        int bits = (int)rows_int(&r, i, 3);

        ended[task->index] = (struct graph_need){.status = (int)rows_int(&r, i, 2),
                                                 .allow_failure = task->allow_failure,
                                                 .failed_behind = (bits & GRAPH_FAILED) != 0,
                                                 .by_operator = (bits & GRAPH_BY_OPERATOR) != 0};
        before[task->index].id = rows_int(&r, i, 1);
        before[task->index].result = arena_strdup(&t->arena, rows_text(&r, i, 4));
    }
done:
    rows_release(&r);
    args_release(&a);
    return rc;
}

static int mark(const struct flow *f, const struct graph_need *ended, enum rerun_mark *marks,
                struct err *err)
{
    json_t *reuse = json_loads(f->reuse, 0, NULL);
    const char *from = json_string_value(json_object_get(reuse, "from"));
    const struct workflow_task *task = from ? definition_task(f->def, from) : NULL;
    int rc = 0;

    if (from && (!task || task->index >= f->def->workflow->ntasks))
        rc = workflow_no_task(f->def->workflow, from, err);
    else if (task)
        rerun_from(f->def->workflow, task->index, true, marks);
    else
        (void)rerun_failed(f->def->workflow, ended, marks);
    json_decref(reuse);
    return rc;
}

int flow_reuse(struct turn *t, struct flow *f, struct err *err)
{
    uint32_t n = f->def->workflow->ntasks, i;
    struct graph_need *ended = arena_alloc(&t->arena, (n + 1) * sizeof(*ended));
    struct before *before = arena_zalloc(&t->arena, (n + 1) * sizeof(*before));
    enum rerun_mark *marks = arena_zalloc(&t->arena, (n + 1) * sizeof(*marks));
    uint32_t *stands = arena_alloc(&t->arena, (n + 1) * sizeof(*stands)), count = 0;
    struct row **rows = arena_alloc(&t->arena, (n + 1) * sizeof(*rows));
    int rc;

    if ((rc = read_before(t, f, ended, before, err)) || (rc = mark(f, ended, marks, err)))
        return rc;
    for (i = 0; i < n; i++)
        if (!marks[i] && ended[i].status == S_SUCCEEDED)
            stands[count++] = i;
    if ((rc = flow_tasks(t, f, stands, count, rows, err)))
        return rc;
    for (i = 0; i < count; i++) {
        const struct before *b = &before[stands[i]];
        struct move_note note = {.data = data_reused(t, b->id)};

        door_outcome(rows[i], b->result, NULL);
        if ((rc = door_move(t, rows[i], EV_REUSED, S_SUCCEEDED, &note, err)))
            return rc;
    }
    return 0;
}
