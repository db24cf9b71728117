/* critical_path.c - finds the chain of executions that determined when a run ended; see
 * critical_path.h. In a workflow or fan-out (the parent of other nodes) the path is found
 * backwards: the child that ended last, then the child that it waited for, and so on. Each link of
 * this chain starts where the link before it ends, so no time is counted twice or left out. */
#include "core/history/critical_path.h"

#include "base/mem.h"

#include <stdlib.h>

struct search {
    const struct critical_node *nodes;
    size_t n;
    size_t *inside; /* all nodes except the root, sorted by parent, then by end */
    size_t *first;  /* index in `inside` of the first child of each node; n + 1 entries */
    /* Whether a node is already on the path, to prevent cycles among nodes with equal times. */
    bool *on_path;
    struct critical_step *steps;
    size_t nsteps;
};

/* The time at which the node stopped waiting for others. */
static int64_t gate_of(const struct critical_node *n)
{
    return n->timeline->gate ? n->timeline->gate : n->end;
}

/* ---- children ---- */

static int by_end(const void *a, const void *b, void *arg)
{
    const struct critical_node *nodes = arg, *x = &nodes[*(const size_t *)a],
                               *y = &nodes[*(const size_t *)b];

    if (x->parent != y->parent)
        return x->parent < y->parent ? -1 : 1;
    if (x->end != y->end)
        return x->end < y->end ? -1 : 1;
    /* If two end at the same time, the one that ran longest comes last. */
    return (gate_of(x) < gate_of(y)) - (gate_of(x) > gate_of(y));
}

static void sort_children(struct search *s)
{
    size_t i, parent = 0;

    for (i = 1; i < s->n; i++)
        s->inside[i - 1] = i;
    qsort_r(s->inside, s->n - 1, sizeof(*s->inside), by_end, (void *)s->nodes);
    for (i = 0; i < s->n - 1; i++)
        while (parent <= s->nodes[s->inside[i]].parent)
            s->first[parent++] = i;
    while (parent <= s->n)
        s->first[parent++] = s->n - 1;
}

/* The child of `parent` that ended last, not after `at`; 0, which is the root, if none. */
static size_t last_before(const struct search *s, size_t parent, int64_t at)
{
    size_t lo = s->first[parent], hi = s->first[parent + 1], begin = lo;

    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;

        if (s->nodes[s->inside[mid]].end <= at)
            lo = mid + 1;
        else
            hi = mid;
    }
    for (; lo > begin; lo--) {
        size_t i = s->inside[lo - 1];

        if (s->nodes[i].ended && !s->on_path[i])
            return i;
    }
    return 0;
}

/* The child of a running `parent` that has been open longest; 0, which is the root, if none is
 * open. */
static size_t longest_open(const struct search *s, size_t parent)
{
    size_t i, best = 0;

    for (i = s->first[parent]; i < s->first[parent + 1]; i++) {
        const struct critical_node *n = &s->nodes[s->inside[i]];

        if (!n->ended && n->timeline->gate &&
            (!best || n->timeline->gate < s->nodes[best].timeline->gate))
            best = s->inside[i];
    }
    return best;
}

/* The node that node i waited for; 0, which is the root, if it waited for no sibling. */
static size_t predecessor(const struct search *s, size_t i)
{
    const struct critical_node *n = &s->nodes[i];
    size_t best = 0, k;

    if (n->after == AFTER_STARTER)
        return s->on_path[n->starter] ? 0 : n->starter;
    if (n->after == AFTER_OTHERS)
        return last_before(s, n->parent, n->timeline->begin);
    for (k = 0; k < n->nneeds; k++) {
        const struct critical_node *need = &s->nodes[n->needs[k]];

        if (need->ended && need->end <= gate_of(n) && !s->on_path[n->needs[k]] &&
            (!best || need->end > s->nodes[best].end))
            best = n->needs[k];
    }
    return best;
}

/* ---- the path ---- */

static void walk(struct search *s, size_t node, int64_t from, int64_t to);

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

/* Finds the chain of children of `parent` that ends at `to`, last link first. Returns the time that
 * no link covers, which belongs to `parent` itself. */
static int64_t find_chain(struct search *s, size_t parent, int64_t started, int64_t to,
                          struct link **chain, size_t *nchain)
{
    VEC(struct link) links = {0};
    int64_t own = 0;
    size_t i = s->nodes[parent].ended ? 0 : longest_open(s, parent), up;

    if (!i)
        i = last_before(s, parent, to);
    for (; i && s->nodes[i].end > started && to > started; i = up) {
        const struct critical_node *n = &s->nodes[i];
        struct link link = {.node = i, .from = started, .to = n->end < to ? n->end : to};

        s->on_path[i] = true;
        up = predecessor(s, i);
        if (up) {
            int64_t over = s->nodes[up].end;

            if (n->after == AFTER_STARTER && n->timeline->begin < over)
                over = n->timeline->begin;
            link.from = over < started ? started : over < link.to ? over : link.to;
        }
        /* If this node was rerun while its parent kept running, no other node waited for it in the
         * time between its end and its rerun. */
        if (n->timeline->rerun && link.from < n->timeline->begin)
            link.from = n->timeline->begin < link.to ? n->timeline->begin : link.to;
        own += to - link.to;
        to = link.from;
        *vec_add(&links) = link;
    }
    *chain = links.at;
    *nchain = links.n;
    return own + (to - started);
}

static void walk_chain(struct search *s, size_t parent, int64_t from, int64_t to, size_t at)
{
    int64_t started = timeline_started(s->nodes[parent].timeline);
    struct link *chain;
    size_t n;

    started = started < from ? from : started > to ? to : started;
    timeline_sum(s->nodes[parent].timeline, from, started, s->steps[at].parts);
    s->steps[at].parts[TIMELINE_RUN] += find_chain(s, parent, started, to, &chain, &n);
    for (; n > 0; n--)
        walk(s, chain[n - 1].node, chain[n - 1].from, chain[n - 1].to);
    free(chain);
}

static void walk(struct search *s, size_t node, int64_t from, int64_t to)
{
    size_t at = s->nsteps;

    add_step(s, node, from, to);
    if (s->nodes[node].is_parent)
        walk_chain(s, node, from, to, at);
    else
        timeline_sum(s->nodes[node].timeline, from, to, s->steps[at].parts);
}

static bool has_time(const struct critical_step *step)
{
    for (int part = 0; part < TIMELINE_COUNT; part++)
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
    s.on_path = mem_zalloc(n * sizeof(*s.on_path));
    sort_children(&s);
    walk(&s, 0, nodes[0].timeline->begin, nodes[0].end);
    for (i = 1; i < s.nsteps; i++)
        if (has_time(&steps[i]))
            steps[kept++] = steps[i];
    free(s.inside);
    free(s.first);
    free(s.on_path);
    return kept;
}
