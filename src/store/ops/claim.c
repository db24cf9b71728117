/* claim.c - claims ready jobs for a worker. Every claim is a new attempt with a new epoch, so that
 * late reports of an earlier lease holder are refused.
 *
 * A claim is one move per job: door_move raises attempts and epoch (core/event_effect.c), and at
 * the flush side_tables.c turns the outbox row into a lease. The event is `claimed`; for a job
 * whose last attempt was deferred it is `resumed`, so that the history shows that the job continues
 * what it asked to continue, and was not retried after a failure. */
#include "store/door/door.h"

#include <stdlib.h>
#include <string.h>

static int by_rank(const void *a, const void *b)
{
    const struct execution *x = &(*(struct row *const *)a)->now,
                           *y = &(*(struct row *const *)b)->now;

    if (x->priority != y->priority)
        return x->priority > y->priority ? -1 : 1;
    return (x->id > y->id) - (x->id < y->id);
}

static void push_lanes(struct args *a, const struct lane_queue *list, size_t n)
{
    for (size_t i = 0; i < n; i++)
        args_row(a, list[i].lane, list[i].queue);
}

/* Claims the rows in the order of their rank until c->max is reached. Skips rows that are no longer
 * claimable: a row occurs twice if the caller named a lane and queue twice, and this turn may have
 * made changes that are not written yet. */
static int claim_rows(struct turn *t, const struct claim *c, struct row **rows, size_t n,
                      struct job_list *out, struct err *err)
{
    if (n)
        qsort(rows, n, sizeof(*rows), by_rank);
    for (size_t i = 0; i < n && out->n < c->max; i++) {
        struct move_note note = {
            .worker = c->worker, .until = t->now + c->lease, .folder = c->folder};
        enum event_action action = rows[i]->now.deferred ? EV_RESUMED : EV_CLAIMED;

        if (!execution_is_claimable(&rows[i]->now) ||
            quarantine_has(c->quarantined, rows[i]->now.id))
            continue;
        out->at[out->n++] = &rows[i]->now;
        TRY(door_move(t, rows[i], action, S_RUNNING, &note, err));
    }
    return 0;
}

static bool claim_serves(const struct claim *c, const struct execution *e)
{
    for (size_t i = 0; i < c->nserves; i++)
        if (!strcmp(c->serves[i].lane, e->lane) && !strcmp(c->serves[i].queue, e->queue))
            return true;
    return false;
}

/* Counts the jobs that this turn has claimed already: their outbox rows exist until the flush. */
static size_t count_claimed_before(const struct turn *t, const struct claim *c)
{
    size_t i, n = 0;

    for (i = 0; i < t->dirty.n; i++) {
        const struct row *r = t->dirty.at[i];

        if (!r->is_new && execution_is_claimable(&r->stored) && r->now.status == S_RUNNING &&
            claim_serves(c, &r->stored))
            n++;
    }
    return n;
}

/* Drops the rows that contain only nulls. Such a row marks a queue in which all jobs are locked.
 * Returns whether other turns have locked any job that the query saw. */
static bool drop_locked(struct rows *r)
{
    size_t seen_at = r->ncols - 1, i, n = 0;
    int64_t seen = r->n ? rows_int(r, 0, seen_at) : 0;

    for (i = 0; i < r->n; i++)
        if (!rows_null(r, i, 0)) {
            memmove(&r->cells[n * r->ncols], &r->cells[i * r->ncols], r->ncols * sizeof(*r->cells));
            n++;
        }
    r->n = n;
    return (int64_t)n < seen;
}

static int claim_from_outbox(struct turn *t, const struct claim *c, struct job_list *out,
                             struct err *err)
{
    size_t wanted = c->max + count_claimed_before(t, c) + quarantine_count(c->quarantined);
    AUTO_ROWS r = ROWS_INIT;
    struct row **rows;

    args_begin(&t->args, Q_CLAIM, wanted);
    push_lanes(&t->args, c->serves, c->nserves);
    TRY(turn_query(t, &t->args, &r, err));
    out->skipped_locked = drop_locked(&r);
    TRY(turn_read_rows(t, &r, true, &rows, err));
    for (size_t i = 0; i < r.n; i++)
        rows[i]->outbox_ctid = rows_int(&r, i, r.ncols - 2);
    out->exhausted = r.n < wanted;
    return claim_rows(t, c, rows, r.n, out, err);
}

/* Reads the input and spec of jobs that were loaded without them, because only a worker needs
 * them. */
static int read_inputs(struct turn *t, struct execution **jobs, size_t n, struct err *err)
{
    AUTO_ROWS r = ROWS_INIT;

    args_begin(&t->args, Q_INPUTS_OF);
    for (size_t i = 0; i < n; i++)
        if (!turn_row(t, jobs[i]->id)->has_input_and_spec)
            args_int(&t->args, jobs[i]->id);
    if (args_rows(&t->args))
        TRY(turn_query(t, &t->args, &r, err));
    for (size_t i = 0; i < r.n; i++) {
        struct execution *e = &turn_row(t, rows_int(&r, i, 0))->now;

        rows_read(&r, i, 1, &t->arena, &e->input, &e->spec);
    }
    return 0;
}

/* Claims jobs that this turn made ready and has not written yet. */
static int claim_made_ready(struct turn *t, const struct claim *c, struct job_list *out,
                            struct err *err)
{
    struct row **rows = arena_alloc(&t->arena, (t->dirty.n + 1) * sizeof(*rows));
    size_t i, n = 0, before = out->n;

    for (i = 0; i < t->dirty.n; i++)
        if (execution_is_claimable(&t->dirty.at[i]->now) && claim_serves(c, &t->dirty.at[i]->now))
            rows[n++] = t->dirty.at[i];
    TRY(claim_rows(t, c, rows, n, out, err));
    return read_inputs(t, out->at + before, out->n - before, err);
}

int op_claim(struct turn *t, const struct claim *c, struct job_list *out, struct err *err)
{
    int rc = 0;

    *out = (struct job_list){0};
    if (!c->max || !c->nserves)
        return 0;
    out->at = arena_alloc(&t->arena, (c->max + 1) * sizeof(*out->at));
    if (!c->push)
        /* Flush first: the query must find the jobs that this turn made ready. */
        TRY(door_flush(t, err));
    out->exhausted = c->exhausted;
    if ((!c->exhausted && (rc = claim_from_outbox(t, c, out, err))) || !c->push || out->n == c->max)
        return rc;
    return claim_made_ready(t, c, out, err);
}

bool op_has_made_ready(const struct turn *t)
{
    for (size_t i = 0; i < t->dirty.n; i++)
        if (execution_is_claimable(&t->dirty.at[i]->now))
            return true;
    return false;
}

int op_outbox_has_jobs(struct turn *t, const struct lane_queue *where, size_t n, bool *some,
                       struct err *err)
{
    AUTO_ROWS r = ROWS_INIT;

    args_begin(&t->args, Q_OUTBOX_HAS_JOBS);
    push_lanes(&t->args, where, n);
    if (n)
        TRY(turn_query(t, &t->args, &r, err));
    *some = r.n > 0;
    return 0;
}
