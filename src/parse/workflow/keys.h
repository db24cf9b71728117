/* keys.h - the key tables of a workflow file: the type, target and description of each key. The
 * reader, the JSON Schema, docs/WORKFLOWS.md and completion are made from them. */
#ifndef PARSE_WORKFLOW_KEYS_H
#define PARSE_WORKFLOW_KEYS_H

#include "core/workflow/model.h"

/* name, text in docs/WORKFLOWS.md */
#define KEY_TYPES(X)                                                \
    X(NAME, "name")                                                 \
    X(TEXT, "string")                                               \
    X(TEMPLATE, "string, may contain `${{ }}`")                     \
    X(SHELL, "shell text, without `${{ }}`")                        \
    X(CONDITION, "expression, with or without `${{ }}`")            \
    X(BOOL, "true or false")                                        \
    X(INT, "number")                                                \
    X(NUMBER, "number")                                             \
    X(DURATION, "duration")                                         \
    X(SIZE, "size")                                                 \
    X(WORD, "")                                                     \
    X(QUEUE, "queue name")                                          \
    X(CRON, "cron pattern")                                         \
    X(ZONE, "time zone name")                                       \
    X(CATCHUP, "duration, or `last`")                               \
    X(TIME, "time: `2026-01-31` or `2026-01-31T14:00:00Z`")         \
    X(FILE, "path of a workflow file")                              \
    X(JOIN, "`all`, `any` or a number")                             \
    X(FOREACH, "list, number or a single `${{ }}`")                 \
    X(NEEDS, "list of task names")                                  \
    X(TEMPLATES, "list of strings, may contain `${{ }}`")           \
    X(VARIABLES, "list of variable names")                          \
    X(OUTPUTS, "list of names")                                     \
    X(CODES, "list of exit codes, 1 to 255")                        \
    X(ENV, "mapping of variables to strings, may contain `${{ }}`") \
    X(VALUES, "mapping of names to values, may contain `${{ }}`")   \
    X(LITERALS, "mapping of names to values")                       \
    X(LITERAL, "any value")                                         \
    X(RETRY, "number, or mapping")                                  \
    X(LIMITS, "mapping")                                            \
    X(CONTAINER, "image, or mapping")                               \
    X(CONCURRENCY, "key, or mapping")                               \
    X(APPROVAL, "message, `true`, or mapping")                      \
    X(PARAMS, "mapping of names to defaults, or to mappings")       \
    X(DEFAULTS, "mapping")                                          \
    X(TRIGGERS, "mapping")                                          \
    X(SCHEDULES, "list of cron patterns, or of mappings")           \
    X(TASK, "task")                                                 \
    X(TASKS, "mapping of names to tasks, or list of tasks")

enum key_type {
#define X(name, text) KEY_##name,
    KEY_TYPES(X)
#undef X
};
const char *key_type_sentence(enum key_type type);

/* The kinds of tasks and the sections in which a key of a task is allowed. */
enum key_context {
    KEY_COMMANDS = 1,  /* tasks with run or argv */
    KEY_FUNCTIONS = 2, /* tasks with function */
    KEY_NESTED = 4,    /* tasks with workflow */
    KEY_HOOKS = 8,     /* on_failure and on_exit */
    KEY_COMMON = 16,   /* defaults */
};
#define KEY_JOBS (KEY_COMMANDS | KEY_FUNCTIONS)
#define KEY_ALL  (KEY_JOBS | KEY_NESTED)

/* The names that expressions in a value may use. */
enum scope {
    SCOPE_PARAMS = 1, /* params only */
    SCOPE_START,      /* params, vars, workflow, execution */
    SCOPE_TASK,       /* also env, the tasks that this one needs, and status functions */
    SCOPE_ITEM,       /* also item and index, if the task has foreach */
    SCOPE_END,        /* as SCOPE_START; also env, and all tasks with their outputs */
};

struct key {
    const char *name;
    enum key_type type;
    size_t at;        /* offset of the member in the structure */
    int64_t min, max; /* of numbers, durations (µs), sizes (bytes); length of texts in bytes */
    unsigned places;  /* bits of enum key_context; 0 if the key is not one of a task */
    enum scope scope; /* 0: the scope of the enclosing key, if that allows expressions */
    const char *const *words;  /* of KEY_WORD, ends with NULL */
    const struct keys *group;  /* the keys of the mapping that the key may hold */
    const char *default_value; /* the default as documented; NULL if none */
    const char *sentence;
    const char *elsewhere; /* names of this key in other tools, separated by spaces; NULL if none */
};

struct keys {
    const char *title; /* of its section in docs/WORKFLOWS.md */
    const char *about;
    const struct key *at; /* ends with a name of NULL */
};

/* The keys of `container` before they are written as JSON. */
struct container_keys {
    const char *image, *network;
    int pull;
    struct workflow_texts volumes, options;
};
extern const char *const container_pulls[];

extern const struct keys keys_workflow, keys_task, keys_param, keys_triggers, keys_schedule,
    keys_concurrency, keys_retry, keys_limits, keys_container, keys_approval;
/* All tables, in the order of docs/WORKFLOWS.md. */
extern const struct keys *const keys_all[]; /* ends with NULL */

const struct key *key_find(const struct keys *keys, const char *name);
/* Whether other tools use this word for the key; ignores case, and treats - as _. */
bool key_is_elsewhere(const struct key *k, const char *word);

/* The JSON Schema (draft-07) of a workflow file. */
void keys_schema(struct buf *out);

#endif
