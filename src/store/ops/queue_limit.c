/* queue_limit.c - sets, lowers, raises and removes a limit, and pauses and resumes a queue. Works
 * in slices; the stored limit is correct after each slice. */
#include "store/door/door.h"
#include "store/door/event_data.h"
#include "store/operator.h"
#include "store/ops/audit.h"

#include <limits.h>
#include <string.h>

/* Counts the permits in use of a new limit. A key has none in use: its first job creates the limit,
 * see submit.c. */
static int count_used(struct turn *t, struct limit *l, struct err *err)
{
    struct args a = ARGS_INIT;
    struct rows r = ROWS_INIT;
    int rc;

    if (l->kind == 'k')
        return 0;
    args_begin(&a, Q_QUEUE_PERMITS);
    args_text(&a, l->name);
    if (!(rc = turn_query(t, &a, &r, err)))
        l->used = (int)rows_int(&r, 0, 0);
    rows_release(&r);
    args_release(&a);
    return rc;
}

/* Whether more than `seen` jobs of the limit are claimable, including jobs that other turns have
 * locked. */
static int has_more_claimable(struct turn *t, const struct limit *l, size_t seen, bool *more,
                              struct err *err)
{
    struct args a = ARGS_INIT;
    struct rows r = ROWS_INIT;
    int rc;

    args_begin(&a, l->kind == 'q' ? Q_CLAIMABLE_OF_QUEUE : Q_CLAIMABLE_OF_KEY);
    args_text(&a, l->name);
    args_int(&a, (int64_t)seen + 1);
    if (!(rc = db_query(t->db, &a, &r, err)))
        *more = rows_int(&r, 0, 0) > (int64_t)seen;
    rows_release(&r);
    args_release(&a);
    return rc;
}

/* Holds claimable jobs above the limit, the youngest first, at most `slice`. */
static int hold_surplus(struct turn *t, struct limit *l, size_t slice, bool *more, struct err *err)
{
    size_t above = (size_t)(l->used - l->max), i;
    struct args a = ARGS_INIT;
    struct rows r = ROWS_INIT;
    struct row **rows;
    int rc;

    args_begin(&a, l->kind == 'q' ? Q_SURPLUS_OF_QUEUE : Q_SURPLUS_OF_KEY);
    args_text(&a, l->name);
    args_int(&a, (int64_t)(above < slice ? above : slice));
    if ((rc = limits_note_rows(t, &a, &r, &rows, err)) || (rc = limits_fetch(t, err)))
        goto done;
    /* a claim that has locked some of them may still be rolled back */
    if (r.n < above && (rc = has_more_claimable(t, l, r.n, more, err)))
        goto done;
    for (i = 0; i < r.n; i++) {
        struct move_note note = {
            .why = HELD_LIMIT, .held_key = l->key, .data = data_hold(t, HELD_LIMIT, l->key, 0)};

        if ((rc = door_move(t, rows[i], EV_HELD, S_READY, &note, err)))
            goto done;
    }
done:
    rows_release(&r);
    args_release(&a);
    return rc;
}

static int has_waiters(struct turn *t, const struct limit *l, bool *waiting, struct err *err)
{
    struct args a = ARGS_INIT;
    struct rows r = ROWS_INIT;
    int rc;

    args_begin(&a, Q_FIRST_WAITER);
    args_text(&a, l->key);
    if (!(rc = db_query(t->db, &a, &r, err)))
        *waiting = r.n > 0;
    rows_release(&r);
    args_release(&a);
    return rc;
}

static int write_max(struct turn *t, const struct limit *l, struct err *err)
{
    struct args a = ARGS_INIT;
    int rc;

    args_begin(&a, Q_LIMIT_UPSERT);
    args_text(&a, l->key);
    args_int(&a, l->max);
    args_int(&a, l->used);
    rc = db_send(t->db, &a, NULL, 1, err);
    args_release(&a);
    return rc;
}

/* Raises the limit by at most one slice and admits waiting executions; sets *more if the limit has
 * not reached `max` yet and executions still wait. */
static int raise_limit(struct turn *t, struct limit *l, int max, size_t slice, bool *more,
                       struct err *err)
{
    int rc;

    l->max = max - l->used > (int)slice ? l->used + (int)slice : max;
    l->freed = true;
    if ((rc = door_flush(t, err)) || (l->max < max && (rc = has_waiters(t, l, more, err))))
        return rc;
    if (!*more)
        l->max = max;
    return write_max(t, l, err);
}

/* Removes the limit when no execution waits for it any more. The limit of a key stays, with the
 * maximum INT_MAX: jobs that have no permit now may need one later, and every permit of a key is
 * counted. When no permit is in use, the next job sets a new maximum (limit_create). */
static int remove_limit(struct turn *t, struct limit *l, size_t slice, bool *more, struct err *err)
{
    struct args a = ARGS_INIT;
    int rc;

    if (l->max < 0)
        return 0;
    if ((rc = raise_limit(t, l, INT_MAX, slice, more, err)) || *more || l->kind == 'k')
        return rc;
    args_begin(&a, Q_LIMIT_DELETE);
    args_text(&a, l->key);
    rc = db_send(t->db, &a, NULL, 1, err);
    l->max = -1;
    args_release(&a);
    return rc;
}

