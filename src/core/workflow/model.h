/* model.h - a workflow definition: a checked graph of tasks with all defaults applied. An engine
 * runs it without the file that it came from. Immutable data in an arena.
 *
 * The store keeps its canonical text (JSON) under the hash of that text. The text includes all
 * nested definitions, so that a run depends on no file.
 *
 * A "template" is a string that may contain ${{ }}; it is evaluated when the task becomes ready. A
 * "value" is JSON whose strings are templates. `item` and `index` are available only in templates
 * of a fan-out's items; docs/WORKFLOWS.md lists the names that other templates may use. */
#ifndef CORE_WORKFLOW_MODEL_H
#define CORE_WORKFLOW_MODEL_H

#include "base/json.h"
#include "core/spec.h"

#include <stddef.h>

#define WORKFLOW_MAX_TASKS      100000
#define WORKFLOW_MAX_NESTED     1000        /* distinct definitions in one text */
#define WORKFLOW_MAX_DEPTH      32          /* levels of nested workflows */
#define WORKFLOW_MAX_TEXT       (64u << 20) /* bytes of a canonical text */
#define WORKFLOW_NAME_MAX       100
/* Nesting levels in a canonical text: those in a file or in JSON from a program, plus those of the
 * objects that hold nested definitions. */
#define WORKFLOW_MAX_JSON_DEPTH (JSON_DEPTH_MAX + 16)
#define WORKFLOW_HASH_SIZE      33 /* 32 hexadecimal digits and NUL */

/* name, text */
#define PARAM_TYPES(X)    \
    X(STRING, "string")   \
    X(NUMBER, "number")   \
    X(INTEGER, "integer") \
    X(BOOLEAN, "boolean") \
    X(LIST, "list")       \
    X(OBJECT, "object")

#define OVERLAPS(X)   \
    X(SKIP, "skip")   \
    X(QUEUE, "queue") \
    X(ALLOW, "allow")

#define X(name, text) PARAM_##name,
enum param_type { PARAM_TYPES(X) };
#undef X
/* How a firing is handled while the schedule's last run is still running: skipped, queued (at most
 * one waits), or run in parallel. */
#define X(name, text) OVERLAP_##name,
enum overlap { OVERLAPS(X) };
#undef X

/* The names of the values of both enums; each list ends with NULL. */
extern const char *const param_types[];
extern const char *const overlaps[];
const char *param_article(enum param_type type); /* "an" for integer and object, otherwise "a" */

struct workflow_param {
    const char *name, *description;
    enum param_type type;
    bool required;
    const char *default_value; /* the default, as JSON; NULL if none */
};

/* At most `max` executions with the same key run at once; no limit if key is NULL. */
struct workflow_concurrency {
    const char *key; /* a template */
    int max;
};

#define CATCHUP_LAST (-1)
struct workflow_schedule {
    const char *name;      /* unique in the workflow; if NULL, its position in the list, from 1 */
    const char *cron, *tz; /* tz is NULL for UTC */
    int64_t catchup;       /* µs: due times missed at most this long ago still run; or
                              CATCHUP_LAST */
    enum overlap overlap;
    int64_t jitter;     /* µs: a firing comes up to this long after its due time */
    int64_t start, end; /* µs since 1970: start <= due < end; 0 for no bound */
    struct pairs with;  /* values of params: JSON without templates */
};

struct workflow_approval {
    bool wanted;
    const char *message; /* a template; NULL if none */
    int64_t timeout;     /* µs; 0 if none */
};

struct workflow;

struct workflow_task {
    const char *name;
    uint32_t index;        /* index in tasks; ntasks for on_failure, ntasks + 1 for on_exit */
    uint32_t line, column; /* its location in the file, for messages; 0 if unknown */
    const char *description;

    /* Exactly one of command.run, command.argv, function and nested is set; or only `executor`, for
     * a task of a custom executor. */
    const char *function; /* its name */
    const struct workflow *nested;
    /* The spec. Its templates are not evaluated yet: argv, env, cwd (relative to the workflow's
     * folder; NULL for that folder), input and container (a value). The secrets include those of
     * the workflow. The timeout of a nested workflow covers all of it. */
    struct spec command;

