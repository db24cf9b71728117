/* door_flush.c - writes what the turn decided: the difference between the stored and the wanted
 * image of each execution, and its events. Set at a time, in id order, so that two turns never wait
 * for each other in a circle. */
#include "store/door.h"
#include "store/store_internal.h"

#include <stdlib.h>
#include <string.h>

static int by_id(const void *a, const void *b)
{
    const struct row *const *x = a, *const *y = b;

    return ((*x)->now.id > (*y)->now.id) - ((*x)->now.id < (*y)->now.id);
}

/* Sends the statement in t->args, unless it has no rows; it must change exactly as many as it has.
 */
static int send_exact(struct turn *t, struct err *err)
{
    size_t n = args_rows(&t->args);

    return n ? db_send(t->db, &t->args, NULL, (long)n, err) : 0;
}

static int send_any(struct turn *t, struct err *err)
{
    return args_rows(&t->args) ? db_send(t->db, &t->args, NULL, ANY_ROWS, err) : 0;
}

#define EACH_DIRTY(t, r) for (size_t i_ = 0; i_ < (t)->dirty.n && ((r) = (t)->dirty.at[i_]); i_++)

static int write_inserts(struct turn *t, struct err *err)
{
    struct args *a = &t->args;
    struct row *r;

    args_begin(a, Q_EXECUTION_INSERT);
    EACH_DIRTY(t, r)
    {
        const struct execution *e = &r->now;

        if (!r->is_new)
            continue;
        args_int(a, e->id);
        args_int_or_null(a, e->parent);
        args_int(a, e->root);
        args_int_or_null(a, e->workflow);
        args_int_or_null(a, e->rerun_of);
        args_int(a, e->requested_at);
        args_int_or_null(a, e->started_at);
        args_int_or_null(a, e->finished_at);
        args_int(a, e->updated_at);
        args_int(a, e->priority);
        args_int(a, e->attempts);
        args_int(a, e->max_attempts);
        args_int(a, e->epoch);
        args_int(a, e->seq);
        args_int(a, e->needs_left);
        if (e->task_index < 0)
            args_null(a);
        else
            args_int(a, e->task_index);
        args_int(a, e->cursor);
        args_int(a, e->depth);
        args_int(a, e->kind);
        args_int(a, e->status);
        args_int(a, e->held);
        args_int(a, e->deferred);
        args_int(a, e->failed_behind);
        args_int(a, e->cancel_requested);
        args_text(a, e->name);
        args_text(a, e->queue);
        args_text(a, e->lane);
        args_text(a, e->concurrency);
        args_text(a, e->held_key);
        args_text(a, e->task_name);
        args_text(a, e->input);
        args_text(a, e->result);
        args_text(a, e->error);
        args_text(a, e->spec);
    }
    return send_exact(t, err);
}

static int write_updates(struct turn *t, bool outcome, struct err *err)
{
    struct args *a = &t->args;
    struct row *r;

    args_begin(a, outcome ? Q_EXECUTION_OUTCOME : Q_EXECUTION_UPDATE);
    EACH_DIRTY(t, r)
    {
        const struct execution *e = &r->now;

        if (r->is_new || r->outcome != outcome)
            continue;
        args_int(a, e->id);
        args_int(a, r->stored.seq);
        args_int_or_null(a, e->started_at);
        args_int_or_null(a, e->finished_at);
        args_int(a, e->updated_at);
        args_int(a, e->attempts);
        args_int(a, e->max_attempts);
        args_int(a, e->epoch);
        args_int(a, e->seq);
        args_int(a, e->needs_left);
        args_int(a, e->cursor);
        args_int(a, e->status);
        args_int(a, e->held);
        args_int(a, e->deferred);
        args_int(a, e->failed_behind);
        args_int(a, e->cancel_requested);
        args_text(a, e->held_key);
        if (outcome) {
            args_text(a, e->result);
            args_text(a, e->error);
        }
    }
    return send_exact(t, err);
}

/* What a task runs by is known only when it becomes ready. */
static int write_resolved(struct turn *t, struct err *err)
{
    struct row *r;

    args_begin(&t->args, Q_EXECUTION_RESOLVE);
    EACH_DIRTY(t, r)
    {
        if (r->is_new || !r->resolved)
            continue;
        args_int(&t->args, r->now.id);
        args_text(&t->args, r->now.input);
        args_text(&t->args, r->now.spec);
    }
    return send_exact(t, err);
}

