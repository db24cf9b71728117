/* room.c - how much more may be claimed. Two bounds count: what each executor can take, and how
 * many attempts the worker runs at once over all of them. An attempt that would only wait in its
 * executor's own queue takes no slot: it gets that of the one before it. */
#include "dispatch/internal.h"

#include <limits.h>
#include <string.h>

static int least(int a, int b)
{
    return a < b ? a : b;
}

int dispatch_room(const struct dispatch *d)
{
    int left = d->closed ? 0 : d->slots - d->in_flight;
    size_t i;

    /* A function has its slot as long as its thread, also one that nobody wants to hear of. */
    for (i = 0; i < d->members.n; i++) {
        const struct member *m = d->members.at[i];

        if (m->functions)
            left += m->in_flight - (function_threads(m->functions) - function_free(m->functions));
    }
    return left > 0 && !d->closed ? left : 0;
}

static int own_room(const struct member *m)
{
    int left = m->in_flight >= m->slots ? 0 : m->slots - m->in_flight;

    return left ? least(left, m->x->ops->room(m->x)) : 0;
}

const struct lane_group *dispatch_lanes(struct dispatch *d, size_t *n)
{
    int64_t now = clock_boot_us();
    size_t i;

    d->groups.n = 0;
    for (i = 0; i < d->members.n; i++) {
        struct member *m = d->members.at[i];
        struct lane_group *g = vec_add(&d->groups);
        int room = d->closed || m->resting_until > now ? 0 : own_room(m);

        *g = (struct lane_group){
            .executor = m->x->key, .lanes = &m->x->key, .nlanes = 1, .begin = room};
        if (m->functions) {
            g->lanes = function_lanes(m->functions, &g->nlanes);
            g->begin = least(room, function_free(m->functions));
            g->wait = room - g->begin;
        }
    }
    *n = d->groups.n;
    return d->groups.at;
}

int lane_group_room(const struct lane_group *g, int slots)
{
    return g->begin > slots ? slots : g->begin + g->wait;
}

struct lane_group *lane_group_of(struct lane_group *groups, size_t n, const char *lane)
{
    size_t i, k;

    for (i = 0; i < n; i++)
        for (k = 0; k < groups[i].nlanes; k++)
            if (!strcmp(groups[i].lanes[k], lane))
                return &groups[i];
    return NULL;
}

int dispatch_capacity(const struct dispatch *d)
{
    int64_t begin = 0, wait = 0;
    size_t i;

    for (i = 0; i < d->members.n; i++) {
        const struct member *m = d->members.at[i];
        int own = m->in_flight + own_room(m);
        size_t lanes = 1;

        if (m->functions)
            (void)function_lanes(m->functions, &lanes);
        if (!lanes)
            continue; /* nothing can ever wait there */
        begin += m->functions ? least(own, function_threads(m->functions)) : own;
        wait += m->functions && own > function_threads(m->functions)
                    ? own - function_threads(m->functions)
                    : 0;
    }
    begin = begin < d->slots ? begin : d->slots;
    return begin + wait < INT_MAX ? (int)(begin + wait) : INT_MAX;
}
