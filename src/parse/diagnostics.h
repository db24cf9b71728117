/* diagnostics.h - everything that is wrong with the files somebody wrote, each with its place:
 * collected, so that all can be shown at once. Owns the text of the files it speaks of. */
#ifndef PARSE_DIAGNOSTICS_H
#define PARSE_DIAGNOSTICS_H

#include "parse/source.h"

#include <stdbool.h>

#define DIAGNOSTICS_KEPT 50 /* the others are only counted */

struct diagnostic {
    const struct source *source;
    uint32_t line, column; /* from 1 */
    const char *sentence;
};

struct diagnostics {
    struct arena arena;
    VEC(struct diagnostic) list;
    size_t count; /* of all, also of those that are not in the list */
};
#define DIAGNOSTICS_INIT \
    {                    \
        .count = 0       \
    }

/* Reads a file; see source_read. The source lives as long as the problems. */
MUST_USE int diagnostics_read(struct diagnostics *ps, const char *path, const struct source **out,
                              struct err *err);
/* The same with a text that is already there; it is copied. */
const struct source *diagnostics_take(struct diagnostics *ps, const char *name, const char *text,
                                      size_t len);

void diagnostics_add(struct diagnostics *ps, const struct source *s, uint32_t line, uint32_t column,
                     const char *fmt, ...) PRINTF_LIKE(5, 6);

/* Whether one more would only be counted: then a costly guess at what was meant is not worth it. */
bool diagnostics_full(const struct diagnostics *ps);

/* In the order of files and places, each as "file:line:column: sentence", the line and a caret. */
void diagnostics_show(struct diagnostics *ps, struct buf *out);

/* 0 if there is none; else -E_INVALID and the first one, with the number of the others. */
MUST_USE int diagnostics_err(struct diagnostics *ps, struct err *err);

void diagnostics_release(struct diagnostics *ps);

#endif
