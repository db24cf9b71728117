/* fire.c - fires the schedules that are due. One transaction locks their rows, plans, submits the
 * runs and writes the rows. A crash before the commit leaves the schedule as it was, for any engine
 * to fire; after the commit the due time is done. */
#include "store/door/door.h"
#include "store/schedule/schedule_rows.h"

#include "base/buf.h"

#include <stdlib.h>
#include <string.h>

/* How long after a failure a schedule that can't be fired is checked again. */
#define PROBLEM_RETRY_US (300 * 1000000LL)

struct candidate {
    struct schedule_row row;
    bool running;     /* its last run has not ended */
    const char *hash; /* the definition to run; NULL if its workflow is not applied */
    struct schedule_plan plan;
    size_t first;        /* index in runs of its first submission; it has plan.n of them */
    const char *problem; /* why it can't be fired; NULL if it can */
};

struct firing_batch {
    struct candidate *at;
    size_t n;
    int64_t now;
    VEC(struct submission) runs;
    VEC(const char *) messages;
};

/* ---- find ---- */

static int find_due_schedules(struct turn *t, struct schedule_slice *r, struct rows *due,
                              struct rows *locked, struct err *err)
{
    size_t i;
    int rc;

    args_begin(&t->args, Q_SCHEDULES_DUE);
    args_int(&t->args, turn_wall_time(t));
    args_int(&t->args, (int64_t)r->max);
    if ((rc = db_query(t->db, &t->args, due, err)))
        return rc;
    /* the query returns at most max schedules by time, and max that waited for their last run */
    r->found = due->n < r->max ? due->n : r->max;
    r->first = due->n ? rows_int(due, 0, 0) : 0;
    args_begin(&t->args, Q_SCHEDULES_LOCK);
    for (i = 0; i < r->found; i++)
        args_int(&t->args, rows_int(due, i, 0));
    return turn_query(t, &t->args, locked, err);
}

/* Reads whether the last runs have ended, and the applied definitions. */
static int read_facts(struct turn *t, struct firing_batch *d, struct err *err)
{
    struct rows r = ROWS_INIT;
    size_t i, k;
    int rc;

    args_begin(&t->args, Q_SCHEDULE_FACTS);
    for (i = 0; i < d->n; i++)
        args_int(&t->args, d->at[i].row.id);
    if ((rc = db_query(t->db, &t->args, &r, err)))
        goto done;
    for (i = 0; i < r.n; i++)
        for (k = 0; k < d->n; k++)
            if (d->at[k].row.id == rows_int(&r, i, 0)) {
                d->at[k].running =
                    !rows_null(&r, i, 1) && !status_is_terminal((int)rows_int(&r, i, 1));
                d->at[k].hash = arena_strdup(&t->arena, rows_text(&r, i, 2));
            }
done:
    rows_release(&r);
    return rc;
}

/* ---- plan ---- */

/* Removes due times that were fired before: a clock that was set back reaches them again. */
static int drop_already_fired(struct turn *t, struct candidate *l, struct err *err)
{
    struct rows r = ROWS_INIT;
    size_t i, k, kept = 0;
    int rc;

    args_begin(&t->args, Q_FIRINGS_EXISTING);
    for (i = 0; i < l->plan.n; i++) {
        args_int(&t->args, l->row.id);
        args_int(&t->args, l->plan.begin[i]);
    }
    if ((rc = db_query(t->db, &t->args, &r, err)))
        goto done;
    for (i = 0; i < l->plan.n; i++) {
        for (k = 0; k < r.n && rows_int(&r, k, 1) != l->plan.begin[i]; k++)
            ;
        if (k == r.n)
            l->plan.begin[kept++] = l->plan.begin[i];
    }
    l->plan.n = kept;
done:
    rows_release(&r);
    return rc;
}

static void set_problem(struct turn *t, struct candidate *l, const struct err *why)
{
    l->problem = arena_strdup(&t->arena, why->msg);
    l->plan.n = 0;
}

/* Plans one schedule and adds its submissions to the batch. */
static int plan_candidate(struct turn *t, struct firing_batch *d, struct candidate *l,
                          struct err *err)
{
    struct schedule_state is = {l->row.done, l->row.waiting, l->running};
    char name[SCHEDULE_NAME_SIZE];
    struct err why = ERR_INIT;
    struct tz *zone = NULL;
    struct schedule s;
    size_t i;
    int rc;

    l->first = d->runs.n;
    schedule_full_name(&l->row, name);
    if (schedule_from_row(&l->row, name, &s, &zone, &why)) {
        set_problem(t, l, &why);
        return 0;
    }
    schedule_plan(&s, zone, &is, d->now, &l->plan);
    tz_free(&zone);
    if (!l->hash && l->plan.n) {
        err_set(&why, E_NOT_FOUND, "the workflow %s is not applied", l->row.workflow);
        set_problem(t, l, &why);
    }
    if ((rc = drop_already_fired(t, l, err)))
        return rc;
    for (i = 0; i < l->plan.n; i++)
        *vec_add(&d->runs) = schedule_build_submission(t, &l->row, l->hash, l->plan.begin[i], NULL);
    return 0;
}

/* ---- results ---- */

static void add_message(struct turn *t, struct firing_batch *d, const struct candidate *l,
                        const char *what)
{
    char name[SCHEDULE_NAME_SIZE];
    struct buf b = BUF_INIT;

    buf_addf(&b, "the schedule %s %s", schedule_full_name(&l->row, name), what);
    *vec_add(&d->messages) = arena_strdup(&t->arena, buf_cstr(&b));
    buf_release(&b);
}

