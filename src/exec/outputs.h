/* outputs.h - reads what a task wrote to $PAWL_OUTPUT. Each line is one of
 *
 *     KEY=VALUE            the rest of the line, as text
 *     KEY<<EOF             the lines up to one that is EOF (or any other word), as text
 *     {"key": 1, …}        a JSON object on one line: its members, with their types
 *
 * Empty lines don't count; of a key that comes twice the last value counts. */
#ifndef EXEC_OUTPUTS_H
#define EXEC_OUTPUTS_H

#include "base/buf.h"
#include "base/err.h"

#include <stddef.h>

#define OUTPUTS_MAX      (1 << 20) /* bytes of the file */
#define OUTPUTS_KEYS_MAX 1000

/* Appends a JSON object of the outputs, nothing if there are none. `names` (ends with NULL) are
 * those that count; NULL: all. The error names the line. */
MUST_USE int outputs_parse(const char *text, size_t len, const char *const *names, struct buf *out,
                           struct err *err);

#endif
