/* capacity.c - how much a turn may claim. Capacity that is reserved by turns under way is not
 * offered to another turn, so together they never claim more than the executors can take. */
#include "engine/turn/plan.h"

static int min_int(int a, int b)
{
    return a < b ? a : b;
}

static void subtract_at_most(int *from, int n)
{
    *from -= min_int(*from, n);
}

/* Subtracts what other turns have reserved. A job that they claim for an executor's own queue
 * starts at once, and needs a slot, if a thread becomes free in the meantime: the slot is reserved,
 * too. */
static void subtract_other_turns(struct capacity *r, const struct engine *e)
{
    for (size_t k = 0; k < e->nloops; k++) {
        const struct plan *p = e->loops[k].plan;

        subtract_at_most(&r->slots, p ? p->capacity.slots : 0);
        for (size_t i = 0; p && i < p->capacity.n; i++)
            subtract_at_most(&r->groups[i].can_start, p->capacity.groups[i].can_start);
    }
    for (size_t k = 0; k < e->nloops; k++) {
        const struct plan *p = e->loops[k].plan;

        for (size_t i = 0; p && i < p->capacity.n; i++) {
            int waiting = p->capacity.groups[i].can_queue,
                now = min_int(waiting, r->groups[i].can_start);

            subtract_at_most(&r->groups[i].can_start, now);
            subtract_at_most(&r->slots, now);
            subtract_at_most(&r->groups[i].can_queue, waiting - now);
        }
    }
}

/* The capacity that no turn has reserved; valid until the next call. */
static struct capacity capacity_left(struct engine *e)
{
    struct capacity r = {.slots = dispatch_free_slots(e->dispatch)};
    const struct lane_group *groups = dispatch_lane_groups(e->dispatch, &r.n);

    e->capacity.n = 0;
    for (size_t i = 0; i < r.n; i++)
        *vec_add(&e->capacity) = groups[i];
    r.groups = e->capacity.at;
    subtract_other_turns(&r, e);
    return r;
}

uint64_t groups_with_capacity(struct engine *e)
{
    struct capacity r = capacity_left(e);
    uint64_t some = 0;

    for (size_t i = 0; i < r.n; i++)
        if (lane_group_capacity(&r.groups[i], r.slots) > 0 &&
            (r.groups[i].can_start || !e->slot_wanted))
            some |= group_bit(i);
    return some;
}

/* How many turns share the capacity that is left: this one, and one for each other loop that has
 * commands but no turn under way. */
static int count_sharing_turns(const struct plan *p)
{
    const struct engine *e = p->l->e;
    int n = 1;

    for (size_t i = 0; i < e->nloops; i++)
        n += &e->loops[i] != p->l && !e->loops[i].plan && loop_count_commands(&e->loops[i]);
    return n;
}

static int share(int n, int parts)
{
    return n / parts + (n % parts != 0);
}

/* Whether this turn has reserved the whole capacity of a group to start attempts. Only then is it
 * certain that further jobs that it claims must wait in the executor's queue. */
static bool starts_all(const struct engine *e, size_t group, int own, int left)
{
    for (size_t i = 0; i < e->nloops; i++)
        if (e->loops[i].plan && group < e->loops[i].plan->capacity.n &&
            e->loops[i].plan->capacity.groups[group].can_start)
            return false;
    return own == left;
}

/* Copies the list of lanes, because a function may be added while the turn is under way. */
static const char *const *copy_lanes(struct plan *p, const struct lane_group *g)
{
    const char **lanes = arena_alloc(&p->texts, (g->nlanes + 1) * sizeof(*lanes));

    for (size_t i = 0; i < g->nlanes; i++)
        lanes[i] = g->lanes[i];
    return lanes;
}

void plan_capacity(struct plan *p)
{
    struct engine *e = p->l->e;
    struct capacity left = capacity_left(e);
    int parts = count_sharing_turns(p);

    p->capacity =
        (struct capacity){.groups = arena_alloc(&p->texts, (left.n + 1) * sizeof(*left.groups)),
                          .n = left.n,
                          .slots = share(left.slots, parts)};
    for (size_t i = 0; i < left.n; i++) {
        const struct lane_group *from = &left.groups[i];
        struct lane_group *g = &p->capacity.groups[i];

        *g = *from;
        g->can_start = share(from->can_start, parts);
        g->can_queue =
            starts_all(e, i, g->can_start, from->can_start) ? share(from->can_queue, parts) : 0;
        g->lanes = copy_lanes(p, from);
    }
}
