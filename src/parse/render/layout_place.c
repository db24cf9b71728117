/* layout_place.c - gives each vertex its x, by the method of Brandes and Köpf: vertices of
 * neighbouring layers are chained to blocks, the vertices of a block get the same x, and the blocks
 * are pushed together. This is done in four ways, from above or below and from the left or right.
 * The x of a vertex is the mean of the two middle results, which keeps all distances.
 *
 * Segments between two dummies are chained first, so that long edges are straight. */
#include "parse/render/layout_internal.h"

#include <limits.h>
#include <string.h>

/* Distances between the sides of two neighbours in a layer, in px. */
#define BETWEEN_BOXES   28
#define BESIDE_BOX      20 /* between a box and the line of an edge */
#define BETWEEN_DUMMIES 14

/* One of the four ways to place the vertices. */
struct way {
    const struct part *p;
    /* Whether vertices are chained to vertices above them, otherwise below. */
    bool down;
    /* Whether blocks are pushed from right to left; positions and x are then mirrored. */
    bool right;
    /* By vertex: the first vertex of its block, and the next in the block (a ring). */
    uint32_t *root, *next;
    int *x; /* by vertex */
    /* By root: */
    uint32_t *left;  /* number of neighbours to the left that are not placed yet */
    uint32_t *queue; /* roots of blocks, each after the roots of the blocks left of it */
};

/* For the lower vertex of a segment: the range of positions in the layer above in which the segment
 * may end without crossing a segment between two dummies. */
struct clear {
    uint32_t *from, *to;
};

/* ---- blocks ---- */

/* The position of the upper end of the segment between two dummies whose lower end is v; UINT32_MAX
 * if there is none. */
static uint32_t inner_end(const struct part *p, uint32_t v)
{
    if (!is_dummy(p, v) || !degree(&p->up, v))
        return UINT32_MAX;
    v = p->up.list[p->up.at[v]];
    return is_dummy(p, v) ? p->position[v] : UINT32_MAX;
}

static struct clear find_clear(const struct part *p)
{
    struct clear c = {arena_zalloc(p->arena, (p->nvertices + 1) * sizeof(*c.from)),
                      arena_alloc(p->arena, (p->nvertices + 1) * sizeof(*c.to))};

    for (uint32_t layer = 0; layer < p->nlayers; layer++) {
        const uint32_t *at = layer_begin(p, layer);
        uint32_t n = layer_size(p, layer), from = 0, to = UINT32_MAX, i, end;

        for (i = 0; i < n; i++) {
            c.from[at[i]] = from;
            end = inner_end(p, at[i]);
            from = end != UINT32_MAX && end > from ? end : from;
        }
        for (i = n; i-- > 0;) {
            c.to[at[i]] = to;
            end = inner_end(p, at[i]);
            to = end < to ? end : to;
        }
    }
    return c;
}

static bool is_clear(const struct way *w, const struct clear *c, uint32_t v, uint32_t other)
{
    uint32_t lower = w->down ? v : other, upper = w->down ? other : v;
    uint32_t at = w->p->position[upper];

    return at >= c->from[lower] && at <= c->to[lower];
}

/* Chains v to its median neighbour, unless the chain would cross an earlier one. */
static void chain(const struct way *w, const struct clear *c, uint32_t v, int64_t *last)
{
    const struct neighbours *n = w->down ? &w->p->up : &w->p->down;
    uint32_t count = degree(n, v);

    for (uint32_t i = 0; count && i < 2; i++) {
        uint32_t middle = i ? count / 2 : (count - 1) / 2;
        uint32_t u = n->list[n->at[v] + (w->right ? count - 1 - middle : middle)];
        int64_t at = w->p->position[u];

        at = w->right ? -at : at;
        if (at <= *last || !is_clear(w, c, v, u))
            continue;
        w->next[u] = v;
        w->root[v] = w->root[u];
        w->next[v] = w->root[v];
        *last = at;
        return;
    }
}

static void make_blocks(const struct way *w, const struct clear *c)
{
    const struct part *p = w->p;
    uint32_t i, k;

    for (i = 0; i < p->nvertices; i++)
        w->root[i] = w->next[i] = i;
    for (i = 0; i < p->nlayers; i++) {
        uint32_t layer = w->down ? i : p->nlayers - 1 - i, n = layer_size(p, layer);
        int64_t last = INT64_MIN;

        for (k = 0; k < n; k++)
            chain(w, c, layer_begin(p, layer)[w->right ? n - 1 - k : k], &last);
    }
}

/* ---- places ---- */

int layout_distance(const struct part *p, uint32_t u, uint32_t v)
{
    int dummies = is_dummy(p, u) + is_dummy(p, v);

    return (p->widths[u] + p->widths[v]) / 2 + (dummies == 2   ? BETWEEN_DUMMIES
                                                : dummies == 1 ? BESIDE_BOX
                                                               : BETWEEN_BOXES);
}

/* The neighbour of v in its layer, to the right or to the left (mirrored in a way from right to
 * left); UINT32_MAX if there is none. */
