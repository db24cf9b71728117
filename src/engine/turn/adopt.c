/* adopt.c - decides which orphans this worker takes over, and has op_adopt (store/ops/adopt.c) take
 * them. */
#include "engine/turn/plan.h"

#include <stdlib.h>
#include <string.h>

#define ADOPT_MAX 100

/* Whether this engine may adopt jobs of the execution's tree: a foreground engine adopts only jobs
 * of its own tree, not those of dead workers. */
static bool is_own_tree(const struct engine *e, const struct execution *x)
{
    for (size_t i = 0; e->o.foreground && i < e->own_queues; i++)
        if (!strcmp(e->queues.at[i], x->queue))
            return true;
    return !e->o.foreground;
}

/* Whether a turn of another loop is settling the job, so that the new status is not known yet. */
static bool is_settled_elsewhere(const struct engine *e, const struct leased_job *h)
{
    return h->settling && !loop_may_adopt(loop_of(e, h->a.root));
}

static bool has_our_folder(const struct engine *e, const struct execution *x)
{
    return x->folder && !strcmp(x->folder, e->row.folder);
}

/* Whether to adopt this orphan. A function runs inside its worker, so while that worker lives
 * no other worker may treat it as lost. */
static bool should_adopt(const struct engine *e, const struct execution *x, int64_t last_worker)
{
    const struct leased_job *h = leased_job_get(e, x->id);

    if (h &&
        (is_settled_elsewhere(e, h) || (!h->lost && (h->a.ended || h->a.attempt == x->attempts))))
        return false; /* this worker holds the job, and settles or runs it */
    if (!is_own_tree(e, x))
        return false;
    /* A draining worker only readopts the attempts that it runs, and whose lease it has lost. */
    if (e->draining && !(h && h->lost && h->a.attempt == x->attempts))
        return false;
    if (dispatch_outlives(e->dispatch, x->lane) || last_worker == e->row.id || !last_worker ||
        !has_our_folder(e, x) || !state_folder_is_alive(e->state_folder, last_worker))
        return true;
    if (x->expired_at && db_clock_latest(e) - x->expired_at > e->o.host_grace / 2)
        state_folder_kill_worker(e->state_folder,
                                 last_worker); /* no lease for half of host_grace: the worker should
                                                  have ended by itself */
    return false;
}

/* Adopts the orphan if should_adopt says so. An adopted attempt gets a start mark unless it is
 * proved that it never started: if this worker dies too, the next worker knows only this worker's
 * file. */
static bool adopt_orphan(void *arg, const struct execution *x, int64_t last_worker)
{
    struct plan *p = arg;
    const struct engine *e = p->e;

    if (!should_adopt(e, x, last_worker))
        return false;
    if (dispatch_marks_starts(e->dispatch, x->lane) && has_our_folder(e, x) &&
        state_folder_is_unstarted(e->state_folder, last_worker, x->id, x->attempts)) {
        *vec_add(&p->unstarted) = x->id;
        return true;
    }
    if (start_marks_has(e->start_marks, x->id, x->attempts))
        return true; /* the mark is from an earlier adoption, so it stays even if this turn fails */
    if (start_marks_add(e->start_marks, x->id, x->attempts))
        return false; /* the disk is full: a later turn adopts it */
    *vec_add(&p->marked) = (struct attempt_ref){x->id, x->attempts};
    return true;
}

void plan_adoption(struct engine *e, struct plan *p)
{
    const struct leased_job *h;
    size_t n, i, k;
    const struct lane_group *groups = dispatch_lane_groups(e->dispatch, &n);
    const struct dead_worker *dead_workers =
        state_folder_dead_workers(e->state_folder, &p->adoption.ndead_workers);
    int64_t *ids = mem_alloc((p->adoption.ndead_workers + 1) * sizeof(*ids));
    size_t max = p->turn_options.max[PART_CLAIMS];

    VEC(struct lane_queue) serves = {0};

    if (e->o.foreground)
        p->adoption.ndead_workers = 0;
    for (i = 0; i < p->adoption.ndead_workers; i++)
        ids[i] = dead_workers[i].id;
    for (i = 0; i < n; i++)
        for (k = 0; k < groups[i].nlanes; k++)
            *vec_add(&serves) = (struct lane_queue){groups[i].lanes[k], NULL};
    p->adoption.dead_workers = ids;
    p->adoption.host_grace = e->o.host_grace;
    p->adoption.latest = db_clock_latest(e);
    p->adoption.wanted = adopt_orphan;
    p->adoption.arg = p;
    p->adoption.claim = (struct claim){.worker = e->row.id,
                                       .folder = e->row.folder,
                                       .lease = e->o.lease,
                                       .serves = serves.at,
                                       .nserves = serves.n,
                                       .max = max < ADOPT_MAX ? max : ADOPT_MAX,
                                       .quarantined = &p->quarantined};
    IDMAP_EACH(&e->leased_jobs, h)
    if (h->lost && !h->settling)
        *vec_add(&p->lost) =
            (struct lease_ref){.execution = h->a.execution, .root = h->a.root, .epoch = h->a.epoch};
}

int adopt_orphans(struct turn *t, struct plan *p, struct err *err)
{
    struct job_list jobs;
    int rc = op_adopt(t, &p->adoption, &jobs, err);

    for (size_t i = 0; i < jobs.n; i++) {
        plan_count_claimed(p, jobs.at[i]->id, true);
        *vec_add(&p->adopted) = jobs.at[i];
    }
    p->more_orphans = !rc && jobs.n == p->adoption.claim.max;
    return rc ? rc : op_check_lost_leases(t, p->lost.at, p->lost.n, err);
}
