/* json.h - JSON: an append-only writer for the small documents of hot paths, and a strict check of
 * what comes from outside. */
#ifndef BASE_JSON_H
#define BASE_JSON_H

#include "base/buf.h"
#include "base/err.h"

#include <stdbool.h>

/* Writes one document into `out`. Commas are its own business; the caller nests correctly. */
struct json_writer {
    struct buf *out;
    bool comma; /* a value stands before the next one */
};
#define JSON_WRITER(b) \
    {                  \
        .out = (b)     \
    }

void json_write_begin(struct json_writer *w, char bracket); /* '{' or '[' */
void json_write_end(struct json_writer *w, char bracket);   /* '}' or ']' */
void json_write_key(struct json_writer *w, const char *key);
void json_write_text(struct json_writer *w, const char *s); /* NULL writes null */
void json_write_i64(struct json_writer *w, int64_t n);
/* The shortest text that reads back as the same number, with a point whatever the locale says. */
void json_write_double(struct json_writer *w, double n);
void json_write_bool(struct json_writer *w, bool b);
void json_write_null(struct json_writer *w);
void json_write_raw(struct json_writer *w,
                    const char *json); /* a valid document as it is; NULL: null */

/* Appends s as a quoted JSON string. */
void json_quote(struct buf *out, const char *s, size_t len);
/* Appends the shortest text that reads back as the same number, with a point whatever the locale
 * says, and never as a whole number. */
void json_real_text(struct buf *out, double n);

struct json_t;
/* The value as one compact document, numbers as people write them: 0.1 is 0.1, which json_dumps
 * makes 0.10000000000000001 of. NULL: NULL. The caller frees it. */
char *json_text(const struct json_t *v);

/* Levels of lists and objects in a document that comes from outside, and in one that is stored for
 * a workflow: params, vars, inputs, outputs. The parser reads 2048 levels. The room between the two
 * is for the documents that hold such a one: the outputs of all items of a fan-out, the event that
 * keeps a former result, the object that a reader prints. */
#define JSON_DEPTH_MAX 64

/* The levels in the text of a document: 0 of a number, 1 of [], 2 of [{}]. The text may be
 * invalid. */
size_t json_depth(const char *s, size_t len);
/* The same of a value. */
size_t json_value_depth(const struct json_t *v);
/* E_INVALID if `depth` is more than `max`; the sentence begins with `what`. */
MUST_USE int json_check_depth(size_t depth, size_t max, const char *what, struct err *err);

/* Valid JSON of any type, at most `max` bytes and JSON_DEPTH_MAX levels; `what` names it in the
 * error. */
MUST_USE int json_check(const char *s, size_t len, size_t max, const char *what, struct err *err);

#endif
