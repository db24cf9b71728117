/* handover.c - between the engine and the dispatcher: hands jobs over after the commit of their
 * claim, and queues the executors' reports for the next turn. */
#include "engine/engine_internal.h"

#include <errno.h>
#include <string.h>

/* µs. The report of a start waits at most this long for a turn that has other work too, so that one
 * commit can write both the start and the end of a short job. */
#define STARTS_WAIT    20000
#define UNMARKED_DELAY 1000000 /* µs until a job whose start mark failed is tried again */

static void queue_start(struct engine *e, const struct leased_job *h, const struct report *r)
{
    struct loop *l = loop_of(e, h->a.root);
    int64_t now = engine_now(e);

    *vec_add(&l->starts) = (struct pending_start){.execution = h->a.execution,
                                                  .root = h->a.root,
                                                  .attempt = h->a.attempt,
                                                  .epoch = h->a.epoch,
                                                  .adopted = h->adopted,
                                                  .at = now - r->ago};
    if (!l->starts_due)
        l->starts_due = now + STARTS_WAIT;
}

static void queue_log(struct engine *e, const struct leased_job *h, const struct report *r)
{
    struct pending_log *l = vec_add(&loop_of(e, h->a.root)->logs);

    *l = (struct pending_log){.execution = h->a.execution,
                              .attempt = h->a.attempt,
                              .epoch = h->a.epoch,
                              .bytes = mem_alloc(r->log_len + 1),
                              .len = r->log_len,
                              .offset = r->offset,
                              .dropped = r->dropped};
    memcpy(l->bytes, r->log, r->log_len);
}

/* The delay before the next attempt, after this outcome. Executors set it for deferred and refused
 * attempts only. */
static int64_t next_retry_delay(const struct leased_job *h, const struct outcome *o)
{
    uint32_t r;

    if (o->kind == OUTCOME_DEFERRED || o->kind == OUTCOME_OK || o->kind == OUTCOME_REFUSED)
        return o->retry_delay;
    env_random(&r, sizeof(r));
    return retry_delay(&h->retry, o, h->a.attempt, (double)r / 4294967296.0);
}

static void queue_outcome(struct engine *e, struct leased_job *h, const struct outcome *given)
{
    struct outcome o = *given;

    o.retry_delay = next_retry_delay(h, &o);
    leased_job_set_outcome(e, h, &o);
}

void engine_report(void *arg, struct attempt *a, const struct report *r)
{
    struct engine *e = arg;
    struct leased_job *h = (struct leased_job *)a;

    if (r->kind == REPORT_STARTED)
        queue_start(e, h, r);
    else if (r->kind == REPORT_LOG)
        queue_log(e, h, r);
    else
        queue_outcome(e, h, &r->outcome);
}

/* Whether half of the lease passed before the job could be started, because this process was
 * stopped or waited for its COMMIT. The job is then returned to its queue: before the lease has run
 * out, no other worker can have started the job; afterwards one could. */
static bool is_too_late(const struct engine *e, const struct leased_job *h)
{
    return h->until - engine_now(e) < e->o.lease / 2;
}

/* Starts a claimed job. If its executor does not write start marks itself, this function writes the
 * mark: a worker's file records every start, because another worker that reads it may have a
 * different executor for the lane. */
static int start_job(struct engine *e, const char *lane, const struct job *job,
                     struct outcome *failed, struct err *err)
{
    if (dispatch_marks_starts(e->dispatch, lane) ||
        !start_marks_add(e->start_marks, job->execution, job->attempt))
        return dispatch_start(e->dispatch, lane, job, failed, err);
    failed->kind = OUTCOME_REFUSED;
    failed->retry_delay = UNMARKED_DELAY;
    return err_set(
        err, E_REFUSED,
        "the start of the job can't be recorded in the worker's file: %s; free disk space "
        "or check the state folder",
        strerror(errno));
}

static bool is_to_be_settled(const struct loop *l, const struct leased_job *h)
{
    for (size_t i = 0; i < l->ended.n; i++)
        if (l->ended.at[i] == h)
            return true;
    return false;
}

/* Settles a readopted job that ended before its lease was lost, or before the loss was noticed. No
 * more reports will come for it, so the reports that still wait for a turn get the new epoch. */
static void settle_readopted(struct engine *e, struct leased_job *h)
{
    struct loop *l = loop_of(e, h->a.root);
    bool whole = false; /* set when the waiting chunk at offset 0 was found; without it, the start
                           of the log is already stored */

    for (size_t i = 0; i < l->starts.n; i++)
        if (l->starts.at[i].execution == h->a.execution &&
            l->starts.at[i].attempt == h->a.attempt) {
            l->starts.at[i].epoch = h->a.epoch;
            l->starts.at[i].adopted = true; /* another worker may have written this start */
        }
    for (size_t i = 0; i < l->logs.n; i++)
        if (l->logs.at[i].execution == h->a.execution && l->logs.at[i].attempt == h->a.attempt &&
            (whole = whole || !l->logs.at[i].offset))
            l->logs.at[i].epoch = h->a.epoch;
    if (!is_to_be_settled(l, h))
        *vec_add(&l->ended) = h;
}

void engine_hand_over_job(struct engine *e, const struct execution *x, enum handover how,
                          int64_t claimed_at)
{
    bool adopted = how != HANDOVER_CLAIMED;
    AUTO_ARENA own = ARENA_INIT;
    struct spec spec = {.retry = {.jitter = -1}};
    struct job job = {.execution = x->id,
                      .root = x->root,
                      .parent = x->parent,
                      .workflow = x->workflow,
                      .priority = x->priority,
                      .index = x->task_index,
                      .task_name = x->task_name,
                      .queue = x->queue,
                      .attempt = x->attempts,
                      .max_attempts = x->max_attempts,
                      .epoch = x->epoch,
                      .name = x->name,
                      .input = x->input,
                      .spec = &spec,
                      .cancel = x->cancel_requested,
                      .unstarted = how == HANDOVER_UNSTARTED};
    struct outcome failed = {.kind = OUTCOME_FAILED, .duration = -1};
    struct err err = ERR_INIT;
    int rc = x->spec ? spec_parse(x->spec, &own, &spec, &err) : 0;
    struct leased_job *h = leased_job_add(e, x, &spec, claimed_at + e->o.lease);

    h->cancel_sent = x->cancel_requested;
    h->adopted = adopted;
    job.lease_until = h->until - env_own_offset(e->env); /* CLOCK_BOOTTIME */
    if (!adopted && !rc && is_too_late(e, h)) {
        failed.kind = OUTCOME_REFUSED;
        rc = err_set(&err, E_REFUSED,
                     "the job was not started, because less than half of its lease was "
                     "left: is this host overloaded?");
    }
    if (h->a.ended) {
        settle_readopted(e, h);
        goto done;
    }
    if (adopted) /* the attempt is already running, even if its spec can't be read */
        rc = dispatch_reattach(e->dispatch, x->lane, &job, &err);
    else if (!rc)
        rc = start_job(e, x->lane, &job, &failed, &err);
    failed.error = err.msg;
    if (adopted && rc == -E_REFUSED) { /* the attempt can't be searched for now: let the lease run
                                          out, and keep the mark */
        dispatch_forget(e->dispatch, h->a.execution, h->a.attempt);
        leased_job_remove(e, h);
    } else if (rc) {
        queue_outcome(e, h, &failed);
    }
done:
    env_point(e->env, "engine:job-started");
}
