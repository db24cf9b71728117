/* layout_layers.c - gives each box a layer below all boxes that lead to it. Edges longer than one
 * layer are divided by dummies into segments from layer to layer. */
#include "parse/render/layout_internal.h"

#include <string.h>

/* Lists the lower or upper neighbours of each vertex, in the order of the segments. */
static struct neighbours list_neighbours(struct arena *arena, uint32_t nvertices,
                                         const struct segment *segments, uint32_t n, bool lower)
{
    struct neighbours out = {arena_zalloc(arena, (nvertices + 2) * sizeof(*out.at)),
                             arena_alloc(arena, (n + 1) * sizeof(*out.list))};
    uint32_t *at = out.at + 1; /* shifted by one while counting; filling shifts it back */
    uint32_t i;

    for (i = 0; i < n; i++)
        at[(lower ? segments[i].upper : segments[i].lower) + 1]++;
    for (i = 0; i < nvertices; i++)
        at[i + 1] += at[i];
    for (i = 0; i < n; i++)
        out.list[at[lower ? segments[i].upper : segments[i].lower]++] =
            lower ? segments[i].lower : segments[i].upper;
    return out;
}

/* ---- layers ---- */

/* Returns the boxes in an order in which each comes after its upper neighbours. */
static uint32_t *sort_boxes(const struct part *p)
{
    uint32_t *order = arena_alloc(p->arena, (p->nboxes + 1) * sizeof(*order)), n = 0, v, i;
    uint32_t *left = arena_alloc(p->arena, (p->nboxes + 1) * sizeof(*left));

    for (v = 0; v < p->nboxes; v++)
        if (!(left[v] = degree(&p->up, v)))
            order[n++] = v;
    for (uint32_t done = 0; done < n; done++)
        for (v = order[done], i = p->down.at[v]; i < p->down.at[v + 1]; i++)
            if (!--left[p->down.list[i]])
                order[n++] = p->down.list[i];
    return order;
}

/* The highest layer that is below all upper neighbours of v. */
static uint32_t layer_below(const struct part *p, uint32_t v)
{
    uint32_t layer = 0;

    for (uint32_t k = p->up.at[v]; k < p->up.at[v + 1]; k++)
        if (p->layer[p->up.list[k]] >= layer)
            layer = p->layer[p->up.list[k]] + 1;
    return layer;
}

/* Gives each box the highest layer that its upper neighbours allow. Then moves boxes without upper
 * neighbours down, close to their lower neighbours. */
static void assign_layers(struct part *p, const uint32_t *order)
{
    for (uint32_t i = 0; i < p->nboxes; i++)
        p->layer[order[i]] = layer_below(p, order[i]);
    for (uint32_t v = 0; v < p->nboxes; v++) {
        uint32_t layer = UINT32_MAX;

        for (uint32_t k = p->down.at[v]; k < p->down.at[v + 1]; k++)
            if (p->layer[p->down.list[k]] < layer)
                layer = p->layer[p->down.list[k]];
        if (!degree(&p->up, v) && degree(&p->down, v))
            p->layer[v] = layer - 1;
    }
}

/* Moves boxes up towards their upper neighbours where this leaves the sum of edge lengths the
 * same. */
static void raise_boxes(struct part *p, const uint32_t *order)
{
    for (uint32_t i = 0; i < p->nboxes; i++) {
        uint32_t v = order[i];

        if (degree(&p->up, v) && degree(&p->up, v) >= degree(&p->down, v))
            p->layer[v] = layer_below(p, v);
    }
}

/* Counts the layers and removes empty ones. */
static void count_layers(struct part *p)
{
    uint32_t most = 0, v, *number;

    for (v = 0; v < p->nboxes; v++)
        most = p->layer[v] > most ? p->layer[v] : most;
    number = arena_zalloc(p->arena, (most + 1) * sizeof(*number));
    for (v = 0; v < p->nboxes; v++)
        number[p->layer[v]] = 1;
    for (v = 0; v <= most; v++)
        number[v] = number[v] ? p->nlayers++ : 0;
    for (v = 0; v < p->nboxes; v++)
        p->layer[v] = number[p->layer[v]];
}

