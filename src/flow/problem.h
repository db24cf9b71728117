/* problem.h - everything that is wrong with the files somebody wrote, each with its place:
 * collected, so that all can be shown at once. Owns the text of the files it speaks of. */
#ifndef FLOW_PROBLEM_H
#define FLOW_PROBLEM_H

#include "flow/source.h"

#include <stdbool.h>

#define PROBLEMS_KEPT 50 /* the others are only counted */

struct problem {
    const struct source *source;
    uint32_t line, column; /* from 1 */
    const char *sentence;
};

struct problems {
    struct arena arena;
    VEC(struct problem) list;
    size_t count; /* of all, also of those that are not in the list */
};
#define PROBLEMS_INIT \
    {                 \
        .count = 0    \
    }

/* Reads a file; see source_read. The source lives as long as the problems. */
MUST_USE int problems_read(struct problems *ps, const char *path, const struct source **out,
                           struct err *err);
/* The same with a text that is already there; it is copied. */
const struct source *problems_take(struct problems *ps, const char *name, const char *text,
                                   size_t len);

void problem_add(struct problems *ps, const struct source *s, uint32_t line, uint32_t column,
                 const char *fmt, ...) PRINTF_LIKE(5, 6);

/* Whether one more would only be counted: then a costly guess at what was meant is not worth it. */
bool problems_full(const struct problems *ps);

/* In the order of files and places, each as "file:line:column: sentence", the line and a caret. */
void problems_show(struct problems *ps, struct buf *out);

/* 0 if there is none; else -E_INVALID and the first one, with the number of the others. */
MUST_USE int problems_err(struct problems *ps, struct err *err);

void problems_release(struct problems *ps);

#endif
