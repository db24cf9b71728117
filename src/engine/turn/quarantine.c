/* quarantine.c - quarantines waiting jobs and orphans that the database can't write. Such a job
 * must not block the others, nor end one worker after the other. A turn that fails without commands
 * is repeated with fewer claims until the failing job is alone; that job is then quarantined. */
#include "engine/turn/plan.h"

static bool is_job_fault(int rc)
{
    return is_row_fault(rc) && !is_not_row_fault(rc);
}

int bisect_claims(struct loop *l, int rc, struct err *err)
{
    const struct claimed_jobs *claimed_jobs = &l->claimed_jobs;
    size_t n = claimed_jobs->n;
    bool alone = false;

    while (n && is_job_fault(rc) && !alone) { /* at least once: the fault may have been momentary */
        alone = n == 1;
        n = alone ? 1 : n / 2;
        rc = turn_run(l, (struct turn_options){.max_claims = n}, err);
    }
    if (!is_job_fault(rc) || claimed_jobs->n != 1 ||
        !quarantine_add(&l->e->quarantined, claimed_jobs->first,
                        engine_now(l->e))) /* the quarantine is full: the jobs are not the cause */
        return rc;
    err_prefix(err, "execution %lld can't be %s; it is retried in a minute",
               (long long)claimed_jobs->first, claimed_jobs->adopted ? "adopted" : "claimed");
    engine_note(l->e, err->msg);
    return 0;
}

void release_quarantined_jobs(struct engine *e)
{
    if (quarantine_return(&e->quarantined, engine_now(e))) {
        e->lanes_to_poll = UINT64_MAX;
        e->adopt = true;
    }
}
