/* test_graph_render.c - rendering the graph of a workflow as text. */
#include "harness.h"

#include "parse/render/graph.h"
#include "parse/workflow/file.h"

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

TEST_NO_DB;

/* Renders the workflow in `text`; the caller frees the result. */
static char *draw(const char *text, enum graph_format format, size_t width)
{
    struct diagnostics diagnostics = DIAGNOSTICS_INIT;
    struct arena arena = ARENA_INIT;
    struct buf out = BUF_INIT;
    const struct workflow *w;
    struct err err = ERR_INIT;

    CHECK_OK_ERR(workflow_parse(diagnostics_take(&diagnostics, "f.flow.yaml", text, strlen(text)),
                                "/", &diagnostics, &arena, &w, &err),
                 &err);
    graph_render(w, NULL, format, width, &out);
    arena_release(&arena);
    diagnostics_release(&diagnostics);
    return out.ptr;
}

static void check(const char *text, enum graph_format format, const char *expected)
{
    char *picture = draw(text, format, 80);

    CHECK_STR(picture, expected);
    free(picture);
}

#define DIAMOND                                                   \
    "tasks: {a: x, b: {run: x, needs: a}, c: {run: x, needs: a}," \
    " d: {run: x, needs: [b, c]}}"

TEST(ascii_edges_lead_from_a_task_to_its_followers)
{
    check(DIAMOND, GRAPH_FORMAT_ASCII,
          "f: 4 tasks\n"
          "  *    a\n"
          "  +-*  b\n"
          "  * |  c\n"
          "  *-'  d\n");
}

TEST(horizontal_ascii_edge_leaves_crossed_vertical_edges_visible)
{
    check(
        "tasks: {a: x, b: x, c: {run: x, needs: a}, d: {run: x, needs: [a, c]},\n"
        "  e: {run: x, needs: [b, c]}, f: {run: x, needs: a}, g: {run: x, needs: [f, e, d]}, h: x}",
        GRAPH_FORMAT_ASCII,
        "f: 8 tasks\n"
        "  *        a\n"
        "  | *      b\n"
        "  | | *    h\n"
        "  +-|---*  c\n"
        "  +-|-* |  f\n"
        "  *-|-|-+  d\n"
        "  | *-|-'  e\n"
        "  *-'-'    g\n");
}

/* Unrelated tasks below each other in one column would look like a chain. */
TEST(unrelated_tasks_are_drawn_in_different_ascii_columns)
{
    check("tasks: {a: x, b: x, c: x}", GRAPH_FORMAT_ASCII,
          "f: 3 tasks\n"
          "  *    a\n"
          "    *  b\n"
          "  *    c\n");
    check("tasks: [x, y, z]", GRAPH_FORMAT_ASCII,
          "f: 3 tasks\n"
          "  *  step1\n"
          "  *  step2\n"
          "  *  step3\n");
}

TEST(task_attributes_are_shown_next_to_the_task)
{
    check(
        "tasks:\n"
        "  fetch: {function: get, allow_failure: true}\n"
        "  each: {run: x, needs: fetch, foreach: [1, 2], max_parallel: 2, join: any, if: always()}\n"
        "  ask: {run: x, needs: each, approval: true}\n"
        "on_failure: x\n"
        "on_exit: {function: f}\n",
        GRAPH_FORMAT_ASCII,
        "f: 3 tasks\n"
        "  *  fetch  function get, may fail\n"
        "  *  each   if always(), join 1 of 1, for each [1,2], at most 2 at once\n"
        "  *  ask    approval\n"
        "  ! on_failure\n"
        "  ! on_exit  function f\n");
}

static void check_width(const char *picture, size_t width)
{
    const char *line = picture, *p;
    size_t n;

    for (; *line; line = *p ? p + 1 : p) {
        for (p = line, n = 0; *p && *p != '\n'; p++)
            n += ((unsigned char)*p & 0xC0) != 0x80;
        if (n > width)
            test_fail(__FILE__, __LINE__, "%zu columns: %.*s", n, (int)(p - line), line);
        CHECK(n == 0 || p[-1] != ' ');
    }
}

