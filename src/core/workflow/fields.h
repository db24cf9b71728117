/* fields.h - tables that describe the canonical text of a workflow: its keys in order, with the
 * type and the offset of each value. read.c and write.c both follow these tables. */
#ifndef CORE_WORKFLOW_FIELDS_H
#define CORE_WORKFLOW_FIELDS_H

#include "base/json_read.h"
#include "core/workflow/model.h"

enum workflow_field_type {
    F_TEXT,     /* const char *; NULL if none */
    F_NAME,     /* const char *: a valid name, required */
    F_TEXTS,    /* struct workflow_texts */
    F_PAIRS,    /* struct workflow_pairs: texts */
    F_VALUES,   /* struct workflow_pairs: JSON */
    F_VALUE,    /* const char *: JSON; NULL if none */
    F_I64,      /* int64_t; 0 is the default */
    F_INT,      /* int; `default_value` is the default */
    F_BOOL,     /* bool; false is the default */
    F_FACTOR,   /* double; 0 is the default */
    F_PART,     /* double; below 0 is the default */
    F_WORD,     /* an enum, written as one of `words`; 0 is the default */
    F_CODES,    /* codes and ncodes of struct retry_policy */
    F_LOCATION, /* two uint32_t: line and column; 0 if unknown */
    F_INDEXES,  /* const uint32_t * and a count of type uint32_t */
    F_NESTED,   /* const struct workflow *, written as its hash */
    F_GROUP,    /* fields of the same structure, in a nested object */
    F_OPTION,   /* like F_GROUP; the bool at `count_at` says whether the object is present */
    F_LIST,     /* an array of structures and a count of type size_t */
    F_TASK,     /* struct workflow_task *; NULL if none */
};

struct workflow_field {
    const char *key;
    enum workflow_field_type type;
    size_t at, count_at; /* offsets in the structure */
    int default_value;
    const char *const *words;
    const struct workflow_record *record; /* F_GROUP, F_OPTION, F_LIST */
};

/* A structure, or a part of one. */
struct workflow_record {
    size_t size;
    const struct workflow_field *fields; /* the last has a key of NULL */
};

/* The tasks and the nested definitions of a workflow are written after its fields. */
extern const struct workflow_record workflow_record, workflow_task_record;

/* ---- reading plain values: each function sets *out, or sets the error ---- */

struct value_reader {
    struct arena *arena; /* for the values that are kept */
    struct err *err;
};

MUST_USE int field_read_text(const struct value_reader *r, const struct json_node *p,
                             const char **out);
MUST_USE int field_read_texts(const struct value_reader *r, const struct json_node *p,
                              struct workflow_texts *out);
MUST_USE int field_read_pairs(const struct value_reader *r, const struct json_node *p, bool raw,
                              struct workflow_pairs *out);
MUST_USE int field_read_numbers(const struct value_reader *r, const struct json_node *p,
                                int64_t max, uint32_t **out, size_t *n);
MUST_USE int field_read_codes(const struct value_reader *r, const struct json_node *p,
                              struct retry_policy *out);
MUST_USE int field_read_place(const struct value_reader *r, const struct json_node *p,
                              uint32_t *line_column);
MUST_USE int field_read_word(const struct value_reader *r, const struct json_node *p,
                             const char *const *words, unsigned *out);
MUST_USE int field_read_number(const struct value_reader *r, const struct workflow_field *f,
                               const struct json_node *p, void *to);
MUST_USE int field_read_bool(const struct value_reader *r, const struct json_node *p, bool *out);

#endif
