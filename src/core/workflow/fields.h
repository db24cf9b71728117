/* fields.h - the canonical text as data: which keys there are, in which order, what each
 * holds and where it lives. Reading and writing both follow these tables. */
#ifndef CORE_WORKFLOW_FIELDS_H
#define CORE_WORKFLOW_FIELDS_H

#include "base/json_read.h"
#include "core/workflow/model.h"

enum workflow_field_type {
    F_TEXT,     /* const char *; NULL: none */
    F_NAME,     /* the same, a name, and needed */
    F_TEXTS,    /* struct workflow_texts */
    F_PAIRS,    /* struct workflow_pairs: texts */
    F_VALUES,   /* struct workflow_pairs: JSON */
    F_VALUE,    /* const char *: JSON; NULL: none */
    F_I64,      /* int64_t; 0: the default */
    F_INT,      /* int; `otherwise` is the default */
    F_BOOL,     /* bool; false: the default */
    F_FACTOR,   /* double; 0: the default */
    F_PART,     /* double; below 0: the default */
    F_WORD,     /* an enum with its words; 0: the default */
    F_CODES,    /* struct retry_policy's codes and ncodes */
    F_LOCATION, /* two uint32_t: line and column; 0: not known */
    F_INDEXES,  /* const uint32_t * and a count of uint32_t */
    F_NESTED,   /* const struct workflow *: its hash */
    F_GROUP,    /* fields of the same structure, in an object of their own */
    F_OPTION,   /* the same; the bool at `count_at` says whether it is there */
    F_LIST,     /* an array of structures and a size_t */
    F_TASK,     /* struct workflow_task *; NULL: none */
};

struct workflow_field {
    const char *key;
    enum workflow_field_type type;
    size_t at, count_at; /* in the structure */
    int default_value;
    const char *const *words;
    const struct workflow_record *record; /* F_GROUP, F_OPTION, F_LIST */
};

/* A structure, or a part of one. */
struct workflow_record {
    size_t size;
    const struct workflow_field *fields; /* end with a key of NULL */
};

/* The tasks and the nested definitions of a workflow come behind its fields. */
extern const struct workflow_record workflow_record, workflow_task_record;

/* ---- reading plain values: each sets *out, or says what is wrong ---- */

struct value_reader {
    struct arena *arena; /* for what is kept */
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
