/* source.h - the text of a user's file, and functions that find and show a location in it. */
#ifndef PARSE_SOURCE_H
#define PARSE_SOURCE_H

#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"

#include <stdbool.h>
#include <stdint.h>

#define SOURCE_MAX    (8u << 20)
#define SOURCE_MAX_MB 8

struct source {
    const char *name; /* name of the file in messages, such as pawl.yaml */
    const char *text;
    size_t len;
    bool is_foreign; /* whether the file belongs to neither this user nor root */
    /* The reason why no part of the text may be shown; NULL if it may be shown. */
    const char *hidden;
};

/* Reads a whole file into the arena. `named_by` is the file that contains the path; NULL if the
 * user gave it. If the file belongs to this user or root, and another user chose it by a symbolic
 * link or in `named_by`, its text is hidden: an error message could otherwise print lines of a
 * private file where that user can read them. -E_NOT_FOUND if the file does not exist, -E_INVALID
 * if it can't be read, is neither a plain file nor /dev/null, or is longer than SOURCE_MAX. Never
 * blocks. */
MUST_USE int source_read(const char *path, const struct source *named_by, struct arena *arena,
                         struct source *out, struct err *err);
/* Like source_read, but returns -E_INVALID also if other users (except root) can change the file.
 */
MUST_USE int source_read_config(const char *path, struct arena *arena, struct source *out,
                                struct err *err);

/* The line and column of a byte, from 1. A line ends with LF, CR or CR LF, or with NEL, LS or PS;
 * columns count characters. */
void source_location(const struct source *s, size_t offset, uint32_t *line, uint32_t *column);

/* The text from a location to the end of its line. *len is 0 if the line does not exist. */
const char *source_at(const struct source *s, uint32_t line, uint32_t column, size_t *len);

/* Appends the source line, and a second line with a caret below the column. Passwords in URLs are
 * hidden, control characters become spaces, long lines are cut. Appends nothing if the line does
 * not exist. */
void source_show(const struct source *s, uint32_t line, uint32_t column, struct buf *out);

/* Appends s with control characters replaced by spaces, passwords in URLs hidden, and bytes that
 * are not UTF-8 removed. */
void source_add_visible(struct buf *out, const char *s, size_t len);

#endif
