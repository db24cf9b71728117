/* build_fields.h - the structures in which a program gives the keys of a workflow -> the keys of a
 * file, as JSON. Knows which field is which key, and nothing of what is right: that is the reader's
 * to say. */
#ifndef API_BUILD_FIELDS_H
#define API_BUILD_FIELDS_H

#include "base/json.h"

enum build_type {
    BUILD_TEXT,     /* const char *; whatever is NULL or 0 is left out */
    BUILD_TEXTS,    /* const char *const *, ends with NULL */
    BUILD_PAIRS,    /* the same, NAME=VALUE */
    BUILD_JSON,     /* const char *, JSON */
    BUILD_ITEMS,    /* the same, or one ${{ expression }} */
    BUILD_INT,      /* int */
    BUILD_GIVEN,    /* int; also 0, if the bool at `given` says so */
    BUILD_COUNT,    /* int; below 0: 0 */
    BUILD_BYTES,    /* int64_t */
    BUILD_DURATION, /* int64_t */
    BUILD_CATCHUP,  /* int64_t; below 0: last */
    BUILD_TIME,     /* int64_t */
    BUILD_NUMBER,   /* double; below 0: 0 */
    BUILD_BOOL,     /* bool */
    BUILD_CODES,    /* struct pawl_retry */
    BUILD_GROUP,    /* a mapping of other fields; left out if none of them is there */
    BUILD_OPTION,   /* a pointer to a structure: a mapping of its fields */
};

struct build_field {
    const char *key; /* NULL: the end of the list */
    enum build_type type;
    size_t at;
    size_t given;
    const struct build_field *fields; /* of a group or an option */
};

extern const struct build_field build_workflow[], build_task[], build_param[], build_schedule[];

/* Adds one field of a structure, if it is there; all of them as a mapping. `what` is where it
 * stands, for `wrong`: sentences, each with its NUL, about what can't be written. */
struct build {
    struct json_writer to;
    struct buf *wrong;
};
void build_field(struct build *b, const struct build_field *f, const void *keys, const char *what);
void build_mapping(struct build *b, const struct build_field *fields, const void *keys,
                   const char *what);

#endif
