/* model_time.c - what goes by the clock, and how many may run at once. */
#include "model_inner.h"

#define HOUR (3600 * 1000000LL)

/* ---- what holds it ---- */

/* A delay and an approval's time are counted from here, side by side. A fan-out waits once, not for
 * each item. */
void model_be_ready(struct model *m, struct model_node *n)
{
    n->delayed = n->task->delay > 0;
    n->delay_due = n->delayed ? m->now + n->task->delay * HOUR : 0;
    n->answer_due = n->task->approval_timeout ? m->now + n->task->approval_timeout * HOUR : 0;
    model_begin(m, n);
}

static int running(const struct model *m, int key)
{
    const struct model_node *n;
    int count = 0;

    for (n = m->all; n; n = n->next)
        count += n->kind == M_JOB && n->status == M_RUNNING && (!key || n->task->key == key);
    return count;
}

bool model_may_start(const struct model *m, const struct model_node *job)
{
    int key = job->task->key;

    return job->status == M_READY && model_is_approved(job) && !model_is_paused(job) &&
           !job->delayed && (m->limit < 0 || running(m, 0) < m->limit) &&
           (!key || running(m, key) < m->plan->key_max[key]);
}

/* ---- workflows with a key ---- */

static int count_of(const struct model *m, const struct plan_flow *flow, bool running_only)
{
    const struct model_node *n;
    int count = 0;

    for (n = m->all; n; n = n->next)
        count += n->kind == M_FLOW && n->flow == flow && (!running_only || n->status == M_RUNNING);
    return count;
}

bool model_queues(const struct model_node *n)
{
    return n->kind == M_FLOW && n->flow->max && n->status == M_PENDING && n->waits &&
           !n->permitted && model_is_approved(n) && !model_is_paused(n) && !n->delayed;
}

bool model_permit(const struct model *m, struct model_node *n)
{
    return n->permitted = count_of(m, n->flow, true) < n->flow->max;
}

static bool is_any_above(const struct model *m, bool running_only)
{
    const struct plan_flow *f = m->plan->flows;
    int i;

    for (i = 0; i < m->plan->nflows; i++)
        if (f[i].max && count_of(m, &f[i], running_only) > f[i].max)
            return true;
    return false;
}

bool model_some_crowded(const struct model *m)
{
    return is_any_above(m, false);
}

bool model_some_exceeded(const struct model *m)
{
    return is_any_above(m, true);
}

/* ---- the clock ---- */

/* The shorter of what its file says and what the task says that nests it. */
void model_set_timeout(const struct model *m, struct model_node *n)
{
    int own = n->flow->timeout, task = n->task ? n->task->timeout : 0;
    int hours = own && (!task || own < task) ? own : task;

    n->timeout_due = hours ? m->now + hours * HOUR : 0;
}

/* When the clock comes to it next, and for what. */
static int64_t due_at(const struct model_node *n, enum model_timer kind)
{
    if (model_ended(n->status))
        return 0;
    if (kind == M_DELAY)
        return n->delayed ? n->delay_due : 0;
    if (model_asks(n))
        return n->answer_due;
    return n->kind == M_FLOW && n->status == M_RUNNING && !n->cancel_asked ? n->timeout_due : 0;
}

int64_t model_next_due(const struct model *m)
{
    const struct model_node *n;
    int64_t next = 0, due;
    int kind;

    for (n = m->all; n; n = n->next)
        for (kind = M_DELAY; kind <= M_TIMEOUT; kind++)
            if ((due = due_at(n, (enum model_timer)kind)) && (!next || due < next))
                next = due;
    return next;
}

bool model_fire(struct model *m, struct model_node *n, enum model_timer kind, int64_t ahead)
{
    int64_t due = due_at(n, kind);

    if (!due) /* the wait for another try, or a workflow that ends already: nothing comes of it */
        return true;
    if (due > m->now + ahead)
        return false;
    if (kind == M_DELAY) {
        n->delayed = false;
    } else if (model_asks(n)) {
        n->status = M_TIMED_OUT;
    } else {
        n->timed_out = true;
        model_cancel(n, false);
    }
    return true;
}
