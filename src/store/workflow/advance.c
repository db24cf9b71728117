/* advance.c - the loop that advances workflows: it counts the executions that ended in this turn
 * and decides on their parents and followers, which may then end, too. The loop runs inside one
 * transaction and uses a list instead of recursion. */
#include "store/workflow/workflow.h"

#include "core/graph.h"
#include "store/door/door.h"
#include "store/store_internal.h"

#define DEFAULT_SLICE 1000

uint32_t slice_bound(const struct turn *t, uint32_t default_bound)
{
    uint32_t slice = t->store->workflow_options.slice;

    return slice ? (default_bound * slice + DEFAULT_SLICE - 1) / DEFAULT_SLICE : default_bound;
}

/* Counts the end of an execution that a job submitted: in the nearest workflow above that job. */
static int count_spawned_end(struct turn *t, struct row *row, struct err *err)
{
    struct workflow_state *f;

    if (!row->now.workflow)
        return 0;
    TRY(workflow_state_get(t, row->now.workflow, row->now.root, &f, err));
    if (!f)
        return 0;
    f->row->now.children_open--;
    door_mark_changed(t, f->row);
    agenda_add(t, f->row, 0);
    return 0;
}

/* Wakes engines to check the workflow's schedules: a due time may be waiting for the end of this
 * run. */
static void wake_schedule(struct turn *t, const struct row *row)
{
    const struct workflow_state *f = idmap_get(&t->workflow_states, row->now.id);

    if (f && f->def->workflow->nschedules)
        t->wake |= WAKE_JOBS | WAKE_TIMERS;
}

static int count_one_end(struct turn *t, struct row *row, struct err *err)
{
    struct row *parent;
    struct workflow_state *f;

    if (!row->now.parent) {
        wake_schedule(t, row);
        return row->now.kind == KIND_WORKFLOW ? workflow_follow_run(t, row, err) : 0;
    }
    TRY(turn_load_row(t, row->now.parent, row->now.root, &parent, err));
    if (kind_is_job(parent->now.kind) || !row->now.task_name)
        return count_spawned_end(t, row, err);
    if (parent->now.kind == KIND_FOREACH)
        return items_count_end(t, parent, row, err);
    TRY(workflow_state_get(t, parent->now.id, row->now.root, &f, err));
    if (!f)
        return 0;
    return workflow_count_task_end(t, f, row, err);
}

/* ---- the agenda ---- */

static bool comes_before(const struct agenda_entry *a, const struct agenda_entry *b)
{
    const struct execution *x = &a->row->now, *y = &b->row->now;

    if (x->depth != y->depth)
        return x->depth > y->depth;
    return a->rank != b->rank ? a->rank < b->rank : x->id < y->id;
}

static void swap_entries(struct agenda_entry *a, struct agenda_entry *b)
{
    struct agenda_entry c = *a;

    *a = *b;
    *b = c;
}

void agenda_add(struct turn *t, struct row *row, uint32_t rank)
{
    struct agenda_entry *heap;
    size_t i, up;

    if (row->on_agenda)
        return;
    row->on_agenda = true;
    *vec_add(&t->agenda) = (struct agenda_entry){row, rank};
    heap = t->agenda.at;
    for (i = t->agenda.n - 1; i > 0; i = up) {
        up = (i - 1) / 2;
        if (!comes_before(&heap[i], &heap[up]))
            break;
        swap_entries(&heap[i], &heap[up]);
    }
}

static struct row *agenda_pop(struct turn *t)
{
    struct agenda_entry *heap = t->agenda.at;
    struct row *first = heap[0].row;
    size_t n = --t->agenda.n, i = 0, low;

    heap[0] = heap[n];
    while ((low = 2 * i + 1) < n) {
        low += low + 1 < n && comes_before(&heap[low + 1], &heap[low]);
        if (!comes_before(&heap[low], &heap[i]))
            break;
        swap_entries(&heap[i], &heap[low]);
        i = low;
    }
    first->on_agenda = false;
    return first;
}

static int advance_row(struct turn *t, struct row *row, struct err *err)
{
    bool runs = row->now.kind == KIND_WORKFLOW && row->now.status == S_RUNNING;
    struct workflow_state *f;

    TRY(workflow_state_get(t, runs ? row->now.id : row->now.workflow, row->now.root, &f, err));
    if (!f)
        return 0;
    if (runs)
        return workflow_end_if_done(t, f, err);
    if (row->now.status == S_RUNNING)
        return items_advance(t, f, row, err);
    return task_decide(t, f, definition_find_task(f->def, row->now.task_name), row, err);
}

/* Counts all ends of this turn so far. Counting does not end any execution. */
static int count_ends(struct turn *t, struct err *err)
{
    uint32_t notified = t->notified;
    int rc = prefetch_for_ended(t, err);

    for (size_t i = 0; !rc && i < t->ended.n; i++)
        rc = count_one_end(t, t->ended.at[i], err);
    t->ended.n = 0;
    followers_count_round(t, notified);
    return rc;
}

int workflow_advance(struct turn *t, struct err *err)
{
    int rc = 0;

    while (!rc && (t->ended.n || t->agenda.n)) {
        if (t->ended.n)
            rc = count_ends(t, err);
        if (!rc && t->to_prefetch.n)
            rc = prefetch_for_decisions(t, err);
        if (!rc && t->agenda.n)
            rc = advance_row(t, agenda_pop(t), err);
    }
    return rc ? rc : followers_notify_later(t, err);
}

int op_advance(struct turn *t, struct err *err)
{
    return workflow_advance(t, err);
}
