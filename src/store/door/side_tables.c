/* side_tables.c - writes the rows that are derived from the state of executions (docs/adr/0023),
 * such as outbox rows and leases: the difference between the rows of the stored image and those of
 * the wanted image. See write.h. */
#include "store/door/write.h"

#include <string.h>

static bool was_claimable(const struct row *r)
{
    return !r->is_new && execution_is_claimable(&r->stored);
}

static int write_outbox(struct turn *t, struct err *err)
{
    struct args *a = &t->args;
    struct row *r;

    args_begin(a, Q_OUTBOX_DELETE_BY_CTID);
    EACH_DIRTY (t, r)
        if (was_claimable(r) && !execution_is_claimable(&r->now) && r->outbox_ctid)
            args_row(a, r->outbox_ctid, r->stored.id);
    TRY(send_exact(t, err));
    args_begin(a, Q_OUTBOX_DELETE);
    EACH_DIRTY (t, r)
        if (was_claimable(r) && !execution_is_claimable(&r->now) && !r->outbox_ctid)
            args_row(a, r->stored.lane, r->stored.queue, -r->stored.priority, r->stored.id);
    TRY(send_exact(t, err));
    args_begin(a, Q_OUTBOX_INSERT);
    EACH_DIRTY (t, r)
        if (execution_is_claimable(&r->now) && !was_claimable(r)) {
            args_row(a, r->now.lane, r->now.queue, -r->now.priority, r->now.id, r->now.updated_at,
                     r->now.concurrency);
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

    args_begin(a, Q_LEASE_INSERT);
    EACH_DIRTY (t, r)
        if (!had_lease(r) && execution_has_lease(&r->now))
            args_row(a, r->now.id, r->now.epoch, val_or_null(r->now.worker),
                     val_or_null(r->now.until), r->now.folder);
    TRY(send_exact(t, err));
    args_begin(a, Q_LEASE_UPDATE);
    EACH_DIRTY (t, r) {
        if (!had_lease(r) || !execution_has_lease(&r->now) ||
            (r->stored.epoch == r->now.epoch && r->stored.worker == r->now.worker))
            continue;
        args_row(a, r->now.id, r->stored.epoch, r->now.epoch, val_or_null(r->now.worker),
                 val_or_null(r->now.until), val_or_null(r->now.expired_at), r->now.folder);
        if (!r->now.worker)
            t->wake |= WAKE_JOBS | WAKE_ORPHANS;
    }
    TRY(send_exact(t, err));
    args_begin(a, Q_LEASE_DELETE);
    EACH_DIRTY (t, r)
        if (had_lease(r) && !execution_has_lease(&r->now))
            args_row(a, r->now.id, r->stored.epoch);
    return send_exact(t, err);
}

/* Whether the execution has a timer. A pause or an approval takes precedence over a delay but does
 * not end it: the timer stays. */
static bool may_have_timer(const struct execution *e)
{
    return e->held == HELD_DELAY || e->held == HELD_PAUSED || e->held == HELD_APPROVAL;
}

static void add_timer(struct turn *t, int64_t due, const struct row *r, enum timer_kind kind)
{
    args_row(&t->args, due, r->now.id, (int)kind);
    t->wake |= WAKE_JOBS | WAKE_TIMERS; /* an engine must wake up earlier than it planned to */
}

/* Writes timers. An execution has one timer while a delay runs, and another while an approval may
 * time out. */
static int write_timers(struct turn *t, struct err *err)
{
    struct args *a = &t->args;
    struct row *r;

    args_begin(a, Q_TIMER_DELETE);
    EACH_DIRTY (t, r) {
        if (!r->is_new && may_have_timer(&r->stored) && (!may_have_timer(&r->now) || r->due_at))
            args_row(a, r->now.id, TIMER_DELAY);
        if (!r->is_new && r->stored.held == HELD_APPROVAL && r->now.held != HELD_APPROVAL)
            args_row(a, r->now.id, TIMER_TIMEOUT);
    }
    TRY(send_any(t, err));
    args_begin(a, Q_TIMER_INSERT);
    EACH_DIRTY (t, r) {
        if (may_have_timer(&r->now) && r->due_at)
            add_timer(t, r->due_at, r, TIMER_DELAY);
        if (r->now.held == HELD_APPROVAL && r->timeout_at)
            add_timer(t, r->timeout_at, r, TIMER_TIMEOUT);
    }
    return send_any(t, err);
}

/* The key of the limit that the execution waits for in this image; NULL if none. */
static const char *awaited_limit(const struct execution *e)
{
    return e->held == HELD_LIMIT ? e->held_key : NULL;
}

static int write_waits(struct turn *t, struct err *err)
{
    enum stmt_id both[] = {Q_WAIT_DELETE, Q_WAIT_INSERT};
    struct row *r;

    for (int i = 0; i < 2; i++) {
        args_begin(&t->args, both[i]);
        EACH_DIRTY (t, r) {
            const char *old = r->is_new ? NULL : awaited_limit(&r->stored);
            const char *new = awaited_limit(&r->now), *key = i ? new : old;

            if (key && !(old && new && !strcmp(old, new)))
                args_row(&t->args, key, i ? -r->now.priority : -r->stored.priority, r->now.id);
        }
        TRY(send_exact(t, err));
    }
    return 0;
}

int door_write_side(struct turn *t, struct err *err)
{
    TRY(write_outbox(t, err));
    TRY(write_leases(t, err));
    TRY(write_timers(t, err));
    return write_waits(t, err);
}