static int write_outbox(struct turn *t, struct err *err)
{
    struct args *a = &t->args;
    struct row *r;
    int rc;

    args_begin(a, Q_OUTBOX_DELETE);
    EACH_DIRTY(t, r)
    {
        if (r->is_new || !execution_is_claimable(&r->stored) || execution_is_claimable(&r->now))
            continue;
        args_text(a, r->stored.lane);
        args_text(a, r->stored.queue);
        args_int(a, -r->stored.priority);
        args_int(a, r->stored.id);
    }
    if ((rc = send_exact(t, err)))
        return rc;
    args_begin(a, Q_OUTBOX_INSERT);
    EACH_DIRTY(t, r)
    {
        if (!execution_is_claimable(&r->now) || (!r->is_new && execution_is_claimable(&r->stored)))
            continue;
        args_text(a, r->now.lane);
        args_text(a, r->now.queue);
        args_int(a, -r->now.priority);
        args_int(a, r->now.id);
        args_int(a, r->now.updated_at);
        args_text(a, r->now.concurrency);
        t->wake |= WAKE_JOBS;
    }
    return send_exact(t, err);
}

static bool had_lease(const struct row *r)
{
    return !r->is_new && execution_has_lease(&r->stored);
}

static int write_leases(struct turn *t, struct err *err)
{
    struct args *a = &t->args;
    struct row *r;
    int rc;

    args_begin(a, Q_LEASE_INSERT);
    EACH_DIRTY(t, r)
    {
        if (had_lease(r) || !execution_has_lease(&r->now))
            continue;
        args_int(a, r->now.id);
        args_int(a, r->now.epoch);
        args_int_or_null(a, r->now.worker);
        args_int_or_null(a, r->now.until);
        args_text(a, r->now.folder);
    }
    if ((rc = send_exact(t, err)))
        return rc;
    args_begin(a, Q_LEASE_UPDATE);
    EACH_DIRTY(t, r)
    {
        if (!had_lease(r) || !execution_has_lease(&r->now) ||
            (r->stored.epoch == r->now.epoch && r->stored.worker == r->now.worker))
            continue;
        args_int(a, r->now.id);
        args_int(a, r->stored.epoch);
        args_int(a, r->now.epoch);
        args_int_or_null(a, r->now.worker);
        args_int_or_null(a, r->now.until);
        args_int_or_null(a, r->now.expired_at);
        args_text(a, r->now.folder);
        if (!r->now.worker)
            t->wake |= WAKE_JOBS | WAKE_ORPHANS;
    }
    if ((rc = send_exact(t, err)))
        return rc;
    args_begin(a, Q_LEASE_DELETE);
    EACH_DIRTY(t, r)
    {
        if (!had_lease(r) || execution_has_lease(&r->now))
            continue;
        args_int(a, r->now.id);
        args_int(a, r->stored.epoch);
    }
    return send_exact(t, err);
}

/* A pause or an approval is stronger than a delay, but does not end it: the timer stays. */
static bool may_have_timer(const struct execution *e)
{
    return e->held == HELD_DELAY || e->held == HELD_PAUSED || e->held == HELD_APPROVAL;
}

static void add_timer(struct turn *t, int64_t due, const struct row *r, enum timer_kind kind)
{
    args_int(&t->args, due);
    args_int(&t->args, r->now.id);
    args_int(&t->args, (int)kind);
    t->wake |= WAKE_JOBS | WAKE_TIMERS; /* somebody must sleep less long */
}

/* A timer for as long as a delay runs, and one while an approval may time out. */
static int write_timers(struct turn *t, struct err *err)
{
    struct args *a = &t->args;
    struct row *r;
    int rc;

    args_begin(a, Q_TIMER_DELETE);
    EACH_DIRTY(t, r)
    {
        if (!r->is_new && may_have_timer(&r->stored) && (!may_have_timer(&r->now) || r->due_at)) {
            args_int(a, r->now.id);
            args_int(a, TIMER_DELAY);
        }
        if (!r->is_new && r->stored.held == HELD_APPROVAL && r->now.held != HELD_APPROVAL) {
            args_int(a, r->now.id);
            args_int(a, TIMER_TIMEOUT);
        }
    }
    if ((rc = send_any(t, err)))
        return rc;
    args_begin(a, Q_TIMER_INSERT);
    EACH_DIRTY(t, r)
    {
        if (may_have_timer(&r->now) && r->due_at)
            add_timer(t, r->due_at, r, TIMER_DELAY);
        if (r->now.held == HELD_APPROVAL && r->timeout_at)
            add_timer(t, r->timeout_at, r, TIMER_TIMEOUT);
    }
    return send_any(t, err);
}

static int write_waits(struct turn *t, struct err *err)
{
    struct args *a = &t->args;
    struct row *r;
    int rc;

    args_begin(a, Q_WAIT_DELETE);
    EACH_DIRTY(t, r)
    {
        if (r->is_new || r->stored.held != HELD_LIMIT)
            continue;
        if (r->now.held == HELD_LIMIT && !strcmp(r->now.held_key, r->stored.held_key))
            continue;
        args_text(a, r->stored.held_key);
        args_int(a, -r->stored.priority);
        args_int(a, r->now.id);
    }
    if ((rc = send_exact(t, err)))
        return rc;
    args_begin(a, Q_WAIT_INSERT);
    EACH_DIRTY(t, r)
    {
        if (r->now.held != HELD_LIMIT)
            continue;
        if (!r->is_new && r->stored.held == HELD_LIMIT &&
            !strcmp(r->now.held_key, r->stored.held_key))
            continue;
        args_text(a, r->now.held_key);
        args_int(a, -r->now.priority);
        args_int(a, r->now.id);
    }
    return send_exact(t, err);
}

