/* retry.c - decides whether and when an ended attempt is retried. Pure. */
#include "core/outcome.h"
#include "core/spec.h"

#include <math.h>

#define DEFAULT_DELAY     1000000LL
#define DEFAULT_MAX_DELAY (5 * 60 * 1000000LL)
#define DEFAULT_BACKOFF   2.0
#define DEFAULT_JITTER    0.1

static bool is_retried_code(const struct retry_policy *p, int code)
{
    for (size_t i = 0; i < p->ncodes; i++)
        if (p->codes[i] == code)
            return true;
    return !p->ncodes;
}

/* The delay before the next attempt. It is computed in floating point, so that a delay that
 * overflows becomes infinite and is limited like any other. */
static int64_t backoff(const struct retry_policy *p, int attempt, double random)
{
    double delay = (double)(p->delay > 0 ? p->delay : DEFAULT_DELAY);
    double factor = p->backoff > 0 ? p->backoff : DEFAULT_BACKOFF;
    double jitter = p->jitter < 0 ? DEFAULT_JITTER : p->jitter > 1 ? 1 : p->jitter;
    double max = (double)p->max_delay;

    /* A first delay above the default maximum is intended, so it raises the maximum. */
    if (p->max_delay <= 0)
        max = delay > DEFAULT_MAX_DELAY ? delay : DEFAULT_MAX_DELAY;
    delay *= pow(factor, attempt > 1 ? attempt - 1 : 0);
    if (!(delay < max))
        delay = max;
    delay -= delay * jitter * (1 - random);
    return delay < 0 ? 0 : delay < 0x1p62 ? (int64_t)delay : INT64_C(1) << 62;
}

int64_t retry_delay(const struct retry_policy *p, const struct outcome *o, int attempt,
                    double random)
{
    switch (o->kind) {
    case OUTCOME_FAILED:
        if (o->has_exit_code && !is_retried_code(p, o->exit_code))
            return -1;
        return backoff(p, attempt, random);
    case OUTCOME_TIMED_OUT:
    case OUTCOME_LOST:
        return backoff(p, attempt, random);
    case OUTCOME_DEFERRED: /* not failures: the outcome contains the delay */
    case OUTCOME_REFUSED:
        return o->retry_delay > 0 ? o->retry_delay : 0;
    case OUTCOME_OK:
    case OUTCOME_CANCELLED:
        break;
    }
    return -1;
}
