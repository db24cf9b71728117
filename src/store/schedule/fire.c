/* fire.c - fires the schedules that are due. One transaction locks the rows of schedules, plans,
 * submits the runs and writes the rows. After a crash before the commit, the schedule is unchanged
 * and any engine fires it; after the commit, the due time counts as fired. */
#include "store/door/door.h"
#include "store/schedule/schedule_rows.h"

#include "base/buf.h"

#include <stdlib.h>
#include <string.h>

/* When a schedule that can't be fired is checked again, in µs after the failure. */
#define PROBLEM_RETRY_US (300 * 1000000LL)

struct candidate {
    struct schedule_row row;
    bool running;     /* whether the last run has not ended */
    const char *hash; /* definition to run; NULL if the workflow is not applied */
    struct schedule_plan plan;
    /* Index in `runs` of the schedule's first submission; it has plan.n submissions. */
    size_t first;
    const char *problem; /* reason why the schedule can't be fired; NULL if it can */
};

struct firing_batch {
    struct candidate *at;
    size_t n;
    int64_t now;
    VEC(struct submission) runs;
    VEC(const char *) messages;
};

static void firing_batch_release(struct firing_batch *d)
{
    vec_release(&d->runs);
    vec_release(&d->messages);
}

/* ---- find ---- */

static int find_due_schedules(struct turn *t, struct schedule_slice *r, struct rows *due,
                              struct rows *locked, struct err *err)
{
    int64_t now = turn_wall_time(t);

    if (r->ahead)
        TRY(ask(t->db, due, err, Q_SCHEDULES_AHEAD, now, r->max, now + PROBLEM_RETRY_US));
    else
        TRY(ask(t->db, due, err, Q_SCHEDULES_DUE, now, r->max));
    /* the statement returns at most `max` schedules that are due by time, and `max` whose last run
     * has ended */
    r->found = due->n < r->max ? due->n : r->max;
    r->first = due->n ? rows_int(due, 0, 0) : 0;
    args_begin(&t->args, Q_SCHEDULES_LOCK);
    for (size_t i = 0; i < r->found; i++)
        args_int(&t->args, rows_int(due, i, 0));
    return turn_query(t, &t->args, locked, err);
}

/* Reads whether the last runs of the schedules have ended, and the applied definitions of their
 * workflows. */
static int read_facts(struct turn *t, struct firing_batch *d, struct err *err)
{
    AUTO_ROWS r = ROWS_INIT;

    args_begin(&t->args, Q_SCHEDULE_FACTS);
    for (size_t i = 0; i < d->n; i++)
        args_int(&t->args, d->at[i].row.id);
    TRY(db_query(t->db, &t->args, &r, err));
    for (size_t i = 0; i < r.n; i++)
        for (size_t k = 0; k < d->n; k++)
            if (d->at[k].row.id == rows_int(&r, i, 0)) {
                d->at[k].running =
                    !rows_null(&r, i, 1) && !status_is_terminal((int)rows_int(&r, i, 1));
                d->at[k].hash = arena_strdup(&t->arena, rows_text(&r, i, 2));
            }
    return 0;
}

/* ---- plan ---- */

/* Finds the due times that were fired before: after the clock was set back, they are due again. */
static int find_fired(struct turn *t, int64_t schedule, const int64_t *due, size_t n,
                      struct schedule_state *state, struct err *err)
{
    AUTO_ROWS r = ROWS_INIT;
    int64_t *fired;

    if (!n)
        return 0;
    args_begin(&t->args, Q_FIRINGS_EXISTING);
    for (size_t i = 0; i < n; i++)
        args_row(&t->args, schedule, due[i]);
    TRY(db_query(t->db, &t->args, &r, err));
    fired = arena_alloc(&t->arena, (r.n + 1) * sizeof(*fired));
    for (size_t i = 0; i < r.n; i++)
        fired[i] = rows_int(&r, i, 1);
    state->fired = fired;
    state->nfired = r.n;
    return 0;
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
    struct schedule_state state = {
        .done = l->row.done, .waiting = l->row.waiting, .running = l->running};
    int64_t due[SCHEDULE_PLAN_MAX + 1];
    char name[SCHEDULE_NAME_SIZE];
    struct err why = ERR_INIT;
    struct tz *zone = NULL;
    struct schedule s;
    int rc;

    l->first = d->runs.n;
    schedule_full_name(&l->row, name);
    if (schedule_from_row(&l->row, name, &s, &zone, &why)) {
        set_problem(t, l, &why);
        return 0;
    }
    rc = find_fired(t, l->row.id, due, schedule_candidates(&s, zone, &state, d->now, due), &state,
                    err);
    if (!rc)
        schedule_plan(&s, zone, &state, d->now, &l->plan);
    tz_free(&zone);
    TRY(rc);
    if (!l->hash && l->plan.n) {
        err_set(&why, E_NOT_FOUND,
                "the workflow %s is not applied: apply it with `pawl apply FILE`", l->row.workflow);
        set_problem(t, l, &why);
    }
    for (size_t i = 0; i < l->plan.n; i++)
        *vec_add(&d->runs) = schedule_build_submission(t, &l->row, l->hash, l->plan.due[i], NULL);
    return 0;
}

