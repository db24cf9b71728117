/* room.c - how much a turn may claim. What the turns under way may still claim is not offered to
 * another: so together they never take more than there is room for, and need not know of each
 * other. */
#include "engine/plan.h"

static int least(int a, int b)
{
    return a < b ? a : b;
}

static void take_off(int *from, int n)
{
    *from -= least(*from, n);
}

/* Takes off what other turns count on. What they may claim to wait for the end of another begins at
 * once where a thread has become free meanwhile, and then needs its slot: so that is theirs, too.
 */
static void leave_theirs(struct room *r, const struct engine *e)
{
    size_t i, k;

    for (k = 0; k < e->nloops; k++) {
        const struct plan *p = e->loops[k].plan;

        take_off(&r->slots, p ? p->room.slots : 0);
        for (i = 0; p && i < p->room.n; i++)
            take_off(&r->groups[i].begin, p->room.groups[i].begin);
    }
    for (k = 0; k < e->nloops; k++) {
        const struct plan *p = e->loops[k].plan;

        for (i = 0; p && i < p->room.n; i++) {
            int waiting = p->room.groups[i].wait, now = least(waiting, r->groups[i].begin);

            take_off(&r->groups[i].begin, now);
            take_off(&r->slots, now);
            take_off(&r->groups[i].wait, waiting - now);
        }
    }
}

/* What no turn counts on yet; valid until it is asked for again. */
static struct room room_left(struct engine *e)
{
    struct room r = {.slots = dispatch_room(e->dispatch)};
    const struct lane_group *groups = dispatch_lanes(e->dispatch, &r.n);
    size_t i;

    e->room.n = 0;
    for (i = 0; i < r.n; i++)
        *vec_add(&e->room) = groups[i];
    r.groups = e->room.at;
    leave_theirs(&r, e);
    return r;
}

uint64_t groups_with_room(struct engine *e)
{
    struct room r = room_left(e);
    uint64_t some = 0;
    size_t i;

    for (i = 0; i < r.n; i++)
        if (lane_group_room(&r.groups[i], r.slots) > 0 && (r.groups[i].begin || !e->slot_wanted))
            some |= group_bit(i);
    return some;
}

/* How many turns have to do with what is left: this one, and those of other loops that have
 * something to do, too. */
static int parts_of(const struct plan *p)
{
    const struct engine *e = p->l->e;
    size_t i;
    int n = 1;

    for (i = 0; i < e->nloops; i++)
        n += &e->loops[i] != p->l && !e->loops[i].plan && loop_commands(&e->loops[i]);
    return n;
}

static int share(int n, int parts)
{
    return n / parts + (n % parts != 0);
}

/* Whether all that can begin of a group is this turn's: only then does what it claims beyond that
 * have to wait. */
static bool begins_all(const struct engine *e, size_t group, int own, int left)
{
    size_t i;

    for (i = 0; i < e->nloops; i++)
        if (e->loops[i].plan && group < e->loops[i].plan->room.n &&
            e->loops[i].plan->room.groups[group].begin)
            return false;
    return own == left;
}

/* A function may be added while the turn is under way. */
static const char *const *copy_lanes(struct plan *p, const struct lane_group *g)
{
    const char **lanes = arena_alloc(&p->texts, (g->nlanes + 1) * sizeof(*lanes));
    size_t i;

    for (i = 0; i < g->nlanes; i++)
        lanes[i] = g->lanes[i];
    return lanes;
}

void plan_room(struct plan *p)
{
    struct engine *e = p->l->e;
    struct room left = room_left(e);
    int parts = parts_of(p);
    size_t i;

    p->room = (struct room){.groups = arena_alloc(&p->texts, (left.n + 1) * sizeof(*left.groups)),
                            .n = left.n,
                            .slots = share(left.slots, parts)};
    for (i = 0; i < left.n; i++) {
        const struct lane_group *from = &left.groups[i];
        struct lane_group *g = &p->room.groups[i];

        *g = *from;
        g->begin = share(from->begin, parts);
        g->wait = begins_all(e, i, g->begin, from->begin) ? share(from->wait, parts) : 0;
        g->lanes = copy_lanes(p, from);
    }
}
