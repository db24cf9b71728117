/* json_read.h - strict reading of JSON from outside: what is not expected is an error that says
 * where it stands. Nothing here shows jansson.
 *
 *     struct json_place doc, retry;
 *
 *     if ((rc = json_read(text, len, max, "the spec", &doc, err)))
 *         return rc;
 *     if ((rc = jr_keys(&doc, (const char *[]){"retry", "timeout", NULL}, err)) ||
 *         (jr_get(&doc, "timeout", &at) && (rc = jr_i64(&at, 0, MAX, &timeout, err))))
 *         goto done;
 *     …
 *     json_read_end(&doc); */
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
struct json_place {
    struct json_t *value;
    const struct json_place *up; /* NULL: the document */
    const char *key;             /* in an object; of the document: what it is */
    size_t index;                /* in an array, if there is no key */
};

/* Reads one document; duplicate keys, invalid UTF-8, more than `max` bytes and more than
 * JSON_DEPTH_MAX levels are refused. `what` names it in errors. On success the caller ends it. */
MUST_USE int json_read(const char *text, size_t len, size_t max, const char *what,
                       struct json_place *out, struct err *err);
/* The same for a document that holds others, with a number of levels of its own. */
MUST_USE int json_read_deep(const char *text, size_t len, size_t max, size_t depth,
                            const char *what, struct json_place *out, struct err *err);
void json_read_end(struct json_place *doc);

/* "retry.codes[2]" for people; the document itself is `what`. Returns out's text. */
const char *jr_path(const struct json_place *p, struct buf *out);
/* Sets an E_INVALID sentence that begins with where it is: "the spec: env.9A …". */
int jr_wrong(const struct json_place *p, struct err *err, const char *fmt, ...) PRINTF_LIKE(3, 4);

/* An object that has none but these keys (a list that ends with NULL); NULL: any keys. */
MUST_USE int jr_keys(const struct json_place *p, const char *const *keys, struct err *err);
/* The member of an object; false: it has none, or is no object. */
bool jr_get(const struct json_place *object, const char *key, struct json_place *out);

/* The members of an object, in the order of the text. */
size_t jr_size(const struct json_place *object);
#define JSON_EACH(object, iter, member)                 \
    for ((iter) = jr_first((object), (member)); (iter); \
         (iter) = jr_next((object), (iter), (member)))
void *jr_first(const struct json_place *object, struct json_place *member);
void *jr_next(const struct json_place *object, void *iter, struct json_place *member);

/* An array of at most `max` values; *n is how many. */
MUST_USE int jr_array(const struct json_place *p, size_t max, size_t *n, struct err *err);
void jr_item(const struct json_place *array, size_t index, struct json_place *out);

/* Text without NUL, of min to max bytes; a copy in the arena. */
MUST_USE int jr_text(const struct json_place *p, size_t min, size_t max, struct arena *arena,
                     const char **out, struct err *err);
MUST_USE int jr_i64(const struct json_place *p, int64_t min, int64_t max, int64_t *out,
                    struct err *err);
/* Any number, whole or not. */
MUST_USE int jr_double(const struct json_place *p, double min, double max, double *out,
                       struct err *err);
/* The value as text again, in one line, keys in their order. */
const char *jr_raw(const struct json_place *p, struct arena *arena);

#endif
