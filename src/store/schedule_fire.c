/* schedule_fire.c - what is due is begun: rows are locked, looked at, and written with the runs
 * that they fire, in one transaction. A crash before its commit leaves the schedule as it was, to
 * be looked at by the next engine; after it the due time is done with. */
#include "store/door.h"
#include "store/schedule_rows.h"

#include "base/buf.h"

#include <stdlib.h>
#include <string.h>

#define PROBLEM_AGAIN (300 * 1000000LL) /* µs until one that can't be fired is looked at again */

struct candidate {
    struct schedule_row row;
    bool running;     /* its last run goes on */
    const char *hash; /* what it fires; NULL: its workflow is not applied */
    struct schedule_plan plan;
    size_t first;        /* of its submissions; as many as plan.n */
    const char *problem; /* why it can't be fired; NULL: it can */
};

struct round {
    struct candidate *at;
    size_t n;
    int64_t now;
    VEC(struct submission) runs;
    VEC(const char *) said;
};

/* ---- which ---- */

static int find_ripe(struct turn *t, struct schedule_round *r, struct rows *ripe,
                     struct rows *locked, struct err *err)
{
    size_t i;
    int rc;

    args_begin(&t->args, Q_SCHEDULES_RIPE);
    args_int(&t->args, turn_wall(t));
    args_int(&t->args, (int64_t)r->max);
    if ((rc = db_query(t->db, &t->args, ripe, err)))
        return rc;
    r->found = ripe->n < r->max ? ripe->n : r->max; /* by time, and of those that wait */
    r->first = ripe->n ? rows_int(ripe, 0, 0) : 0;
    args_begin(&t->args, Q_SCHEDULES_LOCK);
    for (i = 0; i < r->found; i++)
        args_int(&t->args, rows_int(ripe, i, 0));
    return turn_query(t, &t->args, locked, err);
}

/* How the last runs stand, and which definitions are meant. */
static int find_facts(struct turn *t, struct round *d, struct err *err)
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

/* ---- what ---- */

