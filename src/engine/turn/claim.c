/* claim.c - the part of a turn that takes jobs: as many as there is room for, in the order of
 * priority and age over all executors, although each has a bound of its own besides the worker's
 * slots. */
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

/* What is left of the plan's room, of the groups that it claims from. What this turn adopts it has
 * in hand before it begins anything, whether there is room or not. */
static struct capacity capacity_now(struct plan *p)
{
    struct capacity r = p->capacity;
    size_t i;

    r.groups = arena_alloc(&p->texts, (r.n + 1) * sizeof(*r.groups));
    for (i = 0; i < r.n; i++) {
        r.groups[i] = p->capacity.groups[i];
        if (!(p->lanes_to_claim & group_bit(i)))
            r.groups[i].can_start = r.groups[i].can_queue = 0;
    }
    for (i = 0; i < p->adopted.n; i++)
        if (dispatch_outlives(p->e->dispatch, p->adopted.at[i]->lane))
            use_capacity(&r, p->adopted.at[i]->lane);
    return r;
}

/* ---- where to look ---- */

/* The queue of a tree that is worked on by its submitter alone. */
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
    size_t i, q;

    out->groups |= group_bit(nth);
    for (q = 0; q < p->nqueues; q++)
        for (i = 0; i < g->nlanes; i++)
            *vec_add(&out->list) = (struct lane_queue){g->lanes[i], p->queues[q]};
    for (q = 0; p->e->o.foreground && q < p->nsubmits; q++) /* the tree that this turn begins */
        for (i = 0; !p->submissions[q].rc && i < g->nlanes; i++)
            *vec_add(&out->list) = (struct lane_queue){g->lanes[i], foreground_queue(p, q)};
}

/* ---- claiming ---- */

void plan_count_claimed(struct plan *p, int64_t execution, bool adopted)
{
    if (!p->claimed_jobs.n++) {
        p->claimed_jobs.first = execution;
        p->claimed_jobs.adopted = adopted;
    }
}

static int claim(struct turn *t, struct plan *p, struct capacity *r,
                 const struct claim_sources *claim_sources, size_t max, bool *more, struct err *err)
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
    size_t i;
    int rc;

    if (p->turn_options.max_claims && p->turn_options.max_claims - p->claimed_jobs.n < c.max)
        c.max = p->turn_options.max_claims - p->claimed_jobs.n;
    rc = op_claim(t, &c, &jobs, err);
    for (i = 0; i < jobs.n; i++)
        plan_count_claimed(p, jobs.at[i]->id, false);
    for (i = 0; !rc && i < jobs.n; i++) {
        *vec_add(&p->claimed) = jobs.at[i];
        use_capacity(r, jobs.at[i]->lane);
    }
    p->skipped_locked |= !rc && jobs.skipped_locked;
    if (!rc && jobs.exhausted)
        p->exhausted |= claim_sources->groups & ~group_bit(63); /* that one may be several */
    *more = !rc && jobs.n == max;
    if (rc || jobs.n < c.max)
        p->lanes_done |= claim_sources->groups;
    return rc;
}

/* Fills the slots: from all groups that can begin something, as many as the smallest of them can.
 * So whichever lanes they are of, they fit; then again from those that are left. */
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
            rc = claim(t, p, r, &claim_sources, (size_t)max, &more, err);
        else
            more = false;
        vec_release(&claim_sources.list);
    }
    return rc;
}

/* Whether a group that could begin something lacks only a slot for what waits there. */
static int is_slot_wanted(struct turn *t, struct plan *p, const struct capacity *r, bool *wanted,
                          struct err *err)
{
    struct claim_sources claim_sources = {0};
    size_t i;
    int rc;

    for (i = 0; i < r->n; i++)
        if (r->groups[i].can_start && !(p->lanes_done & group_bit(i)))
            add_claim_sources(p, r, i, &claim_sources);
    rc = op_outbox_has_jobs(t, claim_sources.list.at, claim_sources.list.n, wanted, err);
    if (!rc && !*wanted)
        p->lanes_done |= claim_sources.groups;
    vec_release(&claim_sources.list);
    return rc;
}

/* What waits in an executor's own queue gets the slot of the one before it, so nobody else does:
 * not while others want one. */
static int claim_to_queue(struct turn *t, struct plan *p, struct capacity *r, struct err *err)
{
    bool asked = false, more;
    size_t i;
    int rc = 0;

    for (i = 0; !rc && i < r->n; i++) {
        struct claim_sources claim_sources = {0};

        if (r->groups[i].can_start || !r->groups[i].can_queue || (p->lanes_done & group_bit(i)))
            continue;
        if (!asked && ((rc = is_slot_wanted(t, p, r, &p->slot_wanted, err)) || p->slot_wanted))
            return rc;
        asked = true;
        add_claim_sources(p, r, i, &claim_sources);
        rc = claim(t, p, r, &claim_sources, (size_t)r->groups[i].can_queue, &more, err);
        vec_release(&claim_sources.list);
    }
    return rc;
}

int plan_claim(struct turn *t, struct plan *p, struct err *err)
{
    struct capacity r = capacity_now(p);
    int rc = claim_to_start(t, p, &r, err);

    return rc ? rc : claim_to_queue(t, p, &r, err);
}
