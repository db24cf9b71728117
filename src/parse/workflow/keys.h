/* keys.h - the one table of the keys of a workflow file: what each may hold, where that goes, what
 * it is good for. The reader, the JSON Schema, docs/WORKFLOWS.md and completion are made from it.
 */
#ifndef PARSE_WORKFLOW_KEYS_H
#define PARSE_WORKFLOW_KEYS_H

#include "core/workflow/model.h"

/* name, how the page calls it */
#define KEY_TYPES(X)                                           \
    X(NAME, "name")                                            \
    X(TEXT, "text")                                            \
    X(TEMPLATE, "text, may hold `${{ }}`")                     \
    X(SHELL, "shell text, without `${{ }}`")                   \
    X(CONDITION, "expression, `${{ }}` around it or not")      \
    X(BOOL, "true or false")                                   \
    X(INT, "number")                                           \
    X(NUMBER, "number")                                        \
    X(DURATION, "duration")                                    \
    X(SIZE, "size")                                            \
    X(WORD, "")                                                \
    X(QUEUE, "name of a queue")                                \
    X(CRON, "cron pattern")                                    \
    X(ZONE, "name of a time zone")                             \
    X(CATCHUP, "duration, or `last`")                          \
    X(TIME, "time: `2026-01-31` or `2026-01-31T14:00:00Z`")    \
    X(FILE, "path of a workflow file")                         \
    X(JOIN, "`all`, `any` or a number")                        \
    X(FOREACH, "list, number, or one `${{ }}`")                \
    X(NEEDS, "list of tasks")                                  \
    X(TEMPLATES, "list of texts, may hold `${{ }}`")           \
    X(VARIABLES, "list of names of variables")                 \
    X(OUTPUTS, "list of names")                                \
    X(CODES, "list of exit codes, 1 to 255")                   \
    X(ENV, "mapping of variables to texts, may hold `${{ }}`") \
    X(VALUES, "mapping of names to values, may hold `${{ }}`") \
    X(LITERALS, "mapping of names to values")                  \
    X(LITERAL, "any value")                                    \
    X(RETRY, "number, or mapping")                             \
    X(LIMITS, "mapping")                                       \
    X(CONTAINER, "image, or mapping")                          \
    X(CONCURRENCY, "key, or mapping")                          \
    X(APPROVAL, "message, `true`, or mapping")                 \
    X(PARAMS, "mapping of names to defaults, or to mappings")  \
    X(DEFAULTS, "mapping")                                     \
    X(TRIGGERS, "mapping")                                     \
    X(SCHEDULES, "list of cron patterns, or of mappings")      \
    X(TASK, "task")                                            \
    X(TASKS, "mapping of names to tasks, or list of tasks")

enum key_type {
#define X(name, says) KEY_##name,
    KEY_TYPES(X)
#undef X
};
const char *key_type_sentence(enum key_type type);

/* Where a key of a task may stand, and for what. */
enum key_context {
    KEY_COMMANDS = 1,  /* tasks with run or argv */
    KEY_FUNCTIONS = 2, /* with function */
    KEY_NESTED = 4,    /* with workflow */
    KEY_HOOKS = 8,     /* on_failure and on_exit */
    KEY_COMMON = 16,   /* defaults */
};
#define KEY_JOBS (KEY_COMMANDS | KEY_FUNCTIONS)
#define KEY_ALL  (KEY_JOBS | KEY_NESTED)

/* What the expressions in a value may speak of. */
enum scope {
    SCOPE_PARAMS = 1, /* nothing but params */
    SCOPE_START,      /* params, vars, workflow, execution */
    SCOPE_TASK,       /* and env, and the tasks that this one needs, and how they ended */
    SCOPE_ITEM,       /* and item and index, if the task has foreach */
    SCOPE_END,        /* as SCOPE_START, with env, and all tasks with what they left */
};

struct key {
    const char *name;
    enum key_type type;
    size_t at;                 /* in the structure that it belongs to */
    int64_t min, max;          /* of numbers, durations (µs), sizes; of texts: bytes */
    unsigned places;           /* enum key_context; 0 where that has no meaning */
    enum scope scope;          /* 0: that of what is around it, if expressions are allowed at all */
    const char *const *words;  /* of KEY_WORD */
    const struct keys *group;  /* the keys of a mapping that it may hold */
    const char *default_value; /* the default, for people; NULL: none */
    const char *sentence;
    const char *elsewhere; /* how others call it, for who is used to that: words; NULL: none */
};

struct keys {
    const char *title; /* of its section in the page */
    const char *about;
    const struct key *at; /* ends with a name of NULL */
};

/* As `container` reads it, on its way to JSON. */
struct container_keys {
    const char *image, *network;
    int pull;
    struct workflow_texts volumes, options;
};
extern const char *const container_pulls[];

extern const struct keys keys_workflow, keys_task, keys_param, keys_triggers, keys_schedule,
    keys_concurrency, keys_retry, keys_limits, keys_container, keys_approval;
/* All of them, as the page has them. */
extern const struct keys *const keys_all[]; /* ends with NULL */

const struct key *key_find(const struct keys *keys, const char *name);
/* Whether others have this word for it; - and _ are the same, and so are A and a. */
bool key_is_elsewhere(const struct key *k, const char *word);

/* The JSON Schema (draft-07) of a workflow file. */
void keys_schema(struct buf *out);

#endif