/* Lowers the limit by as many jobs as one slice can hold, so that the limit is correct after each
 * slice. Running jobs continue and may exceed the limit. */
static int lower_limit(struct turn *t, struct limit *l, int max, size_t slice, bool *more,
                       struct err *err)
{
    int rc;

    l->max = l->used - max > (int)slice ? l->used - (int)slice : max;
    *more = l->max > max;
    if (l->used > l->max && (rc = hold_surplus(t, l, slice, more, err)))
        return rc;
    if (!*more)
        l->max = max;
    return write_max(t, l, err);
}

/* Gets the limit, locked. Waits for turns that have read limits, so that none of them continues
 * with an old maximum; see lock_limits in turn.sql. */
static int open_limit(struct turn *t, char kind, const char *name, struct limit **out,
                      struct err *err)
{
    int rc;

    args_begin(&t->args, Q_LIMITS_TABLE_LOCK);
    if ((rc = db_send(t->db, &t->args, NULL, ANY_ROWS, err)))
        return rc;
    *out = limit_get(t, kind, name);
    return limits_fetch(t, err);
}

static int set_limit(struct turn *t, struct limit *l, int max, size_t slice, bool *more,
                     struct err *err)
{
    int rc;

    *more = false;
    if ((rc = door_flush(t, err))) /* earlier changes and slices of this turn must be counted */
        return rc;
    if (max < 0)
        return remove_limit(t, l, slice, more, err);
    if (l->max < 0 && (rc = count_used(t, l, err)))
        return rc;
    l->stored_used = l->used;
    if (l->used < max)
        return raise_limit(t, l, max, slice, more, err);
    return lower_limit(t, l, max, slice, more, err);
}

int op_limit(struct turn *t, const char *key, int max, size_t slice, bool *more, struct err *err)
{
    bool queue = !strncmp(key, "queue:", 6);
    const char *name = strchr(key, ':');
    struct limit *l;
    int rc;

    if ((!queue && strncmp(key, "key:", 4)) || !name[1])
        return err_set(err, E_INVALID, "'%.80s' is not a limit: write queue:NAME or key:NAME", key);
    if ((rc = open_limit(t, queue ? 'q' : 'k', name + 1, &l, err)))
        return rc;
    return set_limit(t, l, max, slice, more, err);
}

/* ---- queues ---- */

/* Reads whether the queue is paused, and the maximum that a resume restores (-1 if no limit). */
static int read_pause(struct turn *t, const struct limit *l, bool *paused, int *resume_max,
                      struct err *err)
{
    struct rows r = ROWS_INIT;
    int rc;

    args_begin(&t->args, Q_PAUSE_READ);
    args_text(&t->args, l->key);
    if (!(rc = turn_query(t, &t->args, &r, err))) {
        *paused = r.n && !rows_null(&r, 0, 0);
        *resume_max = *paused ? (int)rows_int(&r, 0, 0) : -1;
    }
    rows_release(&r);
    return rc;
}

static int pause_queue(struct turn *t, struct limit *l, struct queue_action *q, int resume_max,
                       struct err *err)
{
    int rc;

    if ((rc = set_limit(t, l, 0, q->slice, &q->more, err)))
        return rc;
    args_begin(&t->args, Q_PAUSE_WRITE);
    args_text(&t->args, l->key);
    args_int(&t->args, resume_max);
    args_int(&t->args, t->now);
    args_text(&t->args, q->by);
    args_text(&t->args, q->reason);
    q->paused = true;
    return db_send(t->db, &t->args, NULL, 1, err);
}

/* The queue stays marked as paused until the last slice, so that the next slice still finds the
 * maximum to restore. */
static int resume_queue(struct turn *t, struct limit *l, struct queue_action *q, int resume_max,
                        struct err *err)
{
    int rc;

    if ((rc = set_limit(t, l, resume_max, q->slice, &q->more, err)))
        return rc;
    q->paused = q->more;
    if (q->more || resume_max < 0)
        return 0;
    args_begin(&t->args, Q_PAUSE_END);
    args_text(&t->args, l->key);
    return db_send(t->db, &t->args, NULL, 1, err);
}

static int set_resume_max(struct turn *t, const struct limit *l, int max, struct err *err)
{
    args_begin(&t->args, Q_PAUSE_SET_MAX);
    args_text(&t->args, l->key);
    args_int(&t->args, max < 0 ? -1 : max);
    return db_send(t->db, &t->args, NULL, 1, err);
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
                              .data = q->verb == QUEUE_SET ? data_limit(t, q->max) : NULL},
        err);
}

int op_change_queue(struct turn *t, struct queue_action *q, struct err *err)
{
    struct limit *l;
    int resume_max, rc;
    bool paused;

    q->more = q->paused = false;
    if ((rc = open_limit(t, 'q', q->queue, &l, err)) ||
        (rc = read_pause(t, l, &paused, &resume_max, err)) ||
        (!q->is_continuation && (rc = write_queue_audit(t, q, err))))
        return rc;
    switch (q->verb) {
    case QUEUE_SET:
        q->paused = paused;
        return paused ? set_resume_max(t, l, q->max, err)
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
    return err_set(err, E_INVALID, "the queue '%.64s' is not paused", q->queue);
}
