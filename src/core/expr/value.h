/* value.h - JSON values as expressions use them: comparison, conversion to text, and names of their
 * types. It must not know about expressions. */
#ifndef CORE_EXPR_VALUE_H
#define CORE_EXPR_VALUE_H

#include "base/buf.h"
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

struct json_t; /* jansson's */

/* The work that one evaluation may still do; the evaluation stops when it is 0. */
struct work {
    size_t left;
};
/* Subtracts n from the work that is left. If less than n is left, nothing is left afterwards, and
 * false is returned. */
bool work_charge(struct work *work, size_t n);

/* Returns its argument. Aborts the process if the argument is NULL, because then jansson is out of
 * memory (see base/mem.h). */
struct json_t *value_need(struct json_t *json);
/* value_append and value_put take over the reference to the added value. */
void value_append(struct json_t *list, struct json_t *item);
void value_put(struct json_t *object, const char *key, struct json_t *item);

/* The value's type as a text for messages, such as "a number". */
const char *value_type_text(const struct json_t *v);

/* Each returns -1, 0 or 1. The comparison of numbers is exact, also between whole and real numbers.
 * Strings are compared byte by byte, which for UTF-8 is the order of code points. */
int value_compare_numbers(const struct json_t *a, const struct json_t *b);
int value_compare_texts(const struct json_t *a, const struct json_t *b);
/* Whether two values are equal, including all members and items. Values of different types are not
 * equal; a whole and a real number are equal if their values are. The result is meaningless if no
 * work is left afterwards. */
bool value_equal(const struct json_t *a, const struct json_t *b, struct work *work);

/* Appends a string unchanged, without quotes, and any other value as JSON on one line. False if
 * `out` would become longer than max. */
MUST_USE bool value_write_plain(const struct json_t *v, size_t max, struct buf *out);
/* The value as a JSON string, written by value_write_plain. Takes over the reference and returns a
 * new one. */
struct json_t *value_as_text(struct json_t *v);

#endif
