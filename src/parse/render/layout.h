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
    int width, height; /* given; the width must be even, so that the centre is a whole number */
    int x, y;          /* the result: its top left corner */
};

/* The points of an edge are its result. It starts at the bottom centre of `from` and ends at the
 * top centre of `to`. From an even to an odd point the line runs straight down. From an odd point
 * to the next even one it crosses the gap between two layers, where no box is: there it may be a
 * straight line or a curve with vertical tangents, which both stay clear of all boxes. */
struct layout_edge {
    uint32_t from, to; /* given: indexes of boxes; the edges have no cycle */
    struct layout_point *points;
    uint32_t npoints;
};

struct layout {
    struct layout_box *boxes;
    struct layout_edge *edges;
    uint32_t nboxes, nedges;
    int width, height; /* the result: the size of all of it, without a margin */
};

/* The dummies of one part of a graph. If all edges of a part need more than this, its longest
 * edges get none: these cross the layers between on a direct way, where they may touch boxes. */
#define LAYOUT_MAX_DUMMIES 200000

/* Sets all results. The points live in the arena. Time and memory grow linearly with the number of
 * boxes, edges and dummies, apart from the logarithm of sorting. */
void layout_run(struct layout *l, struct arena *arena);

#endif
