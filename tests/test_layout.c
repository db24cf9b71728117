/* test_layout.c - the layout of graphs: nothing overlaps, edges lead downward past all boxes, few
 * edges cross, equal input gives equal output, and large graphs take bounded time and memory. */
#include "harness.h"

#include "parse/render/layout.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

TEST_NO_DB;
TEST_LONG;

/* ---- graphs ---- */

struct graph {
    struct layout l;
    struct arena arena;
    uint64_t seed;
};

static uint32_t draw_number(struct graph *g, uint32_t below)
{
    g->seed = g->seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(g->seed >> 33) % below;
}

/* A graph of n boxes of different sizes, with room for `edges` edges. */
static struct graph make_graph(uint32_t n, uint32_t edges, uint64_t seed)
{
    struct graph g = {.l = {.nboxes = n}, .seed = seed};

    g.l.boxes = mem_zalloc((n + 1) * sizeof(*g.l.boxes));
    g.l.edges = mem_zalloc((edges + 1) * sizeof(*g.l.edges));
    for (uint32_t i = 0; i < n; i++) {
        g.l.boxes[i].width = 60 + 2 * (int)draw_number(&g, 60);
        g.l.boxes[i].height = 20 + (int)draw_number(&g, 60);
    }
    return g;
}

static void add_edge(struct graph *g, uint32_t from, uint32_t to)
{
    for (uint32_t i = 0; g->l.nboxes < 500 && i < g->l.nedges; i++)
        if (g->l.edges[i].from == from && g->l.edges[i].to == to)
            return;
    g->l.edges[g->l.nedges++] = (struct layout_edge){.from = from, .to = to};
}

/* Edges between boxes whose indexes differ by at most `window`, from the lower to the higher. */
static struct graph make_random(uint32_t n, uint32_t edges, uint32_t window, uint64_t seed)
{
    struct graph g = make_graph(n, edges, seed);

    for (uint32_t i = 0; i < edges && n > 1; i++) {
        uint32_t to = 1 + draw_number(&g, n - 1);

        add_edge(&g, to - 1 - draw_number(&g, to < window ? to : window), to);
    }
    return g;
}

static void release(struct graph *g)
{
    arena_release(&g->arena);
    free(g->l.boxes);
    free(g->l.edges);
}

static void run(struct graph *g)
{
    layout_run(&g->l, &g->arena);
}

/* ---- properties ---- */

static bool overlaps(const struct layout_box *a, int x1, int y1, int x2, int y2)
{
    return a->x < x2 && x1 < a->x + a->width && a->y < y2 && y1 < a->y + a->height;
}

static void check_boxes(const struct layout *l)
{
    for (uint32_t i = 0; i < l->nboxes; i++) {
        const struct layout_box *b = &l->boxes[i];

        CHECK(b->x >= 0 && b->y >= 0);
        CHECK(b->x + b->width <= l->width && b->y + b->height <= l->height);
        for (uint32_t k = 0; k < i; k++)
            CHECK(!overlaps(&l->boxes[k], b->x, b->y, b->x + b->width, b->y + b->height));
    }
}

/* Checks the rectangle around a piece of an edge, which contains every curve with vertical
 * tangents between its ends. */
static void check_piece(const struct layout *l, const struct layout_edge *e, uint32_t i)
{
    struct layout_point a = e->points[i - 1], b = e->points[i];
    int left = a.x < b.x ? a.x : b.x, right = a.x < b.x ? b.x : a.x;

    CHECK(a.y <= b.y);
    CHECK(left >= 0 && right <= l->width);
    if (i % 2)
        CHECK_EQ(a.x, b.x);
    else
        CHECK(a.y < b.y);
    for (uint32_t k = 0; k < l->nboxes; k++)
        if (overlaps(&l->boxes[k], left, a.y, right + 1, b.y))
            test_fail(__FILE__, __LINE__, "the edge from %u to %u touches box %u", e->from, e->to,
                      k);
}

static void check_edges(const struct layout *l)
{
    for (uint32_t i = 0; i < l->nedges; i++) {
        const struct layout_edge *e = &l->edges[i];
        const struct layout_box *from = &l->boxes[e->from], *to = &l->boxes[e->to];
        const struct layout_point *last = &e->points[e->npoints - 1];

        CHECK(e->npoints >= 4 && e->npoints % 2 == 0);
        CHECK(from->y + from->height < to->y);
        CHECK_EQ(e->points[0].x, from->x + from->width / 2);
        CHECK_EQ(e->points[0].y, from->y + from->height);
        CHECK_EQ(last->x, to->x + to->width / 2);
        CHECK_EQ(last->y, to->y);
        for (uint32_t k = 1; k < e->npoints; k++)
            check_piece(l, e, k);
    }
}

