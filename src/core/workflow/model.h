/* model.h - a workflow definition: a checked graph of tasks with all defaults applied. An engine
 * runs it without the file that it came from. The data is in an arena and never changes.
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
#define WORKFLOW_MAX_NESTED     1000        /* distinct definitions in one canonical text */
#define WORKFLOW_MAX_DEPTH      32          /* levels of nested workflows */
#define WORKFLOW_MAX_TEXT       (64u << 20) /* bytes of a canonical text */
#define WORKFLOW_NAME_MAX       100
/* Nesting levels of lists and objects in a canonical text: the levels in a file or in JSON from a
 * program, plus the levels of the objects that hold nested definitions. */
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

/* The status with which another workflow must end to start this one. */
#define END_STATUSES(X)       \
    X(SUCCEEDED, "succeeded") \
    X(FAILED, "failed")       \
    X(TIMED_OUT, "timed_out") \
    X(CANCELLED, "cancelled") \
    X(ANY, "any")

#define X(name, text) PARAM_##name,
enum param_type { PARAM_TYPES(X) };
#undef X
/* The treatment of a firing while the schedule's last run is still running: it is skipped, queued
 * (at most one waits), or run in parallel. */
#define X(name, text) OVERLAP_##name,
enum overlap { OVERLAPS(X) };
#undef X
#define X(name, text) END_##name,
enum end_status { END_STATUSES(X) };
#undef X

/* The texts of enum param_type, enum overlap and enum end_status; each list ends with NULL. */
extern const char *const param_types[];
extern const char *const overlaps[];
extern const char *const end_statuses[];
const char *param_article(enum param_type type); /* "an" or "a", to be written before the type */

struct workflow_param {
    const char *name, *description;
    enum param_type type;
    bool required;
    const char *default_value; /* the default value as JSON; NULL if none */
};

/* At most `max` executions with the same `key` run at once. There is no limit if `key` is NULL. */
struct workflow_concurrency {
    const char *key; /* a template */
    int max;
};

#define CATCHUP_LAST (-1)
struct workflow_schedule {
    /* Unique in the workflow; if NULL, the schedule is named by its position in the list, from
     * 1. */
    const char *name;
    const char *cron, *tz; /* tz is NULL for UTC */
    /* µs: due times missed by at most this much still run; or CATCHUP_LAST. */
    int64_t catchup;
    enum overlap overlap;
    int64_t jitter; /* µs: a firing comes up to this long after its due time */
    /* µs since 1970: a due time counts only if start <= due < end; 0 for no bound. */
    int64_t start, end;
    struct pairs with; /* values of params: JSON without templates */
};

/* A workflow whose runs start this one when they end. */
struct workflow_follow {
    const char *name;       /* of the other workflow */
    enum end_status status; /* how its run must have ended */
    struct pairs with;      /* values of params; their templates see `trigger` */
};

/* A webhook that starts the workflow. */
struct workflow_webhook {
    const char *name;
    struct pairs with; /* as in struct workflow_follow */
};

struct workflow_approval {
    bool wanted;
    const char *message; /* a template; NULL if none */
    int64_t timeout;     /* µs until the approval times out; 0 if never */
};

struct workflow;

struct workflow_task {
    const char *name;
    uint32_t index;        /* index in tasks; ntasks for on_failure, ntasks + 1 for on_exit */
    uint32_t line, column; /* location of the task in the file, for messages; 0 if unknown */
    const char *description;

    /* Exactly one of command.run, command.argv, function and nested is set; or only `executor`, for
     * a task of a custom executor. */
    const char *function; /* its name */
    const struct workflow *nested;
    /* The spec. Some of its members are templates that are not evaluated yet: argv, env, cwd
     * (relative to the workflow's folder; NULL for that folder), input and container (a value). The
     * secrets include those of the workflow. The timeout of a nested workflow covers all of it. */
    struct spec command;

    const uint32_t *needs; /* indexes in tasks, in the order of the file */
    uint32_t nneeds, nfollowers;
    const uint32_t *followers; /* indexes of the followers in tasks, ascending */
    /* `if`, in the form that expr_parse_condition reads; NULL for success(). */
    const char *condition;
    /* Number of needs that must succeed; 0 if the task waits for all needs to end. */
    int join;

    const char *foreach; /* a value: a list, a number or a template; NULL if none */
    int max_parallel;    /* items that may run at once; 0 if not limited */
    bool fail_fast;
    bool allow_failure;

