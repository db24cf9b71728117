/* claim_jobs.c - decides how many jobs a turn claims, and from which lanes and queues; op_claim
 * (store/ops/claim.c) claims them. A turn claims as many as the capacity allows, by priority and
 * age across all executors, although each executor has a limit of its own in addition to the
 * worker's slots. */
#include "engine/turn/plan.h"

#include <stdlib.h>
#include <string.h>

static void use_capacity(struct capacity *r, const char *lane)
{
    struct lane_group *g = lane_group_of(r->groups, r->n, lane);

    if (g && !g->can_start && g->can_queue) {
        g->can_queue--;
        return;
    }
    if (g && g->can_start)
        g->can_start--;
    if (r->slots)
        r->slots--;
}

/* The capacity that the plan has left in the groups that it claims from, less the jobs that this
 * turn has adopted: adopted jobs are handed over first, whether there is capacity or not. */
static struct capacity capacity_now(struct plan *p)
{
    struct capacity r = p->capacity;

    r.groups = arena_alloc(&p->texts, (r.n + 1) * sizeof(*r.groups));
    for (size_t i = 0; i < r.n; i++) {
        r.groups[i] = p->capacity.groups[i];
        if (!(p->groups_to_claim & group_bit(i)))
            r.groups[i].can_start = r.groups[i].can_queue = 0;
    }
    for (size_t i = 0; i < p->adopted.n; i++)
        if (dispatch_outlives(p->e->dispatch, p->adopted.at[i]->lane))
            use_capacity(&r, p->adopted.at[i]->lane);
    return r;
}

/* ---- sources ---- */

/* The private queue of the foreground tree that the nth submission creates. */
static const char *foreground_queue(struct plan *p, size_t nth)
{
    return arena_strdup(&p->texts,
                        queue_foreground(p->submissions[nth].id, (char[QUEUE_FOREGROUND_SIZE]){0}));
}

struct claim_sources {
    VEC(struct lane_queue) list;
    uint64_t groups;
};

static void add_claim_sources(struct plan *p, const struct capacity *r, size_t nth,
                              struct claim_sources *out)
{
    const struct lane_group *g = &r->groups[nth];

    out->groups |= group_bit(nth);
    for (size_t q = 0; q < p->nqueues; q++)
        for (size_t i = 0; i < g->nlanes; i++)
            *vec_add(&out->list) = (struct lane_queue){g->lanes[i], p->queues[q]};
    for (size_t q = 0; p->e->o.foreground && q < p->nsubmits;
         q++) /* includes the queues of the trees that this turn creates */
        for (size_t i = 0; !p->submissions[q].rc && i < g->nlanes; i++)
            *vec_add(&out->list) = (struct lane_queue){g->lanes[i], foreground_queue(p, q)};
}

/* ---- claiming ---- */

void plan_count_claimed(struct plan *p, int64_t execution, bool adopted)
{
    if (!p->claimed_jobs.seen.n++) {
        p->claimed_jobs.seen.first = execution;
        p->claimed_jobs.adopted = adopted;
    }
}

static int claim_from_sources(struct turn *t, struct plan *p, struct capacity *r,
                              const struct claim_sources *claim_sources, size_t max, bool *more,
                              struct err *err)
{
    const struct engine *e = p->e;
    struct claim c = {.worker = e->row.id,
                      .folder = e->row.folder,
                      .lease = e->o.lease,
                      .serves = claim_sources->list.at,
                      .nserves = claim_sources->list.n,
                      .max = max,
                      .push = !e->o.no_push,
                      .quarantined = &p->quarantined,
                      .exhausted = !(claim_sources->groups & ~p->exhausted)};
    struct job_list jobs = {0};
    int rc;

    if (p->turn_options.max[PART_CLAIMS] - p->claimed_jobs.seen.n < c.max)
        c.max = p->turn_options.max[PART_CLAIMS] - p->claimed_jobs.seen.n;
    rc = op_claim(t, &c, &jobs, err);
    for (size_t i = 0; i < jobs.n; i++)
        plan_count_claimed(p, jobs.at[i]->id, false);
    for (size_t i = 0; !rc && i < jobs.n; i++) {
        *vec_add(&p->claimed) = jobs.at[i];
        use_capacity(r, jobs.at[i]->lane);
    }
    p->skipped_locked |= !rc && jobs.skipped_locked;
    if (!rc && jobs.exhausted)
        p->exhausted |=
            claim_sources->groups & ~group_bit(63); /* bit 63 may stand for several groups */
    *more = !rc && jobs.n == max;
    if (rc || jobs.n < c.max)
        p->groups_drained |= claim_sources->groups;
    return rc;
}

/* Claims jobs until the slots are full. Each claim takes from all groups that can start an attempt,
 * at most as many jobs as the smallest of them can start: so the jobs fit, whichever lanes they
 * belong to. Repeats with the groups that have capacity left. */
static int claim_to_start(struct turn *t, struct plan *p, struct capacity *r, struct err *err)
{
    bool more = true;
    int rc = 0;

    while (!rc && more && r->slots) {
        struct claim_sources claim_sources = {0};
        int max = r->slots;
        size_t i;

        for (i = 0; i < r->n; i++)
            if (r->groups[i].can_start) {
                add_claim_sources(p, r, i, &claim_sources);
                max = r->groups[i].can_start < max ? r->groups[i].can_start : max;
            }
        if (claim_sources.groups)
            rc = claim_from_sources(t, p, r, &claim_sources, (size_t)max, &more, err);
        else
            more = false;
        vec_release(&claim_sources.list);
    }
    return rc;
}

/* Whether a job waits in a group that could start it if there were a free slot. */
static int is_slot_wanted(struct turn *t, struct plan *p, const struct capacity *r, bool *wanted,
                          struct err *err)
{
    struct claim_sources claim_sources = {0};
    int rc;

    for (size_t i = 0; i < r->n; i++)
        if (r->groups[i].can_start && !(p->groups_drained & group_bit(i)))
            add_claim_sources(p, r, i, &claim_sources);
    rc = op_outbox_has_jobs(t, claim_sources.list.at, claim_sources.list.n, wanted, err);
    if (!rc && !*wanted)
        p->groups_drained |= claim_sources.groups;
    vec_release(&claim_sources.list);
    return rc;
}

/* Claims jobs until the executors' own queues are full. A job in such a queue gets the slot of the
 * attempt before it, and no other executor can use that slot. So this is done only while no job of
 * another executor waits for a slot. */
static int claim_to_queue(struct turn *t, struct plan *p, struct capacity *r, struct err *err)
{
    bool checked = false, more;
    int rc = 0;

    for (size_t i = 0; !rc && i < r->n; i++) {
        struct claim_sources claim_sources = {0};

        if (r->groups[i].can_start || !r->groups[i].can_queue || (p->groups_drained & group_bit(i)))
            continue;
        if (!checked && ((rc = is_slot_wanted(t, p, r, &p->slot_wanted, err)) || p->slot_wanted))
            return rc;
        checked = true;
        add_claim_sources(p, r, i, &claim_sources);
        rc =
            claim_from_sources(t, p, r, &claim_sources, (size_t)r->groups[i].can_queue, &more, err);
        vec_release(&claim_sources.list);
    }
    return rc;
}

int claim_jobs(struct turn *t, struct plan *p, struct err *err)
{
    struct capacity r = capacity_now(p);
    int rc = claim_to_start(t, p, &r, err);

    return rc ? rc : claim_to_queue(t, p, &r, err);
}