/* Due times that have a firing are left out: a clock that was set back comes to them again. */
static int leave_out_fired(struct turn *t, struct candidate *l, struct err *err)
{
    struct rows r = ROWS_INIT;
    size_t i, k, kept = 0;
    int rc;

    args_begin(&t->args, Q_FIRINGS_THERE);
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

static void can_not(struct turn *t, struct candidate *l, const struct err *why)
{
    l->problem = arena_strdup(&t->arena, why->msg);
    l->plan.n = 0;
}

/* Plans one schedule and adds its submissions. */
static int look_at(struct turn *t, struct round *d, struct candidate *l, struct err *err)
{
    struct schedule_state is = {l->row.done, l->row.waiting, l->running};
    char name[SCHEDULE_NAME_SIZE];
    struct err why = ERR_INIT;
    struct zone *zone = NULL;
    struct schedule s;
    size_t i;
    int rc;

    l->first = d->runs.n;
    schedule_full_name(&l->row, name);
    if (schedule_of_row(&l->row, name, &s, &zone, &why)) {
        can_not(t, l, &why);
        return 0;
    }
    schedule_plan(&s, zone, &is, d->now, &l->plan);
    zone_free(&zone);
    if (!l->hash && l->plan.n) {
        err_set(&why, E_NOT_FOUND, "the workflow %s is not applied", l->row.workflow);
        can_not(t, l, &why);
    }
    if ((rc = leave_out_fired(t, l, err)))
        return rc;
    for (i = 0; i < l->plan.n; i++)
        *vec_add(&d->runs) = schedule_submission(t, &l->row, l->hash, l->plan.begin[i], NULL);
    return 0;
}

/* ---- what came of it ---- */

static void say(struct turn *t, struct round *d, const struct candidate *l, const char *what)
{
    char name[SCHEDULE_NAME_SIZE];
    struct buf b = BUF_INIT;

    buf_addf(&b, "the schedule %s %s", schedule_full_name(&l->row, name), what);
    *vec_add(&d->said) = arena_strdup(&t->arena, buf_cstr(&b));
    buf_release(&b);
}

static void conclude(struct turn *t, struct round *d, struct candidate *l)
{
    struct schedule_row *r = &l->row;
    const struct schedule_plan *p = &l->plan;
    struct buf b = BUF_INIT;
    size_t i;

    for (i = 0; i < p->n && !l->problem; i++)
        if (d->runs.at[l->first + i].rc)
            l->problem = arena_strdup(&t->arena, d->runs.at[l->first + i].err.msg);
    if (l->problem) { /* said once; what is due stays due, for as long as it is made up for */
        buf_addf(&b, "can't be fired: %s", l->problem);
        if (!r->problem || strcmp(r->problem, l->problem))
            say(t, d, l, buf_cstr(&b));
        buf_release(&b);
        r->problem = l->problem;
        r->next = d->now + PROBLEM_AGAIN;
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
        say(t, d, l, "missed due times that are not made up for");
    }
}

static int write_round(struct turn *t, struct round *d, struct schedule_round *out, struct err *err)
{
    size_t i, k;
    int rc;

    args_begin(&t->args, Q_FIRING_INSERT);
    for (i = 0; i < d->n; i++)
        for (k = 0; k < d->at[i].plan.n && !d->at[i].problem; k++) {
            args_int(&t->args, d->at[i].row.id);
            args_int(&t->args, d->at[i].plan.begin[k]);
            args_int(&t->args, d->runs.at[d->at[i].first + k].id);
            out->begun++;
        }
    if ((rc = db_send(t->db, &t->args, NULL, ANY_ROWS, err)))
        return rc;
    args_begin(&t->args, Q_SCHEDULE_WRITE);
    for (i = 0; i < d->n; i++) {
        schedule_push(&t->args, &d->at[i].row);
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

/* ---- a round ---- */

static int look_at_all(struct turn *t, struct round *d, const struct rows *locked, struct err *err)
{
    size_t i;
    int rc = 0;

    d->now = turn_wall(t);
    d->n = locked->n;
    d->at = arena_zalloc(&t->arena, (d->n + 1) * sizeof(*d->at));
    for (i = 0; i < d->n; i++)
        schedule_read_row(&d->at[i].row, locked, i, &t->arena);
    if ((rc = find_facts(t, d, err)))
        return rc;
    for (i = 0; !rc && i < d->n; i++)
        rc = look_at(t, d, &d->at[i], err);
    return rc;
}

int op_schedules(struct turn *t, struct schedule_round *r, struct err *err)
{
    struct rows ripe = ROWS_INIT, locked = ROWS_INIT;
    struct round d = {0};
    size_t i;
    int rc;

    r->found = r->looked = r->begun = r->nsaid = 0;
    r->more = false;
    if ((rc = door_flush(t, err)) || (rc = turn_sync(t, err)) ||
        (rc = find_ripe(t, r, &ripe, &locked, err)) || (rc = look_at_all(t, &d, &locked, err)) ||
        (rc = op_submit(t, d.runs.at, d.runs.n, err)))
        goto done;
    for (i = 0; i < d.n; i++)
        conclude(t, &d, &d.at[i]);
    if ((rc = write_round(t, &d, r, err)) || (rc = find_next(t, &r->next, err)))
        goto done;
    r->looked = d.n;
    r->more |= ripe.n >= r->max;
    r->now = turn_wall(t);
    r->nsaid = d.said.n;
    r->said = arena_alloc(&t->arena, (d.said.n + 1) * sizeof(*r->said));
    for (i = 0; i < d.said.n; i++)
        r->said[i] = d.said.at[i];
done:
    vec_release(&d.runs);
    vec_release(&d.said);
    rows_release(&ripe);
    rows_release(&locked);
    return rc;
}

int op_schedule_set_aside(struct turn *t, int64_t id, const char *why, const char **name,
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
    row.next = turn_wall(t) + PROBLEM_AGAIN;
    rc = schedule_store(t, &row, err);
done:
    rows_release(&locked);
    return rc;
}
