/* flow_fetch.c - what the rules are about to ask for, fetched for all that ended in a turn at once:
 * the workflows above, the tasks behind, and what those are decided by. The rules ask one by one
 * and find it here; what was not foreseen is still fetched when it is asked for. */
#include "core/graph.h"
#include "core/resolve.h"
#include "store/flow.h"

#include <stdlib.h>

/* ---- above what ended ---- */

struct above {
    VEC(struct want) rows;
    struct idmap seen;
};

static void want_row(struct turn *t, struct above *a, int64_t id, int64_t root)
{
    if (!id || turn_row(t, id) || idmap_get(&a->seen, id))
        return;
    idmap_put(&a->seen, id, t);
    *vec_add(&a->rows) = (struct want){.id = id, .root = root};
}

/* Parents, and the nearest workflows. What can't be had now is told by whoever asks for it. */
static int fetch_above(struct turn *t, struct err *err)
{
    struct above a = {0};
    struct idmap flows = IDMAP_INIT;
    VEC(int64_t) ids = {0};
    size_t i;
    int rc;

    for (i = 0; i < t->ended.n; i++) {
        const struct execution *e = &t->ended.at[i]->now;

        want_row(t, &a, e->parent, e->root);
        want_row(t, &a, e->workflow, e->root);
        if (e->workflow && !idmap_get(&t->flows, e->workflow) && !idmap_get(&flows, e->workflow)) {
            idmap_put(&flows, e->workflow, t);
            *vec_add(&ids) = e->workflow;
        }
    }
    if (!(rc = turn_load(t, a.rows.at, a.rows.n, err)))
        rc = flow_read_all(t, ids.at, ids.n, err);
    vec_release(&ids);
    vec_release(&a.rows);
    idmap_release(&a.seen);
    idmap_release(&flows);
    return rc;
}

/* ---- tasks ---- */

/* A list of tasks that will be asked for; many may ask for the same. */
struct asked {
    VEC(struct flow_task_ref) list;
    struct flow *flow;
};

static void ask(struct asked *a, uint32_t index)
{
    if (!idmap_get(&a->flow->tasks, (int64_t)index + 1))
        *vec_add(&a->list) = (struct flow_task_ref){a->flow, index};
}

static void ask_named(void *arg, const char *name)
{
    struct asked *a = arg;
    const struct workflow_task *task = definition_task(a->flow->def, name);

    if (task)
        ask(a, task->index);
}

static int by_task(const void *a, const void *b)
{
    const struct flow_task_ref *x = a, *y = b;
    int64_t of_x = x->flow->row->now.id, of_y = y->flow->row->now.id;

    if (of_x != of_y)
        return of_x < of_y ? -1 : 1;
    return (x->index > y->index) - (x->index < y->index);
}

/* Each once. */
static int read_asked(struct turn *t, struct asked *a, struct err *err)
{
    struct flow_task_ref *list = a->list.at;
    size_t n = 0, i;
    int rc;

    if (a->list.n)
        qsort(list, a->list.n, sizeof(*list), by_task);
    for (i = 0; i < a->list.n; i++)
        if (!n || by_task(&list[i], &list[n - 1]))
            list[n++] = list[i];
    rc = flow_read_tasks(t, list, n, err);
    vec_release(&a->list);
    return rc;
}

int flow_fetch_ended(struct turn *t, struct err *err)
{
    struct asked a = {0};
    size_t i;
    uint32_t told = t->told, n, k;
    int rc = fetch_above(t, err);

    for (i = 0; !rc && i < t->ended.n; i++) {
        struct row *row = t->ended.at[i];
        const struct workflow_task *task;

        a.flow = row->now.parent ? idmap_get(&t->flows, row->now.parent) : NULL;
        if (!a.flow || !row->now.task_name || a.flow->row->now.cancel_requested)
            continue;
        task = definition_task(a.flow->def, row->now.task_name);
        flow_put_task(a.flow, task->index, row);
        n = flow_tells(t, a.flow, told, task->nfollowers);
        for (k = 0; k < n; k++)
            ask(&a, task->followers[k]);
        told += n;
    }
    if (!rc)
        rc = read_asked(t, &a, err);
    return rc;
}

int flow_fetch_moved(struct turn *t, struct err *err)
{
    struct asked a = {0};
    size_t i;
    uint32_t k;

    for (i = 0; i < t->moved.n; i++) {
        const struct execution *e = &t->moved.at[i]->now;
        const struct workflow_task *task;

        a.flow = idmap_get(&t->flows, e->parent);
        task = definition_task(a.flow->def, e->task_name);
        if (e->status != S_PENDING ||
            graph_join(task->join, (size_t)e->needs_left, (size_t)e->cursor) == GRAPH_WAIT)
            continue;
        for (k = 0; k < task->nneeds && !flow_needs_many(a.flow, task); k++)
            ask(&a, task->needs[k]);
        resolve_references(a.flow->def->workflow, task, false, ask_named, &a);
    }
    t->moved.n = 0;
    return read_asked(t, &a, err);
}
