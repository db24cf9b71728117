/* value.h - a JSON value during evaluation. Scalars are held by value, so that simple expressions
 * allocate nothing; lists and objects are borrowed jansson values. This module compares values and
 * writes them as text; it knows nothing about expressions. */
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
            const char *at; /* may contain NUL */
            size_t len;
        } text;
    };
    struct json_t
        *json; /* the list or object; for text: the jansson string that owns it, or NULL */
};

/* The work that one evaluation may still do; it stops at 0. */
struct work {
    size_t left;
};
/* Subtracts n; false, with nothing left, if n is more than what was left. */
bool work_charge(struct work *work, size_t n);

struct value value_of(struct json_t *json); /* borrows it */
/* Returns a new reference. */
struct json_t *value_json(const struct value *v);
/* Returns its argument; aborts the process if it is NULL, which means out of memory (see
 * base/mem.h). */
struct json_t *value_need(struct json_t *json);
/* Both take over the reference to the item. */
void value_append(struct json_t *list, struct json_t *item);
void value_put(struct json_t *object, const char *key, struct json_t *item);

/* The type for messages, such as "a number". */
const char *value_type_text(enum value_type type);
bool value_is_number(const struct value *v);

/* Returns -1, 0 or 1. The comparison is exact, also between whole and real numbers. */
int value_compare_numbers(const struct value *a, const struct value *b);
/* Compares bytes, which for UTF-8 is the order of code points. */
int value_compare_texts(const struct value *a, const struct value *b);
/* Compares deeply. Values of different types are not equal; a whole and a real number are equal if
 * their values are. The result is meaningless if no work is left. */
bool value_equal(const struct value *a, const struct value *b, struct work *work);

/* Appends the value as JSON in one line, keys in their order, numbers in the shortest form that
 * reads back as the same number. False if `out` would become longer than max. */
MUST_USE bool value_write(const struct value *v, size_t max, struct buf *out);
/* Like value_write, but a string is appended unchanged, without quotes. */
MUST_USE bool value_write_plain(const struct value *v, size_t max, struct buf *out);

#endif
