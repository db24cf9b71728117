/* source.h - the text of a file that somebody wrote, and how to show a place in it. */
#ifndef PARSE_SOURCE_H
#define PARSE_SOURCE_H

#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"

#include <stdint.h>

#define SOURCE_MAX    (8u << 20)
#define SOURCE_MAX_MB 8

struct source {
    const char *name; /* as in messages: pawl.yaml */
    const char *text;
    size_t len;
};

/* Reads a whole file into the arena. E_NOT_FOUND: there is none; E_INVALID: it can't be read or is
 * longer than SOURCE_MAX. */
MUST_USE int source_read(const char *path, struct arena *arena, struct source *out,
                         struct err *err);

/* Length of the character at p in bytes: 0 where there is no valid UTF-8, or a NUL. */
size_t source_step(const char *p, size_t left);

/* The place of a byte, from 1: a line ends with LF, CR or CR LF; a column is a character. */
void source_location(const struct source *s, size_t offset, uint32_t *line, uint32_t *column);

/* The text from that place on, up to the end of its line: none where there is no such line. */
const char *source_at(const struct source *s, uint32_t line, uint32_t column, size_t *len);

/* Adds the line and a caret below the column, each as a line of its own. Passwords in URLs and
 * control characters are left out, long lines cut. Nothing for a line that is not there. */
void source_show(const struct source *s, uint32_t line, uint32_t column, struct buf *out);

/* Adds s without what a terminal would obey, bytes that are no UTF-8, and passwords in URLs. */
void source_add_visible(struct buf *out, const char *s, size_t len);

#endif
