/* due.c - fires timers and schedules that are due, and accepts SQL submissions
 * (store/ops/sql_submissions.h). Any engine may do this; locks in the store make sure that each
 * timer, schedule or submission is fired or accepted only once. */
#include "engine/engine_internal.h"

#include "store/ops/sql_submissions.h"
#include "store/schedule/schedule.h"

#define SLICE         500     /* timers or submissions in one turn */
#define SCHEDULES_MAX 10      /* schedules in one turn; each may create several executions */
#define LOCKED_PAUSE  100000  /* µs until rows that other turns had locked are tried again */
#define BISECT_PAUSE  10000   /* µs until the next turn while bisecting */
#define WALL_STEP     1000000 /* µs; a wall clock that goes back by more than this was set */

/* Sets when schedules are checked next. They follow the wall clock, which may be set at any time,
 * so each heartbeat computes the next check anew. After the clock was set back, stored due times
 * may be too late: so the schedules whose last check is later than the new time are then checked at
 * once. A foreground engine leaves schedules to workers. */
void set_schedule_due(struct engine *e, int64_t due, int64_t wall)
{
    int64_t now = engine_now(e), ahead = wall - now;

    if (e->wall_ahead && ahead < e->wall_ahead - WALL_STEP)
        e->check_schedules = true;
    e->wall_ahead = ahead;
    if (e->o.foreground)
        e->schedule_due = 0;
    else
        e->schedule_due = e->check_schedules ? now : due ? now + due - wall : 0;
}

/* Reads when the next timer and schedule are due, after this or another process may have set an
 * earlier time. */
int refresh_next_due(struct engine *e, struct err *err)
{
    struct next_due due;
    int rc = store_next_due(e->store, &due, err);

    if (!rc) {
        e->next_due_unknown = false;
        e->timer_due = due.timer ? due.timer - e->db_clock.ahead_min : 0;
        set_schedule_due(e, due.schedule, due.wall);
        e->submissions |= due.submissions && !e->o.foreground;
    }
    return rc;
}

void apply_wake(struct engine *e, unsigned woke)
{
    e->next_due_unknown |= (woke & WAKE_TIMERS) != 0;
    if (woke & WAKE_JOBS)
        e->groups_to_poll = UINT64_MAX;
}

/* Reports the messages of the last turn, and applies the wake-ups that it caused. */
static void apply_turn(struct engine *e, const char *const *messages, size_t n)
{
    for (size_t i = 0; i < n; i++)
        engine_note(e, messages[i]);
    apply_wake(e, store_last_wake(e->store));
}

/* ---- timers ---- */

struct timers_due {
    struct engine *e;
    struct timer_slice r;
    int64_t now;
};

static int timers_body(struct turn *t, void *arg, struct err *err)
{
    struct timers_due *d = arg;
    int rc = op_fire_timers(t, &d->r, err);

    d->now = turn_now(t);
    return rc;
}

static int timers_turn(void *arg, size_t max, struct rows_seen *seen, struct err *err)
{
    struct timers_due *d = arg;
    int rc;

    d->r = (struct timer_slice){.max = max, .quarantine = &d->e->quarantined_timers};
    if (!(rc = store_turn(d->e->store, timers_body, d, err)))
        apply_turn(d->e, NULL, 0);
    *seen = (struct rows_seen){d->r.found, timer_id(d->r.first.execution, d->r.first.kind)};
    return rc;
}

/* Quarantines the timer in memory only: a write to the database may be what fails. */
static int quarantine_timer(void *arg, struct err *err)
{
    const struct timers_due *d = arg;
    int64_t id = timer_id(d->r.first.execution, d->r.first.kind);

    if (!quarantine_add(&d->e->quarantined_timers, id, engine_now(d->e)))
        return -(int)err->code; /* the quarantine is full: the timers are not the cause */
    err_prefix(err,
               "firing a timer of execution %lld (%s) failed and will be tried again "
               "in a minute",
               (long long)d->r.first.execution, timer_text((int)d->r.first.kind));
    engine_note(d->e, err->msg);
    return 0;
}

int fire_timers(struct engine *e, struct err *err)
{
    static const struct bisect_work timers = {timers_turn, quarantine_timer};
    struct timers_due d = {.e = e};
    int64_t back;
    int rc;

    quarantine_remove_expired(&e->quarantined_timers, engine_now(e));
    if ((rc = bisect(&timers, &d, SLICE, &e->timers, err)))
        return rc;
    e->timer_due = d.r.next ? engine_now(e) + d.r.next - d.now : 0;
    if (d.r.next && d.r.next <= d.now && !d.r.n)
        e->timer_due = engine_now(e) + LOCKED_PAUSE;
    back = quarantine_next(&e->quarantined_timers);
    if (back && (!e->timer_due || back < e->timer_due))
        e->timer_due = back;
    if (e->timers.more_rows)
        e->timer_due = engine_now(e) + BISECT_PAUSE;
    return 0;
}

