/* json_read_open.h - strict reading of JSON from outside: what is not expected is an error that
 * says where it stands. Nothing here shows jansson.
 *
 *     struct json_node doc, retry;
 *
 *     if ((rc = json_read_open(text, len, max, "the spec", &doc, err)))
 *         return rc;
 *     if ((rc = json_read_known_keys(&doc, (const char *[]){"retry", "timeout", NULL}, err)) ||
 *         (json_read_member(&doc, "timeout", &at) && (rc = json_read_i64(&at, 0, MAX, &timeout,
 * err)))) goto done; … json_read_close(&doc); */
#ifndef BASE_JSON_READ_H
#define BASE_JSON_READ_H

#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct json_t; /* jansson's */

/* A value and the way that leads to it. The place it was taken from must outlive it. */
struct json_node {
    struct json_t *value;
    const struct json_node *up; /* NULL: the document */
    const char *key;            /* in an object; of the document: what it is */
    size_t index;               /* in an array, if there is no key */
};

/* Reads one document; duplicate keys, invalid UTF-8, more than `max` bytes and more than
 * JSON_DEPTH_MAX levels are refused. `what` names it in errors. On success the caller ends it. */
MUST_USE int json_read_open(const char *text, size_t len, size_t max, const char *what,
                            struct json_node *out, struct err *err);
/* The same for a document that holds others, with a number of levels of its own. */
MUST_USE int json_read_deep(const char *text, size_t len, size_t max, size_t depth,
                            const char *what, struct json_node *out, struct err *err);
void json_read_close(struct json_node *doc);

/* "retry.codes[2]" for people; the document itself is `what`. Returns out's text. */
const char *json_read_path(const struct json_node *p, struct buf *out);
/* Sets an E_INVALID sentence that begins with where it is: "the spec: env.9A …". */
int json_read_fail(const struct json_node *p, struct err *err, const char *fmt, ...)
    PRINTF_LIKE(3, 4);

/* An object that has none but these keys (a list that ends with NULL); NULL: any keys. */
MUST_USE int json_read_known_keys(const struct json_node *p, const char *const *keys,
                                  struct err *err);
/* The member of an object; false: it has none, or is no object. */
bool json_read_member(const struct json_node *object, const char *key, struct json_node *out);

/* The members of an object, in the order of the text. */
size_t json_read_size(const struct json_node *object);
#define JSON_EACH(object, iter, member)                        \
    for ((iter) = json_read_first((object), (member)); (iter); \
         (iter) = json_read_next((object), (iter), (member)))
void *json_read_first(const struct json_node *object, struct json_node *member);
void *json_read_next(const struct json_node *object, void *iter, struct json_node *member);

/* An array of at most `max` values; *n is how many. */
MUST_USE int json_read_array(const struct json_node *p, size_t max, size_t *n, struct err *err);
void json_read_item(const struct json_node *array, size_t index, struct json_node *out);

/* Text without NUL, of min to max bytes; a copy in the arena. */
MUST_USE int json_read_text(const struct json_node *p, size_t min, size_t max, struct arena *arena,
                            const char **out, struct err *err);
MUST_USE int json_read_i64(const struct json_node *p, int64_t min, int64_t max, int64_t *out,
                           struct err *err);
/* Any number, whole or not. */
MUST_USE int json_read_double(const struct json_node *p, double min, double max, double *out,
                              struct err *err);
/* The value as text again, in one line, keys in their order. */
const char *json_read_raw(const struct json_node *p, struct arena *arena);

#endif
