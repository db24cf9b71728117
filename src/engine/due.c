/* due.c - what is due by the clock: timers and schedules. Any engine may fire them; locks in the
 * store make sure that each is fired once. */
#include "engine/internal.h"

#include "store/schedule.h"

#define SLICE     500    /* timers in one turn */
#define SCHEDULES 10     /* looked at in one turn; each may begin some runs */
#define LOCKED    100000 /* µs until what others are at is looked at again */
#define NARROWED  10000  /* µs until the next look, if one of them failed the last */

/* Schedules go by the time on the wall, which may be set meanwhile: each heartbeat counts anew. Who
 * works on one tree alone leaves them to workers. */
void expect_schedule(struct engine *e, int64_t due, int64_t wall)
{
    e->schedule_due = due && !e->o.here ? engine_now(e) + due - wall : 0;
}

/* A timer came nearer, by ourselves or by others: when is the next due? */
int find_next_due(struct engine *e, struct err *err)
{
    struct next_due due;
    int rc = store_next_due(e->store, &due, err);

    if (!rc) {
        e->look_for_timer = false;
        e->timer_due = due.timer ? due.timer - e->db_clock.ahead : 0;
        expect_schedule(e, due.schedule, due.wall);
        e->submissions |= due.submissions && !e->o.here;
    }
    return rc;
}

/* What a turn made ready, or near, is looked for. */
static void heed(struct engine *e)
{
    e->look_for_timer |= (store_woke(e->store) & WAKE_TIMERS) != 0;
    if (store_woke(e->store) & WAKE_JOBS)
        e->hungry = UINT64_MAX;
}

/* ---- timers ---- */

struct timers_due {
    struct timer_round r;
    int64_t now;
};

static int timers_body(struct turn *t, void *arg, struct err *err)
{
    struct timers_due *d = arg;
    int rc = op_timers(t, &d->r, err);

    d->now = turn_now(t);
    return rc;
}

static int timers_turn(struct engine *e, void *arg, size_t max, struct rows_seen *seen,
                       struct err *err)
{
    struct timers_due *d = arg;
    int rc;

    d->r = (struct timer_round){.max = max, .aside = &e->timers_aside};
    if (!(rc = store_turn(e->store, timers_body, d, err)))
        heed(e);
    *seen = (struct rows_seen){d->r.found, timer_id(d->r.first.execution, d->r.first.kind)};
    return rc;
}

/* Nothing of it is written: what fails may be just that. */
static int set_aside(struct engine *e, void *arg, const struct err *why, struct err *err)
{
    const struct timers_due *d = arg;
    struct err said = *why;

    if (!aside_add(&e->timers_aside, timer_id(d->r.first.execution, d->r.first.kind),
                   engine_now(e))) { /* then it is none of them */
        *err = *why;
        return -(int)why->code;
    }
    err_prefix(&said,
               "a timer of execution %lld (%s) can't be fired, and is tried again in a minute",
               (long long)d->r.first.execution, timer_text((int)d->r.first.kind));
    engine_note(e, said.msg);
    return 0;
}

int fire_timers(struct engine *e, struct err *err)
{
    static const struct rows_work timers = {SLICE, timers_turn, set_aside};
    struct timers_due d = {0};
    int64_t back;
    int rc;

    aside_return(&e->timers_aside, engine_now(e));
    if ((rc = narrow_down(e, &timers, &d, &e->timers, err)))
        return rc;
    e->timer_due = d.r.next ? engine_now(e) + d.r.next - d.now : 0;
    if (d.r.next && d.r.next <= d.now && !d.r.n)
        e->timer_due = engine_now(e) + LOCKED;
    back = aside_next(&e->timers_aside);
    if (back && (!e->timer_due || back < e->timer_due))
        e->timer_due = back;
    if (e->timers.again)
        e->timer_due = engine_now(e) + NARROWED;
    return 0;
}

/* ---- schedules ---- */

static int schedules_body(struct turn *t, void *arg, struct err *err)
{
    return op_schedules(t, arg, err);
}

static int schedules_turn(struct engine *e, void *arg, size_t max, struct rows_seen *seen,
                          struct err *err)
{
    struct schedule_round *r = arg;
    size_t i;
    int rc;

    *r = (struct schedule_round){.max = max};
    rc = store_turn(e->store, schedules_body, r, err);
    *seen = (struct rows_seen){r->found, r->first};
    if (rc)
        return rc;
    for (i = 0; i < r->nsaid; i++)
        engine_note(e, r->said[i]);
    expect_schedule(e, r->next, r->now);
    if (!r->looked && r->next && r->next <= r->now)
        e->schedule_due = engine_now(e) + LOCKED;
    heed(e);
    return 0;
}

struct problem {
    int64_t schedule;
    const char *why;
    const char *name; /* out */
};

static int problem_body(struct turn *t, void *arg, struct err *err)
{
    struct problem *p = arg;

    return op_schedule_set_aside(t, p->schedule, p->why, &p->name, err);
}

static int keep_problem(struct engine *e, void *arg, const struct err *why, struct err *err)
{
    const struct schedule_round *r = arg;
    struct problem p = {r->first, why->msg, NULL};
    struct err said = *why;
    int rc = store_turn(e->store, problem_body, &p, err);

    if (rc)
        return rc;
    err_prefix(&said, "the schedule %s can't be fired, and is looked at again later", p.name);
    engine_note(e, said.msg);
    return 0;
}

int fire_schedules(struct engine *e, struct err *err)
{
    static const struct rows_work schedules = {SCHEDULES, schedules_turn, keep_problem};
    struct schedule_round r;
    int rc = narrow_down(e, &schedules, &r, &e->schedules, err);

    if (!rc && e->schedules.again)
        e->schedule_due = engine_now(e) + NARROWED;
    return rc;
}