TEST(ascii_lines_fit_the_width_of_the_terminal)
{
    static const char text[] =
        "tasks: {a: x, a_name_that_is_rather_long_for_a_task_in_a_narrow_terminal: {run: x,\n"
        "  needs: a, if: \"tasks.a.status == 'äöüäöüäöüäöüäöüäöüäöüäöüäöüäöüäöüäöüäöüäöüäöü'\"}}";
    size_t width;

    for (width = 20; width < 130; width++) {
        char *picture = draw(text, GRAPH_FORMAT_ASCII, width);

        check_width(picture, width);
        free(picture);
    }
}

TEST(ascii_graph_with_too_many_parallel_edges_is_drawn_as_a_list)
{
    struct buf b = BUF_INIT;
    char *picture;
    int i;

    buf_addstr(&b, "tasks:\n");
    for (i = 0; i < 40; i++)
        buf_addf(&b, "  t%d: x\n", i);
    buf_addstr(&b, "  all: {run: x, needs: [");
    for (i = 0; i < 40; i++)
        buf_addf(&b, "%st%d", i ? ", " : "", i);
    buf_addstr(&b, "], if: failure()}\n");
    picture = draw(b.ptr, GRAPH_FORMAT_ASCII, 80);
    CHECK(strstr(picture, "f: 41 tasks\n  * t0\n  * t1\n"));
    CHECK(strstr(picture, "\n  * all  needs t0, t1, t2, t3, t4 and 35 more; if failure()\n"));
    check_width(picture, 80);
    free(picture);
    buf_release(&b);
}

TEST(dot_output_has_nodes_and_edges)
{
    check(
        "tasks: {a: {function: f}, b: {run: x, needs: a, if: \"tasks.a.status == 'a\\\\b'\"},\n"
        "  c: {run: x, foreach: 2, approval: 'now?'}}\non_exit: x",
        GRAPH_FORMAT_DOT,
        "digraph \"f\" {\n"
        "  rankdir=TB;\n"
        "  node [fontname=\"sans-serif\"];\n"
        "  t0 [label=\"a\\nfunction f\", shape=ellipse];\n"
        "  t1 [label=\"b\\nif success() && (tasks.a.status == 'a\\\\b')\", shape=box, style=dashed];\n"
        "  t2 [label=\"c\\nfor each 2\\napproval\", shape=octagon, peripheries=2];\n"
        "  t0 -> t1;\n"
        "  subgraph cluster_end {\n"
        "  label=\"after all others\"; style=dashed;\n"
        "  t4 [label=\"on_exit\", shape=box];\n"
        "  }\n"
        "}\n");
}

TEST(mermaid_output_has_nodes_and_edges)
{
    check("tasks: {a: {function: f}, b: {run: x, needs: a, if: \"always() || ['\\\"<#'][0]\"},\n"
          "  c: {run: x, approval: true}}\non_failure: x",
          GRAPH_FORMAT_MERMAID,
          "flowchart TD\n"
          "  t0([\"a<br/>function f\"])\n"
          "  t1[\"b<br/>if always#40;#41; #124;#124; #91;'#34;#60;#35;'#93;#91;0#93;\"]\n"
          "  t2{{\"c<br/>approval\"}}\n"
          "  t0 --> t1\n"
          "  subgraph after [after all others]\n"
          "  t3[\"on_failure\"]\n"
          "  end\n");
}

TEST(ascii_graphs_of_the_examples_fit_in_80_columns)
{
    struct diagnostics diagnostics = DIAGNOSTICS_INIT;
    struct arena arena = ARENA_INIT;
    const struct workflow *w;
    struct err err = ERR_INIT;
    glob_t found;
    size_t i;

    CHECK_EQ(glob("examples/*.flow.yaml", 0, NULL, &found), 0);
    for (i = 0; i < found.gl_pathc; i++) {
        struct buf out = BUF_INIT;

        CHECK_OK_ERR(workflow_load(found.gl_pathv[i], &diagnostics, &arena, &w, &err), &err);
        graph_render(w, NULL, GRAPH_FORMAT_ASCII, 80, &out);
        check_width(out.ptr, 80);
        if (strstr(found.gl_pathv[i], "nested.flow"))
            CHECK(strstr(out.ptr, "\n\npublish: 2 tasks\n"));
        buf_release(&out);
    }
    globfree(&found);
    arena_release(&arena);
    diagnostics_release(&diagnostics);
}
