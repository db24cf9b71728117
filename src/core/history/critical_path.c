/* critical_path.c - see critical_path.h. In a workflow the path is found from its end: what ended
 * last, what that one waited for, and so on. Where one ends the next begins, so nothing is counted
 * twice or not at all. */
#include "core/history/critical_path.h"

#include "base/mem.h"

#include <stdlib.h>

struct search {
    const struct critical_node *nodes;
    size_t n;
    size_t *inside; /* all but the first, by the flow that they are in, then by their end */
    size_t *first;  /* of each flow: where its own begin in `inside`; n + 1 of them */
    bool *taken;    /* on the path already: times that are all the same make no circle */
    struct critical_step *steps;
    size_t nsteps;
};

/* What it waited for is over from then on. */
static int64_t gate_of(const struct critical_node *n)
{
    return n->timeline->gate ? n->timeline->gate : n->end;
}

/* ---- what is in which ---- */

static int by_end(const void *a, const void *b, void *arg)
{
    const struct critical_node *nodes = arg, *x = &nodes[*(const size_t *)a],
                               *y = &nodes[*(const size_t *)b];

    if (x->workflow_state_get != y->workflow_state_get)
        return x->workflow_state_get < y->workflow_state_get ? -1 : 1;
    if (x->end != y->end)
        return x->end < y->end ? -1 : 1;
    return (gate_of(x) < gate_of(y)) - (gate_of(x) > gate_of(y)); /* the longest of them last */
}

static void sort_out(struct search *s)
{
    size_t i, flow = 0;

    for (i = 1; i < s->n; i++)
        s->inside[i - 1] = i;
    qsort_r(s->inside, s->n - 1, sizeof(*s->inside), by_end, (void *)s->nodes);
    for (i = 0; i < s->n - 1; i++)
        while (flow <= s->nodes[s->inside[i]].workflow_state_get)
            s->first[flow++] = i;
    while (flow <= s->n)
        s->first[flow++] = s->n - 1;
}

/* Of those in a flow, the last that had ended by then; 0: none (which is never in another). */
static size_t last_before(const struct search *s, size_t flow, int64_t at)
{
    size_t lo = s->first[flow], hi = s->first[flow + 1], begin = lo;

    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;

        if (s->nodes[s->inside[mid]].end <= at)
            lo = mid + 1;
        else
            hi = mid;
    }
    for (; lo > begin; lo--) {
        size_t i = s->inside[lo - 1];

        if (s->nodes[i].ended && !s->taken[i])
            return i;
    }
    return 0;
}

/* Of those in a flow that goes on, the one that has been open longest; 0: none. */
static size_t longest_open(const struct search *s, size_t flow)
{
    size_t i, best = 0;

    for (i = s->first[flow]; i < s->first[flow + 1]; i++) {
        const struct critical_node *n = &s->nodes[s->inside[i]];

        if (!n->ended && n->timeline->gate &&
            (!best || n->timeline->gate < s->nodes[best].timeline->gate))
            best = s->inside[i];
    }
    return best;
}

/* What an execution waited for; 0: nothing in its flow. */
static size_t before(const struct search *s, size_t i)
{
    const struct critical_node *n = &s->nodes[i];
    size_t best = 0, k;

    if (n->after == AFTER_STARTER)
        return s->taken[n->starter] ? 0 : n->starter;
    if (n->after == AFTER_OTHERS)
        return last_before(s, n->workflow_state_get, n->timeline->begin);
    for (k = 0; k < n->nneeds; k++) {
        const struct critical_node *need = &s->nodes[n->needs[k]];

        if (need->ended && need->end <= gate_of(n) && !s->taken[n->needs[k]] &&
            (!best || need->end > s->nodes[best].end))
            best = n->needs[k];
    }
    return best;
}

/* ---- the path ---- */

static void walk(struct search *s, size_t flow, int64_t from, int64_t to);

static struct critical_step *add_step(struct search *s, size_t node, int64_t from, int64_t to)
{
    struct critical_step *step = &s->steps[s->nsteps++];

    *step = (struct critical_step){.node = node, .from = from, .to = to};
    return step;
}

struct link {
    size_t node;
    int64_t from, to;
};

/* The chain in a flow between its beginning and its end, from its end; what no link covers is the
 * flow's own. */
static int64_t find_chain(struct search *s, size_t flow, int64_t begun, int64_t to,
                          struct link **chain, size_t *nchain)
{
    VEC(struct link) links = {0};
    int64_t own = 0;
    size_t i = s->nodes[flow].ended ? 0 : longest_open(s, flow), up;

    if (!i)
        i = last_before(s, flow, to);
    for (; i && s->nodes[i].end > begun && to > begun; i = up) {
        const struct critical_node *n = &s->nodes[i];
        struct link link = {.node = i, .from = begun, .to = n->end < to ? n->end : to};

        s->taken[i] = true;
        up = before(s, i);
        if (up) {
            int64_t over = s->nodes[up].end;

            if (n->after == AFTER_STARTER && n->timeline->begin < over)
                over = n->timeline->begin;
            link.from = over < begun ? begun : over < link.to ? over : link.to;
        }
        own += to - link.to;
        to = link.from;
        *vec_add(&links) = link;
    }
    *chain = links.at;
    *nchain = links.n;
    return own + (to - begun);
}

static void walk_chain(struct search *s, size_t flow, int64_t from, int64_t to, size_t at)
{
    int64_t begun = timeline_started(s->nodes[flow].timeline);
    struct link *chain;
    size_t n;

    begun = begun < from ? from : begun > to ? to : begun;
    timeline_sum(s->nodes[flow].timeline, from, begun, s->steps[at].parts);
    s->steps[at].parts[TIMELINE_RUN] += find_chain(s, flow, begun, to, &chain, &n);
    for (; n > 0; n--)
        walk(s, chain[n - 1].node, chain[n - 1].from, chain[n - 1].to);
    free(chain);
}

static void walk(struct search *s, size_t node, int64_t from, int64_t to)
{
    size_t at = s->nsteps;

    add_step(s, node, from, to);
    if (s->nodes[node].flow)
        walk_chain(s, node, from, to, at);
    else
        timeline_sum(s->nodes[node].timeline, from, to, s->steps[at].parts);
}

static bool has_time(const struct critical_step *step)
{
    int part;

    for (part = 0; part < TIMELINE_COUNT; part++)
        if (step->parts[part])
            return true;
    return false;
}

size_t critical_path(const struct critical_node *nodes, size_t n, struct critical_step *steps)
{
    struct search s = {.nodes = nodes, .n = n, .steps = steps};
    size_t i, kept = 1;

    s.inside = mem_alloc(n * sizeof(*s.inside));
    s.first = mem_alloc((n + 1) * sizeof(*s.first));
    s.taken = mem_zalloc(n * sizeof(*s.taken));
    sort_out(&s);
    walk(&s, 0, nodes[0].timeline->begin, nodes[0].end);
    for (i = 1; i < s.nsteps; i++)
        if (has_time(&steps[i]))
            steps[kept++] = steps[i];
    free(s.inside);
    free(s.first);
    free(s.taken);
    return kept;
}
