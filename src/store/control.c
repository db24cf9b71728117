/* control.c - what operators and engines ask of an execution: hold, go on, cancel; and the timers
 * that end a hold by themselves. */
#include "store/data.h"
#include "store/door.h"

#include <stdlib.h>

/* Loads what the requests name, with limits; sets each request's rc. */
static int load_requested(struct turn *t, struct request *list, size_t n, struct err *err)
{
    struct want *wants = arena_zalloc(&t->arena, (n + 1) * sizeof(*wants));
    size_t i;
    int rc;

    for (i = 0; i < n; i++)
        wants[i] = (struct want){.id = list[i].execution, .root = list[i].root};
    if ((rc = turn_find_roots(t, wants, n, err)) || (rc = turn_load(t, wants, n, err)))
        return rc;
    for (i = 0; i < n; i++) {
        list[i].rc = wants[i].rc;
        if (!list[i].rc)
            limits_note(t, &turn_row(t, list[i].execution)->now);
    }
    return limits_fetch(t, err);
}

int op_hold(struct turn *t, enum hold why, struct request *list, size_t n, struct err *err)
{
    size_t i;
    int rc;

    if ((rc = load_requested(t, list, n, err)))
        return rc;
    for (i = 0; i < n; i++) {
        struct move_note note = {.why = why, .data = data_request(t, &list[i])};
        struct row *r = turn_row(t, list[i].execution);

        if (list[i].rc)
            continue;
        if (!note.data)
            note.data = data_hold(t, why, NULL, 0);
        if (r->now.status != S_READY || r->now.held == HELD_APPROVAL || r->now.held == HELD_PAUSED)
            list[i].rc = -E_INVALID; /* a delay or a limit gives way: it is looked at again later */
        else if ((rc = door_move(t, r, EV_HELD, S_READY, &note, err)))
            return rc;
        list[i].status = r->now.status;
    }
    return 0;
}

int op_unhold(struct turn *t, enum hold why, struct request *list, size_t n, struct err *err)
{
    size_t i;
    int rc;

    if ((rc = load_requested(t, list, n, err)))
        return rc;
    for (i = 0; i < n; i++) {
        struct move_note note = {.data = data_request(t, &list[i])};
        struct row *r = turn_row(t, list[i].execution);

        if (list[i].rc)
            continue;
        if (r->now.status != S_READY || r->now.held != (int)why)
            list[i].rc = -E_INVALID;
        else if ((rc = door_move(t, r, EV_UNHELD, S_READY, &note, err)) ||
                 (rc = door_admit(t, r, err)))
            return rc;
        list[i].status = r->now.status;
    }
    return 0;
}

static int cancel_row(struct turn *t, struct row *r, const struct request *q, struct err *err)
{
    struct move_note note = {.data = data_request(t, q)};

    if (status_is_terminal(r->now.status))
        return 0;
    if (r->now.status == S_RUNNING) {
        if (r->now.cancel_requested)
            return 0;
        t->wake |= WAKE_CANCEL;
        return door_move(t, r, EV_CANCEL_REQUESTED, S_RUNNING, &note, err);
    }
    return door_move(t, r, EV_CANCELLED, S_CANCELLED, &note, err);
}

/* The open part of one subtree, loaded; at most max. */
static int load_subtree(struct turn *t, const struct request *q, size_t max, struct want **out,
                        size_t *n, struct err *err)
{
    struct rows r = ROWS_INIT;
    size_t i;
    int rc;

    args_begin(&t->args, Q_OPEN_SUBTREE);
    args_int(&t->args, q->execution);
    args_int(&t->args, (int64_t)max);
    if ((rc = turn_query(t, &t->args, &r, err)))
        goto done;
    *n = r.n;
    *out = arena_zalloc(&t->arena, (r.n + 1) * sizeof(**out));
    for (i = 0; i < r.n; i++)
        (*out)[i] =
            (struct want){.id = rows_int(&r, i, 0), .root = turn_row(t, q->execution)->now.root};
    rc = turn_load(t, *out, *n, err);
done:
    rows_release(&r);
    return rc;
}

int op_cancel(struct turn *t, struct request *list, size_t n, size_t max, bool *more,
              struct err *err)
{
    struct want *open;
    size_t i, k, count;
    int rc;

    *more = false;
    if ((rc = load_requested(t, list, n, err)))
        return rc;
    for (i = 0; i < n; i++) {
        bool changed = false;

        if (list[i].rc)
            continue;
        if ((rc = load_subtree(t, &list[i], max, &open, &count, err)))
            return rc;
        for (k = 0; k < count; k++) {
            struct row *r = turn_row(t, open[k].id);
            int seq;

            if (open[k].rc) { /* locked by a claim at this moment: again in the next turn */
                list[i].rc = -E_BUSY;
                continue;
            }
            limits_note(t, &r->now);
            if ((rc = limits_fetch(t, err)))
                return rc;
            seq = r->now.seq;
            if ((rc = cancel_row(t, r, &list[i], err)))
                return rc;
            changed |= seq != r->now.seq;
        }
        *more |= count == max && changed;
        list[i].status = turn_row(t, list[i].execution)->now.status;
    }
    return 0;
}

