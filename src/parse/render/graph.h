/* graph.h - the graph of a workflow as text: for terminals, for Graphviz, for Mermaid. */
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

/* Appends the picture. Lines of the ASCII one have at most `width` columns. */
void graph_render(const struct workflow *w, enum graph_format format, size_t width,
                  struct buf *out);

/* ---- what the formats share ---- */

/* What a task is, beside its name: "workflow publish", "for each …", "if …": at most so many
 * characters of each expression. */
void render_task_notes(const struct workflow_task *t, const char *between, size_t longest,
                       struct buf *out);
/* At most so many characters (3 or more), in one line; dots at the end: there were more. */
void render_cut_text(struct buf *out, const char *text, size_t longest);

void graph_render_ascii(const struct workflow *w, size_t width, struct buf *out);

#endif