static uint32_t neighbour(const struct way *w, uint32_t v, bool right)
{
    const struct part *p = w->p;
    uint32_t layer = p->layer[v], at = p->position[v];

    if (right != w->right)
        return at + 1 < layer_size(p, layer) ? layer_begin(p, layer)[at + 1] : UINT32_MAX;
    return at ? layer_begin(p, layer)[at - 1] : UINT32_MAX;
}

/* Places all blocks as far left as their left neighbours allow. The queue gets the root of each
 * block as soon as all left neighbours of the block are placed. */
static uint32_t push_left(const struct way *w)
{
    uint32_t n = 0, done, v, other;

    memset(w->left, 0, w->p->nvertices * sizeof(*w->left));
    for (v = 0; v < w->p->nvertices; v++)
        if (neighbour(w, v, false) != UINT32_MAX)
            w->left[w->root[v]]++;
    for (v = 0; v < w->p->nvertices; v++) {
        w->x[v] = 0;
        if (w->root[v] == v && !w->left[v])
            w->queue[n++] = v;
    }
    for (done = 0; done < n; done++) {
        uint32_t root = v = w->queue[done];

        do {
            if ((other = neighbour(w, v, true)) != UINT32_MAX) {
                uint32_t beside = w->root[other];
                int x = w->x[root] + layout_distance(w->p, v, other);

                w->x[beside] = x > w->x[beside] ? x : w->x[beside];
                if (!--w->left[beside])
                    w->queue[n++] = beside;
            }
        } while ((v = w->next[v]) != root);
    }
    return n;
}

/* Moves each block to the right as far as its right neighbours allow, so that blocks that were
 * pushed far to the left stand close to their right neighbours. */
static void pull_right(const struct way *w, uint32_t n)
{
    while (n-- > 0) {
        uint32_t root = w->queue[n], v = root, other;
        int most = INT_MAX;

        do {
            if ((other = neighbour(w, v, true)) != UINT32_MAX) {
                int x = w->x[w->root[other]] - layout_distance(w->p, v, other);

                most = x < most ? x : most;
            }
        } while ((v = w->next[v]) != root);
        if (most != INT_MAX && most > w->x[root])
            w->x[root] = most;
    }
}

static void place_blocks(const struct way *w)
{
    pull_right(w, push_left(w));
    for (uint32_t v = 0; v < w->p->nvertices; v++)
        if (w->root[v] != v)
            w->x[v] = w->x[w->root[v]];
    for (uint32_t v = 0; w->right && v < w->p->nvertices; v++)
        w->x[v] = -w->x[v];
}

/* ---- the four ways together ---- */

static void find_extent(const struct part *p, const int *x, int *least, int *most)
{
    *least = INT_MAX;
    *most = INT_MIN;
    for (uint32_t v = 0; v < p->nvertices; v++) {
        int half = p->widths[v] / 2;

        *least = x[v] - half < *least ? x[v] - half : *least;
        *most = x[v] + half > *most ? x[v] + half : *most;
    }
}

/* Moves the results of all ways so that they start at the same x as the narrowest one; those from
 * the right end at the same x. */
static void align_ways(const struct part *p, int *const x[4])
{
    int least[4], most[4], narrowest = 0, i;

    for (i = 0; i < 4; i++) {
        find_extent(p, x[i], &least[i], &most[i]);
        if (most[i] - least[i] < most[narrowest] - least[narrowest])
            narrowest = i;
    }
    for (i = 0; i < 4; i++) {
        int by = i % 2 ? most[narrowest] - most[i] : least[narrowest] - least[i];

        for (uint32_t v = 0; v < p->nvertices; v++)
            x[i][v] += by;
    }
}

/* The mean of the two middle values of four. */
static int middle_of(int a, int b, int c, int d)
{
    int low1 = a < b ? a : b, high1 = a < b ? b : a, low2 = c < d ? c : d, high2 = c < d ? d : c;
    int low = low1 > low2 ? low1 : low2, high = high1 < high2 ? high1 : high2;
    int sum = low + high;

    return (sum - (sum % 2 != 0 && sum < 0)) / 2; /* round down, so that distances are kept */
}

void layout_place(struct part *p)
{
    size_t bytes = (p->nvertices + 1) * sizeof(uint32_t);
    struct clear clear = find_clear(p);
    struct way w = {.p = p,
                    .root = arena_alloc(p->arena, bytes),
                    .next = arena_alloc(p->arena, bytes),
                    .left = arena_alloc(p->arena, bytes),
                    .queue = arena_alloc(p->arena, bytes)};
    int *x[4], least, most;

    for (int i = 0; i < 4; i++) {
        w.x = x[i] = arena_alloc(p->arena, (p->nvertices + 1) * sizeof(int));
        w.down = i < 2;
        w.right = i % 2;
        make_blocks(&w, &clear);
        place_blocks(&w);
    }
    align_ways(p, x);
    p->x = arena_alloc(p->arena, (p->nvertices + 1) * sizeof(int));
    for (uint32_t v = 0; v < p->nvertices; v++)
        p->x[v] = middle_of(x[0][v], x[1][v], x[2][v], x[3][v]);
    layout_relax(p);
    find_extent(p, p->x, &least, &most);
    for (uint32_t v = 0; v < p->nvertices; v++)
        p->x[v] -= least;
}