    struct pairs with; /* values by name of the param or variable */
    const char *queue; /* NULL for the queue of the parent execution */
    int priority;
    const char *executor; /* key of the executor; NULL if the routes choose it */
    struct workflow_concurrency concurrency;
    int64_t delay; /* µs */
    struct workflow_approval approval;
};

struct workflow {
    const char *name, *description;
    /* Name of the file without folders, for messages; NULL if the workflow is not from a file. */
    const char *file;
    /* Absolute path of the folder in which relative paths start; NULL if unknown. */
    const char *folder;
    /* The text of the file, which is not part of the canonical text; NULL if unknown, if the
     * workflow is nested, or if the text must not be shown. */
    const char *source;
    char hash[WORKFLOW_HASH_SIZE]; /* hash of the canonical text */

    const struct workflow_param *params;
    size_t nparams;
    struct pairs env;  /* templates */
    struct pairs vars; /* JSON values; their templates may refer to params only */
    int64_t timeout;   /* µs that the whole workflow may take; 0 if not limited */
    const char *queue; /* the queue of the workflow, already copied to its tasks; NULL if none */
    int priority;      /* the priority of the workflow, already copied to its tasks */
    struct workflow_concurrency concurrency;
    const struct workflow_schedule *schedules;
    size_t nschedules;
    const struct workflow_follow *follows;
    size_t nfollows;
    const struct workflow_webhook *webhooks;
    size_t nwebhooks;
    struct texts secrets; /* the secrets of the workflow, already copied to its tasks */
    struct pairs outputs; /* JSON values; their templates may refer to all tasks */

    /* The values of `defaults`. Most are already copied to the tasks; keys.h marks those that are
     * not. The variables in its env are overridden by variables from any other source. */
    struct workflow_task defaults;
    struct workflow_task *tasks; /* in the order of the file */
    uint32_t ntasks;
    struct workflow_task *on_failure, *on_exit; /* each is NULL if not given */

    /* The nested definitions that the tasks refer to, each once, in the order of first use. */
    const struct workflow *const *nested;
    size_t nnested;
};

/* Whether the task is run by a custom executor, which gets its values: it has no command, function
 * or nested workflow. */
static inline bool task_is_custom(const struct workflow_task *t)
{
    return !t->command.run && !t->command.argc && !t->function && !t->nested;
}

/* Appends the canonical text of the workflow: its keys in a fixed order, and only values that
 * differ from the defaults. */
void workflow_write(const struct workflow *w, struct buf *out);
/* Reads a canonical text; the exact inverse of workflow_write. -E_INVALID if the text is not
 * canonical or the graph is not valid. */
MUST_USE int workflow_read(const char *json, size_t len, struct arena *arena,
                           const struct workflow **out, struct err *err);
/* The hash under which a canonical text is stored. */
void workflow_hash(const char *text, size_t len, char out[WORKFLOW_HASH_SIZE]);

/* All definitions nested in w at any depth, each once, breadth first. The caller frees the list. */
const struct workflow **workflow_below(const struct workflow *w, size_t *n);

/* The task with this name, including on_failure and on_exit; NULL if there is none. A linear
 * search. */
const struct workflow_task *workflow_task(const struct workflow *w, const char *name);
/* Sets the error that the workflow has no task of this name, and suggests a similar name. */
int workflow_no_task(const struct workflow *w, const char *name, struct err *err);

/* Whether s matches [A-Za-z_][A-Za-z0-9_-]{0,99}, the rule for names of workflows, tasks, params,
 * vars and outputs. */
bool workflow_is_name(const char *s);

/* ---- the graph ---- */

/* Sets `followers` from the needs of the tasks, and `nested` from the tasks. Call it once. */
void workflow_link(struct workflow *w, struct arena *arena);
/* Writes the tasks to `order` so that each comes after its needs, in breadth-first order; `order`
 * has room for all tasks. *n becomes the number of tasks written. Returns false if tasks were left
 * out because they are in a cycle or follow a task in one. */
bool workflow_order(const struct workflow *w, uint32_t *order, uint32_t *n);
/* Calls `each` with the path of each cycle: each task in it needs the next one, and the last needs
 * the first. Returns the number of cycles reported, at most 100. A cycle that shares a task with a
 * reported cycle may be left out. */
size_t workflow_cycles(const struct workflow *w,
                       void (*each)(void *arg, const uint32_t *path, uint32_t n), void *arg);

#endif
