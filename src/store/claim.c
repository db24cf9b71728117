/* claim.c - gives ready jobs to a worker. Every claim is a new attempt and a new epoch: what an
 * earlier holder still says about the job no longer fits. */
#include "store/door.h"

#include <stdlib.h>

static int by_rank(const void *a, const void *b)
{
    const struct execution *x = &(*(struct row *const *)a)->now,
                           *y = &(*(struct row *const *)b)->now;

    if (x->priority != y->priority)
        return x->priority > y->priority ? -1 : 1;
    return (x->id > y->id) - (x->id < y->id);
}

static void push_lanes(struct args *a, const struct claim *c)
{
    size_t i;

    for (i = 0; i < c->nserves; i++) {
        args_text(a, c->serves[i].lane);
        args_text(a, c->serves[i].queue);
    }
}

int op_claim(struct turn *t, const struct claim *c, struct job_list *out, struct err *err)
{
    struct rows r = ROWS_INIT;
    struct row **rows;
    size_t i;
    int rc;

    *out = (struct job_list){0};
    if (!c->max || !c->nserves)
        return 0;
    if ((rc = door_flush(t, err))) /* what this turn made ready may be claimed by it */
        return rc;
    args_begin(&t->args, Q_CLAIM);
    args_int(&t->args, (int64_t)c->max);
    push_lanes(&t->args, c);
    if ((rc = turn_query(t, &t->args, &r, err)))
        goto done;
    rows = arena_alloc(&t->arena, (r.n + 1) * sizeof(*rows));
    turn_read_rows(t, &r, true, rows);
    if (r.n)
        qsort(rows, r.n, sizeof(*rows), by_rank);
    out->at = arena_alloc(&t->arena, (r.n + 1) * sizeof(*out->at));
    for (i = 0; i < r.n && out->n < c->max; i++) {
        struct move_note note = {
            .worker = c->worker, .until = t->now + c->lease, .folder = c->folder};
        enum event_action action = rows[i]->now.deferred ? EV_RESUMED : EV_CLAIMED;

        if (!execution_is_claimable(&rows[i]->now))
            continue; /* the same lane and queue were named twice */
        if ((rc = door_move(t, rows[i], action, S_RUNNING, &note, err)))
            goto done;
        out->at[out->n++] = &rows[i]->now;
    }
done:
    rows_release(&r);
    return rc;
}
