/* capacity.c - how many more jobs may be claimed. Two limits apply: what each executor can take,
 * and how many attempts the worker runs at once over all executors. An attempt that waits in its
 * executor's own queue needs no slot of its own: it gets the slot of an attempt that ends. */
#include "dispatch/dispatch_internal.h"

#include <limits.h>
#include <string.h>

static int min_int(int a, int b)
{
    return a < b ? a : b;
}

int dispatch_free_slots(const struct dispatch *d)
{
    int left = d->closed ? 0 : d->slots - d->in_flight;

    /* A function keeps its slot while its thread runs, even if its attempt was forgotten. */
    for (size_t i = 0; i < d->executors.n; i++) {
        const struct executor_entry *m = d->executors.at[i];

        if (m->functions)
            left += m->in_flight -
                    (function_max_threads(m->functions) - function_free_threads(m->functions));
    }
    return left > 0 && !d->closed ? left : 0;
}

static int executor_capacity(const struct executor_entry *m)
{
    int left = m->in_flight >= m->slots ? 0 : m->slots - m->in_flight;

    return left ? min_int(left, m->x->ops->capacity(m->x)) : 0;
}

const struct lane_group *dispatch_lane_groups(struct dispatch *d, size_t *n)
{
    int64_t now = clock_boot_us();

    d->groups.n = 0;
    for (size_t i = 0; i < d->executors.n; i++) {
        struct executor_entry *m = d->executors.at[i];
        struct lane_group *g = vec_add(&d->groups);
        int capacity = d->closed || m->backoff_until > now ? 0 : executor_capacity(m);

        *g = (struct lane_group){
            .executor = m->x->key, .lanes = &m->x->key, .nlanes = 1, .can_start = capacity};
        if (m->functions) {
            g->lanes = function_lanes(m->functions, &g->nlanes);
            g->can_start = min_int(capacity, function_free_threads(m->functions));
            g->can_queue = capacity - g->can_start;
        }
    }
    *n = d->groups.n;
    return d->groups.at;
}

int lane_group_capacity(const struct lane_group *g, int slots)
{
    return g->can_start > slots ? slots : g->can_start + g->can_queue;
}

struct lane_group *lane_group_of(struct lane_group *groups, size_t n, const char *lane)
{
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < groups[i].nlanes; k++)
            if (!strcmp(groups[i].lanes[k], lane))
                return &groups[i];
    return NULL;
}

/* Returns how many jobs an executor can run at once; *queued is how many more may wait in its own
 * queue. */
static int executor_limits(const struct executor_entry *m, int *queued)
{
    size_t lanes = 1;

    *queued = 0;
    if (!m->functions)
        return m->in_flight + executor_capacity(m);
    (void)function_lanes(m->functions, &lanes);
    if (!lanes)
        return 0; /* an executor of functions without a function never gets a job */
    *queued = function_max_queue(m->functions);
    return min_int(m->slots, function_max_threads(m->functions));
}

int dispatch_executor_capacity(const struct dispatch *d, size_t nth)
{
    int queued;

    return min_int(executor_limits(d->executors.at[nth], &queued), d->slots);
}

int dispatch_total_capacity(const struct dispatch *d, int *ahead)
{
    int64_t all = 0, all_queued = 0;
    int queued;

    for (size_t i = 0; i < d->executors.n; i++) {
        all += executor_limits(d->executors.at[i], &queued);
        all_queued += queued;
    }
    *ahead = all_queued < INT_MAX ? (int)all_queued : INT_MAX;
    return all < d->slots ? (int)all : d->slots;
}
