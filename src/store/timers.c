/* timers.c - what is due by the database's time: a delay that ends, a permit that is offered again,
 * large work that goes on, a workflow that takes too long. */
#include "store/door.h"
#include "store/flow.h"
#include "store/hold.h"
#include "store/operator.h"
#include "store/store_internal.h"

/* A due timer is only a reason to look: under the tree's lock the row says what is still true. */
static int fire(struct turn *t, struct row *r, enum timer_kind kind, struct err *err)
{
    int rc;

    if (kind == TIMER_DELAY && r->now.held == HELD_DELAY) {
        if ((rc = door_move(t, r, EV_UNHELD, (enum status)r->now.status, NULL, err)))
            return rc;
        return hold_or_go(t, r, &(struct holds){0}, err);
    }
    if (kind == TIMER_TIMEOUT && r->now.held == HELD_APPROVAL)
        return approval_timed_out(t, r, err);
    args_begin(&t->args, Q_TIMER_DELETE); /* spent: a paused job's delay is over */
    args_int(&t->args, r->now.id);
    args_int(&t->args, (int)kind);
    if ((rc = db_send(t->db, &t->args, NULL, ANY_ROWS, err)))
        return rc;
    if (kind == TIMER_FLOW || kind == TIMER_TIMEOUT)
        return flow_timer(t, r, kind, err);
    if (kind == TIMER_HANDOVER) { /* the row only names the limits: it may have gone meanwhile */
        struct limit *limits[2];
        size_t i, n = limits_of(t, &r->now, limits);

        for (i = 0; i < n; i++)
            limits[i]->freed = true; /* whoever is first in line, not just this one */
    }
    return 0;
}

/* Those that are looked at in one turn. */
struct due {
    size_t n;
    struct want *wants;
    enum timer_kind *kinds;
};

static int find_due(struct turn *t, struct timer_round *round, struct due *out, struct err *err)
{
    size_t most = round->max + aside_count(round->aside), i;
    struct rows r = ROWS_INIT;
    int rc;

    args_begin(&t->args, Q_TIMERS_DUE);
    args_int(&t->args, t->now);
    args_int(&t->args, (int64_t)most);
    if ((rc = turn_query(t, &t->args, &r, err)))
        goto done;
    out->wants = arena_zalloc(&t->arena, (r.n + 1) * sizeof(*out->wants));
    out->kinds = arena_zalloc(&t->arena, (r.n + 1) * sizeof(*out->kinds));
    for (i = 0; i < r.n && out->n < round->max; i++) {
        if (aside_has(round->aside, timer_id(rows_int(&r, i, 0), rows_int(&r, i, 1))))
            continue;
        out->wants[out->n] = (struct want){.id = rows_int(&r, i, 0), .root = rows_int(&r, i, 2)};
        out->kinds[out->n++] = (enum timer_kind)rows_int(&r, i, 1);
    }
    if ((round->found = out->n))
        round->first = (struct timer_ref){out->wants[0].id, out->kinds[0]};
done:
    rows_release(&r);
    return rc;
}

/* Another engine may have been faster, between our look at the timers and our locks, and by now the
 * job wait for its next delay, or a workflow that was approved have all its time before it: leaves
 * out the timers that are no longer due. */
static int drop_overtaken(struct turn *t, const struct due *due, struct err *err)
{
    struct idmap still = IDMAP_INIT;
    struct rows r = ROWS_INIT;
    size_t i;
    int rc;

    args_begin(&t->args, Q_ALL_TIMERS_OF);
    for (i = 0; i < due->n; i++)
        if (!due->wants[i].rc)
            args_int(&t->args, due->wants[i].id);
    if ((rc = db_query(t->db, &t->args, &r, err)))
        goto done;
    for (i = 0; i < r.n; i++)
        if (rows_int(&r, i, 2) <= t->now)
            idmap_put(&still, timer_id(rows_int(&r, i, 0), rows_int(&r, i, 1)), t);
    for (i = 0; i < due->n; i++)
        if (!due->wants[i].rc &&
            !idmap_get(&still, timer_id(due->wants[i].id, (int64_t)due->kinds[i])))
            due->wants[i].rc = -E_NOT_FOUND;
done:
    idmap_release(&still);
    rows_release(&r);
    return rc;
}

static int next_timer(struct turn *t, struct timer_round *round, struct err *err)
{
    struct rows r = ROWS_INIT;
    size_t i;
    int rc;

    round->next = 0;
    args_begin(&t->args, Q_TIMER_NEXT);
    args_int(&t->args, (int64_t)aside_count(round->aside) + 1);
    if (!(rc = turn_query(t, &t->args, &r, err)))
        for (i = 0; i < r.n && !round->next; i++)
            if (!aside_has(round->aside, timer_id(rows_int(&r, i, 1), rows_int(&r, i, 2))))
                round->next = rows_int(&r, i, 0);
    rows_release(&r);
    return rc;
}

int op_timers(struct turn *t, struct timer_round *round, struct err *err)
{
    struct due due = {0};
    size_t i;
    int rc;

    round->found = round->n = 0;
    if ((rc = door_flush(t, err)) || (rc = turn_sync(t, err)) ||
        (rc = find_due(t, round, &due, err)) || (rc = turn_load(t, due.wants, due.n, err)) ||
        (rc = drop_overtaken(t, &due, err)))
        return rc;
    for (i = 0; i < due.n; i++)
        if (!due.wants[i].rc)
            limits_note(t, &turn_row(t, due.wants[i].id)->now);
    if ((rc = limits_fetch(t, err)))
        return rc;
    for (i = 0; i < due.n; i++) {
        if (due.wants[i].rc)
            continue;
        if ((rc = fire(t, turn_row(t, due.wants[i].id), due.kinds[i], err)))
            return rc;
        round->n++;
    }
    /* what they free is handed on when all is decided; timers that come of either count, too */
    if ((rc = flow_advance(t, err)) || (rc = door_flush(t, err)))
        return rc;
    return next_timer(t, round, err);
}