static int write_events(struct turn *t, struct err *err)
{
    struct args *a = &t->args;
    size_t i;
    int rc;

    if (!t->events.n)
        return 0;
    if (t->db->driver->one_writer && t->event_base < 0 && (rc = turn_find_event_base(t, err)))
        return rc;
    args_begin(a, Q_EVENT_INSERT);
    for (i = 0; i < t->events.n; i++) {
        const struct event *ev = &t->events.at[i];

        if (t->db->driver->one_writer)
            args_int(a, ++t->event_base);
        else
            args_null(a);
        args_int(a, ev->row->now.root);
        args_int(a, ev->row->now.id);
        args_int(a, ev->at);
        args_int_or_null(a, ev->worker);
        args_int(a, ev->seq);
        args_int(a, ev->attempt);
        args_int(a, ev->epoch);
        args_int(a, ev->type);
        args_int(a, ev->from);
        args_int(a, ev->to);
        args_text(a, ev->data);
    }
    t->wake |= WAKE_EVENTS;
    t->events.n = 0;
    return send_exact(t, err);
}

/* Where a job counts in its queue: +1 or -1 on ready, held or running. */
static void count(struct turn *t, const struct execution *e, int by)
{
    struct queue_change *q = NULL;
    size_t i;

    if (!kind_is_job(e->kind) || (e->status != S_READY && e->status != S_RUNNING))
        return;
    for (i = 0; i < t->queues.n && !q; i++)
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
    struct args *a = &t->args;
    struct row *r;
    size_t i;

    EACH_DIRTY(t, r)
    {
        if (!r->is_new)
            count(t, &r->stored, -1);
        count(t, &r->now, +1);
    }
    if (t->queues.n)
        qsort(t->queues.at, t->queues.n, sizeof(*t->queues.at), by_queue);
    args_begin(a, Q_COUNTER_ADD);
    args_int(a, store_writer(t->store));
    for (i = 0; i < t->queues.n; i++) {
        const struct queue_change *q = &t->queues.at[i];

        if (!q->ready && !q->held && !q->running)
            continue;
        args_text(a, q->queue);
        args_int(a, q->ready);
        args_int(a, q->held);
        args_int(a, q->running);
    }
    t->queues.n = 0;
    return send_any(t, err);
}

/* What is neither claimable nor running any more gives its permits back. */
static void release_permits(struct turn *t)
{
    struct limit *limits[2];
    struct row *r;
    size_t n, i;

    EACH_DIRTY(t, r)
    {
        if (!r->permitted || execution_has_permit(&r->now))
            continue;
        r->permitted = false;
        n = limits_of(t, &r->now, limits);
        for (i = 0; i < n; i++) {
            limits[i]->used--;
            limits[i]->freed = true;
        }
    }
}

static int write_limits(struct turn *t, struct err *err)
{
    size_t i;

    args_begin(&t->args, Q_LIMIT_WRITE);
    for (i = 0; i < t->limit_list.n; i++) {
        struct limit *l = t->limit_list.at[i];

        if (l->max < 0 || l->used == l->stored_used)
            continue;
        args_text(&t->args, l->key);
        args_int(&t->args, l->used);
        l->stored_used = l->used;
    }
    return send_exact(t, err);
}

static int write_difference(struct turn *t, struct err *err)
{
    struct row *r;
    int rc;

    if (t->dirty.n)
        qsort(t->dirty.at, t->dirty.n, sizeof(*t->dirty.at), by_id);
    release_permits(t);
    if ((rc = write_inserts(t, err)) || (rc = write_updates(t, false, err)) ||
        (rc = write_updates(t, true, err)) || (rc = write_resolved(t, err)) ||
        (rc = write_outbox(t, err)) || (rc = write_leases(t, err)) || (rc = write_timers(t, err)) ||
        (rc = write_waits(t, err)) || (rc = write_events(t, err)) || (rc = write_limits(t, err)) ||
        (rc = write_counters(t, err)))
        return rc;
    EACH_DIRTY(t, r)
    {
        r->stored = r->now;
        r->is_new = r->outcome = r->resolved = r->dirty = false;
        r->due_at = r->timeout_at = 0;
    }
    t->dirty.n = 0;
    return 0;
}

int door_flush(struct turn *t, struct err *err)
{
    int rc = 0;

    do {
        if (t->dirty.n && (rc = write_difference(t, err)))
            return rc;
        rc = limits_hand_on(t, err);
    } while (!rc && t->dirty.n);
    return rc;
}
