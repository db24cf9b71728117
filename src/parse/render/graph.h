/* graph.h - writes the graph of a workflow: as text for terminals, for Graphviz and Mermaid, and as
 * a picture (SVG). */
#ifndef PARSE_RENDER_GRAPH_H
#define PARSE_RENDER_GRAPH_H

#include "core/vocab.h"
#include "core/workflow/model.h"

/* id, name */
#define GRAPH_FORMATS(X)  \
    X(ASCII, "ascii")     \
    X(DOT, "dot")         \
    X(MERMAID, "mermaid") \
    X(SVG, "svg")

enum graph_format {
#define X(id, name) GRAPH_FORMAT_##id,
    GRAPH_FORMATS(X)
#undef X
};

/* The items of a fan-out, or the tasks of a group (fold.h), by status. */
struct graph_counts {
    int64_t total; /* -1 while it is not known */
    int64_t by_status[S_COUNT];
};

struct graph_task_state {
    int status;                       /* enum status; 0 if the task does not exist yet */
    int held;                         /* enum hold */
    int64_t execution;                /* its id; 0 if it does not exist yet */
    int64_t duration;                 /* how long it has run, µs; -1 if it has not started */
    const struct graph_counts *items; /* of a fan-out; NULL if it is not one */
};

/* The state of a run of the workflow; that of nested workflows is not drawn. */
struct graph_state {
    int status;                           /* of the run; enum status */
    const struct graph_task_state *tasks; /* by index of the task, and for both hooks */
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
    return state && state->tasks[t->index].status ? status_text(state->tasks[t->index].status)
                                                  : NULL;
}

void graph_render_ascii(const struct workflow *w, const struct graph_state *state, size_t width,
                        struct buf *out);
void graph_render_svg(const struct workflow *w, const struct graph_state *state, struct buf *out);

#endif
