/* keys.h - the key table: the type, target and description of each key of a workflow file, made
 * from the lists in key_lists.h. The reader of files and its messages, `defaults`, the canonical
 * text, the spec, the JSON Schema, docs/WORKFLOWS.md, the manual, completion and the builder in C
 * all use it. The keys of pawl.yaml are described in the same way (parse/config/config_keys.c). */
#ifndef CORE_WORKFLOW_KEYS_H
#define CORE_WORKFLOW_KEYS_H

#include "base/json_read.h"
#include "core/workflow/key_lists.h"
#include "core/workflow/model.h"

enum stored_as {
#define X(name, ctype) STORED_##name,
    STORED_AS(X)
#undef X
};
enum key_type {
#define X(name, stored, text, schema) KEY_##name,
    KEY_TYPES(X)
#undef X
};

struct key_any {
    char any;
};
#define X(name, ctype) typedef ctype stored_type_##name;
STORED_AS(X)
#undef X
#define X(name, stored, text, schema) typedef stored_type_##stored key_type_##name;
KEY_TYPES(X)
#undef X

/* KEY_AT is the offset of a member of a structure. It checks that the member has the C type of its
 * key's type, because readers write through a void pointer. */
#define KEY_IS(c, type) __builtin_types_compatible_p(c, type)
#define KEY_FITS(c, type)                                                              \
    (KEY_IS(c, key_type_##type) || KEY_IS(struct key_any, key_type_##type) ||          \
     (KEY_IS(struct texts, key_type_##type) && KEY_IS(c, const char *const *)) ||      \
     (KEY_IS(struct pairs, key_type_##type) && KEY_IS(c, const struct spec_pair *)) || \
     (KEY_##type == KEY_WORD && sizeof(c) == sizeof(int)))
#define KEY_AT(of, member, type)                                                 \
    (offsetof(struct of, member) +                                               \
     0 * sizeof(struct {                                                         \
         int unused;                                                             \
         _Static_assert(KEY_FITS(__typeof__(((struct of *)0)->member), type),    \
                        "the member " #member " does not have the type " #type); \
     }))

/* Where a key of a task is allowed: kinds of tasks, and sections of the file. */
enum key_context {
    KEY_COMMANDS = 1,     /* tasks with run or argv */
    KEY_FUNCTIONS = 2,    /* tasks with function */
    KEY_NESTED = 4,       /* tasks with workflow */
    KEY_HOOKS = 8,        /* on_failure and on_exit */
    KEY_COMMON = 16,      /* defaults */
    KEY_COMMON_JOBS = 32, /* `defaults`, but without effect on tasks with workflow */
    /* `defaults` that are used when a task starts, and not copied to the tasks. */
    KEY_COMMON_LATE = 64,
    KEY_CUSTOM = 128, /* tasks of a custom executor, with `executor` and no command */
};
#define KEY_JOBS (KEY_COMMANDS | KEY_FUNCTIONS | KEY_CUSTOM)
#define KEY_ALL  (KEY_JOBS | KEY_NESTED)

/* The names that expressions in the value of a key may use. */
enum scope {
    SCOPE_PARAMS = 1, /* params only */
    SCOPE_START,      /* params, vars, workflow, execution */
    /* The names above, env, the tasks that this one needs, and status functions. */
    SCOPE_TASK,
    SCOPE_ITEM,    /* the names above; item and index, if the task has foreach */
    SCOPE_END,     /* the names of SCOPE_START; also env, and all tasks with their outputs */
    SCOPE_FOLLOW,  /* trigger only: the run of another workflow */
    SCOPE_WEBHOOK, /* trigger only: a message */
};

struct key {
    const char *name;
    enum key_type type;
    size_t at;        /* offset of the key's member in the structure */
    int64_t min, max; /* bounds of a number, a duration (µs), a size (bytes), or the length of a
                         string in bytes; a name with min 1 is required in the canonical text */
    unsigned places;  /* bits of enum key_context; 0 if the key does not belong to a task. For
                         executors in pawl.yaml: bits of the types that have the key */
    /* Names that an expression may use; 0 for the scope of the enclosing key, if that has one. */
    enum scope scope;
    int unset;          /* the value of the member if an INT or WORD is not given */
    int64_t stored_max; /* the highest number in a spec; 0 if that is max */
    int spec;           /* position in a spec, from 1; 0 if the key is not part of it */
    /* For pawl.yaml: the key sets the initial value of a setting of the database. */
    bool is_shared;
    bool needs_trust; /* for pawl.yaml: the key decides what runs, so the file must be trusted */
    /* The default is written to the canonical text, so that a later release can change the
     * default. */
    bool stored_default;
    const char *only_with;     /* another key that the task must have; NULL if none */
    const char *const *words;  /* the values of a KEY_WORD; ends with NULL */
    const struct keys *group;  /* the keys of the mapping that is the key's value */
    const char *default_value; /* the default as documented; NULL if none */
    /* Description of the key; NULL if the key exists only in the canonical text. */
    const char *sentence;
    /* Words for this key in other tools, separated by spaces; NULL if none. */
    const char *elsewhere;
};

struct keys {
    const char *title; /* title of the section in docs/WORKFLOWS.md */
    const char *about;
    const struct key *at; /* the keys; the last entry has the name NULL */
    size_t size;          /* size of the structure that holds the values */
};
#define KEYS_END     \
    {                \
        .name = NULL \
    }

/* The values of the keys in `container`, before they are written as JSON. */
struct container_keys {
    const char *image, *network;
    int pull;
    struct texts volumes, options;
};
extern const char *const container_pulls[];

extern const struct keys keys_workflow, keys_task, keys_param, keys_triggers, keys_schedule,
    keys_follow, keys_webhook, keys_concurrency, keys_retry, keys_limits, keys_container,
    keys_approval;
/* All key tables, in the order of docs/WORKFLOWS.md. */
extern const struct keys *const keys_all[]; /* ends with NULL */

/* Loops over the keys that may occur in a file, leaving out those that exist only in the canonical
 * text. */
#define KEYS_EACH(keys, k) \
    for ((k) = key_of_file((keys)->at); (k)->name; (k) = key_of_file((k) + 1))
/* Calls `each` for all keys that may occur in a file, with paths such as "worker.slots". Keys whose
 * value is a mapping are left out, but the keys of the mapping are included. */
void keys_walk(const struct keys *keys, const char *above,
               void (*each)(void *arg, const char *path, const struct key *k), void *arg);
/* The first key at or after k that may occur in a file. */
const struct key *key_of_file(const struct key *k);
const struct key *key_find(const struct keys *keys, const char *name);
/* Whether the word is used by other tools for this key. Ignores case, and treats - as _. */
bool key_is_elsewhere(const struct key *k, const char *word);
const char *key_type_sentence(enum key_type type);
enum stored_as key_stored_as(const struct key *k);
/* The size of the key's member. */
size_t key_size(const struct key *k);
/* Sets a member that is a pointer to a list, of any type, and the count that follows it. */
void key_set_list(void *member, const void *at, size_t n);
/* Sets the members of a structure whose default is not 0. */
void keys_init(const struct keys *keys, void *to);

/* ---- JSON ---- */

/* Writes all values that differ from their defaults as members of an object. */
void keys_write(struct json_writer *w, const struct keys *keys, const void *from);
/* In key_is_default and key_write, `member` points to the member, not to the structure. */
bool key_is_default(const struct key *k, const void *member);
void key_write(struct json_writer *w, const struct key *k, const void *member);

/* The state of reading the JSON of a definition or a spec. */
struct key_reader {
    struct arena *arena; /* memory for the values that are read */
    struct err *err;
    /* Whether to check the bounds, because the text was not written by Pawl. */
    bool bounded;
    /* For reading nested definitions; NULL if none can occur; see read.c. */
    struct nested_reader *of;
};
MUST_USE int key_read(struct key_reader *r, const struct key *k, const struct json_node *p,
                      void *member);
/* Likewise, for types without keys of their own (read_value.c). */
MUST_USE int value_read(struct key_reader *r, const struct key *k, const struct json_node *p,
                        void *member);

/* ---- derived ---- */

/* Writes the JSON Schema (draft-07) of workflow files. */
void keys_schema(struct buf *out);

#endif
