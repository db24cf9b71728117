/* turn.c - what executors report goes on to the engine, under the epoch that the attempt is held.
 */
#include "dispatch/internal.h"

#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>

#define LOOK_EVERY 20000 /* µs at an executor that has work, but no descriptor */
#define MAX_READY  64

/* ---- reports ---- */

static void count_ended(struct member *m, const struct outcome *o)
{
    bool failed =
        o->kind == OUTCOME_FAILED || o->kind == OUTCOME_TIMED_OUT || o->kind == OUTCOME_LOST;

    if (o->duration >= 0)
        histogram_add(&m->times, o->duration);
    if (failed || o->kind == OUTCOME_OK || o->kind == OUTCOME_CANCELLED)
        m->done++;
    if (failed)
        m->failed++;
}

static void pass_on(struct dispatch *d, struct attempt *a, const struct report *r)
{
    struct report own = *r;

    own.epoch = a->epoch;
    if (r->kind == REPORT_ENDED) {
        dispatch_count_out(d, a);
        a->ended = true;
        if (a->holder)
            count_ended(a->holder, &r->outcome);
    }
    d->report(d->arg, &own); /* after which there may be no attempt any more */
}

void dispatch_on_report(void *member, struct executor *x, const struct report *r)
{
    struct member *m = member;
    struct attempt *a = attempts_get(&m->d->attempts, r->execution, r->attempt);

    (void)x;
    if (a && a->holder == m && !a->ended && !a->refused)
        pass_on(m->d, a, r);
}

static void report_untaken(struct dispatch *d)
{
    VEC(struct untaken) list = {d->untaken.at, d->untaken.n, d->untaken.cap};
    size_t i;

    d->untaken.at = NULL;
    d->untaken.n = d->untaken.cap = 0;
    for (i = 0; i < list.n; i++) {
        struct untaken *u = &list.at[i];
        struct attempt *a = attempts_get(&d->attempts, u->execution, u->attempt);
        struct report r = {
            .kind = REPORT_ENDED,
            .execution = u->execution,
            .attempt = u->attempt,
            .outcome = {
                .kind = u->kind, .error = u->error, .duration = -1, .retry_delay = u->delay}};

        if (a && a->refused && !a->ended)
            pass_on(d, a, &r);
        free(u->error);
    }
    vec_release(&list);
}

/* ---- the timer ---- */

void dispatch_arm(struct dispatch *d, int64_t at)
{
    struct itimerspec when = {.it_value = {at / 1000000, at % 1000000 * 1000}};

    if (d->armed && d->armed <= at)
        return;
    d->armed = at;
    timerfd_settime(d->timer, TFD_TIMER_ABSTIME, &when, NULL);
}

/* Asks for the next turn that no executor asks for. */
static void arm_next(struct dispatch *d, int64_t now)
{
    size_t i;

    if (d->untaken.n)
        dispatch_arm(d, now);
    for (i = 0; i < d->members.n; i++) {
        struct member *m = d->members.at[i];

        if (m->resting_until && m->resting_until <= now)
            m->resting_until = 0;
        if (m->resting_until)
            dispatch_arm(d, m->resting_until);
        if (m->fd < 0 && m->in_flight)
            dispatch_arm(d, now + LOOK_EVERY);
    }
}

/* ---- the turn ---- */

int dispatch_fd(const struct dispatch *d)
{
    return d->epoll;
}

void dispatch_turn(struct dispatch *d)
{
    static const struct itimerspec never;
    struct epoll_event ready[MAX_READY];
    int i, n = epoll_wait(d->epoll, ready, MAX_READY, 0);
    size_t k;

    for (i = 0; i < n; i++) {
        struct member *m = ready[i].data.ptr;

        if (m) {
            m->x->ops->turn(m->x);
        } else {
            timerfd_settime(d->timer, 0, &never, NULL);
            d->armed = 0;
        }
    }
    for (k = 0; k < d->members.n; k++)
        if (d->members.at[k]->fd < 0)
            d->members.at[k]->x->ops->turn(d->members.at[k]->x);
    report_untaken(d);
    arm_next(d, clock_boot_us());
}