int op_flow_end(struct turn *t, int64_t execution, const struct outcome *o, struct err *err)
{
    struct want want = {.id = execution};
    struct move_note note = {.data = data_outcome(t, o, 0)};
    struct rows r = ROWS_INIT;
    struct row *row;
    int rc;

    if ((rc = turn_find_roots(t, &want, 1, err)) || (rc = turn_load(t, &want, 1, err)))
        return rc;
    if (want.rc)
        return err_set(err, (enum error_code) - want.rc, "execution %lld %s", (long long)execution,
                       want.rc == -E_BUSY ? "is locked by another turn" : "does not exist");
    row = turn_row(t, execution);
    if (kind_is_job(row->now.kind) || row->now.status != S_RUNNING)
        return err_set(err, E_INVALID, "execution %lld is no running workflow",
                       (long long)execution);
    if ((rc = door_flush(t, err)))
        return rc;
    args_begin(&t->args, Q_OPEN_CHILD);
    args_int(&t->args, execution);
    if ((rc = turn_query(t, &t->args, &r, err)))
        goto done;
    if (r.n) {
        rc = err_set(err, E_INVALID, "execution %lld can't end: its child %lld is still open",
                     (long long)execution, (long long)rows_int(&r, 0, 0));
        goto done;
    }
    door_outcome(row, o->result, o->error);
    rc = o->kind == OUTCOME_OK          ? door_move(t, row, EV_COMPLETED, S_SUCCEEDED, &note, err)
         : o->kind == OUTCOME_CANCELLED ? door_move(t, row, EV_CANCELLED, S_CANCELLED, &note, err)
                                        : door_move(t, row, EV_FAILED, S_FAILED, &note, err);
done:
    rows_release(&r);
    return rc;
}

/* ---- timers -------------------------------------------------------------------------------------
 */

/* A due timer is only a reason to look: under the tree's lock the row says what is still true. */
static int fire(struct turn *t, struct row *r, enum timer_kind kind, struct err *err)
{
    int rc;

    if (kind == TIMER_DELAY) {
        if (r->now.status != S_READY || r->now.held != HELD_DELAY)
            return 0;
        if ((rc = door_move(t, r, EV_UNHELD, S_READY, NULL, err)))
            return rc;
        return door_admit(t, r, err);
    }
    args_begin(&t->args, Q_TIMER_DELETE);
    args_int(&t->args, r->now.id);
    args_int(&t->args, TIMER_HANDOVER);
    if ((rc = db_send(t->db, &t->args, NULL, ANY_ROWS, err)))
        return rc;
    if (r->now.status == S_READY && r->now.held == HELD_LIMIT) {
        struct limit *limits[2];
        size_t i, n = limits_of(t, &r->now, limits);

        for (i = 0; i < n; i++)
            limits[i]->freed = true; /* whoever is first in line, not just this one */
    }
    return 0;
}

static int next_timer(struct turn *t, int64_t *next, struct err *err)
{
    struct rows r = ROWS_INIT;
    int rc;

    args_begin(&t->args, Q_TIMER_NEXT);
    if (!(rc = turn_query(t, &t->args, &r, err)))
        *next = r.n ? rows_int(&r, 0, 0) : 0;
    rows_release(&r);
    return rc;
}

int op_timers(struct turn *t, size_t max, size_t *n, int64_t *next, struct err *err)
{
    struct rows r = ROWS_INIT;
    struct want *wants;
    size_t i;
    int rc;

    *n = 0;
    if ((rc = door_flush(t, err)) || (rc = turn_sync(t, err)))
        return rc;
    args_begin(&t->args, Q_TIMERS_DUE);
    args_int(&t->args, t->now);
    args_int(&t->args, (int64_t)max);
    if ((rc = turn_query(t, &t->args, &r, err)))
        goto done;
    wants = arena_zalloc(&t->arena, (r.n + 1) * sizeof(*wants));
    for (i = 0; i < r.n; i++)
        wants[i] = (struct want){.id = rows_int(&r, i, 0), .root = rows_int(&r, i, 2)};
    if ((rc = turn_load(t, wants, r.n, err)))
        goto done;
    for (i = 0; i < r.n; i++)
        if (!wants[i].rc)
            limits_note(t, &turn_row(t, wants[i].id)->now);
    if ((rc = limits_fetch(t, err)))
        goto done;
    for (i = 0; i < r.n; i++) {
        if (wants[i].rc)
            continue;
        if ((rc = fire(t, turn_row(t, wants[i].id), (enum timer_kind)rows_int(&r, i, 1), err)))
            goto done;
        ++*n;
    }
    if (!(rc = door_flush(t, err)))
        rc = next_timer(t, next, err);
done:
    rows_release(&r);
    return rc;
}