static void run_and_check(struct graph *g)
{
    run(g);
    check_boxes(&g->l);
    check_edges(&g->l);
}

/* ---- crossings ---- */

struct piece {
    int top, bottom;   /* y of the gap */
    long above, below; /* places of its ends in their layers */
};

static uint64_t count_pairs(const struct piece *p, size_t n)
{
    uint64_t crossings = 0;

    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < i; k++)
            crossings += p[i].top == p[k].top && p[i].bottom == p[k].bottom &&
                         ((p[i].above < p[k].above && p[i].below > p[k].below) ||
                          (p[i].above > p[k].above && p[i].below < p[k].below));
    return crossings;
}

/* Counts the crossings in the gaps between layers. If `naive`, counts those that there would be if
 * each layer had its boxes in the order of the input, and then its lines in the order of the
 * edges. */
static uint64_t count_crossings(const struct layout *l, bool naive)
{
    struct piece *pieces;
    uint64_t crossings;
    size_t n = 0;

    for (uint32_t i = 0; i < l->nedges; i++)
        n += l->edges[i].npoints / 2 - 1;
    pieces = mem_alloc((n + 1) * sizeof(*pieces));
    n = 0;
    for (uint32_t i = 0; i < l->nedges; i++) {
        const struct layout_edge *e = &l->edges[i];

        for (uint32_t k = 1; k + 1 < e->npoints; k += 2) {
            const struct layout_point *p = e->points;
            struct piece *piece = &pieces[n++];

            *piece = (struct piece){p[k].y, p[k + 1].y, p[k].x, p[k + 1].x};
            if (naive) {
                piece->above = k == 1 ? e->from : (long)l->nboxes + i;
                piece->below = k + 3 > e->npoints ? e->to : (long)l->nboxes + i;
            }
        }
    }
    crossings = count_pairs(pieces, n);
    free(pieces);
    return crossings;
}

/* The fewest crossings of edges between `above` upper and `below` lower boxes, by trying every
 * order of the upper ones and sorting out the lower ones exhaustively. */
static uint64_t try_orders(const struct layout *l, long *place, uint32_t from, uint32_t to,
                           uint32_t end)
{
    struct piece pieces[64];
    uint64_t fewest = UINT64_MAX;

    if (from == to) {
        if (to < end)
            return try_orders(l, place, to, end, end);
        for (uint32_t i = 0; i < l->nedges; i++)
            pieces[i] = (struct piece){0, 0, place[l->edges[i].from], place[l->edges[i].to]};
        return count_pairs(pieces, l->nedges);
    }
    for (uint32_t i = from; i < to; i++) {
        long swapped = place[from];
        uint64_t n;

        place[from] = place[i];
        place[i] = swapped;
        n = try_orders(l, place, from + 1, to, end);
        fewest = n < fewest ? n : fewest;
        place[i] = place[from];
        place[from] = swapped;
    }
    return fewest;
}

/* ---- tests ---- */

TEST(boxes_of_random_graphs_do_not_overlap_and_edges_avoid_them)
{
    static const uint32_t sizes[][3] = {{2, 1, 2},     {5, 6, 5},      {12, 14, 6},
                                        {30, 40, 8},   {60, 30, 60},   {80, 200, 20},
                                        {150, 160, 5}, {200, 500, 200}};

    for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++)
        for (uint64_t seed = 1; seed <= 3; seed++) {
            struct graph g = make_random(sizes[i][0], sizes[i][1], sizes[i][2], seed);

            run_and_check(&g);
            release(&g);
        }
}

