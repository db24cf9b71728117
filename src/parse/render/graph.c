/* graph.c - writes the graph of a workflow for programs that draw it: Graphviz and Mermaid. */
#include "parse/render/graph.h"

#include "base/text.h"
#include "parse/source.h"

#include <string.h>

#define LONGEST 40 /* characters shown of an expression in a label */

void render_cut_text(struct buf *out, const char *text, size_t longest)
{
    AUTO_BUF seen = BUF_INIT;
    size_t n = 0, at = 0, cut = 0;

    source_add_visible(&seen, text, strlen(text));
    for (; at < seen.len; at += text_step(seen.ptr + at, seen.len - at))
        if (n++ + 3 == longest)
            cut = at; /* the text is cut here if it is too long */
    buf_add(out, buf_cstr(&seen), n > longest ? cut : seen.len);
    if (n > longest)
        buf_addstr(out, "...");
}

/* Adds the list of a fan-out, which is JSON; if it is a string, without the quotes. */
static void add_foreach(struct buf *out, const char *json, size_t longest)
{
    size_t quotes = *json == '"';
    AUTO_FREE char *text = mem_printf("%.*s", (int)(strlen(json) - 2 * quotes), json + quotes);

    render_cut_text(out, text, longest);
}

void render_task_notes(const struct workflow_task *t, const struct graph_state *state,
                       const char *between, size_t longest, struct buf *out)
{
    size_t from = out->len;

#define NEXT (out->len > from ? between : "")
    if (state_of(state, t))
        buf_addstr(out, state_of(state, t));
    if (t->nested)
        buf_addf(out, "%sworkflow %s", NEXT, t->nested->name);
    if (t->function)
        buf_addf(out, "%sfunction %s", NEXT, t->function);
    if (task_is_custom(t))
        buf_addf(out, "%sexecutor %s", NEXT, t->executor);
    if (t->condition) {
        buf_addf(out, "%sif ", NEXT);
        render_cut_text(out, t->condition, longest);
    }
    if (t->join)
        buf_addf(out, "%sjoin %d of %u", NEXT, t->join, t->nneeds);
    if (t->foreach) {
        buf_addf(out, "%sfor each ", NEXT);
        add_foreach(out, t->foreach, longest);
    }
    if (t->max_parallel)
        buf_addf(out, "%sat most %d at once", NEXT, t->max_parallel);
    if (t->allow_failure)
        buf_addf(out, "%smay fail", NEXT);
    if (t->approval.wanted)
        buf_addf(out, "%sapproval", NEXT);
#undef NEXT
}

/* Sets *out to the label of a task: its name and its notes, one per line. */
static void make_label(const struct workflow_task *t, const struct graph_state *state,
                       struct buf *out)
{
    buf_reset(out);
    buf_addstr(out, t->name);
    buf_addch(out, '\n');
    render_task_notes(t, state, "\n", LONGEST, out);
    if (out->ptr[out->len - 1] == '\n')
        out->len--;
    out->ptr[out->len] = '\0';
}

static const struct workflow_task *hook(const struct workflow *w, int i)
{
    return i ? w->on_exit : w->on_failure;
}

/* ---- Graphviz ---- */

static void dot_text(struct buf *out, const char *text)
{
    buf_addch(out, '"');
    text_label(out, text);
    buf_addch(out, '"');
}

static const char *dot_color(const char *status)
{
    static const char *const colors[][2] = {{"succeeded", ", color=green3"},
                                            {"failed", ", color=red"},
                                            {"timed_out", ", color=red"},
                                            {"cancelled", ", color=orange"},
                                            {"running", ", color=blue"}};

    for (size_t i = 0; status && i < sizeof(colors) / sizeof(*colors); i++)
        if (!strcmp(status, colors[i][0]))
            return colors[i][1];
    return status ? ", color=gray" : "";
}

/* Whether the task calls something with values, as opposed to running a command. */
static bool is_called(const struct workflow_task *t)
{
    return t->function || task_is_custom(t);
}

