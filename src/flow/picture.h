/* picture.h - the graph of a workflow as text: for terminals, for Graphviz, for Mermaid. */
#ifndef FLOW_PICTURE_H
#define FLOW_PICTURE_H

#include "core/workflow.h"

/* id, name */
#define PICTURE_FORMATS(X) \
    X(ASCII, "ascii")      \
    X(DOT, "dot")          \
    X(MERMAID, "mermaid")

enum picture_format {
#define X(id, name) PICTURE_##id,
    PICTURE_FORMATS(X)
#undef X
};

/* Appends the picture. Lines of the ASCII one have at most `width` columns. */
void picture_write(const struct workflow *w, enum picture_format format, size_t width,
                   struct buf *out);

/* ---- what the formats share ---- */

/* What a task is, beside its name: "workflow publish", "for each …", "if …": at most so many
 * characters of each expression. */
void picture_notes(const struct workflow_task *t, const char *between, size_t longest,
                   struct buf *out);
/* At most so many characters (3 or more), in one line; dots at the end: there were more. */
void picture_cut(struct buf *out, const char *text, size_t longest);

void picture_ascii(const struct workflow *w, size_t width, struct buf *out);

#endif