TEST(equal_graphs_get_equal_layouts)
{
    for (uint64_t seed = 1; seed <= 4; seed++) {
        struct graph a = make_random(90, 150, 15, seed), b = make_random(90, 150, 15, seed);

        run(&a);
        run(&b);
        CHECK_EQ(a.l.width, b.l.width);
        CHECK_EQ(a.l.height, b.l.height);
        CHECK(!memcmp(a.l.boxes, b.l.boxes, a.l.nboxes * sizeof(*a.l.boxes)));
        for (uint32_t i = 0; i < a.l.nedges; i++) {
            CHECK_EQ(a.l.edges[i].npoints, b.l.edges[i].npoints);
            CHECK(!memcmp(a.l.edges[i].points, b.l.edges[i].points,
                          a.l.edges[i].npoints * sizeof(*a.l.edges[i].points)));
        }
        release(&a);
        release(&b);
    }
}

TEST(layout_has_fewer_crossings_than_boxes_in_the_order_of_the_input)
{
    uint64_t ours = 0, naive = 0;

    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct graph g = make_random(50, 70, 12, seed);

        run(&g);
        CHECK(count_crossings(&g.l, false) <= count_crossings(&g.l, true));
        ours += count_crossings(&g.l, false);
        naive += count_crossings(&g.l, true);
        release(&g);
    }
    CHECK(ours * 4 < naive);
}

TEST(small_graphs_of_two_layers_get_the_fewest_crossings_possible)
{
    for (uint64_t seed = 1; seed <= 30; seed++) {
        uint32_t above = 3 + (uint32_t)seed % 2, below = 4;
        struct graph g = make_graph(above + below, 16, seed);
        long place[8];

        for (uint32_t i = 0; i < above + below; i++)
            place[i] = i;
        for (uint32_t i = 0; i < below; i++) { /* one of the first: the graph is connected */
            add_edge(&g, 0, above + i);
            add_edge(&g, 1 + draw_number(&g, above - 1), above + i);
        }
        for (uint32_t i = 1; i < above; i++)
            add_edge(&g, i, above + draw_number(&g, below));
        run_and_check(&g);
        CHECK_EQ(count_crossings(&g.l, false), try_orders(&g.l, place, 0, above, above + below));
        release(&g);
    }
}

TEST(graph_that_can_be_drawn_without_crossings_gets_no_crossing)
{
    static const char *const graphs[] = {
        "0>1 0>2 1>3 2>3",                         /* a diamond */
        "0>1 0>2 1>3 1>4 2>5 2>6",                 /* a tree */
        "0>4 1>4 2>5 3>5 4>6 5>6",                 /* a tree that ends in one box */
        "0>1 1>2 2>3 3>4 0>4 0>3",                 /* long edges past a chain */
        "0>1 0>2 0>3 1>4 2>5 3>6 4>7 5>7 6>7",     /* three lanes */
        "2>0 2>1 5>3 5>4 0>6 1>6 3>7 4>7 6>8 7>8", /* two diamonds in one */
    };

    for (size_t i = 0; i < sizeof(graphs) / sizeof(*graphs); i++) {
        struct graph g = make_graph(10, 16, 1);
        unsigned from, to;
        int used;

        for (const char *p = graphs[i]; sscanf(p, " %u>%u%n", &from, &to, &used) == 2; p += used)
            add_edge(&g, from, to);
        run_and_check(&g);
        CHECK_EQ(count_crossings(&g.l, false), 0);
        release(&g);
    }
}

TEST(complete_graph_of_two_layers_has_the_known_number_of_crossings)
{
    struct graph g = make_graph(7, 12, 1);

    for (uint32_t i = 0; i < 12; i++)
        add_edge(&g, i % 3, 3 + i / 3);
    run_and_check(&g);
    CHECK_EQ(count_crossings(&g.l, false), 3 * 6); /* pairs of 3 times pairs of 4 */
    release(&g);
}

TEST(chain_is_a_vertical_line_with_equal_distances)
{
    struct graph g = make_graph(1000, 999, 1);

    for (uint32_t i = 1; i < 1000; i++)
        add_edge(&g, i - 1, i);
    run_and_check(&g);
    for (uint32_t i = 1; i < 1000; i++) {
        const struct layout_box *a = &g.l.boxes[i - 1], *b = &g.l.boxes[i];

        CHECK_EQ(a->x + a->width / 2, b->x + b->width / 2);
        CHECK_EQ(a->y + a->height + 36, b->y);
    }
    release(&g);
}

