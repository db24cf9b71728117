/* start.c - hands attempts to executors, and passes on what the engine decides about them. */
#include "dispatch/dispatch_internal.h"

#include <stdio.h>
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

bool dispatch_marks_starts(const struct dispatch *d, const char *lane)
{
    const char *function;
    const struct executor_entry *m = find_executor(d, lane, &function);

    return m && m->x->ops->marks_starts;
}

static void count_started(struct dispatch *d, struct attempt *a, struct executor_entry *m)
{
    if (m->fd < 0)
        wakeup_at(&d->wakeup, clock_boot_us());
    if (a->executor)
        return;
    a->executor = m;
    m->in_flight++;
    d->in_flight++;
}

void dispatch_count_ended(struct dispatch *d, struct attempt *a)
{
    if (!a->executor || a->ended)
        return;
    a->handle = NULL;
    a->executor->in_flight--;
    d->in_flight--;
}

/* Counts a refusal: the executor is offered no jobs for a while; each refusal in a row doubles that
 * time. Attempts that it had already accepted may be refused during that time: together they count
 * as one refusal. */
int64_t dispatch_back_off(struct executor_entry *m, const char *why)
{
    int64_t delay = BACKOFF_FIRST, now = clock_boot_us();

    if (m->backoff_until > now)
        return m->backoff_until - now;
    for (int i = 0; i < m->refusals && delay < BACKOFF_MAX; i++)
        delay *= 2;
    if (delay > BACKOFF_MAX)
        delay = BACKOFF_MAX;
    if (!m->refusals || strcmp(m->why, why) != 0)
        env_note(m->x->env, "the executor %s can't start jobs: %s; Pawl will try again", m->x->key,
                 why);
    m->refusals++;
    m->backoff_until = now + delay;
    wakeup_at(&m->d->wakeup, m->backoff_until);
    snprintf(m->why, sizeof(m->why), "%s", why);
    return delay;
}

void dispatch_count_accepted(struct executor_entry *m)
{
    if (m->refusals)
        env_note(m->x->env, "the executor %s has recovered and accepts jobs", m->x->key);
    m->refusals = 0;
}

/* Returns 0 if the lane's executor may be offered the job, else an error that says why not. */
static int refuse_unoffered(const struct dispatch *d, const struct executor_entry *m,
                            const char *lane, int64_t *delay, struct err *err)
{
    *delay = BACKOFF_FIRST;
    if (!m)
        return err_set(err, E_REFUSED, "this worker does not serve the lane %.128s", lane);
    *delay = 0;
    /* The turn that claimed the job was under way when the worker was stopped or began to drain.
     * The job is refused without a delay: another worker may start it at once. */
    if (d->closed)
        return err_set(err, E_REFUSED, "this worker is stopping and accepts no more jobs");
    if (m->backoff_until && m->backoff_until > clock_boot_us()) {
        *delay = m->backoff_until - clock_boot_us();
        return err_set(err, E_REFUSED, "%s", m->why);
    }
    return 0;
}

int dispatch_start(struct dispatch *d, const char *lane, const struct job *j,
                   struct outcome *failed, struct err *err)
{
    struct job own = *j;
    struct executor_entry *m = find_executor(d, lane, &own.function);
    struct attempt *a = attempts_get(d->attempts, j->execution, j->attempt);
    int64_t delay;
    int rc;

    if (a->executor || a->ended)
        return 0; /* the job was handed over before: its end was or will be reported */
    if (!(rc = refuse_unoffered(d, m, lane, &delay, err))) {
        if (!(rc = m->x->ops->start(m->x, &own, &a->handle, err))) {
            count_started(d, a, m);
            return 0;
        }
        if (rc == -E_REFUSED)
            delay = dispatch_back_off(m, err->msg);
    }
    *failed = (struct outcome){.kind = rc == -E_REFUSED ? OUTCOME_REFUSED : OUTCOME_FAILED,
                               .error = err->msg,
                               .duration = -1,
                               .retry_delay = delay};
    return rc;
}

