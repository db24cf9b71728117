/* queue_limit.c - sets, lowers, raises and removes the limit of a queue, and pauses and resumes it.
 * Works in slices; the stored limit is correct after each slice. */
#include "store/door/door.h"
#include "store/door/event_data.h"
#include "store/operator.h"
#include "store/ops/audit.h"

#include <limits.h>
#include <string.h>

/* Counts the jobs of the queue that use a permit of a new limit from the start. */
static int count_used(struct turn *t, struct limit *l, struct err *err)
{
    return ask_one(t, INTO(&l->used), err, Q_QUEUE_PERMITS, l->name);
}

/* Whether more than `seen` jobs of the limit are claimable, including jobs that other turns have
 * locked. */
static int has_more_claimable(struct turn *t, const struct limit *l, size_t seen, bool *more,
                              struct err *err)
{
    int64_t n = 0;

    TRY(ask_one(t->db, INTO(&n), err, Q_CLAIMABLE_OF_QUEUE, l->name, seen + 1));
    *more = n > (int64_t)seen;
    return 0;
}

/* Holds claimable jobs above the limit, the youngest first. Holds at most `slice` jobs. */
static int hold_surplus(struct turn *t, struct limit *l, size_t slice, bool *more, struct err *err)
{
    size_t above = (size_t)(l->used - l->max);
    AUTO_ARGS a = ARGS_INIT;
    AUTO_ROWS r = ROWS_INIT;
    struct row **rows;

    args_begin(&a, Q_SURPLUS_OF_QUEUE, l->name, above < slice ? above : slice);
    TRY(limits_note_rows(t, &a, &r, &rows, err));
    TRY(limits_fetch(t, err));
    /* Locked jobs count, too: a claim that has locked some of these jobs may still be rolled
     * back. */
    if (r.n < above)
        TRY(has_more_claimable(t, l, r.n, more, err));
    for (size_t i = 0; i < r.n; i++) {
        struct move_note note = {
            .why = HELD_LIMIT, .held_key = l->key, .data = data_hold(t, HELD_LIMIT, l->key, 0)};

        TRY(door_move(t, rows[i], EV_HELD, S_READY, &note, err));
    }
    return 0;
}

static int write_max(struct turn *t, const struct limit *l, struct err *err)
{
    return db_queue(t->db, NULL, 1, err, Q_LIMIT_UPSERT, l->key, l->max, l->used);
}

/* Raises the limit by at most one slice and admits waiting executions; sets *more if the limit has
 * not reached `max` yet and executions still wait. */
static int raise_limit(struct turn *t, struct limit *l, int max, size_t slice, bool *more,
                       struct err *err)
{
    l->max = max - l->used > (int)slice ? l->used + (int)slice : max;
    l->freed = true;
    TRY(door_flush(t, err));
    if (l->max < max)
        TRY(ask_any(t->db, more, err, Q_FIRST_WAITER, l->key));
    if (!*more)
        l->max = max;
    return write_max(t, l, err);
}

/* Removes the limit when no execution waits for it any longer. */
static int remove_limit(struct turn *t, struct limit *l, size_t slice, bool *more, struct err *err)
{
    if (l->max < 0)
        return 0;
    TRY(raise_limit(t, l, INT_MAX, slice, more, err));
    if (*more)
        return 0;
    l->max = -1;
    return db_queue(t->db, NULL, 1, err, Q_LIMIT_DELETE, l->key);
}

/* Lowers the limit by as many jobs as one slice can hold, so that the limit is correct after each
 * slice. Running jobs continue and may exceed the limit. */
static int lower_limit(struct turn *t, struct limit *l, int max, size_t slice, bool *more,
                       struct err *err)
{
    l->max = l->used - max > (int)slice ? l->used - (int)slice : max;
    *more = l->max > max;
    if (l->used > l->max)
        TRY(hold_surplus(t, l, slice, more, err));
    if (!*more)
        l->max = max;
    return write_max(t, l, err);
}

/* Reads and locks the limit of a queue. Waits until all other turns that have read limits have
 * ended, so that no turn continues with the old maximum; see lock_limits in turn.sql. */