static void finish_candidate(struct turn *t, struct firing_batch *d, struct candidate *l)
{
    struct schedule_row *r = &l->row;
    const struct schedule_plan *p = &l->plan;
    struct buf b = BUF_INIT;
    size_t i;

    for (i = 0; i < p->n && !l->problem; i++)
        if (d->runs.at[l->first + i].rc)
            l->problem = arena_strdup(&t->arena, d->runs.at[l->first + i].err.msg);
    if (l->problem) { /* warn once; a due time stays due for as long as catchup covers it */
        buf_addf(&b, "can't be fired: %s", l->problem);
        if (!r->problem || strcmp(r->problem, l->problem))
            add_message(t, d, l, buf_cstr(&b));
        buf_release(&b);
        r->problem = l->problem;
        r->next = d->now + PROBLEM_RETRY_US;
        return;
    }
    if (p->waiting && p->waiting != r->waiting)
        schedule_wake(t); /* the run that it waits for may have ended by now */
    r->problem = NULL;
    r->done = p->done;
    r->waiting = p->waiting;
    r->next = p->next;
    if (p->n)
        r->last_run = d->runs.at[l->first + p->n - 1].id;
    if (p->skipped) {
        r->skipped += (int64_t)p->skipped;
        r->skipped_at = p->done;
    }
    if (p->missed) {
        r->missed_at = d->now;
        add_message(t, d, l, "missed due times that its catchup does not cover");
    }
}

static int write_batch(struct turn *t, struct firing_batch *d, struct schedule_slice *out,
                       struct err *err)
{
    size_t i, k;
    int rc;

    args_begin(&t->args, Q_FIRING_INSERT);
    for (i = 0; i < d->n; i++)
        for (k = 0; k < d->at[i].plan.n && !d->at[i].problem; k++) {
            args_int(&t->args, d->at[i].row.id);
            args_int(&t->args, d->at[i].plan.begin[k]);
            args_int(&t->args, d->runs.at[d->at[i].first + k].id);
            out->started++;
        }
    if ((rc = db_send(t->db, &t->args, NULL, ANY_ROWS, err)))
        return rc;
    args_begin(&t->args, Q_SCHEDULE_WRITE);
    for (i = 0; i < d->n; i++) {
        schedule_push_row(&t->args, &d->at[i].row);
        out->more |= d->at[i].row.next && d->at[i].row.next <= d->now;
    }
    return db_send(t->db, &t->args, NULL, ANY_ROWS, err);
}

static int find_next(struct turn *t, int64_t *next, struct err *err)
{
    struct rows r = ROWS_INIT;
    int rc;

    args_begin(&t->args, Q_SCHEDULE_NEXT);
    if (!(rc = turn_query(t, &t->args, &r, err)))
        *next = rows_int(&r, 0, 0);
    rows_release(&r);
    return rc;
}

/* ---- the operations ---- */

static int plan_candidates(struct turn *t, struct firing_batch *d, const struct rows *locked,
                           struct err *err)
{
    size_t i;
    int rc = 0;

    d->now = turn_wall_time(t);
    d->n = locked->n;
    d->at = arena_zalloc(&t->arena, (d->n + 1) * sizeof(*d->at));
    for (i = 0; i < d->n; i++)
        schedule_read_row(&d->at[i].row, locked, i, &t->arena);
    if ((rc = read_facts(t, d, err)))
        return rc;
    for (i = 0; !rc && i < d->n; i++)
        rc = plan_candidate(t, d, &d->at[i], err);
    return rc;
}

int op_fire_schedules(struct turn *t, struct schedule_slice *r, struct err *err)
{
    struct rows due = ROWS_INIT, locked = ROWS_INIT;
    struct firing_batch d = {0};
    size_t i;
    int rc;

    r->found = r->checked = r->started = r->nmessages = 0;
    r->more = false;
    if ((rc = door_flush(t, err)) || (rc = turn_sync(t, err)) ||
        (rc = find_due_schedules(t, r, &due, &locked, err)) ||
        (rc = plan_candidates(t, &d, &locked, err)) ||
        (rc = op_submit(t, d.runs.at, d.runs.n, err)))
        goto done;
    for (i = 0; i < d.n; i++)
        finish_candidate(t, &d, &d.at[i]);
    if ((rc = write_batch(t, &d, r, err)) || (rc = find_next(t, &r->next, err)))
        goto done;
    r->checked = d.n;
    r->more |= due.n >= r->max;
    r->now = turn_wall_time(t);
    r->nmessages = d.messages.n;
    r->messages = arena_alloc(&t->arena, (d.messages.n + 1) * sizeof(*r->messages));
    for (i = 0; i < d.messages.n; i++)
        r->messages[i] = d.messages.at[i];
done:
    vec_release(&d.runs);
    vec_release(&d.messages);
    rows_release(&due);
    rows_release(&locked);
    return rc;
}

int op_schedule_quarantine(struct turn *t, int64_t id, const char *why, const char **name,
                           struct err *err)
{
    struct rows locked = ROWS_INIT;
    char full[SCHEDULE_NAME_SIZE];
    struct schedule_row row;
    int rc;

    if ((rc = turn_sync(t, err)))
        return rc;
    args_begin(&t->args, Q_SCHEDULES_LOCK);
    args_int(&t->args, id);
    if ((rc = turn_query(t, &t->args, &locked, err)))
        goto done;
    if (!locked.n) {
        rc = err_set(err, E_BUSY, "the schedule %lld is locked", (long long)id);
        goto done;
    }
    schedule_read_row(&row, &locked, 0, &t->arena);
    *name = arena_strdup(&t->arena, schedule_full_name(&row, full));
    row.problem = why;
    row.next = turn_wall_time(t) + PROBLEM_RETRY_US;
    rc = schedule_write_row(t, &row, err);
done:
    rows_release(&locked);
    return rc;
}