/* ---- dummies ---- */

static uint32_t span(const struct part *p, const struct link *l)
{
    return p->layer[l->to] - p->layer[l->from];
}

/* The longest span of edges that get dummies, chosen so that the part has at most
 * LAYOUT_MAX_DUMMIES. */
static uint32_t find_longest_span(const struct part *p)
{
    uint32_t *count = arena_zalloc(p->arena, (p->nlayers + 1) * sizeof(*count));
    uint64_t dummies = 0;
    uint32_t i;

    for (i = 0; i < p->nlinks; i++)
        count[span(p, &p->links[i])]++;
    for (i = 1; i < p->nlayers; i++) {
        dummies += (uint64_t)count[i] * (i - 1);
        if (dummies > LAYOUT_MAX_DUMMIES)
            break;
    }
    return i - 1;
}

/* Numbers the dummies, and enlarges the arrays that have an entry for each vertex. */
static void add_dummies(struct part *p)
{
    uint32_t longest = find_longest_span(p), i, k, *layer;
    int *widths;

    p->nsegments = 0;
    for (i = 0; i < p->nlinks; i++) {
        struct link *l = &p->links[i];
        uint32_t length = span(p, l);

        l->dummy = p->nvertices;
        l->ndummies = length <= longest ? length - 1 : 0;
        p->nvertices += l->ndummies;
        p->nsegments += length <= longest ? length : 0;
    }
    layer = arena_alloc(p->arena, (p->nvertices + 1) * sizeof(*layer));
    widths = arena_zalloc(p->arena, (p->nvertices + 1) * sizeof(*widths));
    memcpy(layer, p->layer, p->nboxes * sizeof(*layer));
    memcpy(widths, p->widths, p->nboxes * sizeof(*widths));
    for (i = 0; i < p->nlinks; i++)
        for (k = 0; k < p->links[i].ndummies; k++)
            layer[p->links[i].dummy + k] = layer[p->links[i].from] + 1 + k;
    p->layer = layer;
    p->widths = widths;
}

static void link_vertices(struct part *p)
{
    struct segment *segments = arena_alloc(p->arena, (p->nsegments + 1) * sizeof(*segments));
    uint32_t n = 0, i, k;

    for (i = 0; i < p->nlinks; i++) {
        const struct link *l = &p->links[i];
        uint32_t above = l->from;

        if (span(p, l) != l->ndummies + 1)
            continue; /* too long: the edge is ignored until the edges are routed */
        for (k = 0; k < l->ndummies; k++) {
            segments[n++] = (struct segment){above, l->dummy + k};
            above = l->dummy + k;
        }
        segments[n++] = (struct segment){above, l->to};
    }
    p->up = list_neighbours(p->arena, p->nvertices, segments, n, false);
    p->down = list_neighbours(p->arena, p->nvertices, segments, n, true);
}

void layout_layers(struct part *p)
{
    struct segment *whole = arena_alloc(p->arena, (p->nlinks + 1) * sizeof(*whole));
    const uint32_t *order;

    for (uint32_t i = 0; i < p->nlinks; i++)
        whole[i] = (struct segment){p->links[i].from, p->links[i].to};
    p->up = list_neighbours(p->arena, p->nboxes, whole, p->nlinks, false);
    p->down = list_neighbours(p->arena, p->nboxes, whole, p->nlinks, true);
    p->layer = arena_zalloc(p->arena, (p->nboxes + 1) * sizeof(*p->layer));
    order = sort_boxes(p);
    assign_layers(p, order);
    layout_tighten(p);
    raise_boxes(p, order);
    count_layers(p);
    add_dummies(p);
    link_vertices(p);
}
