/* poll.c - polls the executors and forwards their reports to the engine. */
#include "dispatch/dispatch_internal.h"

#include <sys/epoll.h>

#define POLL_EVERY 20000 /* µs, for an executor that has attempts but no descriptor */
#define MAX_READY  64

/* ---- reports ---- */

/* Counts a refusal. An executor that accepted a job and then refused it lacks something for every
 * job, so it backs off as if it had refused at once. A refusal without a delay concerns that
 * attempt alone. */
static void count_outcome(struct executor_entry *m, const struct attempt *a, struct outcome *o)
{
    if (o->kind != OUTCOME_REFUSED)
        dispatch_count_accepted(m);
    else if (o->retry_delay > 0 && !a->reattached && !m->d->closed)
        o->retry_delay = dispatch_back_off(m, o->error ? o->error : "it gave no reason");
}

void dispatch_on_report(void *executor_entry, struct executor *x, const struct report *given)
{
    struct executor_entry *m = executor_entry;
    struct attempt *a = attempts_get(m->d->attempts, given->execution, given->attempt);
    struct report own = *given, *r = &own;

    (void)x;
    if (!a || a->executor != m || a->ended)
        return;
    if (r->kind == REPORT_STARTED && !a->reattached)
        dispatch_count_accepted(m);
    if (r->kind == REPORT_ENDED) {
        count_outcome(m, a, &r->outcome);
        dispatch_count_ended(m->d, a);
        a->ended = true;
    }
    m->d->report(m->d->arg, a, r); /* the callback may free the attempt */
}

/* ---- the timer ---- */

/* Sets the timer for the next poll that no descriptor triggers: when a back-off ends, or for an
 * executor that has attempts but no descriptor. */
static void set_next_timer(struct dispatch *d, int64_t now)
{
    for (size_t i = 0; i < d->executors.n; i++) {
        struct executor_entry *m = d->executors.at[i];

        if (m->backoff_until && m->backoff_until <= now)
            m->backoff_until = 0;
        if (m->backoff_until)
            wakeup_at(&d->wakeup, m->backoff_until);
        if (m->fd < 0 && m->in_flight)
            wakeup_at(&d->wakeup, now + POLL_EVERY);
    }
}

/* ---- polling ---- */

int dispatch_fd(const struct dispatch *d)
{
    return d->wakeup.epoll;
}

void dispatch_poll(struct dispatch *d)
{
    struct epoll_event ready[MAX_READY];
    int i, n = epoll_wait(d->wakeup.epoll, ready, MAX_READY, 0);

    (void)wakeup_clear(&d->wakeup, clock_boot_us());
    for (i = 0; i < n; i++) {
        struct executor_entry *m = ready[i].data.ptr;

        if (m)
            m->x->ops->poll(m->x);
    }
    for (size_t k = 0; k < d->executors.n; k++)
        if (d->executors.at[k]->fd < 0)
            d->executors.at[k]->x->ops->poll(d->executors.at[k]->x);
    set_next_timer(d, clock_boot_us());
}
