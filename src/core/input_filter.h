/* input_filter.h - conditions on the input of an execution: NAME=VALUE, as users write them. Pure.
 */
#ifndef CORE_INPUT_FILTER_H
#define CORE_INPUT_FILTER_H

#include "base/err.h"
#include "base/mem.h"

#include <stdbool.h>

struct json_t;

struct input_condition {
    char *name;
    char *text;           /* VALUE as it was written: matches a member that is this string */
    struct json_t *value; /* VALUE as JSON: matches a member with this value; NULL if VALUE is not
                             valid JSON */
};
/* Starts as {0}. */
struct input_filter {
    VEC(struct input_condition) conditions;
};

/* Adds the conditions of a list, which ends with NULL; `given` may be NULL. -E_INVALID if an
 * element is not NAME=VALUE. */
MUST_USE int input_filter_read(struct input_filter *f, const char *const *given, struct err *err);
/* Whether the input, a JSON document, is an object that meets all conditions. Numbers are compared
 * by value: 1 is equal to 1.0. An input of NULL, which means none, meets only an empty filter. */
bool input_filter_matches(const struct input_filter *f, const char *input);
void input_filter_release(struct input_filter *f);

#endif
