/* test_graph_render.c - rendering the graph of a workflow as text and as a picture. */
#include "harness.h"

#include "parse/render/graph.h"
#include "parse/workflow/file.h"

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

TEST_NO_DB;

/* Renders the workflow in `text`, or a run of it; the caller frees the result. */
static char *draw_run(const char *text, const struct graph_state *state, enum graph_format format,
                      size_t width)
{
    struct diagnostics diagnostics = DIAGNOSTICS_INIT;
    struct arena arena = ARENA_INIT;
    struct buf out = BUF_INIT;
    const struct workflow *w;
    struct err err = ERR_INIT;

    CHECK_OK_ERR(workflow_parse(diagnostics_take(&diagnostics, "f.flow.yaml", text, strlen(text)),
                                "/", &diagnostics, &arena, &w, &err),
                 &err);
    graph_render(w, state, format, width, &out);
    arena_release(&arena);
    diagnostics_release(&diagnostics);
    return out.ptr;
}

static char *draw(const char *text, enum graph_format format, size_t width)
{
    return draw_run(text, NULL, format, width);
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

/* Unrelated tasks directly below each other in one column would look like a chain. */
TEST(unrelated_tasks_on_adjacent_lines_are_drawn_in_different_ascii_columns)
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

/* ---- svg ---- */

static void has(const char *picture, const char *text)
{
    if (!strstr(picture, text))
        test_fail(__FILE__, __LINE__, "%s is missing in %s", text, picture);
}

TEST(svg_has_boxes_edges_and_a_description)
{
    char *picture = draw(DIAMOND, GRAPH_FORMAT_SVG, 80);

    has(picture, "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"pawl\" width=\"320\" "
                 "height=\"268\" viewBox=\"0 0 320 268\" role=\"img\" "
                 "aria-labelledby=\"pawl-title pawl-desc\">\n"
                 "<title id=\"pawl-title\">f: 4 tasks</title>\n"
                 "<desc id=\"pawl-desc\">a; b, needs a; c, needs a; d, needs b, c.</desc>\n"
                 "<style>\n");
    has(picture, "@media (prefers-color-scheme:dark){\n");
    has(picture, "<path class=\"edge\" d=\"M144 58C144 74 75 74 75 90\"/>"
                 "<path class=\"arrow\" d=\"M75 98l-4 -9h8z\"/>\n");
    has(picture, "<g class=\"box plain\"><title>a</title>\n"
                 "<rect x=\"89\" y=\"20\" width=\"110\" height=\"38\" rx=\"6\"/>\n");
    has(picture, "<text class=\"name\" x=\"123\" y=\"45\">a</text>\n");
    CHECK(!strstr(picture, "href") && !strstr(picture, "url(") && !strstr(picture, "<script"));
    free(picture);
}

TEST(svg_box_shows_the_function_condition_list_and_approval_of_its_task)
{
    char *picture = draw("tasks:\n"
                         "  fetch: {function: get, allow_failure: true}\n"
                         "  each: {run: x, needs: fetch, foreach: [1, 2], if: always()}\n"
                         "  ask: {run: x, needs: each, approval: true}\n"
                         "on_failure: x\n",
                         GRAPH_FORMAT_SVG, 80);

    has(picture, ">function get</text>");
    has(picture, ">may fail</text>");
    has(picture, "<path class=\"edge maybe\"");
    has(picture, "<g class=\"box plain condition\"><title>each</title>");
    has(picture, ">if always()</text>");
    has(picture, ">for each [1,2]</text>");
    has(picture, ">approval</text>");
    has(picture, ">after all others</text>");
    has(picture, "; on_failure, after all others.</desc>");
    free(picture);
}

TEST(svg_escapes_every_text_of_the_workflow)
{
    char *picture = draw("tasks:\n"
                         "  a: {run: x, description: \"</title><script>alert(1)</script>\\n]]>"
                         "\\u202e\\uffff\"}\n"
                         "  b: {run: x, needs: a, foreach: ['</text><script>', '\"&''']}\n",
                         GRAPH_FORMAT_SVG, 80);

    CHECK(!strstr(picture, "<script") && !strstr(picture, "]]>"));
    has(picture, "<title>a. &lt;/title&gt;&lt;script&gt;alert(1)&lt;/script&gt; "
                 "]]&gt;\xEF\xBF\xBD\xEF\xBF\xBD</title>");
    has(picture, "&lt;/text&gt;&lt;script&gt;");
    free(picture);
}

TEST(svg_shows_status_duration_and_items_of_a_run)
{
    struct graph_counts items = {.total = 100};
    struct graph_task_state tasks[] = {
        {.status = S_SUCCEEDED, .duration = 1500000},
        {.status = S_RUNNING, .duration = 60000000, .items = &items},
        {.status = S_FAILED, .duration = 1000},
        {.status = S_READY, .held = HELD_APPROVAL, .duration = -1},
        {.duration = -1},
        {.duration = -1},
    };
    struct graph_state state = {S_RUNNING, tasks};
    char *picture;

    items.by_status[S_SUCCEEDED] = 11;
    items.by_status[S_FAILED] = 1;
    items.by_status[S_PENDING] = 88;
    picture = draw_run("tasks: {a: x, b: {run: x, needs: a, foreach: 100},"
                       " c: {run: x, needs: a, allow_failure: true}, d: {run: x, needs: c}}",
                       &state, GRAPH_FORMAT_SVG, 80);
    has(picture, "<title id=\"pawl-title\">f: 4 tasks, running</title>");
    has(picture, "<g class=\"box succeeded\"><title>a: succeeded, 1.5 s</title>");
    has(picture, ">12/100 done, 1 failed</text>");
    has(picture, "<g class=\"box allowed\"><title>c: failed (allowed), 1.0 ms</title>");
    has(picture, "<g class=\"box ready\"><title>d: ready: approval</title>");
    free(picture);
}

/* ---- folding ---- */

/* Adds tasks NAME0 to NAMEn-1 with these needs. */
static void add_tasks(struct buf *b, const char *name, int n, const char *needs)
{
    for (int i = 0; i < n; i++)
        buf_addf(b, "  %s%d: {run: x, needs: [%s]}\n", name, i, needs);
}

TEST(tasks_with_equal_needs_and_followers_share_a_box_in_a_graph_of_more_than_300_tasks)
{
    struct buf b = BUF_INIT;
    char *picture;

    buf_addstr(&b, "tasks:\n  first: x\n");
    add_tasks(&b, "load", 200, "first");
    add_tasks(&b, "check", 98, "first");
    buf_addstr(&b, "  last: {run: x, needs: [first");
    for (int i = 0; i < 200; i++)
        buf_addf(&b, ", load%d", i);
    buf_addstr(&b, "]}\n");
    picture = draw(b.ptr, GRAPH_FORMAT_SVG, 80); /* 300 tasks */
    has(picture, "<title>load199</title>");
    CHECK(!strstr(picture, "more tasks"));
    free(picture);
    buf_addstr(&b, "  alone: x\n");
    picture = draw(b.ptr, GRAPH_FORMAT_SVG, 80);
    has(picture, ">301 tasks are drawn as 5 boxes: tasks with the same needs and followers share "
                 "one</text>");
    has(picture, "<desc id=\"pawl-desc\">first; load0 +199 more, needs first; check0 +97 more, "
                 "needs first; last, needs first, load0 +199 more; alone.</desc>");
    free(picture);
    buf_release(&b);
}

TEST(svg_group_box_counts_its_tasks_and_is_failed_if_one_of_them_failed)
{
    struct graph_task_state *tasks = mem_zalloc(310 * sizeof(*tasks));
    struct graph_state state = {S_RUNNING, tasks};
    struct buf b = BUF_INIT;
    char *picture;

    buf_addstr(&b, "tasks:\n");
    add_tasks(&b, "t", 305, "");
    for (int i = 0; i < 305; i++)
        tasks[i] = (struct graph_task_state){.status = S_SUCCEEDED, .duration = 5};
    tasks[7].status = S_FAILED;
    tasks[9].status = S_RUNNING;
    picture = draw_run(b.ptr, &state, GRAPH_FORMAT_SVG, 80);
    has(picture, "t0 +304 more: failed, 304/305 done, 1 running, 1 failed.</desc>");
    free(picture);
    free(tasks);
    buf_release(&b);
}
