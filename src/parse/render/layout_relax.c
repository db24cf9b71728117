/* layout_relax.c - moves vertices sideways, without changing their order in a layer, to make edges
 * shorter and the drawing narrower. This is needed because layout_place.c makes room for straight
 * lines, which leaves some edges longer than necessary.
 *
 * Vertices move together in units: first large regions, whose vertices are joined by segments that
 * do not lead far sideways, then smaller regions, then vertices joined by straight segments, so
 * that straight lines stay straight. Each unit moves to the median of its neighbours outside of the
 * unit, as far as the vertices beside it allow. */
#include "parse/render/layout_internal.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define CYCLES 6
/* How many vertices and segments all rounds together may visit. */
#define WORK   2000000

/* The rounds of a cycle. Each value is the distance that a segment of a unit may lead sideways. */
static const int reaches[] = {2000, 1000, 500, 250, 125, 60, 0, 0};
/* In the last round, only dummies are joined. */
#define ROUNDS (sizeof(reaches) / sizeof(*reaches))

struct units {
    struct part *p;
    uint32_t *set;    /* by vertex: its unit, for layout_find */
    uint32_t *member; /* the vertices of all units, unit by unit */
    /* By root of a unit: where its members begin in `member`; they end where the next unit
     * begins. */
    uint32_t *first;
    /* Scratch: the offsets from members of one unit to their neighbours outside of it. */
    int *offset;
};

/* Joins vertices to units by segments that lead at most `reach` sideways; if `dummies`, only by
 * segments between two dummies. */
static void find_units(struct units *u, int reach, bool dummies)
{
    const struct part *p = u->p;
    uint32_t v, k;

    for (v = 0; v < p->nvertices; v++)
        u->set[v] = v;
    for (v = 0; v < p->nvertices; v++)
        for (k = p->down.at[v]; k < p->down.at[v + 1]; k++) {
            uint32_t lower = p->down.list[k];

            if (abs(p->x[v] - p->x[lower]) <= reach &&
                (!dummies || (is_dummy(p, v) && is_dummy(p, lower))))
                layout_union(u->set, v, lower);
        }
    memset(u->first, 0, (p->nvertices + 2) * sizeof(*u->first));
    for (v = 0; v < p->nvertices; v++)
        u->first[(u->set[v] = layout_find(u->set, v)) + 2]++;
    for (v = 0; v < p->nvertices; v++)
        u->first[v + 2] += u->first[v + 1];
    for (v = 0; v < p->nvertices; v++)
        u->member[u->first[u->set[v] + 1]++] = v;
}

/* Narrows least..most, the distances by which a unit can move, to the room that its vertex v has in
 * its layer. Neighbours of v in the same unit move with it. */
static void find_room(const struct units *u, uint32_t v, int *least, int *most)
{
    const struct part *p = u->p;
    const uint32_t *layer = layer_begin(p, p->layer[v]);
    uint32_t at = p->position[v];
    int room;

    if (at && u->set[layer[at - 1]] != u->set[v]) {
        room = p->x[layer[at - 1]] + layout_distance(p, layer[at - 1], v) - p->x[v];
        *least = room > *least ? room : *least;
    }
    if (at + 1 < layer_size(p, p->layer[v]) && u->set[layer[at + 1]] != u->set[v]) {
        room = p->x[layer[at + 1]] - layout_distance(p, v, layer[at + 1]) - p->x[v];
        *most = room < *most ? room : *most;
    }
}

static uint32_t add_offsets(struct units *u, const struct neighbours *n, uint32_t v, uint32_t count)
{
    const struct part *p = u->p;

    for (uint32_t k = n->at[v]; k < n->at[v + 1]; k++)
        if (u->set[n->list[k]] != u->set[v])
            u->offset[count++] = p->x[n->list[k]] - p->x[v];
    return count;
}

static int compare_offsets(const void *a, const void *b)
{
    int x = *(const int *)a, y = *(const int *)b;

    return x < y ? -1 : x > y;
}

static void move_unit(struct units *u, uint32_t root)
{
    struct part *p = u->p;
    int least = INT_MIN, most = INT_MAX, low, high, by;
    uint32_t n = 0, i;

    for (i = u->first[root]; i < u->first[root + 1]; i++) {
        find_room(u, u->member[i], &least, &most);
        n = add_offsets(u, &p->up, u->member[i], n);
        n = add_offsets(u, &p->down, u->member[i], n);
    }
    if (!n)
        return;
    qsort(u->offset, n, sizeof(*u->offset), compare_offsets);
    low = u->offset[(n - 1) / 2];
    high = u->offset[n / 2];
    /* All distances between low and high are equally good: do not move if the unit is straight
     * below a neighbour, otherwise move to the middle. */
    by = low && high ? (low + high) / 2 : 0;
    by = by < least ? least : by > most ? most : by;
    for (i = u->first[root]; by && i < u->first[root + 1]; i++)
        p->x[u->member[i]] += by;
}

void layout_relax(struct part *p)
{
    size_t bytes = (p->nvertices + 3) * sizeof(uint32_t);
    struct units u = {.p = p,
                      .set = arena_alloc(p->arena, bytes),
                      .member = arena_alloc(p->arena, bytes),
                      .first = arena_alloc(p->arena, bytes),
                      .offset = arena_alloc(p->arena, (2 * p->nsegments + 1) * sizeof(int))};
    size_t rounds = WORK / (p->nvertices + p->nsegments + 1);

    rounds = rounds > CYCLES * ROUNDS ? CYCLES * ROUNDS : rounds;
    for (size_t round = 0; round < rounds; round++) {
        find_units(&u, reaches[round % ROUNDS], round % ROUNDS == ROUNDS - 1);
        for (uint32_t i = 0; i < p->nvertices; i++) {
            uint32_t v = round / ROUNDS % 2 ? p->nvertices - 1 - i : i;

            if (u.set[v] == v)
                move_unit(&u, v);
        }
    }
}
