/* json.h - JSON: an append-only writer for small documents on hot paths, and a strict check of
 * documents that users and other programs supply. */
#ifndef BASE_JSON_H
#define BASE_JSON_H

#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"

#include <stdbool.h>

/* Writes one document into `out`. The writer adds the commas; the caller must nest correctly. */
struct json_writer {
    struct buf *out;
    bool comma; /* the next value needs a comma before it */
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
/* Writes the shortest text that reads back as the same number, with a decimal point in every
 * locale. */
void json_write_double(struct json_writer *w, double n);
void json_write_bool(struct json_writer *w, bool b);
void json_write_null(struct json_writer *w);
/* Writes a valid JSON document unchanged; NULL writes null. */
void json_write_raw(struct json_writer *w, const char *json);
/* Write a key and its value. */
void json_field_text(struct json_writer *w, const char *key, const char *s);
void json_field_i64(struct json_writer *w, const char *key, int64_t n);

/* Appends s as a quoted JSON string. */
void json_quote(struct buf *out, const char *s, size_t len);

struct json_t;
/* Appends the value as one compact document. Real numbers have their shortest form: 0.1, where
 * json_dumps writes 0.10000000000000001. False if `out` becomes longer than max; then the text is
 * incomplete. */
bool json_add_value(struct buf *out, const struct json_t *v, size_t max);
/* The value as one compact document, which the caller frees; NULL if v is NULL. */
char *json_text(const struct json_t *v);
/* The value as one compact document in the arena. */
char *json_arena_text(const struct json_t *v, struct arena *arena);

/* The maximum nesting of lists and objects in a document that a user supplies, and in a value that
 * is stored for a workflow: params, vars, inputs, outputs. jansson reads up to 2048 levels; the
 * lower limit leaves room for documents that contain such values: the outputs of all items of a
 * fan-out, the event that keeps an earlier result, the object that a query prints. */
#define JSON_DEPTH_MAX 64

/* The nesting depth of a document's text: 0 for a number, 1 for [], 2 for [{}]. The text may be
 * invalid. */
size_t json_depth(const char *s, size_t len);
/* The nesting depth of a value. */
size_t json_value_depth(const struct json_t *v);
/* Returns -E_INVALID if `depth` is more than `max`. `what` names the document and starts the error
 * sentence. */
MUST_USE int json_check_depth(size_t depth, size_t max, const char *what, struct err *err);

/* Reads a document with at most `depth` levels of nesting. Duplicate keys and integers beyond 64
 * bits are errors. *out is a new reference. */
MUST_USE int json_load(const char *s, size_t len, size_t depth, const char *what,
                       struct json_t **out, struct err *err);
struct json_error_t;
/* Why jansson refused a document, as the predicate of a sentence, such as "is not valid JSON".
 * Numbers that do not fit and repeated keys have their own texts, because such documents are valid
 * JSON. */
const char *json_refusal(const struct json_error_t *at);
/* Sets an E_INVALID error: `what` (the name of the document), why jansson refused it, and where. */
int json_refuse(const char *what, const struct json_error_t *at, struct err *err);

/* Checks that s is valid JSON of any type, of at most `max` bytes and JSON_DEPTH_MAX levels. `what`
 * names the document in the error. */
MUST_USE int json_check(const char *s, size_t len, size_t max, const char *what, struct err *err);

#endif
