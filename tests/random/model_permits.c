/* model_permits.c - limits on how many may run at a time: all jobs, jobs with a key, and executions
 * of a workflow. */
#include "model_inner.h"

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

static int count_of(const struct model *m, const struct plan_workflow *workflow, bool running_only)
{
    const struct model_node *n;
    int count = 0;

    for (n = m->all; n; n = n->next)
        count += n->kind == M_WORKFLOW && n->workflow == workflow &&
                 (!running_only || n->status == M_RUNNING);
    return count;
}

bool model_waits_for_permit(const struct model_node *n)
{
    return n->kind == M_WORKFLOW && n->workflow->max && n->status == M_PENDING && n->waits &&
           !n->has_permits && model_is_approved(n) && !model_is_paused(n) && !n->delayed;
}

bool model_permit(const struct model *m, struct model_node *n)
{
    return n->has_permits = count_of(m, n->workflow, true) < n->workflow->max;
}

static bool is_any_above(const struct model *m, bool running_only)
{
    const struct plan_workflow *f = m->plan->workflows;
    int i;

    for (i = 0; i < m->plan->nworkflows; i++)
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
