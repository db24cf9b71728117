/* layout_tighten.c - moves boxes between layers so that all edges together become as short as
 * possible, with the network simplex of Gansner, Koutsofios, North and Vo.
 *
 * It keeps a spanning tree of edges of length 1. Removing an edge divides the tree into two halves.
 * If more of the other edges would become shorter than longer when one half moves, that half moves
 * as far as it can, until another edge between the halves has length 1 and replaces the removed
 * edge in the tree. No step makes the sum of the lengths larger, so the work can stop at any
 * time. */
#include "parse/render/layout_internal.h"

#include <string.h>

#define NONE UINT32_MAX
/* How many boxes and edges all steps together may visit, which takes some hundredths of a second:
 * the result is optimal for graphs of up to about a thousand tasks, and an improvement for larger
 * ones. */
#define WORK 30000000

struct tree {
    struct part *p;
    int *layer;       /* by box: its layer; may be negative */
    bool *in;         /* by link: whether it is in the tree */
    uint32_t *order;  /* boxes, parents before their children */
    uint32_t *link;   /* by box: the link to its parent in the tree; NONE for the root */
    uint32_t *parent; /* by box */
    /* By box: number of edges that lead down out of its subtree, minus those that lead into it
     * from above. */
    int64_t *pull;
    bool *moving;            /* by box: whether it is in the half of the tree that moves */
    uint32_t *set;           /* by box: for layout_find */
    struct neighbours links; /* by box: those of its links that are in the tree */
    int64_t work;            /* what is left of WORK */
};

static int slack(const struct tree *t, uint32_t link)
{
    const struct link *l = &t->p->links[link];

    return t->layer[l->to] - t->layer[l->from] - 1;
}

/* ---- the first tree ---- */

/* Moves the boxes that are marked as moving by a number of layers. */
static void move_boxes(struct tree *t, int by)
{
    for (uint32_t v = 0; v < t->p->nboxes; v++)
        if (t->moving[v])
            t->layer[v] += by;
}

/* Adds links of length 1 to the tree if they connect boxes that the tree does not connect yet. */
static void add_tight_links(struct tree *t)
{
    for (uint32_t i = 0; i < t->p->nlinks; i++) {
        const struct link *l = &t->p->links[i];

        if (!slack(t, i) && layout_find(t->set, l->from) != layout_find(t->set, l->to)) {
            layout_union(t->set, l->from, l->to);
            t->in[i] = true;
        }
    }
}

/* Moves the set that contains box 0 until an edge from it to another set has length 1. Returns
 * false if the set contains all boxes. */
static bool touch_next_set(struct tree *t)
{
    uint32_t best = NONE;

    for (uint32_t v = 0; v < t->p->nboxes; v++)
        t->moving[v] = layout_find(t->set, v) == 0;
    for (uint32_t i = 0; i < t->p->nlinks; i++) {
        const struct link *l = &t->p->links[i];

        if (t->moving[l->from] != t->moving[l->to] &&
            (best == NONE || slack(t, i) < slack(t, best)))
            best = i;
    }
    if (best == NONE)
        return false;
    move_boxes(t, t->moving[t->p->links[best].from] ? slack(t, best) : -slack(t, best));
    return true;
}

/* Makes the first spanning tree. Returns false if WORK is used up. */
static bool make_tree(struct tree *t)
{
    for (uint32_t v = 0; v < t->p->nboxes; v++)
        t->set[v] = v;
    do {
        add_tight_links(t);
        t->work -= 3 * ((int64_t)t->p->nboxes + t->p->nlinks);
    } while (t->work > 0 && touch_next_set(t));
    return t->work > 0;
}

/* ---- steps ---- */

/* Lists, for each box, those of its links that are in the tree. */
static void list_tree_links(struct tree *t)
{
    uint32_t *at = t->links.at + 1, i; /* shifted by one until the lists are filled */
    const struct part *p = t->p;

    memset(t->links.at, 0, (p->nboxes + 2) * sizeof(*at));
    for (i = 0; i < p->nlinks; i++)
        if (t->in[i]) {
            at[p->links[i].from + 1]++;
            at[p->links[i].to + 1]++;
        }
    for (i = 0; i < p->nboxes; i++)
        at[i + 1] += at[i];
    for (i = 0; i < p->nlinks; i++)
        if (t->in[i]) {
            t->links.list[at[p->links[i].from]++] = i;
            t->links.list[at[p->links[i].to]++] = i;
        }
}

