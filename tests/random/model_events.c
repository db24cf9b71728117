/* model_events.c - records events of jobs and operator requests. Their consequences are computed
 * afterwards. */
#include "model_inner.h"

void model_start(struct model_node *job)
{
    job->status = M_RUNNING;
    job->tries++;
    job->starts++;
}

/* on_exit runs after a cancel of its workflow, and on_failure after its timeout: the cancel does
 * not reach them. */
static bool is_spared(const struct model_node *workflow, int index)
{
    if (workflow->kind != M_WORKFLOW || !workflow->cancel_asked)
        return false;
    return index == workflow->workflow->ntasks + 1 ||
           (index == workflow->workflow->ntasks && workflow->timed_out);
}

static bool is_cancelled(const struct model_node *n)
{
    for (; n->parent; n = n->parent) {
        if (n->cancel_asked || n->finishing)
            return true;
        if (n->parent->kind == M_WORKFLOW &&
            (n == n->parent->children[n->parent->nchildren - 1] ||
             (n == n->parent->children[n->parent->nchildren - 2] && n->parent->timed_out)))
            return false;
    }
    return n->cancel_asked;
}

void model_end(struct model_node *job, enum plan_end end, int list)
{
    bool again = end == PLAN_DEFER || end == PLAN_REFUSE;

    job->tries -= again; /* a deferral or refusal does not count as an attempt */
    if (end == PLAN_FAIL || end == PLAN_TIMEOUT || end == PLAN_LOST)
        again = job->tries <= job->task->retries;
    if (again && !is_cancelled(job))
        job->status = M_READY;
    else if (end == PLAN_OK)
        job->status = M_SUCCEEDED;
    else if (end == PLAN_TIMEOUT)
        job->status = M_TIMED_OUT;
    else if (end == PLAN_FAIL || (end == PLAN_LOST && !job->cancel_asked))
        job->status = M_FAILED;
    else
        job->status = M_CANCELLED;
    job->list = list;
}

void model_cancel(struct model_node *n, bool let_finish)
{
    bool again = n->cancel_asked; /* only the first cancel reaches an on_failure or on_exit that
                                     already runs */
    int i;

    if (model_ended(n->status))
        return;
    if (n->status != M_RUNNING)
        n->status = M_CANCELLED;
    else if (n->kind == M_JOB && let_finish)
        n->finishing = true;
    else
        n->cancel_asked = true;
    n->paused = false;
    for (i = 0; i < n->nchildren; i++)
        if (n->children[i] && !(again && is_spared(n, i)))
            model_cancel(n->children[i], let_finish);
}

bool model_pause(struct model_node *n)
{
    if (model_ended(n->status) || n->paused || n->cancel_asked ||
        (n->kind == M_JOB && n->status == M_RUNNING))
        return false;
    return n->paused = true;
}

bool model_resume(struct model_node *n)
{
    bool was = n->paused && !model_ended(n->status);

    n->paused = false;
    return was;
}

bool model_skip(struct model_node *n)
{
    if (n->status != M_PENDING && n->status != M_READY)
        return false;
    n->status = M_SKIPPED;
    return n->by_operator = true;
}

bool model_approve(struct model_node *n, bool yes)
{
    if (!model_awaits_approval(n))
        return false;
    if (yes)
        n->approved = true;
    else
        n->status = M_FAILED;
    return true;
}
