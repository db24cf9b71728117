/* layout_order.c - orders the vertices of each layer so that few segments cross. Each round sweeps
 * over the layers, sorts the vertices of each layer by the positions of their neighbours in the
 * layer before it, and then moves single vertices inside their layers as long as that removes
 * crossings (sifting). The result is the best order of all rounds.
 *
 * The number of rounds depends only on the size of the part, and nothing is random. */
#include "parse/render/layout_internal.h"

#include <stdlib.h>
#include <string.h>

#define STARTS        8  /* number of initial orders */
#define MOST_ROUNDS   24 /* rounds for each initial order */
#define FEWEST_ROUNDS 4  /* rounds for all initial orders together */
/* Vertices and segments that all rounds together may look at, which takes some tenths of a
 * second. */
#define WORK          1500000
#define PASSES        4   /* passes over one layer in a round, as long as each removes crossings */
#define REACH         100 /* positions that a vertex may move at once */

struct slot {
    uint64_t key; /* the position of the vertex's neighbours, by which the layer is sorted */
    uint32_t vertex, tie;
};

struct search {
    struct part *p;
    uint32_t *fill; /* by vertex; used by sort_neighbours */
    uint32_t *tree; /* used by count_layer */
    uint32_t *best; /* the order with the fewest crossings so far */
    uint64_t fewest;
    struct slot *slots; /* room for the vertices of one layer */
};

/* ---- neighbours ---- */

/* For each vertex of a layer, sorts the list of its upper (or lower) neighbours by position: goes
 * through the layer above (or below) from left to right and adds each vertex to the lists that
 * contain it. */
static void sort_neighbours(struct search *s, uint32_t layer, bool up)
{
    struct part *p = s->p;
    struct neighbours *mine = up ? &p->up : &p->down, *theirs = up ? &p->down : &p->up;
    uint32_t other = up ? layer - 1 : layer + 1, i, k;

    if (up ? !layer : other == p->nlayers)
        return;
    for (i = 0; i < layer_size(p, layer); i++) {
        uint32_t v = layer_begin(p, layer)[i];

        s->fill[v] = mine->at[v];
    }
    for (i = 0; i < layer_size(p, other); i++) {
        uint32_t u = layer_begin(p, other)[i];

        for (k = theirs->at[u]; k < theirs->at[u + 1]; k++)
            mine->list[s->fill[theirs->list[k]]++] = u;
    }
}

static void number_layer(struct part *p, uint32_t layer)
{
    for (uint32_t i = 0; i < layer_size(p, layer); i++)
        p->position[layer_begin(p, layer)[i]] = i;
}

/* ---- crossings ---- */

/* Counts the crossings between a layer and the layer above it, by the method of Barth, Jünger and
 * Mutzel. The lists of upper neighbours must be sorted. Takes the segments by their lower end and
 * counts, for each, the earlier segments whose upper end is farther right. The tree holds the
 * number of upper ends in each half, quarter and so on of the upper layer. */
static uint64_t count_layer(struct search *s, uint32_t layer)
{
    const struct part *p = s->p;
    uint32_t leaves = 1, i, k, at;
    uint64_t crossings = 0;

    while (leaves < layer_size(p, layer - 1))
        leaves *= 2;
    memset(s->tree, 0, 2 * leaves * sizeof(*s->tree));
    for (i = 0; i < layer_size(p, layer); i++) {
        uint32_t v = layer_begin(p, layer)[i];

        for (k = p->up.at[v]; k < p->up.at[v + 1]; k++)
            for (at = leaves + p->position[p->up.list[k]]; at > 1; at /= 2)
                if (at % 2 == 0)
                    crossings += s->tree[at + 1];
        for (k = p->up.at[v]; k < p->up.at[v + 1]; k++)
            for (at = leaves + p->position[p->up.list[k]]; at; at /= 2)
                s->tree[at]++;
    }
    return crossings;
}

/* Counts all crossings, and keeps the order if it has fewer than any earlier order. */
static void judge_order(struct search *s)
{
    uint64_t crossings = 0;

    for (uint32_t layer = 1; layer < s->p->nlayers; layer++) {
        sort_neighbours(s, layer, true);
        crossings += count_layer(s, layer);
    }
    if (crossings < s->fewest) {
        s->fewest = crossings;
        memcpy(s->best, s->p->order, s->p->nvertices * sizeof(*s->best));
    }
}

/* Returns the number of crossings between the segments of u and the segments of v on one side (up
 * or down) if u is left of v, minus that number if v is left of u. The lists of neighbours are
 * sorted. */