TEST(parent_stands_above_the_middle_of_its_children)
{
    struct graph g = make_graph(5, 8, 1);

    for (uint32_t i = 1; i < 4; i++) {
        g.l.boxes[i].width = 100;
        add_edge(&g, 0, i);
        add_edge(&g, i, 4);
    }
    run_and_check(&g);
    CHECK_EQ(g.l.boxes[0].x + g.l.boxes[0].width / 2, g.l.boxes[2].x + 50);
    CHECK_EQ(g.l.boxes[4].x + g.l.boxes[4].width / 2, g.l.boxes[2].x + 50);
    release(&g);
}

/* The box without needs could be at the top, far away from its only follower. */
TEST(box_with_a_choice_of_layers_stands_next_to_its_neighbours)
{
    struct graph g = make_graph(8, 8, 1);

    for (uint32_t i = 0; i < 5; i++)
        g.l.boxes[i].height = 40;
    for (uint32_t i = 1; i < 5; i++)
        add_edge(&g, i - 1, i);
    add_edge(&g, 5, 6); /* 5 and 7 lead to 6, which leads to the end of the chain */
    add_edge(&g, 7, 6);
    add_edge(&g, 6, 4);
    run_and_check(&g);
    CHECK(g.l.boxes[5].y > g.l.boxes[1].y + 40);
    CHECK(g.l.boxes[7].y > g.l.boxes[1].y + 40);
    CHECK(g.l.boxes[6].y > g.l.boxes[2].y + 40);
    release(&g);
}

TEST(boxes_without_edges_fill_rows)
{
    struct graph g = make_graph(1000, 0, 1);

    run_and_check(&g);
    CHECK(g.l.width < 4 * g.l.height && g.l.height < 2 * g.l.width);
    release(&g);
    g = make_graph(1, 0, 1);
    run_and_check(&g);
    CHECK_EQ(g.l.width, g.l.boxes[0].width);
    CHECK_EQ(g.l.height, g.l.boxes[0].height);
    release(&g);
    g = make_graph(0, 0, 1);
    run(&g);
    CHECK_EQ(g.l.width, 0);
    CHECK_EQ(g.l.height, 0);
    release(&g);
}

TEST(wide_and_dense_graphs_are_laid_out_without_overlaps)
{
    struct graph g = make_graph(502, 1000, 1);

    for (uint32_t i = 1; i < 501; i++) {
        add_edge(&g, 0, i);
        add_edge(&g, i, 501);
    }
    run_and_check(&g);
    CHECK_EQ(count_crossings(&g.l, false), 0);
    release(&g);
    g = make_graph(40, 780, 1);
    for (uint32_t i = 0; i < 40; i++)
        for (uint32_t k = i + 1; k < 40; k++)
            add_edge(&g, i, k);
    run_and_check(&g);
    release(&g);
}

/* 1,500 edges along a chain of 1,500 boxes would need a million dummies: the longest edges are
 * drawn directly. */
TEST(longest_edges_are_drawn_directly_if_they_need_too_many_dummy_nodes)
{
    struct graph g = make_graph(1500, 3000, 1);
    size_t points = 0, direct = 0;

    for (uint32_t i = 1; i < 1500; i++)
        add_edge(&g, i - 1, i);
    for (uint32_t i = 2; i < 1500; i++)
        add_edge(&g, draw_number(&g, i - 1), i);
    run(&g);
    check_boxes(&g.l);
    for (uint32_t i = 0; i < g.l.nedges; i++) {
        points += g.l.edges[i].npoints;
        direct += g.l.edges[i].npoints == 4 && g.l.edges[i].to > g.l.edges[i].from + 1;
    }
    CHECK(points < 2 * LAYOUT_MAX_DUMMIES + 4 * 3000);
    CHECK(direct > 100 && direct < 1500);
    release(&g);
}

/* Takes 0.3 to 0.8 s of processor time. The clock only ends a hang: see docs/adr for figures. */
TEST(layout_of_ten_thousand_boxes_with_thirty_thousand_edges_has_every_edge_point_down)
{
    static const uint32_t windows[] = {10000, 100};

    for (size_t i = 0; i < 2; i++) {
        struct graph g = make_random(10000, 30000, windows[i], 5);
        uint32_t last = 0;

        run(&g);
        for (uint32_t k = 0; k < g.l.nedges; k++) {
            const struct layout_edge *e = &g.l.edges[k];

            CHECK(g.l.boxes[e->from].y + g.l.boxes[e->from].height < g.l.boxes[e->to].y);
            last = e->npoints > last ? e->npoints : last;
        }
        CHECK(last > 4);
        release(&g);
    }
}
