/* layout_internal.h - the data that the stages of layout.h share: one connected part of a graph. */
#ifndef PARSE_RENDER_LAYOUT_INTERNAL_H
#define PARSE_RENDER_LAYOUT_INTERNAL_H

#include "parse/render/layout.h"

#include <stdbool.h>

/* An edge between neighbouring layers. Before the dummies exist, an edge between any two layers. */
struct segment {
    uint32_t upper, lower;
};

/* Lists of neighbours: those of vertex v are list[at[v]] to list[at[v + 1] - 1]. */
struct neighbours {
    uint32_t *at, *list;
};

struct link {
    uint32_t from, to; /* vertices */
    /* The dummies of the edge are consecutive vertices, from top to bottom. */
    uint32_t dummy, ndummies;
};

struct part {
    struct arena *arena; /* memory for all members below */

    /* Vertices are boxes and dummies: the boxes have the lowest numbers. */
    uint32_t nboxes, nvertices;
    int *widths; /* by vertex; 0 for dummies */
    struct link *links;
    uint32_t nlinks;

    /* layout_layers.c */
    uint32_t *layer;  /* by vertex: its layer, 0 at the top */
    uint32_t nlayers; /* no layer is empty */
    struct neighbours up, down;
    uint32_t nsegments;

    /* layout_order.c */
    uint32_t *order;    /* the vertices of all layers, each layer from left to right */
    uint32_t *first;    /* by layer: where its vertices begin in `order`; has nlayers + 1 entries */
    uint32_t *position; /* by vertex: its index in its layer */

    /* layout_place.c */
    int *x; /* by vertex: the x of its centre; the smallest left edge of all vertices is 0 */
};

static inline bool is_dummy(const struct part *p, uint32_t v)
{
    return v >= p->nboxes;
}

static inline uint32_t degree(const struct neighbours *n, uint32_t v)
{
    return n->at[v + 1] - n->at[v];
}

/* layer_begin returns the vertices of a layer from left to right, layer_size their number. */
static inline uint32_t *layer_begin(const struct part *p, uint32_t layer)
{
    return p->order + p->first[layer];
}

static inline uint32_t layer_size(const struct part *p, uint32_t layer)
{
    return p->first[layer + 1] - p->first[layer];
}

/* Returns the representative of the set that contains v, in a union-find structure. above[v] leads
 * toward the representative, which is above itself. */
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

/* The stages, in the order in which they are called. Each reads the results of the stages before
 * it. */
void layout_layers(struct part *p);
void layout_tighten(struct part *p); /* called by layout_layers */
void layout_order(struct part *p);
void layout_place(struct part *p);
void layout_relax(struct part *p); /* called by layout_place */

/* The least distance between the centres of u and v, if v is the right neighbour of u in a
 * layer. */
int layout_distance(const struct part *p, uint32_t u, uint32_t v);

#endif