static int64_t compare_sides(const struct part *p, const struct neighbours *n, uint32_t u,
                             uint32_t v)
{
    const uint32_t *a = n->list + n->at[u], *b = n->list + n->at[v];
    uint32_t na = degree(n, u), nb = degree(n, v), left = 0, equal = 0;
    int64_t difference = 0;

    for (uint32_t i = 0; i < na; i++) {
        uint32_t x = p->position[a[i]];

        while (left < nb && p->position[b[left]] < x)
            left++;
        for (equal = left; equal < nb && p->position[b[equal]] == x;)
            equal++;
        difference += (int64_t)left - (int64_t)(nb - equal);
    }
    return difference;
}

/* The number of crossings that are removed if u, now left of v, moves to the right of v; negative
 * if crossings are added. */
static int64_t gain_of(const struct part *p, uint32_t u, uint32_t v)
{
    return compare_sides(p, &p->up, u, v) + compare_sides(p, &p->down, u, v);
}

/* Exchanges adjacent vertices as long as that removes crossings. If `even`, the first pass also
 * exchanges vertices where the number of crossings stays the same, to escape from some local
 * optima. */
static void exchange_in_layer(struct search *s, uint32_t layer, bool even)
{
    struct part *p = s->p;
    uint32_t *at = layer_begin(p, layer), n = layer_size(p, layer);
    bool better = true;

    sort_neighbours(s, layer, true);
    sort_neighbours(s, layer, false);
    for (int pass = 0; better && pass < PASSES; pass++) {
        better = false;
        for (uint32_t i = 0; i + 1 < n; i++) {
            int64_t gain = gain_of(p, at[i], at[i + 1]);

            if (gain > 0 || (gain == 0 && even && !pass)) {
                uint32_t v = at[i];

                at[i] = at[i + 1];
                at[i + 1] = v;
                better = better || gain > 0;
            }
        }
    }
    number_layer(p, layer);
}

/* Moves a vertex to its best position in the layer, at most REACH positions away. */
static bool sift(const struct part *p, uint32_t *at, uint32_t n, uint32_t i)
{
    uint32_t v = at[i], to = i, k;
    int64_t gain = 0, most = 0;

    for (k = i + 1; k < n && k - i <= REACH; k++)
        if ((gain += gain_of(p, v, at[k])) > most) {
            most = gain;
            to = k;
        }
    gain = 0;
    for (k = i; k-- > 0 && i - k <= REACH;)
        if ((gain += gain_of(p, at[k], v)) > most) {
            most = gain;
            to = k;
        }
    if (to > i)
        memmove(at + i, at + i + 1, (to - i) * sizeof(*at));
    else
        memmove(at + to + 1, at + to, (i - to) * sizeof(*at));
    at[to] = v;
    return most > 0;
}

static void sift_layer(struct search *s, uint32_t layer)
{
    struct part *p = s->p;
    uint32_t *at = layer_begin(p, layer), n = layer_size(p, layer);
    bool better = true;

    sort_neighbours(s, layer, true);
    sort_neighbours(s, layer, false);
    for (int pass = 0; better && pass < PASSES; pass++) {
        better = false;
        for (uint32_t i = 0; i < n; i++)
            better |= sift(p, at, n, i);
    }
    number_layer(p, layer);
}

/* ---- sweeps ---- */

/* The sort key of a vertex: the median of its neighbours' positions or, if `mean`, their mean, in
 * fractions of 1/65536. */
static uint64_t key_of(const struct part *p, const struct neighbours *n, uint32_t v, bool mean)
{
    const uint32_t *list = n->list + n->at[v];
    uint32_t count = degree(n, v);
    uint64_t sum = 0;

    if (!mean)
        return ((uint64_t)p->position[list[(count - 1) / 2]] + p->position[list[count / 2]]) << 15;
    for (uint32_t i = 0; i < count; i++)
        sum += p->position[list[i]];
    return (sum << 16) / count;
}

static int compare_slots(const void *a, const void *b)
{
    const struct slot *x = a, *y = b;

    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    return x->tie < y->tie ? -1 : 1;
}

/* Sorts a layer by the positions of its upper (or lower) neighbours. A vertex without such
 * neighbours keeps its position. */
static void sort_layer(struct search *s, uint32_t layer, bool up, bool mean, bool reverse)
{
    struct part *p = s->p;
    const struct neighbours *n = up ? &p->up : &p->down;
    uint32_t *at = layer_begin(p, layer), size = layer_size(p, layer), count = 0, i, k;
    bool sorted = true;

    sort_neighbours(s, layer, up);
    for (i = 0; i < size; i++)
        if (degree(n, at[i])) {
            s->slots[count] =
                (struct slot){key_of(p, n, at[i], mean), at[i], reverse ? size - i : i};
            sorted =
                sorted && (!count || compare_slots(&s->slots[count - 1], &s->slots[count]) < 0);
            count++;
        }
    if (sorted)
        return;
    qsort(s->slots, count, sizeof(*s->slots), compare_slots);
    for (i = k = 0; i < size; i++)
        if (degree(n, at[i]))
            at[i] = s->slots[k++].vertex;
    number_layer(p, layer);
}

