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

/* How many items of a fan-out, or tasks of a group (fold.h), have each status. */
struct graph_counts {
    int64_t total; /* number of items or tasks; -1 if it is not known yet */
    int64_t by_status[S_COUNT];
};

struct graph_task_state {
    int status; /* enum status; 0 if the task does not exist yet */
    int held;   /* enum hold */
    /* Id of the task's execution; 0 if the task does not exist yet. */
    int64_t execution;
    /* How long the task has run, in µs; -1 if it has not started. */
    int64_t duration;
    /* Counts of a fan-out's items; NULL if the task is not a fan-out. */
    const struct graph_counts *items;
};

/* The state of one run of the workflow. The states of nested workflows are not drawn. */
struct graph_state {
    int status; /* enum status of the run */
    /* By index of the task; on_failure and on_exit follow the tasks. */
    const struct graph_task_state *tasks;
};

/* Appends the graph of a workflow. Lines of the ASCII format have at most `width` columns. `state`
 * is NULL to draw a definition without a run. */
void graph_render(const struct workflow *w, const struct graph_state *state,
                  enum graph_format format, size_t width, struct buf *out);

/* ---- shared by the formats ---- */

/* Adds the notes of a task: its state and its properties other than the name, such as "workflow
 * publish", "for each …" or "if …", separated by `between`. Each expression is cut to `longest`
 * characters. */
void render_task_notes(const struct workflow_task *t, const struct graph_state *state,
                       const char *between, size_t longest, struct buf *out);
/* Adds text in one line, cut to `longest` characters (3 or more). A cut text ends with "...". */
void render_cut_text(struct buf *out, const char *text, size_t longest);

/* The name of the status of a task; NULL if the status is not known. */
static inline const char *state_of(const struct graph_state *state, const struct workflow_task *t)
{
    return state && state->tasks[t->index].status ? status_text(state->tasks[t->index].status)
                                                  : NULL;
}

void graph_render_ascii(const struct workflow *w, const struct graph_state *state, size_t width,
                        struct buf *out);
void graph_render_svg(const struct workflow *w, const struct graph_state *state, struct buf *out);

#endif
