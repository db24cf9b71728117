/* attempts.c - counts attempts for the metrics (docs/adr/0058), at each move: claims, adoptions,
 * expired leases and outcomes, and the times that jobs waited and ran. The counts of a turn are
 * written once, before its commit. */
#include "core/attempt_counts.h"
#include "store/door/write.h"
#include "store/store_internal.h"

#include <string.h>

#define NO_TIME (-1)

/* Finds the counter for an execution and a worker. All foreground queues share one counter, and all
 * functions count as one executor. */
static struct attempt_count *count_of(struct turn *t, const struct execution *e,
                                      const struct attempt_count *key)
{
    bool foreground = !strncmp(e->queue, QUEUE_FOREGROUND, strlen(QUEUE_FOREGROUND));
    const char *queue = foreground ? "here" : e->queue;
    /* a late report may name an execution without a lane: a workflow, or a task that is not
     * ready */
    const char *lane = e->lane ? e->lane : "";
    const char *executor = strncmp(lane, "function:", 9) ? lane : "function";
    struct attempt_count *c;

    for (size_t i = t->attempts.n; i > 0; i--) {
        c = &t->attempts.at[i - 1];
        if (c->upto == key->upto && c->type == key->type && c->outcome == key->outcome &&
            c->worker == key->worker && !strcmp(c->queue, queue) && !strcmp(c->executor, executor))
            return c;
    }
    c = vec_add(&t->attempts);
    *c = *key;
    c->queue = queue;
    c->executor = executor;
    return c;
}

/* Adds one to a counter. `us` is how long the job waited or the attempt ran; NO_TIME if no time is
 * counted. */
static void count(struct turn *t, const struct execution *e, int64_t worker, int type, int outcome,
                  int64_t us)
{
    struct attempt_count key = {.worker = worker, .type = type, .outcome = outcome}, *c;

    key.upto = us < 0 ? 0 : time_bucket_us[time_bucket_of(us)];
    c = count_of(t, e, &key);
    c->n++;
    c->us += us < 0 ? 0 : us;
}

void attempts_count_move(struct turn *t, const struct execution *e, enum event_action action,
                         const struct move_note *note, int64_t since)
{
    if (!kind_is_job(e->kind))
        return;
    if (action == EV_CLAIMED || action == EV_RESUMED)
        count(t, e, note->worker, (int)action, 0, e->updated_at - since);
    else if (action == EV_ADOPTED || action == EV_LEASE_EXPIRED)
        count(t, e, note->worker, (int)action, 0, NO_TIME);
    else if (note->outcome)
        count(t, e, note->worker, (int)action, (int)note->outcome->kind, note->outcome->duration);
}

void attempts_count_refused(struct turn *t, const struct execution *e, int64_t worker)
{
    if (kind_is_job(e->kind))
        count(t, e, worker, 0, 0, NO_TIME);
}

int attempts_write(struct turn *t, struct err *err)
{
    args_begin(&t->args, Q_ATTEMPTS_COUNT);
    for (size_t i = 0; i < t->attempts.n; i++) {
        const struct attempt_count *c = &t->attempts.at[i];

        args_row(&t->args, t->store->writer, c->worker, c->queue, c->executor, "", c->type,
                 c->outcome, c->upto, c->n, c->us);
    }
    return send_any(t, err);
}
