/* layout.c - splits the graph into connected parts, lays out each of them, routes its edges, and
 * packs the parts in rows. The stages are described in layout.h. */
#include "parse/render/layout_internal.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* Distances in px. The gap between two layers is larger where lines lead far sideways, so that the
 * lines do not become flat. */
#define LEAST_GAP     36
#define MOST_GAP      120
#define SIDE_PER_GAP  16
#define BETWEEN_PARTS 40

struct extent {
    int width, height;
};

/* The connected parts of the graph, with the indexes of their boxes and edges. */
struct parts {
    uint32_t n;
    /* The boxes of part i are from boxes[first_box[i]] to before boxes[first_box[i + 1]]. */
    uint32_t *boxes, *first_box;
    uint32_t *edges, *first_edge; /* likewise */
    /* By box: the part that contains it, and the index of the box in that part. */
    uint32_t *part_of, *local;
    struct extent *extents; /* by part */
};

/* ---- parts ---- */

/* Finds the connected parts, numbered in the order of their first box. */
static void find_parts(const struct layout *l, struct parts *out, struct arena *arena)
{
    uint32_t *above = arena_alloc(arena, (l->nboxes + 1) * sizeof(*above)), i;

    for (i = 0; i < l->nboxes; i++)
        above[i] = i;
    for (i = 0; i < l->nedges; i++)
        layout_union(above, l->edges[i].from, l->edges[i].to);
    out->part_of = arena_alloc(arena, (l->nboxes + 1) * sizeof(*out->part_of));
    for (i = 0; i < l->nboxes; i++) {
        uint32_t top = layout_find(above, i);

        out->part_of[i] = top == i ? out->n++ : out->part_of[top];
    }
}

/* Sorts indexes by part, keeping their order within a part. Sets *sorted, and *first to where each
 * part begins in it. */
static void sort_by_part(uint32_t nparts, uint32_t n, const uint32_t *part, uint32_t **sorted,
                         uint32_t **first, struct arena *arena)
{
    uint32_t *at = arena_zalloc(arena, (nparts + 2) * sizeof(*at)), i;

    *sorted = arena_alloc(arena, (n + 1) * sizeof(**sorted));
    *first = at;
    at++; /* shifted by one while the list is filled; filling shifts it back */
    for (i = 0; i < n; i++)
        at[part[i] + 1]++;
    for (i = 0; i < nparts; i++)
        at[i + 1] += at[i];
    for (i = 0; i < n; i++)
        (*sorted)[at[part[i]]++] = i;
}

static void split(const struct layout *l, struct parts *out, struct arena *arena)
{
    uint32_t *part_of_edge = arena_alloc(arena, (l->nedges + 1) * sizeof(*part_of_edge)), i;

    find_parts(l, out, arena);
    for (i = 0; i < l->nedges; i++)
        part_of_edge[i] = out->part_of[l->edges[i].from];
    sort_by_part(out->n, l->nboxes, out->part_of, &out->boxes, &out->first_box, arena);
    sort_by_part(out->n, l->nedges, part_of_edge, &out->edges, &out->first_edge, arena);
    out->local = arena_alloc(arena, (l->nboxes + 1) * sizeof(*out->local));
    for (i = 0; i < l->nboxes; i++)
        out->local[out->boxes[i]] = i - out->first_box[out->part_of[out->boxes[i]]];
    out->extents = arena_zalloc(arena, (out->n + 1) * sizeof(*out->extents));
}

static void load_part(const struct layout *l, const struct parts *parts, uint32_t at,
                      struct part *out)
{
    const uint32_t *boxes = parts->boxes + parts->first_box[at];
    const uint32_t *edges = parts->edges + parts->first_edge[at];

    out->nboxes = out->nvertices = parts->first_box[at + 1] - parts->first_box[at];
    out->nlinks = parts->first_edge[at + 1] - parts->first_edge[at];
    out->widths = arena_alloc(out->arena, (out->nboxes + 1) * sizeof(*out->widths));
    out->links = arena_alloc(out->arena, (out->nlinks + 1) * sizeof(*out->links));
    for (uint32_t i = 0; i < out->nboxes; i++)
        out->widths[i] = l->boxes[boxes[i]].width;
    for (uint32_t i = 0; i < out->nlinks; i++)
        out->links[i] = (struct link){.from = parts->local[l->edges[edges[i]].from],
                                      .to = parts->local[l->edges[edges[i]].to]};
}

/* ---- y, and the points of the edges ---- */

struct stripes {
    int *top, *bottom; /* by layer */
};

/* The height of the gap below a layer. */
static int find_gap(const struct part *p, uint32_t layer)
{
    int widest = 0;

    for (uint32_t i = 0; i < layer_size(p, layer); i++) {
        uint32_t v = layer_begin(p, layer)[i];

        for (uint32_t k = p->down.at[v]; k < p->down.at[v + 1]; k++) {
            int side = abs(p->x[v] - p->x[p->down.list[k]]);

            widest = side > widest ? side : widest;
        }
    }
    widest = LEAST_GAP + widest / SIDE_PER_GAP;
    return widest > MOST_GAP ? MOST_GAP : widest;
}

static struct stripes stack_layers(const struct part *p, const struct layout_box *all,
                                   const uint32_t *boxes)
{
    struct stripes s = {arena_alloc(p->arena, p->nlayers * sizeof(int)),
                        arena_alloc(p->arena, p->nlayers * sizeof(int))};
    int y = 0;

    for (uint32_t layer = 0; layer < p->nlayers; layer++) {
        int height = 0;

        for (uint32_t i = 0; i < layer_size(p, layer); i++) {
            uint32_t v = layer_begin(p, layer)[i];

            if (!is_dummy(p, v) && all[boxes[v]].height > height)
                height = all[boxes[v]].height;
        }
        s.top[layer] = y;
        s.bottom[layer] = y + height;
        y += height + find_gap(p, layer);
    }
    return s;
}