int dispatch_reattach(struct dispatch *d, const char *lane, const struct job *j, struct err *err)
{
    struct job own = *j;
    struct executor_entry *m = find_executor(d, lane, &own.function);
    struct attempt *a = attempts_get(d->attempts, j->execution, j->attempt);
    int rc;

    if (!m)
        return err_set(err, E_REFUSED, "this worker does not serve the lane %.128s", lane);
    if (a->ended)
        return 0; /* the end of the attempt was reported before */
    rc = m->x->ops->reattach(m->x, &own, &a->handle, err);
    if (rc == -E_LEASE_LOST) { /* the attempt folder has a higher epoch: touch nothing */
        err->code = E_REFUSED;
        rc = -E_REFUSED;
    }
    if (!rc) {
        a->reattached = true;
        count_started(d, a, m);
    } else if (rc != -E_REFUSED) { /* the attempt has ended, and its executor has dropped it */
        dispatch_count_ended(d, a);
        a->executor = NULL;
    }
    return rc;
}

/* ---- attempts that an executor runs ---- */

/* The attempt if an executor runs it; NULL if none does. */
static struct attempt *find_running(const struct dispatch *d, int64_t execution, int attempt)
{
    struct attempt *a = attempts_get(d->attempts, execution, attempt);

    return a && a->handle ? a : NULL;
}

void dispatch_cancel(struct dispatch *d, int64_t execution, int attempt, enum outcome_kind why)
{
    struct attempt *a = find_running(d, execution, attempt);

    if (a)
        a->executor->x->ops->cancel(a->executor->x, a->handle, why);
}

void dispatch_renewed(struct dispatch *d, int64_t execution, int attempt, int64_t until)
{
    struct attempt *a = find_running(d, execution, attempt);

    if (a && a->executor->x->ops->renewed)
        a->executor->x->ops->renewed(a->executor->x, a->handle, until);
}

/* Detaches the attempt from its executor. Returns the executor and its handle of the attempt; NULL
 * if no executor runs it. */
static struct executor *detach_attempt(struct dispatch *d, int64_t execution, int attempt,
                                       void **handle)
{
    struct attempt *a = attempts_get(d->attempts, execution, attempt);
    struct executor *x = a && a->executor ? a->executor->x : NULL;

    *handle = x ? a->handle : NULL;
    if (x) {
        dispatch_count_ended(d, a);
        a->executor = NULL;
    }
    return x;
}

void dispatch_forget(struct dispatch *d, int64_t execution, int attempt)
{
    void *handle;
    struct executor *x = detach_attempt(d, execution, attempt, &handle);

    if (handle)
        x->ops->forget(x, handle);
}

void dispatch_settled(struct dispatch *d, int64_t execution, int attempt)
{
    void *handle;
    struct executor *x = detach_attempt(d, execution, attempt, &handle);

    if (x && x->ops->settled)
        x->ops->settled(x, execution, attempt);
}

void dispatch_leftovers(const struct dispatch *d,
                        void (*each)(void *arg, int64_t execution, int attempt), void *arg)
{
    for (size_t i = 0; i < d->executors.n; i++) {
        struct executor *x = d->executors.at[i]->x;

        if (x->ops->leftovers)
            x->ops->leftovers(x, each, arg);
    }
}

void dispatch_cleanup(struct dispatch *d, int64_t execution, int attempt)
{
    for (size_t i = 0; i < d->executors.n && !attempts_get(d->attempts, execution, attempt); i++) {
        struct executor *x = d->executors.at[i]->x;

        if (x->ops->leftovers && x->ops->settled) {
            x->ops->settled(x, execution, attempt);
            return;
        }
    }
}

void dispatch_drain(struct dispatch *d)
{
    d->closed = true;
    for (size_t i = 0; i < d->executors.n; i++) {
        struct executor *x = d->executors.at[i]->x;

        if (x->ops->drain)
            x->ops->drain(x);
    }
}

/* Stops all executors. Attempts that outlive the worker are left to other workers; all other
 * attempts still report their end. */
void dispatch_stop(struct dispatch *d, bool now)
{
    d->closed = true;
    for (size_t i = 0; i < d->executors.n; i++) {
        struct executor *x = d->executors.at[i]->x;

        if (x->ops->stop)
            x->ops->stop(x, now);
    }
    for (size_t i = 0; i < d->attempts->cap; i++) {
        const struct attempt *a = d->attempts->keys[i] ? d->attempts->values[i] : NULL;

        if (a && a->handle && a->executor->x->ops->outlives_worker)
            dispatch_forget(d, a->execution, a->attempt);
    }
}
