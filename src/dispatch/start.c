/* start.c - hands attempts to executors, and passes on what the engine decides about them. An
 * attempt that no executor accepts ends like any other, with a report from dispatch_poll, so the
 * engine has one place where attempts end. */
#include "dispatch/dispatch_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BACKOFF_FIRST 1000000  /* µs after the first refusal */
#define BACKOFF_MAX   60000000 /* µs after many refusals */

/* The executor that serves a lane, NULL if none. *function is the name in function:NAME, NULL for
 * other lanes. */
static struct executor_entry *find_executor(const struct dispatch *d, const char *lane,
                                            const char **function)
{
    size_t i, prefix = strlen("function:");

    *function = strncmp(lane, "function:", prefix) ? NULL : lane + prefix;
    for (i = 0; i < d->executors.n; i++) {
        struct executor_entry *m = d->executors.at[i];

        if (*function ? m->functions && function_has(m->functions, *function)
                      : !m->functions && !strcmp(m->x->key, lane))
            return m;
    }
    return NULL;
}

bool dispatch_outlives(const struct dispatch *d, const char *lane)
{
    const char *function;
    const struct executor_entry *m = find_executor(d, lane, &function);

    return m && m->x->ops->outlives_worker;
}

static struct attempt *add_attempt(struct dispatch *d, struct executor_entry *m,
                                   const struct task *t)
{
    struct attempt *a = attempts_add(&d->attempts, t->execution, t->attempt);

    a->root = t->root;
    a->epoch = t->epoch;
    a->holder = m;
    d->in_flight++;
    if (m)
        m->in_flight++;
    return a;
}

void dispatch_count_ended(struct dispatch *d, const struct attempt *a)
{
    if (a->ended)
        return;
    d->in_flight--;
    if (a->holder)
        a->holder->in_flight--;
}

static void drop_attempt(struct dispatch *d, struct attempt *a)
{
    dispatch_count_ended(d, a);
    attempts_remove(&d->attempts, a);
}

static void reject_attempt(struct dispatch *d, struct attempt *a, enum outcome_kind kind,
                           int64_t delay, const char *error)
{
    a->is_rejected = true;
    *vec_add(&d->rejected) =
        (struct rejected){a->execution, a->attempt, kind, delay, mem_strdup(error)};
    dispatch_set_timer(d, clock_boot_us());
}

/* After a refusal the executor is offered no jobs for a while; each refusal in a row doubles that
 * time. */
static int64_t back_off_executor(struct executor_entry *m, const char *why)
{
    int64_t delay = BACKOFF_FIRST;
    int i;

    for (i = 0; i < m->refusals && delay < BACKOFF_MAX; i++)
        delay *= 2;
    if (delay > BACKOFF_MAX)
        delay = BACKOFF_MAX;
    m->refusals++;
    m->backoff_until = clock_boot_us() + delay;
    snprintf(m->why, sizeof(m->why), "%s", why);
    return delay;
}

/* Handles what an executor's `start` or `reattach` returned. */
static void handle_executor_answer(struct dispatch *d, struct attempt *a, int rc,
                                   const struct err *err)
{
    struct executor_entry *m = a->holder;

    if (rc == -E_REFUSED) {
        reject_attempt(d, a, OUTCOME_REFUSED, back_off_executor(m, err->msg), err->msg);
    } else if (rc) {
        reject_attempt(d, a, OUTCOME_FAILED, 0, err->msg);
    } else {
        m->refusals = 0;
        if (m->fd < 0)
            dispatch_set_timer(d, clock_boot_us());
    }
}

void dispatch_start(struct dispatch *d, const char *lane, const struct task *t)
{
    struct task own = *t;
    struct executor_entry *m = find_executor(d, lane, &own.function);
    struct err err = ERR_INIT;
    struct attempt *a;
    int64_t left;

    if (attempts_get(&d->attempts, t->execution, t->attempt))
        return; /* held already: its end was or will be reported */
    a = add_attempt(d, m, t);
    if (!m) {
        err_set(&err, E_REFUSED, "this worker does not serve the lane %.128s", lane);
        reject_attempt(d, a, OUTCOME_REFUSED, BACKOFF_FIRST, err.msg);
        return;
    }
    left = m->backoff_until - clock_boot_us();
    if (d->closed) /* claimed by a turn under way at the stop: others may start it at once */
        reject_attempt(d, a, OUTCOME_REFUSED, 0,
                       "this worker is stopping and accepts no more jobs");
    else if (m->backoff_until && left > 0)
        reject_attempt(d, a, OUTCOME_REFUSED, left, m->why);
    else
        handle_executor_answer(d, a, m->x->ops->start(m->x, &own, &err), &err);
}

