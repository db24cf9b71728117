/* json_read.h - strict reading of JSON documents: anything unexpected is an error that names its
 * path. Callers do not need jansson's header.
 *
 *     struct json_node doc, node;
 *
 *     if ((rc = json_read_open(text, len, max, "the spec", &doc, err)))
 *         return rc;
 *     if (!(rc = json_read_known_keys(&doc, (const char *[]){"retry", "timeout", NULL}, err)) &&
 *         json_read_member(&doc, "timeout", &node))
 *         rc = json_read_i64(&node, 0, MAX, &timeout, err);
 *     json_read_close(&doc);
 */
#ifndef BASE_JSON_READ_H
#define BASE_JSON_READ_H

#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct json_t; /* jansson's */

/* A JSON value and its path in the document. The parent node must live longer than this node. */
struct json_node {
    struct json_t *value;
    const struct json_node *up; /* the parent; NULL for the document */
    const char *key; /* the key of this node in its parent; for the document, its name in errors */
    size_t index;    /* the index of this node in an array, if key is NULL */
};

/* Reads one document. Duplicate keys, invalid UTF-8, more than `max` bytes and more than
 * JSON_DEPTH_MAX levels are errors. `what` names the document in errors. On success the caller
 * closes it with json_read_close. */
MUST_USE int json_read_open(const char *text, size_t len, size_t max, const char *what,
                            struct json_node *out, struct err *err);
/* Like json_read_open, with at most `depth` levels: for a document that contains other
 * documents. */
MUST_USE int json_read_deep(const char *text, size_t len, size_t max, size_t depth,
                            const char *what, struct json_node *out, struct err *err);
void json_read_close(struct json_node *doc);
/* Declares a document that starts as {0} and is closed at the end of its scope. */
#define AUTO_JSON_NODE AUTO(json_read_close) struct json_node

/* Sets an E_INVALID error whose sentence starts with the path: "the spec: env.9A …". */
int json_read_fail(const struct json_node *p, struct err *err, const char *fmt, ...)
    PRINTF_LIKE(3, 4);

/* Checks that p is an object that has only these keys (a list that ends with NULL); `keys` is NULL
 * to allow any key. */
MUST_USE int json_read_known_keys(const struct json_node *p, const char *const *keys,
                                  struct err *err);
/* Finds a member of an object; false if the member does not exist or `object` is not an object. */
bool json_read_member(const struct json_node *object, const char *key, struct json_node *out);

/* The number of an object's members. JSON_EACH loops over them in the order of the document. */
size_t json_read_size(const struct json_node *object);
#define JSON_EACH(object, iter, member)                        \
    for ((iter) = json_read_first((object), (member)); (iter); \
         (iter) = json_read_next((object), (iter), (member)))
void *json_read_first(const struct json_node *object, struct json_node *member);
void *json_read_next(const struct json_node *object, void *iter, struct json_node *member);

/* Checks that p is an array of at most `max` values; sets *n to their number. */
MUST_USE int json_read_array(const struct json_node *p, size_t max, size_t *n, struct err *err);
void json_read_item(const struct json_node *array, size_t index, struct json_node *out);

/* Reads a string of min to max bytes without NUL, and copies it into the arena. */
MUST_USE int json_read_text(const struct json_node *p, size_t min, size_t max, struct arena *arena,
                            const char **out, struct err *err);
MUST_USE int json_read_i64(const struct json_node *p, int64_t min, int64_t max, int64_t *out,
                           struct err *err);
/* Reads a number, whole or not, from min to max. */
MUST_USE int json_read_double(const struct json_node *p, double min, double max, double *out,
                              struct err *err);
/* The value as JSON on one line, with the keys in the order of the document. */
const char *json_read_raw(const struct json_node *p, struct arena *arena);

#endif