/* Walks through the tree from box 0, and sums up the pulls of all subtrees from the leaves to the
 * root. The edges inside a subtree cancel each other out. */
static void measure_tree(struct tree *t)
{
    const struct part *p = t->p;
    uint32_t n = 1, i, k;

    list_tree_links(t);
    t->order[0] = 0;
    t->link[0] = NONE;
    for (i = 0; i < n; i++) {
        uint32_t v = t->order[i];

        t->pull[v] = (int64_t)degree(&p->down, v) - degree(&p->up, v);
        for (k = t->links.at[v]; k < t->links.at[v + 1]; k++) {
            uint32_t link = t->links.list[k];
            uint32_t other = p->links[link].from == v ? p->links[link].to : p->links[link].from;

            if (link == t->link[v])
                continue;
            t->order[n++] = other;
            t->link[other] = link;
            t->parent[other] = v;
        }
    }
    for (i = n; i-- > 1;)
        t->pull[t->parent[t->order[i]]] += t->pull[t->order[i]];
}

/* Whether the edges are shorter if the subtree of v moves away from its parent: up if the link
 * leads down to the parent, otherwise down. */
static bool is_pulled(const struct tree *t, uint32_t v)
{
    return t->p->links[t->link[v]].from == v ? t->pull[v] < 0 : t->pull[v] > 0;
}

/* Moves the subtree of v, and replaces the link to its parent by the link that stops the move. */
static void move_subtree(struct tree *t, uint32_t v)
{
    const struct part *p = t->p;
    bool down = p->links[t->link[v]].to == v;
    uint32_t best = NONE, i;

    memset(t->moving, 0, p->nboxes);
    t->moving[v] = true;
    for (i = 1; i < p->nboxes; i++)
        t->moving[t->order[i]] |= t->moving[t->parent[t->order[i]]];
    for (i = 0; i < p->nlinks; i++) {
        const struct link *l = &p->links[i];

        if (t->moving[l->from] == down && t->moving[l->to] != down &&
            (best == NONE || slack(t, i) < slack(t, best)))
            best = i;
    }
    /* `best` exists: without a link that stops the subtree, nothing would pull it. */
    move_boxes(t, down ? slack(t, best) : -slack(t, best));
    t->in[t->link[v]] = false;
    t->in[best] = true;
}

/* Goes through the boxes in turns, so that a box whose move does not help can't stop the others. */
static void improve(struct tree *t)
{
    uint32_t idle = 0, at = 1, n = t->p->nboxes;

    measure_tree(t);
    while (idle < n && t->work > 0) {
        if (is_pulled(t, at)) {
            move_subtree(t, at);
            measure_tree(t);
            t->work -= 4 * ((int64_t)n + t->p->nlinks);
            idle = 0;
        } else {
            idle++;
        }
        at = at + 1 < n ? at + 1 : 1;
    }
}

void layout_tighten(struct part *p)
{
    size_t n = p->nboxes + 2;
    struct tree t = {.p = p,
                     .layer = arena_alloc(p->arena, n * sizeof(*t.layer)),
                     .in = arena_zalloc(p->arena, p->nlinks + 1),
                     .order = arena_alloc(p->arena, n * sizeof(*t.order)),
                     .link = arena_alloc(p->arena, n * sizeof(*t.link)),
                     .parent = arena_alloc(p->arena, n * sizeof(*t.parent)),
                     .pull = arena_alloc(p->arena, n * sizeof(*t.pull)),
                     .moving = arena_zalloc(p->arena, n),
                     .set = arena_alloc(p->arena, n * sizeof(*t.set)),
                     .links = {arena_alloc(p->arena, n * sizeof(*t.links.at)),
                               arena_alloc(p->arena, 2 * n * sizeof(*t.links.list))},
                     .work = WORK};
    int least = 0;

    for (uint32_t v = 0; v < p->nboxes; v++)
        t.layer[v] = (int)p->layer[v];
    if (p->nboxes > 1 && make_tree(&t))
        improve(&t);
    for (uint32_t v = 0; v < p->nboxes; v++)
        least = !v || t.layer[v] < least ? t.layer[v] : least;
    for (uint32_t v = 0; v < p->nboxes; v++)
        p->layer[v] = (uint32_t)(t.layer[v] - least);
}
