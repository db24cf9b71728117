/* layout_internal.h - one connected part of a graph on its way through the stages of layout.h. */
#ifndef PARSE_RENDER_LAYOUT_INTERNAL_H
#define PARSE_RENDER_LAYOUT_INTERNAL_H

#include "parse/render/layout.h"

#include <stdbool.h>

/* An edge between neighbouring layers; before the dummies exist, between any two layers. */
struct segment {
    uint32_t upper, lower;
};

/* The neighbours of vertex v are list[at[v]] to list[at[v + 1] - 1]. */
struct neighbours {
    uint32_t *at, *list;
};

struct link {
    uint32_t from, to;        /* vertices */
    uint32_t dummy, ndummies; /* its dummies, from top to bottom, are consecutive vertices */
};

struct part {
    struct arena *arena; /* for everything below */

    /* Vertices are numbered: the boxes first, then the dummies. */
    uint32_t nboxes, nvertices;
    int *widths; /* by vertex; dummies have none */
    struct link *links;
    uint32_t nlinks;

    /* layout_layers.c */
    uint32_t *layer;  /* by vertex, 0 at the top */
    uint32_t nlayers; /* none is empty */
    struct neighbours up, down;
    uint32_t nsegments;

    /* layout_order.c */
    uint32_t *order;    /* vertices by layer, in each from left to right */
    uint32_t *first;    /* by layer: where it begins in order; has nlayers + 1 entries */
    uint32_t *position; /* by vertex: its index in its layer */

    /* layout_place.c */
    int *x; /* by vertex: its centre; the smallest left edge is 0 */
};

static inline bool is_dummy(const struct part *p, uint32_t v)
{
    return v >= p->nboxes;
}

static inline uint32_t degree(const struct neighbours *n, uint32_t v)
{
    return n->at[v + 1] - n->at[v];
}

/* The vertices of a layer from left to right, and their number. */
static inline uint32_t *layer_begin(const struct part *p, uint32_t layer)
{
    return p->order + p->first[layer];
}

static inline uint32_t layer_size(const struct part *p, uint32_t layer)
{
    return p->first[layer + 1] - p->first[layer];
}

/* Sets of connected vertices: above[v] leads toward the first vertex of v's set, which is above
 * itself. */
static inline uint32_t layout_find(uint32_t *above, uint32_t v)
{
    for (; above[v] != v; v = above[v])
        above[v] = above[above[v]];
    return v;
}

static inline void layout_union(uint32_t *above, uint32_t a, uint32_t b)
{
    a = layout_find(above, a);
    b = layout_find(above, b);
    above[a > b ? a : b] = a > b ? b : a;
}

/* The stages, in this order. Each reads the results of those before it. */
void layout_layers(struct part *p);
void layout_tighten(struct part *p); /* a part of layout_layers */
void layout_order(struct part *p);
void layout_place(struct part *p);
void layout_relax(struct part *p); /* a part of layout_place */

/* The least distance between the centres of u and v, which is right of u in the same layer. */
int layout_distance(const struct part *p, uint32_t u, uint32_t v);

#endif