/* ---- schedules ---- */

struct schedules_due {
    struct engine *e;
    struct schedule_slice r;
    const char *why, *name; /* why the first schedule is quarantined; its name is set by the turn */
};

static int schedules_body(struct turn *t, void *arg, struct err *err)
{
    return op_fire_schedules(t, &((struct schedules_due *)arg)->r, err);
}

static int schedules_turn(void *arg, size_t max, struct rows_seen *seen, struct err *err)
{
    struct schedules_due *d = arg;
    struct schedule_slice *r = &d->r;
    struct engine *e = d->e;
    int rc;

    *r = (struct schedule_slice){.max = max, .ahead = e->check_schedules};
    rc = store_turn(e->store, schedules_body, d, err);
    *seen = (struct rows_seen){r->found, r->first};
    if (rc)
        return rc;
    if (r->ahead) /* keep the flag if the slice was full or some schedules were locked */
        e->check_schedules = r->found == max || r->checked < r->found;
    set_schedule_due(e, r->next, r->now);
    if (!r->checked && ((r->next && r->next <= r->now) || e->check_schedules))
        e->schedule_due = engine_now(e) + LOCKED_PAUSE;
    apply_turn(e, r->messages, r->nmessages);
    return 0;
}

static int problem_body(struct turn *t, void *arg, struct err *err)
{
    struct schedules_due *d = arg;

    return op_schedule_quarantine(t, d->r.first, d->why, &d->name, err);
}

static int quarantine_schedule(void *arg, struct err *err)
{
    struct schedules_due *d = arg;
    struct err note = *err;
    int rc;

    d->why = note.msg;
    if ((rc = store_turn(d->e->store, problem_body, d, err)))
        return rc;
    err_prefix(&note, "firing the schedule %s failed and will be tried again later", d->name);
    engine_note(d->e, note.msg);
    return 0;
}

int fire_schedules(struct engine *e, struct err *err)
{
    static const struct bisect_work schedules = {schedules_turn, quarantine_schedule};
    struct schedules_due d = {.e = e};
    int rc = bisect(&schedules, &d, SCHEDULES_MAX, &e->schedules, err);

    if (!rc && e->schedules.more_rows)
        e->schedule_due = engine_now(e) + BISECT_PAUSE;
    return rc;
}

/* ---- SQL submissions ---- */

struct waiting {
    struct engine *e;
    struct submission_slice r;
    const char *why; /* why the first submission is refused */
};

static int submissions_body(struct turn *t, void *arg, struct err *err)
{
    return op_accept_submissions(t, &((struct waiting *)arg)->r, err);
}

static int submissions_turn(void *arg, size_t max, struct rows_seen *seen, struct err *err)
{
    struct waiting *w = arg;
    int rc;

    w->r = (struct submission_slice){.max = max};
    rc = store_turn(w->e->store, submissions_body, w, err);
    *seen = (struct rows_seen){w->r.n, w->r.first};
    if (!rc)
        apply_turn(w->e, w->r.messages, w->r.nmessages);
    return rc;
}

static int refuse_body(struct turn *t, void *arg, struct err *err)
{
    const struct waiting *w = arg;

    return op_refuse_submission(t, w->r.first, w->why, err);
}

/* Refuses a submission that can't be stored, so that it does not stop the engine. */
static int refuse_first(void *arg, struct err *err)
{
    struct waiting *w = arg;
    struct err why = *err;
    int rc;

    err_prefix(&why, "the submission can't be stored");
    w->why = why.msg;
    if ((rc = store_turn(w->e->store, refuse_body, w, err)))
        return rc;
    err_prefix(&why, "submission %lld was refused", (long long)w->r.first);
    engine_note(w->e, why.msg);
    return 0;
}

int accept_submissions(struct engine *e, struct err *err)
{
    static const struct bisect_work submissions = {submissions_turn, refuse_first};
    struct waiting w = {.e = e};
    int rc = bisect(&submissions, &w, SLICE, &e->bisect_submissions, err);

    if (!rc)
        e->submissions = e->bisect_submissions.more_rows || w.r.n == w.r.max;
    return rc;
}