static void improve_order(struct search *s, uint32_t round)
{
    struct part *p = s->p;
    bool down = round % 2 == 0, mean = round % 4 >= 2, reverse = round % 8 >= 4;
    uint32_t i;

    for (i = 1; i < p->nlayers; i++)
        sort_layer(s, down ? i : p->nlayers - 1 - i, down, mean, reverse);
    for (i = 0; i < p->nlayers; i++)
        exchange_in_layer(s, down ? i : p->nlayers - 1 - i, reverse);
    for (i = p->nlayers; i-- > 0;)
        exchange_in_layer(s, down ? i : p->nlayers - 1 - i, false);
    judge_order(s);
}

/* Makes the best order so far the current order. */
static void restore_best(struct search *s)
{
    memcpy(s->p->order, s->best, s->p->nvertices * sizeof(*s->best));
    for (uint32_t i = 0; i < s->p->nlayers; i++)
        number_layer(s->p, i);
}

/* Moves single vertices farther than the rounds before, as long as that removes crossings. */
static void polish_order(struct search *s, uint32_t rounds)
{
    uint64_t before = UINT64_MAX;
    uint32_t i;

    restore_best(s);
    for (; rounds && s->fewest && s->fewest < before; rounds--) {
        before = s->fewest;
        for (i = 0; i < s->p->nlayers; i++)
            sift_layer(s, i);
        for (i = s->p->nlayers; i-- > 0;)
            sift_layer(s, i);
        judge_order(s);
    }
}

/* ---- the first order ---- */

/* Fills the layers in the order in which a depth-first search from the top (or bottom) finds the
 * vertices, so that branches are side by side. The search visits boxes in the order of the input,
 * or in the opposite order. */
static void find_first_order(struct search *s, bool down, bool reverse)
{
    struct part *p = s->p;
    const struct neighbours *n = down ? &p->down : &p->up, *back = down ? &p->up : &p->down;
    uint32_t *stack = arena_alloc(p->arena, (p->nsegments + p->nvertices + 1) * sizeof(*stack));
    bool *seen = arena_zalloc(p->arena, p->nvertices + 1);
    uint32_t *used = arena_zalloc(p->arena, (p->nlayers + 1) * sizeof(*used));
    uint32_t depth = 0, v, k;

    for (k = 0; k < p->nvertices; k++) {
        v = reverse ? k : p->nvertices - 1 - k;
        if (!degree(back, v))
            stack[depth++] = v;
    }
    while (depth) {
        v = stack[--depth];
        if (seen[v])
            continue;
        seen[v] = true;
        p->position[v] = used[p->layer[v]]++;
        layer_begin(p, p->layer[v])[p->position[v]] = v;
        for (k = 0; k < degree(n, v); k++)
            stack[depth++] = n->list[reverse ? n->at[v] + k : n->at[v + 1] - 1 - k];
    }
}

static void measure_layers(struct part *p)
{
    p->first = arena_zalloc(p->arena, (p->nlayers + 2) * sizeof(*p->first));
    for (uint32_t v = 0; v < p->nvertices; v++)
        p->first[p->layer[v] + 1]++;
    for (uint32_t i = 0; i < p->nlayers; i++)
        p->first[i + 1] += p->first[i];
}

void layout_order(struct part *p)
{
    size_t n = p->nvertices + 1;
    uint32_t left = WORK / (p->nvertices + p->nsegments + 1);
    struct search s = {.p = p,
                       .fill = arena_alloc(p->arena, n * sizeof(*s.fill)),
                       .tree = arena_alloc(p->arena, 4 * n * sizeof(*s.tree)),
                       .best = arena_alloc(p->arena, n * sizeof(*s.best)),
                       .slots = arena_alloc(p->arena, n * sizeof(*s.slots)),
                       .fewest = UINT64_MAX};
    bool enough; /* whether the part is small enough for the slower steps */

    measure_layers(p);
    p->order = arena_alloc(p->arena, n * sizeof(*p->order));
    p->position = arena_alloc(p->arena, n * sizeof(*p->position));
    enough = left >= STARTS * MOST_ROUNDS;
    left = left < FEWEST_ROUNDS ? FEWEST_ROUNDS : left;
    for (uint32_t start = 0; start < STARTS && left && s.fewest; start++) {
        uint32_t rounds = left < MOST_ROUNDS ? left : MOST_ROUNDS;

        find_first_order(&s, start % 2 == 0, start % 4 >= 2);
        judge_order(&s);
        for (uint32_t round = 0; round < rounds && s.fewest; round++)
            improve_order(&s, round + start / 4 * 2 + start % 2);
        if (enough)
            polish_order(&s, rounds);
        left -= rounds;
    }
    restore_best(&s);
    for (uint32_t i = 0; i < p->nlayers; i++) {
        sort_neighbours(&s, i, true);
        sort_neighbours(&s, i, false);
    }
}
