/* executor_reports.c - between the loop and the executors: jobs go out when their claim is
 * committed, reports come back and wait for the next turn. */
#include "engine/engine_internal.h"

#include <stdlib.h>
#include <string.h>

/* A start is written with the next turn there is; it waits at most so long for one. Short work is
 * then told in one commit. */
#define STARTS_WAIT 20000

static void queue_start(struct engine *e, const struct leased_job *h, const struct report *r)
{
    struct loop *l = loop_of(e, h->root);
    int64_t now = engine_now(e);

    *vec_add(&l->starts) = (struct pending_start){.execution = h->execution,
                                                  .root = h->root,
                                                  .attempt = h->attempt,
                                                  .epoch = h->epoch,
                                                  .adopted = h->adopted,
                                                  .at = now - r->ago};
    if (!l->starts_due)
        l->starts_due = now + STARTS_WAIT;
}

static void queue_log(struct engine *e, const struct leased_job *h, const struct report *r)
{
    struct pending_log *l = vec_add(&loop_of(e, h->root)->logs);

    *l = (struct pending_log){.execution = h->execution,
                              .attempt = h->attempt,
                              .epoch = h->epoch,
                              .bytes = mem_alloc(r->log_len + 1),
                              .len = r->log_len,
                              .offset = r->offset,
                              .dropped = r->dropped};
    memcpy(l->bytes, r->log, r->log_len);
}

/* How long until the next try; the executor knows only for what it gives back itself. */
static int64_t next_retry_delay(const struct leased_job *h, const struct outcome *o)
{
    uint32_t r;

    if (o->kind == OUTCOME_DEFERRED || o->kind == OUTCOME_OK || o->kind == OUTCOME_REFUSED)
        return o->retry_delay;
    env_random(&r, sizeof(r));
    return retry_delay(&h->retry, o, h->attempt, (double)r / 4294967296.0);
}

static void queue_outcome(struct engine *e, struct leased_job *h, const struct outcome *given)
{
    struct outcome o = *given;

    o.retry_delay = next_retry_delay(h, &o);
    leased_job_set_outcome(e, h, &o);
}

void engine_report(void *arg, const struct report *r)
{
    struct engine *e = arg;
    struct leased_job *h = leased_job_get(e, r->execution);

    if (!h || h->attempt != r->attempt || h->ended)
        return; /* its lease was lost: what it says no longer counts */
    if (r->kind == REPORT_STARTED)
        queue_start(e, h, r);
    else if (r->kind == REPORT_LOG)
        queue_log(e, h, r);
    else
        queue_outcome(e, h, &r->outcome);
}

/* Whoever was kept from it so long (stopped, or without the answer to its COMMIT) gives it back:
 * before the lease has run out nobody else may have begun it, after that somebody may. */
static bool is_too_late(const struct engine *e, const struct leased_job *h)
{
    return h->until - engine_now(e) < e->o.lease / 2;
}

static bool is_to_be_settled(const struct loop *l, const struct leased_job *h)
{
    size_t i;

    for (i = 0; i < l->ended.n; i++)
        if (l->ended.at[i] == h)
            return true;
    return false;
}

/* It ended before its lease was lost, or before that was known, and is ours again: nothing more
 * will be reported of it. */
static void settle_readopted(struct engine *e, struct leased_job *h)
{
    struct loop *l = loop_of(e, h->root);
    bool whole = false; /* what is left of its log; else the beginning is stored, and stays */
    size_t i;

    for (i = 0; i < l->starts.n; i++)
        if (l->starts.at[i].execution == h->execution && l->starts.at[i].attempt == h->attempt) {
            l->starts.at[i].epoch = h->epoch;
            l->starts.at[i].adopted = true; /* another may have told it meanwhile */
        }
    for (i = 0; i < l->logs.n; i++)
        if (l->logs.at[i].execution == h->execution && l->logs.at[i].attempt == h->attempt &&
            (whole = whole || !l->logs.at[i].offset))
            l->logs.at[i].epoch = h->epoch;
    if (!is_to_be_settled(l, h))
        *vec_add(&l->ended) = h;
}

void engine_start_job(struct engine *e, const struct execution *x, bool adopted, int64_t claimed_at)
{
    struct arena own = ARENA_INIT;
    struct spec spec = {.retry = {.jitter = -1}};
    struct task task = {.execution = x->id,
                        .root = x->root,
                        .attempt = x->attempts,
                        .max_attempts = x->max_attempts,
                        .epoch = x->epoch,
                        .name = x->name,
                        .input = x->input,
                        .spec = &spec,
                        .cancel = x->cancel_requested};
    struct err err = ERR_INIT;
    int rc = x->spec ? spec_parse(x->spec, &own, &spec, &err) : 0;
    struct leased_job *h = leased_job_add(e, x, &spec, claimed_at + e->o.lease);

    h->cancel_sent = x->cancel_requested;
    h->adopted = adopted;
    task.lease_until = h->until - env_own_offset(e->env); /* the machine's own clock */
    if (!adopted)
        metrics_count_claim(e, h, x);
    if (h->ended)
        settle_readopted(e, h);
    else if (rc && !adopted) /* it can never be run as it is; what runs already ends by itself */
        queue_outcome(e, h,
                      &(struct outcome){.kind = OUTCOME_FAILED, .error = err.msg, .duration = -1});
    else if (!adopted && is_too_late(e, h))
        queue_outcome(e, h,
                      &(struct outcome){.kind = OUTCOME_REFUSED,
                                        .error = "less than half of its lease was left to begin it",
                                        .duration = -1});
    else if (!adopted)
        dispatch_start(e->dispatch, x->lane, &task);
    else if (dispatch_reattach(e->dispatch, x->lane, &task, &err)) {
        dispatch_forget(e->dispatch, h->execution, h->attempt); /* held under an older epoch */
        leased_job_remove(e, h); /* nobody here can look for it now: the lease runs out */
    }
    env_point(e->env, "engine:handed-out");
    arena_release(&own);
}
