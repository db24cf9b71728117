/* manual.h - the man pages and docs/CLI.md, which are generated from the tables in the code. */
#ifndef MANUAL_MANUAL_H
#define MANUAL_MANUAL_H

#include "base/buf.h"

/* ---- roff.c: man pages ---- */

void roff_begin(struct buf *b, const char *name, const char *section, const char *summary);
void roff_section(struct buf *b, const char *title);
/* A paragraph; `code` becomes bold, an empty line starts a new paragraph. */
void roff_text(struct buf *b, const char *text);
/* A term in bold, and its explanation. */
void roff_item(struct buf *b, const char *term, const char *text);
void roff_code(struct buf *b, const char *lines); /* verbatim */

/* ---- pages ---- */

void page_pawl(struct buf *b); /* pawl(1) */
struct command;
void page_command(struct buf *b, const struct command *c); /* pawl-NAME(1) */
void page_config(struct buf *b);                           /* pawl.yaml(5) */
void page_workflow(struct buf *b);                         /* pawl-workflow(5) */
void page_markdown(struct buf *b);                         /* docs/CLI.md */

#endif