/* ---- results ---- */

static void add_message(struct turn *t, struct firing_batch *d, const struct candidate *l,
                        const char *what)
{
    char name[SCHEDULE_NAME_SIZE];

    *vec_add(&d->messages) =
        arena_printf(&t->arena, "the schedule %s %s", schedule_full_name(&l->row, name), what);
}

static void finish_candidate(struct turn *t, struct firing_batch *d, struct candidate *l)
{
    struct schedule_row *r = &l->row;
    const struct schedule_plan *p = &l->plan;

    for (size_t i = 0; i < p->n && !l->problem; i++)
        if (d->runs.at[l->first + i].rc)
            l->problem = arena_strdup(&t->arena, d->runs.at[l->first + i].err.msg);
    /* Warn only once: while the schedule's catchup covers the due time, it stays due. */
    if (l->problem) {
        if (!r->problem || strcmp(r->problem, l->problem))
            add_message(t, d, l, arena_printf(&t->arena, "can't be fired: %s", l->problem));
        r->problem = l->problem;
        r->next = d->now + PROBLEM_RETRY_US;
        return;
    }
    if (p->waiting && p->waiting != r->waiting)
        schedule_wake(t); /* the run that the due time waits for may have ended by now */
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
    args_begin(&t->args, Q_FIRING_INSERT);
    for (size_t i = 0; i < d->n; i++)
        for (size_t k = 0; k < d->at[i].plan.n && !d->at[i].problem; k++) {
            args_row(&t->args, d->at[i].row.id, d->at[i].plan.due[k],
                     d->runs.at[d->at[i].first + k].id);
            out->started++;
        }
    TRY(db_send(t->db, &t->args, NULL, ANY_ROWS, err));
    args_begin(&t->args, Q_SCHEDULE_WRITE);
    for (size_t i = 0; i < d->n; i++) {
        schedule_push_row(&t->args, &d->at[i].row);
        out->more |= d->at[i].row.next && d->at[i].row.next <= d->now;
    }
    return db_send(t->db, &t->args, NULL, ANY_ROWS, err);
}

/* ---- the operations ---- */

static int plan_candidates(struct turn *t, struct firing_batch *d, const struct rows *locked,
                           struct err *err)
{
    d->now = turn_wall_time(t);
    d->n = locked->n;
    d->at = arena_zalloc(&t->arena, (d->n + 1) * sizeof(*d->at));
    for (size_t i = 0; i < d->n; i++)
        schedule_read_row(&d->at[i].row, locked, i, &t->arena);
    TRY(read_facts(t, d, err));
    for (size_t i = 0; i < d->n; i++)
        TRY(plan_candidate(t, d, &d->at[i], err));
    return 0;
}

int op_fire_schedules(struct turn *t, struct schedule_slice *r, struct err *err)
{
    AUTO(firing_batch_release) struct firing_batch d = {0};
    AUTO_ROWS due = ROWS_INIT, locked = ROWS_INIT;

    r->found = r->checked = r->started = r->nmessages = 0;
    r->more = false;
    TRY(door_flush(t, err));
    TRY(turn_sync(t, err));
    TRY(find_due_schedules(t, r, &due, &locked, err));
    TRY(plan_candidates(t, &d, &locked, err));
    TRY(op_submit(t, d.runs.at, d.runs.n, err));
    for (size_t i = 0; i < d.n; i++)
        finish_candidate(t, &d, &d.at[i]);
    TRY(write_batch(t, &d, r, err));
    TRY(ask_one(t, INTO(&r->next), err, Q_SCHEDULE_NEXT));
    r->checked = d.n;
    r->more |= due.n >= r->max;
    r->now = turn_wall_time(t);
    r->messages = turn_messages(t, d.messages.at, r->nmessages = d.messages.n);
    return 0;
}

int op_schedule_quarantine(struct turn *t, int64_t id, const char *why, const char **name,
                           struct err *err)
{
    AUTO_ROWS locked = ROWS_INIT;
    char full[SCHEDULE_NAME_SIZE];
    struct schedule_row row;

    TRY(turn_sync(t, err));
    TRY(ask(t, &locked, err, Q_SCHEDULES_LOCK, id));
    if (!locked.n)
        return err_set(err, E_BUSY, "the schedule %lld is locked by another transaction",
                       (long long)id);
    schedule_read_row(&row, &locked, 0, &t->arena);
    *name = arena_strdup(&t->arena, schedule_full_name(&row, full));
    row.problem = why;
    row.next = turn_wall_time(t) + PROBLEM_RETRY_US;
    return schedule_write_row(t, &row, err);
}