int dispatch_reattach(struct dispatch *d, const char *lane, const struct task *t, struct err *err)
{
    struct task own = *t;
    struct executor_entry *m = find_executor(d, lane, &own.function);
    struct attempt *a = attempts_get(&d->attempts, t->execution, t->attempt);
    int rc;

    if (!m)
        return err_set(err, E_REFUSED, "this worker does not serve the lane %.128s", lane);
    if (a)
        a->epoch = t->epoch;
    if (a && (a->ended || a->is_rejected))
        return 0; /* its end was or will be reported */
    rc = m->x->ops->reattach(m->x, &own, err);
    if (rc == -E_LEASE_LOST) /* its attempt folder has a higher epoch: touch nothing */
        err->code = E_REFUSED;
    if (rc == -E_REFUSED || rc == -E_LEASE_LOST)
        return -E_REFUSED;
    handle_executor_answer(d, a ? a : add_attempt(d, m, t), rc, err);
    return 0;
}

/* ---- held attempts ---- */

/* The executor that runs the attempt; NULL if none does. */
static struct executor *holder_of(struct dispatch *d, int64_t execution, int attempt)
{
    struct attempt *a = attempts_get(&d->attempts, execution, attempt);

    return a && !a->ended && !a->is_rejected ? a->holder->x : NULL;
}

void dispatch_cancel(struct dispatch *d, int64_t execution, int attempt, enum outcome_kind why)
{
    struct executor *x = holder_of(d, execution, attempt);

    if (x)
        x->ops->cancel(x, execution, attempt, why);
}

void dispatch_renewed(struct dispatch *d, int64_t execution, int attempt, int64_t until)
{
    struct executor *x = holder_of(d, execution, attempt);

    if (x && x->ops->renewed)
        x->ops->renewed(x, execution, attempt, until);
}

static void drop_rejected(struct dispatch *d, int64_t execution, int attempt)
{
    size_t i, n = 0;

    for (i = 0; i < d->rejected.n; i++) {
        struct rejected *u = &d->rejected.at[i];

        if (u->execution == execution && u->attempt == attempt)
            free(u->error);
        else
            d->rejected.at[n++] = *u;
    }
    d->rejected.n = n;
}

void dispatch_forget(struct dispatch *d, int64_t execution, int attempt)
{
    struct attempt *a = attempts_get(&d->attempts, execution, attempt);
    struct executor *x;

    if (!a)
        return;
    x = a->holder && !a->is_rejected ? a->holder->x : NULL;
    if (a->is_rejected)
        drop_rejected(d, execution, attempt);
    drop_attempt(d, a);
    if (x)
        x->ops->forget(x, execution, attempt);
}

void dispatch_settled(struct dispatch *d, int64_t execution, int attempt)
{
    struct attempt *a = attempts_get(&d->attempts, execution, attempt);
    struct executor *x;

    if (!a)
        return;
    x = a->holder && !a->is_rejected ? a->holder->x : NULL;
    drop_attempt(d, a);
    if (x && x->ops->settled)
        x->ops->settled(x, execution, attempt);
}

void dispatch_leftovers(const struct dispatch *d,
                        void (*each)(void *arg, int64_t execution, int attempt), void *arg)
{
    size_t i;

    for (i = 0; i < d->executors.n; i++) {
        struct executor *x = d->executors.at[i]->x;

        if (x->ops->leftovers)
            x->ops->leftovers(x, each, arg);
    }
}

void dispatch_cleanup(struct dispatch *d, int64_t execution, int attempt)
{
    size_t i;

    for (i = 0; i < d->executors.n && !attempts_get(&d->attempts, execution, attempt); i++) {
        struct executor *x = d->executors.at[i]->x;

        if (x->ops->leftovers && x->ops->settled) {
            x->ops->settled(x, execution, attempt);
            return;
        }
    }
}

/* Attempts that outlive the worker are left to other workers; the others still report their end. */
static void drop_outliving_attempts(struct dispatch *d)
{
    struct attempt *a, *next;
    size_t i;

    for (i = 0; i < d->attempts.cap; i++)
        for (a = d->attempts.slots[i]; a; a = next) {
            next = a->next;
            if (!a->ended && !a->is_rejected && a->holder->x->ops->outlives_worker)
                drop_attempt(d, a);
        }
}

void dispatch_stop(struct dispatch *d, bool now)
{
    size_t i;

    d->closed = true;
    for (i = 0; i < d->executors.n; i++) {
        struct executor *x = d->executors.at[i]->x;

        if (x->ops->stop)
            x->ops->stop(x, now);
    }
    drop_outliving_attempts(d);
}
