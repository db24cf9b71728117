/* outputs.h - parses the file that a task wrote to $PAWL_OUTPUT. Each line is one of
 *
 *     KEY=VALUE            the rest of the line, as text
 *     KEY<<EOF             the following lines up to a line EOF (or any other word), as text
 *     {"key": 1, …}        a JSON object on one line: its members, with their types
 *
 * Empty lines are ignored. If a key occurs twice, the last value is used. */
#ifndef EXEC_OUTPUTS_H
#define EXEC_OUTPUTS_H

#include "base/buf.h"
#include "base/err.h"

#include <stddef.h>

#define OUTPUTS_MAX      (1 << 20) /* bytes in the file */
#define OUTPUTS_KEYS_MAX 1000

/* Appends the outputs as a JSON object, or nothing if there are none. Only the keys in `names`
 * (NULL-terminated) are used; all keys if it is NULL or empty. The error names the line. */
MUST_USE int outputs_parse(const char *text, size_t len, const char *const *names, struct buf *out,
                           struct err *err);

#endif
