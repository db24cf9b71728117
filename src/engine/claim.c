/* claim.c - the part of a turn that takes jobs: as many as there is room for, in the order of
 * priority and age over all executors, although each has a bound of its own besides the worker's
 * slots. */
#include "engine/plan.h"

#include <stdlib.h>
#include <string.h>

static void take(struct room *r, const char *lane)
{
    struct lane_group *g = lane_group_of(r->groups, r->n, lane);

    if (g && !g->begin && g->wait) {
        g->wait--;
        return;
    }
    if (g && g->begin)
        g->begin--;
    if (r->slots)
        r->slots--;
}

/* What is left of the plan's room, of the groups that it claims from. What this turn adopts it has
 * in hand before it begins anything, whether there is room or not. */
static struct room room_now(struct plan *p)
{
    struct room r = p->room;
    size_t i;

    r.groups = arena_alloc(&p->texts, (r.n + 1) * sizeof(*r.groups));
    for (i = 0; i < r.n; i++) {
        r.groups[i] = p->room.groups[i];
        if (!(p->ask & group_bit(i)))
            r.groups[i].begin = r.groups[i].wait = 0;
    }
    for (i = 0; i < p->adopted.n; i++)
        if (dispatch_outlives(p->e->dispatch, p->adopted.at[i]->lane))
            take(&r, p->adopted.at[i]->lane);
    return r;
}

/* ---- where to look ---- */

/* The queue of a tree that is worked on by its submitter alone. */
static const char *here_queue(struct plan *p, size_t nth)
{
    return arena_strdup(&p->texts, queue_here(p->submissions[nth].id, (char[QUEUE_HERE_SIZE]){0}));
}

struct places {
    VEC(struct lane_queue) list;
    uint64_t groups;
};

static void add_places(struct plan *p, const struct room *r, size_t nth, struct places *out)
{
    const struct lane_group *g = &r->groups[nth];
    size_t i, q;

    out->groups |= group_bit(nth);
    for (q = 0; q < p->nqueues; q++)
        for (i = 0; i < g->nlanes; i++)
            *vec_add(&out->list) = (struct lane_queue){g->lanes[i], p->queues[q]};
    for (q = 0; p->e->o.here && q < p->nsubmits; q++) /* the tree that this turn begins */
        for (i = 0; !p->submissions[q].rc && i < g->nlanes; i++)
            *vec_add(&out->list) = (struct lane_queue){g->lanes[i], here_queue(p, q)};
}

/* ---- claiming ---- */

void plan_took(struct plan *p, int64_t execution, bool adopted)
{
    if (!p->taken.n++) {
        p->taken.first = execution;
        p->taken.adopted = adopted;
    }
}

static int claim(struct turn *t, struct plan *p, struct room *r, const struct places *places,
                 size_t max, bool *more, struct err *err)
{
    const struct engine *e = p->e;
    struct claim c = {.worker = e->row.id,
                      .folder = e->row.folder,
                      .lease = e->o.lease,
                      .serves = places->list.at,
                      .nserves = places->list.n,
                      .max = max,
                      .push = !e->o.poll,
                      .unclaimable = &p->unclaimable,
                      .dry = !(places->groups & ~p->dry)};
    struct job_list jobs = {0};
    size_t i;
    int rc;

    if (p->manner.takes && p->manner.takes - p->taken.n < c.max)
        c.max = p->manner.takes - p->taken.n;
    rc = op_claim(t, &c, &jobs, err);
    for (i = 0; i < jobs.n; i++)
        plan_took(p, jobs.at[i]->id, false);
    for (i = 0; !rc && i < jobs.n; i++) {
        *vec_add(&p->claimed) = jobs.at[i];
        take(r, jobs.at[i]->lane);
    }
    p->passed_over |= !rc && jobs.passed_over;
    if (!rc && jobs.dry)
        p->dry |= places->groups & ~group_bit(63); /* that one may be several */
    *more = !rc && jobs.n == max;
    if (rc || jobs.n < c.max)
        p->exhausted |= places->groups;
    return rc;
}

/* Fills the slots: from all groups that can begin something, as many as the smallest of them can.
 * So whichever lanes they are of, they fit; then again from those that are left. */
static int claim_to_begin(struct turn *t, struct plan *p, struct room *r, struct err *err)
{
    bool more = true;
    int rc = 0;

    while (!rc && more && r->slots) {
        struct places places = {0};
        int max = r->slots;
        size_t i;

        for (i = 0; i < r->n; i++)
            if (r->groups[i].begin) {
                add_places(p, r, i, &places);
                max = r->groups[i].begin < max ? r->groups[i].begin : max;
            }
        if (places.groups)
            rc = claim(t, p, r, &places, (size_t)max, &more, err);
        else
            more = false;
        vec_release(&places.list);
    }
    return rc;
}

/* Whether a group that could begin something lacks only a slot for what waits there. */
static int is_slot_wanted(struct turn *t, struct plan *p, const struct room *r, bool *wanted,
                          struct err *err)
{
    struct places places = {0};
    size_t i;
    int rc;

    for (i = 0; i < r->n; i++)
        if (r->groups[i].begin && !(p->exhausted & group_bit(i)))
            add_places(p, r, i, &places);
    rc = op_any_waits(t, places.list.at, places.list.n, wanted, err);
    if (!rc && !*wanted)
        p->exhausted |= places.groups;
    vec_release(&places.list);
    return rc;
}

/* What waits in an executor's own queue gets the slot of the one before it, so nobody else does:
 * not while others want one. */
static int claim_to_wait(struct turn *t, struct plan *p, struct room *r, struct err *err)
{
    bool asked = false, more;
    size_t i;
    int rc = 0;

    for (i = 0; !rc && i < r->n; i++) {
        struct places places = {0};

        if (r->groups[i].begin || !r->groups[i].wait || (p->exhausted & group_bit(i)))
            continue;
        if (!asked && ((rc = is_slot_wanted(t, p, r, &p->slot_wanted, err)) || p->slot_wanted))
            return rc;
        asked = true;
        add_places(p, r, i, &places);
        rc = claim(t, p, r, &places, (size_t)r->groups[i].wait, &more, err);
        vec_release(&places.list);
    }
    return rc;
}

int plan_claim(struct turn *t, struct plan *p, struct err *err)
{
    struct room r = room_now(p);
    int rc = claim_to_begin(t, p, &r, err);

    return rc ? rc : claim_to_wait(t, p, &r, err);
}
