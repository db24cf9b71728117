/* layout.h - places boxes and the edges between them on a plane, in px: a layered drawing
 * (Sugiyama). Each edge leads downward, parts of the graph that are not connected stand side by
 * side. It knows nothing about workflows, does no I/O, and is deterministic: it uses integers only,
 * and equal input gives equal output on every machine.
 *
 * The stages, each in its file (layout_internal.h):
 *
 *     layout_layers.c   gives each box a layer, and long edges a dummy in every layer between
 *     layout_tighten.c  makes edges short where a box may be in several layers
 *     layout_order.c    orders the layers so that few edges cross
 *     layout_place.c    gives boxes and dummies their x
 *     layout.c          splits the graph into parts, stacks the layers, routes edges, packs parts
 */
#ifndef PARSE_RENDER_LAYOUT_H
#define PARSE_RENDER_LAYOUT_H

#include "base/mem.h"

#include <stdint.h>

struct layout_point {
    int x, y;
};

struct layout_box {
    int width, height; /* input; the width must be even, so that the centre is a whole number */
    int x, y;          /* output: the top left corner of the box */
};

/* The output for an edge is its points. The edge starts at the bottom centre of `from` and ends at
 * the top centre of `to`. From an even to an odd point the line runs straight down. From an odd
 * point to the next even one, the line crosses the gap between two layers, which contains no box:
 * it may be drawn straight or as a curve with vertical tangents, because neither touches a box. */
struct layout_edge {
    uint32_t from, to; /* input: indexes of boxes; the edges must not contain a cycle */
    struct layout_point *points;
    uint32_t npoints;
};

struct layout {
    struct layout_box *boxes;
    struct layout_edge *edges;
    uint32_t nboxes, nedges;
    int width, height; /* output: the size of the whole drawing, without a margin */
};

/* The maximum number of dummies in one part of a graph. If the edges of a part need more, its
 * longest edges get no dummies: these edges lead directly through the layers between, where they
 * may touch boxes. */
#define LAYOUT_MAX_DUMMIES 200000

/* Computes all output members. The points live in the arena. Time and memory are linear in the
 * number of boxes, edges and dummies, apart from the logarithm of sorting. */
void layout_run(struct layout *l, struct arena *arena);

#endif