static void dot_task(struct buf *out, const struct workflow_task *t,
                     const struct graph_state *state, struct buf *text)
{
    make_label(t, state, text);
    buf_addf(out, "  t%u [label=", t->index);
    dot_text(out, text->ptr);
    buf_addf(out, ", shape=%s%s%s%s];\n",
             t->approval.wanted ? "octagon"
             : t->nested        ? "box3d"
             : is_called(t)     ? "ellipse"
                                : "box",
             t->foreach ? ", peripheries=2" : "", t->condition ? ", style=dashed" : "",
             dot_color(state_of(state, t)));
}

static void write_dot(const struct workflow *w, const struct graph_state *state, struct buf *out)
{
    AUTO_BUF text = BUF_INIT;

    buf_addstr(out, "digraph ");
    dot_text(out, w->name);
    buf_addstr(out, " {\n  rankdir=TB;\n  node [fontname=\"sans-serif\"];\n");
    for (uint32_t i = 0; i < w->ntasks; i++)
        dot_task(out, &w->tasks[i], state, &text);
    for (uint32_t i = 0; i < w->ntasks; i++)
        for (uint32_t k = 0; k < w->tasks[i].nneeds; k++)
            buf_addf(out, "  t%u -> t%u;\n", w->tasks[i].needs[k], i);
    if (w->on_failure || w->on_exit)
        buf_addstr(out, "  subgraph cluster_end {\n  label=\"after all others\"; style=dashed;\n");
    for (uint32_t i = 0; i < 2; i++)
        if (hook(w, (int)i))
            dot_task(out, hook(w, (int)i), state, &text);
    buf_addstr(out, w->on_failure || w->on_exit ? "  }\n}\n" : "}\n");
}

/* ---- Mermaid ---- */

/* Adds text to a label. Mermaid's labels are HTML, with entities of the form #NUMBER; instead. */
static void mermaid_text(struct buf *out, const char *text)
{
    for (; *text; text++)
        if (*text == '\n')
            buf_addstr(out, "<br/>");
        else if (strchr("\"#<>&`\\[]{}()|;", *text))
            buf_addf(out, "#%d;", *text);
        else
            buf_addch(out, *text);
}

static void mermaid_task(struct buf *out, const struct workflow_task *t,
                         const struct graph_state *state, struct buf *text)
{
    static const char *const shapes[][2] = {{"[", "]"}, {"([", "])"}, {"[[", "]]"}, {"{{", "}}"}};
    const char *const *shape = shapes[t->approval.wanted ? 3
                                      : t->nested        ? 2
                                      : is_called(t)     ? 1
                                                         : 0];

    make_label(t, state, text);
    buf_addf(out, "  t%u%s\"", t->index, shape[0]);
    mermaid_text(out, text->ptr);
    buf_addf(out, "\"%s\n", shape[1]);
}

static void write_mermaid(const struct workflow *w, const struct graph_state *state,
                          struct buf *out)
{
    AUTO_BUF text = BUF_INIT;

    buf_addstr(out, "flowchart TD\n");
    for (uint32_t i = 0; i < w->ntasks; i++)
        mermaid_task(out, &w->tasks[i], state, &text);
    for (uint32_t i = 0; i < w->ntasks; i++)
        for (uint32_t k = 0; k < w->tasks[i].nneeds; k++)
            buf_addf(out, "  t%u --> t%u\n", w->tasks[i].needs[k], i);
    if (w->on_failure || w->on_exit)
        buf_addstr(out, "  subgraph after [after all others]\n");
    for (uint32_t i = 0; i < 2; i++)
        if (hook(w, (int)i))
            mermaid_task(out, hook(w, (int)i), state, &text);
    buf_addstr(out, w->on_failure || w->on_exit ? "  end\n" : "");
}

void graph_render(const struct workflow *w, const struct graph_state *state,
                  enum graph_format format, size_t width, struct buf *out)
{
    switch (format) {
    case GRAPH_FORMAT_ASCII:
        graph_render_ascii(w, state, width, out);
        break;
    case GRAPH_FORMAT_DOT:
        write_dot(w, state, out);
        break;
    case GRAPH_FORMAT_MERMAID:
        write_mermaid(w, state, out);
        break;
    case GRAPH_FORMAT_SVG:
        graph_render_svg(w, state, out);
        break;
    }
}
