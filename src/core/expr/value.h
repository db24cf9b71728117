/* value.h - a JSON value while something is computed with it: scalars by value, so that simple
 * expressions allocate nothing; lists and objects as jansson's, borrowed. It knows how values are
 * named to people, compared and written as text, and nothing of expressions. */
#ifndef CORE_EXPR_VALUE_H
#define CORE_EXPR_VALUE_H

#include "base/buf.h"
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct json_t; /* jansson's */

enum value_type {
    VALUE_NULL,
    VALUE_BOOL,
    VALUE_INT,
    VALUE_REAL,
    VALUE_TEXT,
    VALUE_LIST,
    VALUE_OBJECT
};

struct value {
    enum value_type type;
    union {
        bool truth;
        int64_t whole;
        double real;
        struct {
            const char *at; /* may hold NUL */
            size_t len;
        } text;
    };
    struct json_t *json; /* a list or object itself; of a text: the one it lies in, or NULL */
};

/* What may be looked at and made while one thing is computed; whoever reaches 0 stops there. */
struct work {
    size_t left;
};
/* False: more than was left; nothing is left now. */
bool work_charge(struct work *work, size_t n);

struct value value_of(struct json_t *json); /* borrows it */
/* A new reference. */
struct json_t *value_json(const struct value *v);
/* jansson could not: out of memory ends the process, as in base/mem.h. Else the same pointer. */
struct json_t *value_need(struct json_t *json);
/* Takes the reference to the item. */
void value_append(struct json_t *list, struct json_t *item);
void value_put(struct json_t *object, const char *key, struct json_t *item);

/* "a number": for sentences. */
const char *value_type_text(enum value_type type);
bool value_is_number(const struct value *v);

/* -1, 0 or 1. Exact, also between whole numbers and others. */
int value_compare_numbers(const struct value *a, const struct value *b);
/* By bytes, which for UTF-8 is the order of code points. */
int value_compare_texts(const struct value *a, const struct value *b);
/* Deep. Values of different types are not equal, numbers are if they mean the same. Meaningless
 * once no work is left. */
bool value_equal(const struct value *a, const struct value *b, struct work *work);

/* Adds it as JSON in one line, keys in their order, numbers in the shortest form that reads back as
 * the same. False: `out` would get longer than max. */
MUST_USE bool value_write(const struct value *v, size_t max, struct buf *out);
/* The same, but a text as it is, without quotes. */
MUST_USE bool value_write_plain(const struct value *v, size_t max, struct buf *out);

#endif