static int open_limit(struct turn *t, const char *queue, struct limit **out, struct err *err)
{
    TRY(db_queue(t->db, NULL, ANY_ROWS, err, Q_LIMITS_TABLE_LOCK));
    *out = limit_get(t, 'q', queue);
    return limits_fetch(t, err);
}

static int set_limit(struct turn *t, struct limit *l, int max, size_t slice, bool *more,
                     struct err *err)
{
    *more = false;
    TRY(door_flush(t, err)); /* flush first: later statements count the changes of this turn */
    if (max < 0)
        return remove_limit(t, l, slice, more, err);
    if (l->max < 0)
        TRY(count_used(t, l, err));
    l->stored_used = l->used;
    if (l->used < max)
        return raise_limit(t, l, max, slice, more, err);
    return lower_limit(t, l, max, slice, more, err);
}

/* ---- queues ---- */

/* Reads whether the queue is paused, and the maximum that a resume restores (-1 if no limit). */
static int read_pause(struct turn *t, const struct limit *l, bool *paused, int *resume_max,
                      struct err *err)
{
    AUTO_ROWS r = ROWS_INIT;

    TRY(ask(t, &r, err, Q_PAUSE_READ, l->key));
    *paused = r.n && !rows_null(&r, 0, 0);
    *resume_max = *paused ? (int)rows_int(&r, 0, 0) : -1;
    return 0;
}

static int pause_queue(struct turn *t, struct limit *l, struct queue_action *q, int resume_max,
                       struct err *err)
{
    TRY(set_limit(t, l, 0, q->slice, &q->more, err));
    q->paused = true;
    return db_queue(t->db, NULL, 1, err, Q_PAUSE_WRITE, l->key, resume_max, t->now, q->by,
                    q->reason);
}

/* Resumes a queue. It stays marked as paused until the last slice, so that each slice finds the
 * maximum to restore. */
static int resume_queue(struct turn *t, struct limit *l, struct queue_action *q, int resume_max,
                        struct err *err)
{
    TRY(set_limit(t, l, resume_max, q->slice, &q->more, err));
    q->paused = q->more;
    if (q->more || resume_max < 0)
        return 0;
    return db_queue(t->db, NULL, 1, err, Q_PAUSE_END, l->key);
}

static int write_queue_audit(struct turn *t, const struct queue_action *q, struct err *err)
{
    static const enum audit_action actions[] = {
        [QUEUE_SET] = AUDIT_LIMITED, [QUEUE_PAUSE] = AUDIT_PAUSED, [QUEUE_RESUME] = AUDIT_RESUMED};

    return audit_write(
        t,
        &(struct audit_entry){.kind = "queue",
                              .name = q->queue,
                              .action = actions[q->verb],
                              .by = q->by,
                              .reason = q->reason,
                              .data = q->verb != QUEUE_SET ? NULL
                                      : q->max < 0         ? data_build(t, "j", "limit", "null")
                                                   : data_build(t, "n", "limit", (int64_t)q->max)},
        err);
}

int op_change_queue(struct turn *t, struct queue_action *q, struct err *err)
{
    struct limit *l;
    int resume_max;
    bool paused;

    q->more = q->paused = false;
    TRY(open_limit(t, q->queue, &l, err));
    TRY(read_pause(t, l, &paused, &resume_max, err));
    if (!q->is_continuation)
        TRY(write_queue_audit(t, q, err));
    switch (q->verb) {
    case QUEUE_SET:
        q->paused = paused;
        return paused ? db_queue(t->db, NULL, 1, err, Q_PAUSE_SET_MAX, l->key,
                                 q->max < 0 ? -1 : q->max)
                      : set_limit(t, l, q->max, q->slice, &q->more, err);
    case QUEUE_PAUSE: /* a limit of INT_MAX is being removed: see remove_limit */
        if (!paused)
            resume_max = l->max == INT_MAX ? -1 : l->max;
        return pause_queue(t, l, q, resume_max, err);
    case QUEUE_RESUME:
        if (paused)
            return resume_queue(t, l, q, resume_max, err);
        break;
    }
    return err_set_state(err, "the queue '%.64s' is not paused", q->queue);
}
