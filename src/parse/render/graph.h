/* graph.h - writes the graph of a workflow as text: for terminals, Graphviz and Mermaid. */
#ifndef PARSE_RENDER_GRAPH_H
#define PARSE_RENDER_GRAPH_H

#include "core/workflow/model.h"

/* id, name */
#define GRAPH_FORMATS(X) \
    X(ASCII, "ascii")    \
    X(DOT, "dot")        \
    X(MERMAID, "mermaid")

enum graph_format {
#define X(id, name) GRAPH_FORMAT_##id,
    GRAPH_FORMATS(X)
#undef X
};

/* The state of a run of the workflow, as words; that of nested workflows is not drawn. */
struct graph_state {
    const char *run;
    const char *const *tasks; /* by index of the task; NULL for a task that does not exist yet */
};

/* Appends the graph. Lines of the ASCII format have at most `width` columns. `state` is NULL for a
 * definition. */
void graph_render(const struct workflow *w, const struct graph_state *state,
                  enum graph_format format, size_t width, struct buf *out);

/* ---- shared by the formats ---- */

/* Adds the state of a task and its properties other than its name, "workflow publish", "for each
 * …", "if …", separated by `between`. Each expression is cut to `longest` characters. */
void render_task_notes(const struct workflow_task *t, const struct graph_state *state,
                       const char *between, size_t longest, struct buf *out);
/* Adds text on one line, cut to `longest` characters (3 or more); "..." marks a cut. */
void render_cut_text(struct buf *out, const char *text, size_t longest);

/* The state of a task, as a word; NULL if it is not known. */
static inline const char *state_of(const struct graph_state *state, const struct workflow_task *t)
{
    return state ? state->tasks[t->index] : NULL;
}

void graph_render_ascii(const struct workflow *w, const struct graph_state *state, size_t width,
                        struct buf *out);

#endif
