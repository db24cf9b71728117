/* flush.c - writes the changes of a turn: the difference between the stored and the wanted image of
 * each execution, and its events. Each statement writes a set of rows in id order, so that two
 * turns never deadlock. */
#include "store/door/write.h"
#include "store/store_internal.h"

#include <stdlib.h>
#include <string.h>

static int by_id(const void *a, const void *b)
{
    const struct row *const *x = a, *const *y = b;

    return ((*x)->now.id > (*y)->now.id) - ((*x)->now.id < (*y)->now.id);
}

/* ---- executions ---- */

static int write_inserts(struct turn *t, struct err *err)
{
    struct args *a = &t->args;
    struct row *r;

    args_begin(a, Q_EXECUTION_INSERT);
    EACH_DIRTY (t, r)
        if (r->is_new) {
            execution_write_all(&r->now, a);
            args_row(a, r->now.input, r->now.result, r->now.error, r->now.spec);
        }
    return send_exact(t, err);
}

static int write_updates(struct turn *t, bool outcome, struct err *err)
{
    struct args *a = &t->args;
    struct row *r;

    args_begin(a, outcome ? Q_EXECUTION_OUTCOME : Q_EXECUTION_UPDATE);
    EACH_DIRTY (t, r) {
        if (r->is_new || r->outcome_changed != outcome)
            continue;
        args_row(a, r->now.id, r->stored.seq);
        execution_write_changes(&r->now, a);
        if (outcome)
            args_row(a, r->now.result, r->now.error);
    }
    return send_exact(t, err);
}

/* Writes the input, spec and lane of tasks, which are determined only when a task becomes ready. */
static int write_resolved(struct turn *t, struct err *err)
{
    struct row *r;

    args_begin(&t->args, Q_EXECUTION_RESOLVE);
    EACH_DIRTY (t, r)
        if (!r->is_new && r->input_changed)
            args_row(&t->args, r->now.id, r->now.input, r->now.spec, r->now.lane);
    return send_exact(t, err);
}

/* Writes the rows of all workflows that the turn has started, with one statement. */
static int write_workflows(struct turn *t, struct err *err)
{
    struct row *r;

    args_begin(&t->args, Q_WORKFLOW_INSERT);
    EACH_DIRTY (t, r)
        if (r->definition)
            args_row(&t->args, r->now.id, r->definition, r->variables, r->reuse);
    return send_exact(t, err);
}

/* Writes executions in this order: new ones, changed ones, those with a new outcome, the resolved
 * input and spec of tasks, and the rows of workflows. */
static int write_executions(struct turn *t, struct err *err)
{
    TRY(write_inserts(t, err));
    TRY(write_updates(t, false, err));
    TRY(write_updates(t, true, err));
    TRY(write_resolved(t, err));
    return write_workflows(t, err);
}

/* ---- events, counters, limits ---- */

static int write_events(struct turn *t, struct err *err)
{
    bool numbers = t->db->driver->one_writer;

    if (!t->events.n)
        return 0;
    if (numbers && t->event_base < 0)
        TRY(ask_one(t->db, INTO(&t->event_base), err, Q_EVENT_BASE));
    args_begin(&t->args, Q_EVENT_INSERT);
    for (size_t i = 0; i < t->events.n; i++) {
        const struct event *ev = &t->events.at[i];

        args_row(&t->args, numbers ? val_int(++t->event_base) : VAL_NULL, ev->row->now.root,
                 ev->row->now.id, ev->at, val_or_null(ev->worker), ev->seq, ev->attempt, ev->epoch,
                 ev->type, ev->from, ev->to, ev->data);
    }
    t->wake |= WAKE_EVENTS;
    t->events.n = 0;
    return send_exact(t, err);
}

/* Adds `by` (+1 or -1) to the queue's counter (ready, held or running) that counts this job. */
static void count_job(struct turn *t, const struct execution *e, int by)
{
    struct queue_change *q = NULL;

    if (!kind_is_job(e->kind) || (e->status != S_READY && e->status != S_RUNNING))
        return;
    for (size_t i = 0; i < t->queues.n && !q; i++)
        if (!strcmp(t->queues.at[i].queue, e->queue))
            q = &t->queues.at[i];
    if (!q) {
        q = vec_add(&t->queues);
        *q = (struct queue_change){.queue = e->queue};
    }
    if (e->status == S_RUNNING)
        q->running += by;
    else if (e->held)
        q->held += by;
    else
        q->ready += by;
}

static int by_queue(const void *a, const void *b)
{
    const struct queue_change *x = a, *y = b;

    return strcmp(x->queue, y->queue);
}

static int write_counters(struct turn *t, struct err *err)
{
    struct row *r;

    EACH_DIRTY (t, r) {
        if (!r->is_new)
            count_job(t, &r->stored, -1);
        count_job(t, &r->now, +1);
    }
    if (t->queues.n)
        qsort(t->queues.at, t->queues.n, sizeof(*t->queues.at), by_queue);
    args_begin(&t->args, Q_COUNTER_ADD, t->store->writer);
    for (size_t i = 0; i < t->queues.n; i++) {
        const struct queue_change *q = &t->queues.at[i];

        if (q->ready || q->held || q->running)
            args_row(&t->args, q->queue, q->ready, q->held, q->running);
    }
    t->queues.n = 0;
    return send_any(t, err);
}

/* Releases the permits of executions that are no longer claimable or running. */
static void release_permits(struct turn *t)
{
    struct limit *limits[LIMITS_MAX];
    struct row *r;
    size_t n;

    EACH_DIRTY (t, r) {
        if (!r->has_permits || execution_has_permit(&r->now))
            continue;
        r->has_permits = false;
        n = limits_find(t, &r->now, limits);
        for (size_t i = 0; i < n; i++) {
            limits[i]->used--;
            limits[i]->freed = true;
            limit_lower_to_cap(t, limits[i]);
        }
    }
}

static int write_limits(struct turn *t, struct err *err)
{
    args_begin(&t->args, Q_LIMIT_WRITE);
    for (size_t i = 0; i < t->limit_list.n; i++) {
        struct limit *l = t->limit_list.at[i];

        if (l->max < 0 || (l->used == l->stored_used && !l->max_changed))
            continue;
        args_row(&t->args, l->key, l->max, l->used);
        l->max_changed = false;
        l->stored_used = l->used;
    }
    return send_exact(t, err);
}

static int write_difference(struct turn *t, struct err *err)
{
    struct row *r;

    if (t->dirty.n)
        qsort(t->dirty.at, t->dirty.n, sizeof(*t->dirty.at), by_id);
    release_permits(t);
    TRY(write_executions(t, err));
    TRY(door_write_side(t, err));
    TRY(write_events(t, err));
    TRY(write_limits(t, err));
    TRY(write_counters(t, err));
    EACH_DIRTY (t, r) {
        r->definition = r->variables = NULL;
        r->stored = r->now;
        r->is_new = r->outcome_changed = r->input_changed = r->dirty = false;
        r->due_at = r->timeout_at = r->outbox_ctid = 0;
    }
    t->dirty.n = 0;
    return 0;
}

int door_write(struct turn *t, struct err *err)
{
    return t->dirty.n ? write_difference(t, err) : 0;
}

int door_flush(struct turn *t, struct err *err)
{
    do {
        TRY(door_write(t, err));
        TRY(limits_offer_permits(t, err));
    } while (t->dirty.n);
    return 0;
}
