/* diagnostics.h - collects the errors in a user's files, each with its location, so that all errors
 * can be shown at once. struct diagnostics owns the text of these files. */
#ifndef PARSE_DIAGNOSTICS_H
#define PARSE_DIAGNOSTICS_H

#include "parse/source.h"

#include <stdbool.h>

#define DIAGNOSTICS_KEPT 50 /* further diagnostics are counted, but not stored */

struct diagnostic {
    const struct source *source;
    uint32_t line, column; /* from 1 */
    const char *sentence;
};

struct diagnostics {
    struct arena arena;
    VEC(struct diagnostic) list;
    size_t count; /* number of all diagnostics, including those that are not stored */
};
#define DIAGNOSTICS_INIT \
    {                    \
        .count = 0       \
    }

/* Reads a file (see source_read). The source lives as long as the diagnostics. */
MUST_USE int diagnostics_read(struct diagnostics *ps, const char *path,
                              const struct source *named_by, const struct source **out,
                              struct err *err);
/* Reads a pawl.yaml (see source_read_config). The source lives as long as the diagnostics. */
MUST_USE int diagnostics_read_config(struct diagnostics *ps, const char *path,
                                     const struct source **out, struct err *err);
/* Adds text from memory as a source; name and text are copied. */
const struct source *diagnostics_take(struct diagnostics *ps, const char *name, const char *text,
                                      size_t len);

/* Adds an error. For a source whose text is hidden, only the location of the first error is
 * kept. */
void diagnostics_add(struct diagnostics *ps, const struct source *s, uint32_t line, uint32_t column,
                     const char *fmt, ...) PRINTF_LIKE(5, 6);

/* Whether further diagnostics are only counted, so that callers can skip expensive suggestions. */
bool diagnostics_full(const struct diagnostics *ps);

/* Appends all diagnostics, ordered by file and location, each as "file:line:column: sentence", the
 * source line and a caret. */
void diagnostics_show(struct diagnostics *ps, struct buf *out);

/* Returns 0 if there are no diagnostics; otherwise -E_INVALID, with an error that contains the
 * first one and the number of further ones. */
MUST_USE int diagnostics_err(struct diagnostics *ps, struct err *err);

void diagnostics_release(struct diagnostics *ps);

#endif
