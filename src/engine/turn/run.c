/* run.c - the transaction of a turn: writes the planned commands, adopts orphans and claims jobs,
 * in one commit. It may run on the loop's thread; see plan.h. */
#include "engine/turn/plan.h"
#include "store/generation.h"

#include <string.h>

/* Whether the database still has this worker's generation. Attempts belong to the generation in
 * which they were started. When the generation changes, this worker must end; the next worker ends
 * the attempts that are left, and then adopts. */
int check_generation(const struct engine *e, int64_t now, struct err *err)
{
    if (now == e->generation)
        return 0;
    return err_set(err, E_CONFLICT,
                   "the database was fenced (generation %lld, this worker has %lld): restart the "
                   "worker",
                   (long long)now, (long long)e->generation);
}

/* Adopts and claims, only within this worker's generation. */
static int adopt_and_claim(struct turn *t, struct plan *p, struct err *err)
{
    int rc;

    rows_release(&p->generation);
    if (!p->adopt && !p->groups_to_claim)
        return 0;
    if ((rc = turn_send_generation(t, &p->generation, err)) ||
        (p->adopt && (rc = adopt_orphans(t, p, err))) ||
        (p->groups_to_claim && (rc = claim_jobs(t, p, err))))
        return rc;
    return p->adopted.n || p->claimed.n
               ? check_generation(p->e, turn_read_generation(&p->generation), err)
               : 0;
}

/* Writes the root of the foreground tree to the worker's file. If this worker dies, other workers
 * find its foreground tree through its worker file, so the root is written before the tree can
 * exist. A root that does not exist does no harm. */
static int write_foreground_root(struct plan *p, struct err *err)
{
    int rc = 0;

    for (size_t i = 0; !rc && p->e->o.foreground && i < p->nsubmits; i++)
        if (!p->submissions[i].rc && !p->submissions[i].existed)
            rc = state_folder_set_foreground(p->e->state_folder, p->submissions[i].id, err);
    return rc;
}

/* Whether the execution's start was skipped because its tree was locked. The start must be written
 * before the outcome, so both wait for another turn. */
static bool is_start_busy(const struct plan *p, int64_t execution)
{
    for (size_t i = 0; p->busy_starts && i < p->nstarts; i++)
        if (p->starts[i].lease.rc == -E_BUSY && p->starts[i].lease.execution == execution)
            return true;
    return false;
}

static int settle_attempts(struct turn *t, struct plan *p, struct err *err)
{
    struct settlement *now = arena_alloc(&p->texts, (p->nsettles + 1) * sizeof(*now));
    size_t i, n = 0;
    int rc;

    for (p->busy_starts = false, i = 0; i < p->nstarts; i++)
        p->busy_starts |= p->starts[i].lease.rc == -E_BUSY;
    for (i = 0; i < p->nsettles; i++)
        if (is_start_busy(p, p->settles[i].lease.execution))
            p->settles[i].lease.rc = -E_BUSY;
        else {
            p->settles[i].lease.rc = 0;
            now[n++] = p->settles[i];
        }
    rc = op_settle(t, p->e->row.id, now, n, err);
    for (i = p->nsettles; !rc && i-- > 0;)
        if (p->settles[i].lease.rc != -E_BUSY)
            p->settles[i] = now[--n];
    return rc;
}

static int turn_body(struct turn *t, void *arg, struct err *err)
{
    struct plan *p = arg;
    int64_t worker = p->e->row.id;
    int rc;

    p->adopted.n = p->claimed.n = p->unstarted.n = 0;
    p->claimed_jobs = (struct claimed_jobs){0};
    p->groups_drained = p->exhausted = 0;
    p->slot_wanted = p->skipped_locked = false;
    p->claimed_at = engine_now(p->e);
    if (!p->turn_options.max[PART_CLAIMS])
        op_offer_permits_later(t);
    op_note_submit_limits(t, p->submissions, p->nsubmits);
    if ((rc = op_prefetch(t, p->settles, p->nsettles, err)) ||
        (rc = op_record_starts(t, worker, p->starts, p->nstarts, err)) ||
        (rc = op_store_logs(t, worker, p->logs, p->nlogs, err)) ||
        (rc = settle_attempts(t, p, err)) ||
        (rc = op_submit(t, p->submissions, p->nsubmits, err)) ||
        (rc = write_foreground_root(p, err)) || (rc = op_advance(t, err)))
        return rc;
    if (p->capacity.n && !p->e->o.no_push && op_has_made_ready(t))
        p->groups_to_claim = UINT64_MAX; /* claim the jobs that this turn made ready, also in lanes
                                            where no job had waited */
    return adopt_and_claim(t, p, err);
}

int plan_execute(struct plan *p, struct err *err)
{
    return p->turn_options.wait_for_locks ? store_turn_waiting(p->l->store, turn_body, p, err)
                                          : store_turn(p->l->store, turn_body, p, err);
}
