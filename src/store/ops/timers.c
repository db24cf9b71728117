/* timers.c - fires timers that are due by the database's time: the end of a delay, the timeout of
 * an approval or a workflow, a permit to offer again, the next slice of large work. */
#include "store/door/door.h"
#include "store/operator.h"
#include "store/ops/admission.h"
#include "store/store_internal.h"
#include "store/workflow/workflow.h"

/* Fires a timer. A due timer is only a hint: the row, read under the root lock, shows whether the
 * timer still applies. */
static int fire_timer(struct turn *t, struct row *r, enum timer_kind kind, struct err *err)
{
    if (kind == TIMER_DELAY && r->now.held == HELD_DELAY) {
        TRY(door_move(t, r, EV_UNHELD, (enum status)r->now.status, NULL, err));
        return admit_or_hold(t, r, &(struct hold_reasons){0}, err);
    }
    if (kind == TIMER_TIMEOUT && r->now.held == HELD_APPROVAL)
        return approval_time_out(t, r, err);
    /* the timer is no longer needed, as when the delay of a paused job has ended */
    TRY(db_queue(t->db, NULL, ANY_ROWS, err, Q_TIMER_DELETE, r->now.id, (int)kind));
    if (kind == TIMER_CONTINUE || kind == TIMER_TIMEOUT)
        return execution_fire_timer(t, r, kind, err);
    if (kind == TIMER_HANDOVER) { /* the row only names the limits; it need not wait for them */
        struct limit *limits[LIMITS_MAX];
        size_t i, n = limits_find(t, &r->now, limits);

        for (i = 0; i < n; i++)
            /* Offer the permit to the first waiter, which need not be this row. */
            limits[i]->freed = true;
    }
    return 0;
}

/* The timers of one turn. */
struct due_timers {
    size_t n;
    struct row_ref *wants;
    enum timer_kind *kinds;
};

static int find_due_timers(struct turn *t, struct timer_slice *slice, struct due_timers *out,
                           struct err *err)
{
    size_t max = slice->max + quarantine_count(slice->quarantine);
    AUTO_ROWS r = ROWS_INIT;

    TRY(ask(t, &r, err, Q_TIMERS_DUE, t->now, max));
    out->wants = arena_zalloc(&t->arena, (r.n + 1) * sizeof(*out->wants));
    out->kinds = arena_zalloc(&t->arena, (r.n + 1) * sizeof(*out->kinds));
    for (size_t i = 0; i < r.n && out->n < slice->max; i++) {
        int64_t id, kind, root;

        rows_read(&r, i, 0, NULL, &id, &kind, &root);
        if (quarantine_has(slice->quarantine, timer_id(id, kind)))
            continue;
        out->wants[out->n] = (struct row_ref){.id = id, .root = root};
        out->kinds[out->n++] = (enum timer_kind)kind;
    }
    if ((slice->found = out->n))
        slice->first = (struct timer_ref){out->wants[0].id, out->kinds[0]};
    return 0;
}

/* Leaves out timers that are no longer due. Between this turn's read and its locks, another engine
 * may have ended a job's delay, so that the job now waits for its next one; or an operator may have
 * approved a nested workflow, which now has its full timeout left. */
static int drop_no_longer_due(struct turn *t, const struct due_timers *due_timers, struct err *err)
{
    AUTO_IDMAP still = IDMAP_INIT;
    AUTO_ROWS r = ROWS_INIT;

    args_begin(&t->args, Q_ALL_TIMERS_OF);
    for (size_t i = 0; i < due_timers->n; i++)
        if (!due_timers->wants[i].rc)
            args_int(&t->args, due_timers->wants[i].id);
    TRY(db_query(t->db, &t->args, &r, err));
    for (size_t i = 0; i < r.n; i++)
        if (rows_int(&r, i, 2) <= t->now)
            idmap_put(&still, timer_id(rows_int(&r, i, 0), rows_int(&r, i, 1)), t);
    for (size_t i = 0; i < due_timers->n; i++)
        if (!due_timers->wants[i].rc &&
            !idmap_get(&still, timer_id(due_timers->wants[i].id, (int64_t)due_timers->kinds[i])))
            due_timers->wants[i].rc = -E_NOT_FOUND;
    return 0;
}

static int find_next_timer(struct turn *t, struct timer_slice *slice, struct err *err)
{
    AUTO_ROWS r = ROWS_INIT;

    slice->next = 0;
    TRY(ask(t, &r, err, Q_TIMER_NEXT, quarantine_count(slice->quarantine) + 1));
    for (size_t i = 0; i < r.n && !slice->next; i++)
        if (!quarantine_has(slice->quarantine, timer_id(rows_int(&r, i, 1), rows_int(&r, i, 2))))
            slice->next = rows_int(&r, i, 0);
    return 0;
}

int op_fire_timers(struct turn *t, struct timer_slice *slice, struct err *err)
{
    struct due_timers due_timers = {0};

    slice->found = slice->n = 0;
    TRY(door_flush(t, err));
    TRY(turn_sync(t, err));
    TRY(find_due_timers(t, slice, &due_timers, err));
    TRY(turn_load(t, due_timers.wants, due_timers.n, err));
    TRY(drop_no_longer_due(t, &due_timers, err));
    for (size_t i = 0; i < due_timers.n; i++)
        if (!due_timers.wants[i].rc)
            limits_note(t, &turn_row(t, due_timers.wants[i].id)->now);
    TRY(limits_fetch(t, err));
    for (size_t i = 0; i < due_timers.n; i++) {
        if (due_timers.wants[i].rc)
            continue;
        TRY(fire_timer(t, turn_row(t, due_timers.wants[i].id), due_timers.kinds[i], err));
        slice->n++;
    }
    /* advancing frees permits and the flush offers them; both may set timers that find_next_timer
     * must find */
    TRY(workflow_advance(t, err));
    TRY(door_flush(t, err));
    return find_next_timer(t, slice, err);
}
