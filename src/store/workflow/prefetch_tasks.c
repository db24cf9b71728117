/* prefetch_tasks.c - loads the rows that workflow_advance is about to use, for all ends of a turn
 * at once: the workflows above, the followers, and the tasks that the followers' decisions depend
 * on. This only saves round trips: a row that was not prefetched is loaded when it is used. */
#include "core/graph.h"
#include "core/templates.h"
#include "store/workflow/workflow.h"

#include <stdlib.h>

/* ---- ancestors ---- */

struct wanted_rows {
    VEC(struct row_ref) rows;
    struct idmap seen;
};

static void add_wanted_row(struct turn *t, struct wanted_rows *a, int64_t id, int64_t root)
{
    if (!id || turn_row(t, id) || idmap_get(&a->seen, id))
        return;
    idmap_put(&a->seen, id, t);
    *vec_add(&a->rows) = (struct row_ref){.id = id, .root = root};
}

/* Loads the parents of the ended executions, and the nearest workflows above them. A row that can't
 * be loaded is not an error here: the code that uses the row reports the error. */
static int prefetch_ancestors(struct turn *t, struct err *err)
{
    struct wanted_rows a = {0};
    AUTO_IDMAP workflow_states = IDMAP_INIT;
    VEC(int64_t) ids = {0};
    int rc;

    for (size_t i = 0; i < t->ended.n; i++) {
        const struct execution *e = &t->ended.at[i]->now;

        add_wanted_row(t, &a, e->parent, e->root);
        add_wanted_row(t, &a, e->workflow, e->root);
        if (e->workflow && !idmap_get(&t->workflow_states, e->workflow) &&
            !idmap_get(&workflow_states, e->workflow)) {
            idmap_put(&workflow_states, e->workflow, t);
            *vec_add(&ids) = e->workflow;
        }
    }
    if (!(rc = turn_load(t, a.rows.at, a.rows.n, err)))
        rc = workflow_states_read(t, ids.at, ids.n, err);
    vec_release(&ids);
    vec_release(&a.rows);
    idmap_release(&a.seen);
    return rc;
}

/* ---- tasks ---- */

/* A list of tasks to load, which may contain duplicates. */
struct wanted_tasks {
    VEC(struct task_ref) list;
    struct workflow_state *state;
};

static void want_task(struct wanted_tasks *a, uint32_t index)
{
    if (!idmap_get(&a->state->tasks, (int64_t)index + 1))
        *vec_add(&a->list) = (struct task_ref){a->state, index};
}

static void want_named_task(void *arg, const char *name)
{
    struct wanted_tasks *a = arg;
    const struct workflow_task *task = name ? definition_find_task(a->state->def, name) : NULL;

    if (task)
        want_task(a, task->index);
}

static int by_task(const void *a, const void *b)
{
    const struct task_ref *x = a, *y = b;
    int64_t workflow_x = x->state->row->now.id, workflow_y = y->state->row->now.id;

    if (workflow_x != workflow_y)
        return workflow_x < workflow_y ? -1 : 1;
    return (x->index > y->index) - (x->index < y->index);
}

/* Loads the tasks of the list, each once. */
static int read_wanted_tasks(struct turn *t, struct wanted_tasks *a, struct err *err)
{
    struct task_ref *list = a->list.at;
    size_t n = 0, i;
    int rc;

    if (a->list.n)
        qsort(list, a->list.n, sizeof(*list), by_task);
    for (i = 0; i < a->list.n; i++)
        if (!n || by_task(&list[i], &list[n - 1]))
            list[n++] = list[i];
    rc = tasks_read(t, list, n, err);
    vec_release(&a->list);
    return rc;
}

int prefetch_for_ended(struct turn *t, struct err *err)
{
    struct wanted_tasks a = {0};
    uint32_t notified = t->notified, n, k;
    int rc = prefetch_ancestors(t, err);

    for (size_t i = 0; !rc && i < t->ended.n; i++) {
        struct row *row = t->ended.at[i];
        const struct workflow_task *task;

        a.state = row->now.parent ? idmap_get(&t->workflow_states, row->now.parent) : NULL;
        if (!a.state || !row->now.task_name || a.state->row->now.cancel_requested)
            continue;
        task = definition_find_task(a.state->def, row->now.task_name);
        workflow_state_put_task(a.state, task->index, row);
        n = followers_slice_size(t, a.state, notified, task->nfollowers);
        for (k = 0; k < n; k++)
            want_task(&a, task->followers[k]);
        notified += n;
    }
    if (!rc)
        rc = read_wanted_tasks(t, &a, err);
    return rc;
}

int prefetch_for_decisions(struct turn *t, struct err *err)
{
    struct wanted_tasks a = {0};

    for (size_t i = 0; i < t->to_prefetch.n; i++) {
        const struct execution *e = &t->to_prefetch.at[i]->now;
        const struct workflow_task *task;

        a.state = idmap_get(&t->workflow_states, e->parent);
        task = definition_find_task(a.state->def, e->task_name);
        if (e->status != S_PENDING ||
            graph_join(task->join, (size_t)e->needs_left, (size_t)e->needs_succeeded) == GRAPH_WAIT)
            continue;
        for (uint32_t k = 0; k < task->nneeds && !task_has_many_needs(a.state, task); k++)
            want_task(&a, task->needs[k]);
        templates_references(a.state->def->templates, task, false, want_named_task, &a);
    }
    t->to_prefetch.n = 0;
    return read_wanted_tasks(t, &a, err);
}
