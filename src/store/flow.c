/* flow.c - from one end to the next: what ended in a turn moves what is above and beside it, which
 * may end in turn. One transaction, a list instead of recursion. */
#include "store/flow.h"

#include "core/graph.h"
#include "store/door.h"
#include "store/store_internal.h"

#define USUAL_SLICE 1000

uint32_t flow_bound(const struct turn *t, uint32_t usual)
{
    uint32_t slice = t->store->flow.slice;

    return slice ? (usual * slice + USUAL_SLICE - 1) / USUAL_SLICE : usual;
}

/* What a task itself started counts for the nearest workflow above: that ends after it. */
static int spawned_ended(struct turn *t, struct row *row, struct err *err)
{
    struct flow *f;
    int rc;

    if (!row->now.workflow)
        return 0;
    if ((rc = flow_of(t, row->now.workflow, row->now.root, &f, err)) || !f)
        return rc;
    f->row->now.needs_left--;
    door_touch(t, f->row);
    flow_look(t, f->row, 0);
    return 0;
}

/* A due time of its schedule may wait for the end of this run. */
static void run_ended(struct turn *t, const struct row *row)
{
    const struct flow *f = idmap_get(&t->flows, row->now.id);

    if (f && f->def->workflow->nschedules)
        t->wake |= WAKE_JOBS | WAKE_TIMERS;
}

static int ended(struct turn *t, struct row *row, struct err *err)
{
    struct want want = {.id = row->now.parent, .root = row->now.root};
    struct row *parent;
    struct flow *f;
    int rc;

    if (!want.id) {
        run_ended(t, row);
        return 0;
    }
    if ((rc = turn_load(t, &want, 1, err)))
        return rc;
    if (want.rc == -E_BUSY)
        return err_set(err, E_REDO, "the tree of execution %lld is locked by another turn",
                       (long long)row->now.id);
    if (want.rc)
        return err_set(err, E_INTERNAL, "the parent of execution %lld is not there",
                       (long long)row->now.id);
    parent = turn_row(t, want.id);
    if (kind_is_job(parent->now.kind) || !row->now.task_name)
        return spawned_ended(t, row, err);
    if (parent->now.kind == KIND_FOREACH)
        return items_ended(t, parent, row, err);
    if ((rc = flow_of(t, want.id, row->now.root, &f, err)) || !f)
        return rc;
    return flow_task_ended(t, f, row, err);
}

/* ---- the agenda ---- */

static bool comes_before(const struct look *a, const struct look *b)
{
    const struct execution *x = &a->row->now, *y = &b->row->now;

    if (x->depth != y->depth)
        return x->depth > y->depth;
    return a->rank != b->rank ? a->rank < b->rank : x->id < y->id;
}

static void swap(struct look *a, struct look *b)
{
    struct look c = *a;

    *a = *b;
    *b = c;
}

void flow_look(struct turn *t, struct row *row, uint32_t rank)
{
    struct look *heap;
    size_t i, up;

    if (row->on_agenda)
        return;
    row->on_agenda = true;
    *vec_add(&t->agenda) = (struct look){row, rank};
    heap = t->agenda.at;
    for (i = t->agenda.n - 1; i > 0; i = up) {
        up = (i - 1) / 2;
        if (!comes_before(&heap[i], &heap[up]))
            break;
        swap(&heap[i], &heap[up]);
    }
}

static struct row *next_look(struct turn *t)
{
    struct look *heap = t->agenda.at;
    struct row *first = heap[0].row;
    size_t n = --t->agenda.n, i = 0, low;

    heap[0] = heap[n];
    while ((low = 2 * i + 1) < n) {
        low += low + 1 < n && comes_before(&heap[low + 1], &heap[low]);
        if (!comes_before(&heap[low], &heap[i]))
            break;
        swap(&heap[i], &heap[low]);
        i = low;
    }
    first->on_agenda = false;
    return first;
}

static int look(struct turn *t, struct row *row, struct err *err)
{
    bool runs = row->now.kind == KIND_WORKFLOW && row->now.status == S_RUNNING;
    struct flow *f;
    int rc;

    if ((rc = flow_of(t, runs ? row->now.id : row->now.workflow, row->now.root, &f, err)) || !f)
        return rc;
    if (runs)
        return flow_end_if_done(t, f, err);
    if (row->now.status == S_RUNNING)
        return items_look(t, f, row, err);
    return flow_decide(t, f, definition_task(f->def, row->now.task_name), row, err);
}

/* All that ended until now, none of which makes another end. */
static int count_ended(struct turn *t, struct err *err)
{
    uint32_t told = t->told;
    size_t i;
    int rc = flow_fetch_ended(t, err);

    for (i = 0; !rc && i < t->ended.n; i++)
        rc = ended(t, t->ended.at[i], err);
    t->ended.n = 0;
    flow_told_round(t, told);
    return rc;
}

int flow_advance(struct turn *t, struct err *err)
{
    int rc = 0;

    while (!rc && (t->ended.n || t->agenda.n)) {
        if (t->ended.n)
            rc = count_ended(t, err);
        if (!rc && t->moved.n)
            rc = flow_fetch_moved(t, err);
        if (!rc && t->agenda.n)
            rc = look(t, next_look(t), err);
    }
    return rc ? rc : flow_tell_later(t, err);
}

int op_advance(struct turn *t, struct err *err)
{
    return flow_advance(t, err);
}
