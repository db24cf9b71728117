/* build_fields.h - writes the structures in which a program gives the keys of a workflow (pawl.h)
 * as the keys of a workflow file, in JSON. It maps fields to keys and does not check values: the
 * parser does. */
#ifndef API_BUILD_FIELDS_H
#define API_BUILD_FIELDS_H

#include "base/json.h"

enum build_type {
    BUILD_TEXT,     /* const char *; like all types, left out if NULL or 0 */
    BUILD_TEXTS,    /* const char *const *, ends with NULL */
    BUILD_PAIRS,    /* const char *const *, ends with NULL; each is NAME=VALUE */
    BUILD_JSON,     /* const char *, JSON */
    BUILD_ITEMS,    /* const char *, JSON or one ${{ expression }} */
    BUILD_INT,      /* int */
    BUILD_GIVEN,    /* int; 0 is written if the bool at `given` is set */
    BUILD_COUNT,    /* int; a negative value is written as 0 */
    BUILD_BYTES,    /* int64_t */
    BUILD_DURATION, /* int64_t */
    BUILD_CATCHUP,  /* int64_t; a negative value is written as "last" */
    BUILD_TIME,     /* int64_t */
    BUILD_NUMBER,   /* double; a negative value is written as 0 */
    BUILD_BOOL,     /* bool */
    BUILD_CODES,    /* struct pawl_retry */
    BUILD_GROUP,    /* a mapping of other fields; left out if none of them is given */
    BUILD_OPTION,   /* a pointer to a structure, written as a mapping of its fields */
};

struct build_field {
    const char *key; /* NULL at the end of the list */
    enum build_type type;
    size_t at;
    size_t given;
    const struct build_field *fields; /* of a group or an option */
};

extern const struct build_field build_workflow[], build_task[], build_param[], build_schedule[];

/* build_field adds one field of a structure if it is given; build_mapping adds all of them as a
 * mapping. `what` is the path of keys that leads there, for the errors in `wrong`: sentences about
 * values that can't be written, each terminated by NUL. */
struct build {
    struct json_writer to;
    struct buf *wrong;
};
void build_field(struct build *b, const struct build_field *f, const void *keys, const char *what);
void build_mapping(struct build *b, const struct build_field *fields, const void *keys,
                   const char *what);

#endif