    const uint32_t *needs; /* indexes in tasks, in the order of the file */
    uint32_t nneeds, nfollowers;
    const uint32_t *followers; /* indexes of the tasks that need this one, ascending */
    const char *condition;     /* `if`, for expr_parse_condition; NULL for success() */
    int join;                  /* number of needs that must succeed; 0 if all must end */

    const char *foreach; /* a value: a list, a number or a template; NULL if none */
    int max_parallel;    /* items at once; 0 for as many as there are slots */
    bool fail_fast;
    bool allow_failure;

    struct pairs with; /* values, by name of the param or variable */
    const char *queue; /* NULL for the queue of the parent */
    int priority;
    const char *executor; /* NULL to use the routes */
    struct workflow_concurrency concurrency;
    int64_t delay; /* µs */
    struct workflow_approval approval;
};

struct workflow {
    const char *name, *description;
    const char *file;   /* its name without folders, for messages; NULL if not from a file */
    const char *folder; /* absolute: relative paths start here; NULL if unknown */
    const char *source; /* the text that it was read from, which is not part of the canonical text;
                           NULL if unknown, if it is nested, and if the text must not be shown */
    char hash[WORKFLOW_HASH_SIZE]; /* hash of its canonical text */

    const struct workflow_param *params;
    size_t nparams;
    struct pairs env;  /* templates */
    struct pairs vars; /* values */
    int64_t timeout;   /* µs for the whole workflow; 0 if none */
    const char *queue; /* already applied to the tasks; NULL if none */
    int priority;      /* already applied to the tasks */
    struct workflow_concurrency concurrency;
    const struct workflow_schedule *schedules;
    size_t nschedules;
    struct texts secrets; /* already applied to the tasks */
    struct pairs outputs; /* values; their templates may refer to all tasks */

    /* The values of `defaults`. Most are already applied to the tasks; keys.h marks those that are
     * not. Variables from any other source override those of its env. */
    struct workflow_task defaults;
    struct workflow_task *tasks; /* in the order of the file */
    uint32_t ntasks;
    struct workflow_task *on_failure, *on_exit; /* NULL if none */

    /* The definitions that its tasks refer to, each once, in the order of first use. */
    const struct workflow *const *nested;
    size_t nnested;
};

/* Whether a custom executor gets the values of the task, which has no command. */
static inline bool task_is_custom(const struct workflow_task *t)
{
    return !t->command.run && !t->command.argc && !t->function && !t->nested;
}

/* Appends the canonical text: keys in a fixed order, only values that differ from the defaults. */
void workflow_write(const struct workflow *w, struct buf *out);
/* The exact inverse of workflow_write. E_INVALID if the text is not canonical or the graph is not
 * valid. */
MUST_USE int workflow_read(const char *json, size_t len, struct arena *arena,
                           const struct workflow **out, struct err *err);
/* The hash under which a canonical text is stored. */
void workflow_hash(const char *text, size_t len, char out[WORKFLOW_HASH_SIZE]);

/* All definitions nested in w at any depth, each once, breadth first. The caller frees the list. */
const struct workflow **workflow_below(const struct workflow *w, size_t *n);

/* The task with that name, including on_failure and on_exit; NULL if none. A linear search. */
const struct workflow_task *workflow_task(const struct workflow *w, const char *name);
/* Sets the error that the workflow has no task of this name, with a suggestion. */
int workflow_no_task(const struct workflow *w, const char *name, struct err *err);

/* [A-Za-z_][A-Za-z0-9_-]{0,99}: names of workflows, tasks, params, vars and outputs. */
bool workflow_is_name(const char *s);

/* ---- the graph ---- */

/* Fills in followers, from the needs, and nested, from the tasks. Call it once. */
void workflow_link(struct workflow *w, struct arena *arena);
/* Writes the tasks to `order` so that each comes after its needs, in breadth-first order; `order`
 * has room for all tasks. *n is the number of tasks written. Returns false if tasks that are in a
 * cycle, or follow one, were left out. */
bool workflow_order(const struct workflow *w, uint32_t *order, uint32_t *n);
/* Calls `each` for cycles: each task of the path needs the next, the last needs the first. Returns
 * the number of cycles reported, at most 100. A cycle that shares a task with a reported one may be
 * left out. */
size_t workflow_cycles(const struct workflow *w,
                       void (*each)(void *arg, const uint32_t *path, uint32_t n), void *arg);

#endif
