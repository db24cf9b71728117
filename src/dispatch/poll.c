/* poll.c - polls the executors and forwards their reports to the engine, under the epoch of the
 * held attempt. */
#include "dispatch/dispatch_internal.h"

#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>

#define POLL_EVERY 20000 /* µs, for an executor that has attempts but no descriptor */
#define MAX_READY  64

/* ---- reports ---- */

static void count_ended(struct executor_entry *m, const struct outcome *o)
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

static void forward_report(struct dispatch *d, struct attempt *a, const struct report *r)
{
    struct report own = *r;

    own.epoch = a->epoch;
    if (r->kind == REPORT_ENDED) {
        dispatch_count_ended(d, a);
        a->ended = true;
        if (a->holder)
            count_ended(a->holder, &r->outcome);
    }
    d->report(d->arg, &own); /* this may free the attempt */
}

void dispatch_on_report(void *executor_entry, struct executor *x, const struct report *r)
{
    struct executor_entry *m = executor_entry;
    struct attempt *a = attempts_get(&m->d->attempts, r->execution, r->attempt);

    (void)x;
    if (a && a->holder == m && !a->ended && !a->is_rejected)
        forward_report(m->d, a, r);
}

static void report_rejected(struct dispatch *d)
{
    VEC(struct rejected) list = {d->rejected.at, d->rejected.n, d->rejected.cap};
    size_t i;

    d->rejected.at = NULL;
    d->rejected.n = d->rejected.cap = 0;
    for (i = 0; i < list.n; i++) {
        struct rejected *u = &list.at[i];
        struct attempt *a = attempts_get(&d->attempts, u->execution, u->attempt);
        struct report r = {
            .kind = REPORT_ENDED,
            .execution = u->execution,
            .attempt = u->attempt,
            .outcome = {
                .kind = u->kind, .error = u->error, .duration = -1, .retry_delay = u->delay}};

        if (a && a->is_rejected && !a->ended)
            forward_report(d, a, &r);
        free(u->error);
    }
    vec_release(&list);
}

/* ---- the timer ---- */

void dispatch_set_timer(struct dispatch *d, int64_t at)
{
    struct itimerspec when = {.it_value = {at / 1000000, at % 1000000 * 1000}};

    if (d->timer_at && d->timer_at <= at)
        return;
    d->timer_at = at;
    timerfd_settime(d->timer, TFD_TIMER_ABSTIME, &when, NULL);
}

/* Sets the timer for polls that no executor's descriptor asks for. */
static void set_next_timer(struct dispatch *d, int64_t now)
{
    size_t i;

    if (d->rejected.n)
        dispatch_set_timer(d, now);
    for (i = 0; i < d->executors.n; i++) {
        struct executor_entry *m = d->executors.at[i];

        if (m->backoff_until && m->backoff_until <= now)
            m->backoff_until = 0;
        if (m->backoff_until)
            dispatch_set_timer(d, m->backoff_until);
        if (m->fd < 0 && m->in_flight)
            dispatch_set_timer(d, now + POLL_EVERY);
    }
}

/* ---- polling ---- */

int dispatch_fd(const struct dispatch *d)
{
    return d->epoll;
}

void dispatch_poll(struct dispatch *d)
{
    static const struct itimerspec never;
    struct epoll_event ready[MAX_READY];
    int i, n = epoll_wait(d->epoll, ready, MAX_READY, 0);
    size_t k;

    for (i = 0; i < n; i++) {
        struct executor_entry *m = ready[i].data.ptr;

        if (m) {
            m->x->ops->poll(m->x);
        } else {
            timerfd_settime(d->timer, 0, &never, NULL);
            d->timer_at = 0;
        }
    }
    for (k = 0; k < d->executors.n; k++)
        if (d->executors.at[k]->fd < 0)
            d->executors.at[k]->x->ops->poll(d->executors.at[k]->x);
    report_rejected(d);
    set_next_timer(d, clock_boot_us());
}