/* Sets the points of an edge, in pairs. The line between the points of a pair leads straight down
 * through one layer: from the bottom of the first box, past a dummy, or to the top of the last
 * box. */
static void route(const struct part *p, const struct stripes *s, const struct link *k,
                  const struct layout_box *from, const struct layout_box *to,
                  struct layout_edge *out, struct arena *arena)
{
    struct layout_point *at = out->points =
        arena_alloc(arena, (2 * k->ndummies + 4) * sizeof(*out->points));

    *at++ = (struct layout_point){p->x[k->from], from->y + from->height};
    *at++ = (struct layout_point){p->x[k->from], s->bottom[p->layer[k->from]]};
    for (uint32_t i = 0; i < k->ndummies; i++) {
        uint32_t v = k->dummy + i;

        *at++ = (struct layout_point){p->x[v], s->top[p->layer[v]]};
        *at++ = (struct layout_point){p->x[v], s->bottom[p->layer[v]]};
    }
    *at++ = (struct layout_point){p->x[k->to], s->top[p->layer[k->to]]};
    *at++ = (struct layout_point){p->x[k->to], to->y};
    out->npoints = (uint32_t)(at - out->points);
}

/* Stores the places of a part's boxes and edges, with the part's top left corner at 0, 0. */
static void store_part(struct layout *l, const struct parts *parts, uint32_t at,
                       const struct part *p, struct arena *arena)
{
    const uint32_t *boxes = parts->boxes + parts->first_box[at];
    const uint32_t *edges = parts->edges + parts->first_edge[at];
    struct stripes s = stack_layers(p, l->boxes, boxes);
    struct extent *extent = &parts->extents[at];

    extent->height = s.bottom[p->nlayers - 1];
    for (uint32_t v = 0; v < p->nvertices; v++)
        if (p->x[v] + p->widths[v] / 2 > extent->width)
            extent->width = p->x[v] + p->widths[v] / 2;
    for (uint32_t i = 0; i < p->nboxes; i++) {
        struct layout_box *b = &l->boxes[boxes[i]];

        b->x = p->x[i] - b->width / 2;
        b->y = (s.top[p->layer[i]] + s.bottom[p->layer[i]] - b->height) / 2;
    }
    for (uint32_t i = 0; i < p->nlinks; i++) {
        struct layout_edge *e = &l->edges[edges[i]];

        route(p, &s, &p->links[i], &l->boxes[e->from], &l->boxes[e->to], e, arena);
    }
}

/* ---- packing ---- */

static void move_part(struct layout *l, const struct parts *parts, uint32_t at, int x, int y)
{
    uint32_t i, k;

    for (i = parts->first_box[at]; i < parts->first_box[at + 1]; i++) {
        l->boxes[parts->boxes[i]].x += x;
        l->boxes[parts->boxes[i]].y += y;
    }
    for (i = parts->first_edge[at]; i < parts->first_edge[at + 1]; i++) {
        struct layout_edge *e = &l->edges[parts->edges[i]];

        for (k = 0; k < e->npoints; k++) {
            e->points[k].x += x;
            e->points[k].y += y;
        }
    }
}

/* The width of the rows of parts, chosen so that the widest part fits, and the drawing is about
 * twice as wide as high. */
static int find_row_width(const struct parts *parts)
{
    int64_t area = 0, low = 0, high = INT_MAX;

    for (uint32_t i = 0; i < parts->n; i++) {
        const struct extent *e = &parts->extents[i];

        area += (int64_t)(e->width + BETWEEN_PARTS) * (e->height + BETWEEN_PARTS);
        low = e->width > low ? e->width : low;
    }
    /* Finds the least width, starting at low, whose square is twice the area. */
    while (low < high) {
        int64_t middle = (low + high) / 2;

        if (middle * middle < 2 * area)
            low = middle + 1;
        else
            high = middle;
    }
    return (int)low;
}

/* Places the parts in rows from left to right: first the parts of several boxes, then single boxes;
 * each group in the order of the first box. */
static void pack(struct layout *l, const struct parts *parts)
{
    int row_width = find_row_width(parts), x = 0, y = 0, row_height = 0;

    for (int single = 0; single < 2; single++)
        for (uint32_t i = 0; i < parts->n; i++) {
            const struct extent *e = &parts->extents[i];

            if ((parts->first_box[i + 1] - parts->first_box[i] == 1) != single)
                continue;
            if (x && x + e->width > row_width) {
                x = 0;
                y += row_height + BETWEEN_PARTS;
                row_height = 0;
            }
            move_part(l, parts, i, x, y);
            row_height = e->height > row_height ? e->height : row_height;
            l->width = x + e->width > l->width ? x + e->width : l->width;
            l->height = y + row_height;
            x += e->width + BETWEEN_PARTS;
        }
}

void layout_run(struct layout *l, struct arena *arena)
{
    AUTO_ARENA own = ARENA_INIT, of_part = ARENA_INIT;
    struct parts parts = {0};

    l->width = l->height = 0;
    split(l, &parts, &own);
    for (uint32_t i = 0; i < parts.n; i++) {
        struct part p = {.arena = &of_part};

        load_part(l, &parts, i, &p);
        layout_layers(&p);
        layout_order(&p);
        layout_place(&p);
        store_part(l, &parts, i, &p, arena);
        arena_reset(&of_part);
    }
    pack(l, &parts);
}
