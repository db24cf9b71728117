/* quarantine.c - a job that waits, or an orphan, and that the database refuses to give out, must
 * not keep others from theirs, nor end one worker after the other. A turn that fails with nothing
 * of its own to write is made again and takes less, until the culprit is alone; that one is set
 * aside. */
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

    while (n && is_job_fault(rc) && !alone) { /* at least once: it may have been of that moment */
        alone = n == 1;
        n = alone ? 1 : n / 2;
        rc = turn_run(l, (struct turn_options){.max_claims = n}, err);
    }
    if (!is_job_fault(rc) || claimed_jobs->n != 1 ||
        !aside_add(&l->e->quarantined, claimed_jobs->first,
                   engine_now(l->e))) /* many: none of them */
        return rc;
    err_prefix(err, "execution %lld can't be %s, which is tried again in a minute",
               (long long)claimed_jobs->first, claimed_jobs->adopted ? "adopted" : "claimed");
    engine_note(l->e, err->msg);
    return 0;
}

void release_quarantined_jobs(struct engine *e)
{
    if (aside_return(&e->quarantined, engine_now(e))) {
        e->lanes_to_poll = UINT64_MAX;
        e->adopt = true;
    }
}
