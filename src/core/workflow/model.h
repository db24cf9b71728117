/* model.h - a workflow: a graph of tasks, checked, with all defaults applied, as an engine runs
 * it without the file that it came from. Pure data in an arena; nothing in it changes any more.
 *
 * Its canonical text (JSON) is what is stored, under the hash of that text. Definitions that are
 * nested in it are part of the text, so that a run depends on no file.
 *
 * A "template" is a text with ${{ }} in it, or one without; whoever runs the task evaluates it. A
 * "value" is JSON whose texts are templates. `item` and `index` are known to the templates of a
 * fan-out's items; see docs/WORKFLOWS.md for what the others may name. */
#ifndef CORE_WORKFLOW_MODEL_H
#define CORE_WORKFLOW_MODEL_H

#include "base/json.h"
#include "core/spec.h"

#include <stddef.h>

#define WORKFLOW_MAX_TASKS      100000
#define WORKFLOW_MAX_NESTED     1000        /* distinct definitions in one text */
#define WORKFLOW_MAX_DEPTH      32          /* of workflows in workflows */
#define WORKFLOW_MAX_TEXT       (64u << 20) /* bytes of a canonical text */
#define WORKFLOW_NAME_MAX       100
/* Levels of a canonical text: those of a file, or of what a program gives as JSON, and of the
 * objects that hold the nested definitions. */
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
/* What a schedule does while its last run still goes on: leave this one out, let one wait, run it.
 */
#define X(name, text) OVERLAP_##name,
enum overlap { OVERLAPS(X) };
#undef X

/* Their texts, by number; each list ends with NULL. */
extern const char *const param_types[];
extern const char *const overlaps[];
const char *param_article(enum param_type type); /* an integer, but a string */

struct workflow_param {
    const char *name, *description;
    enum param_type type;
    bool required;
    const char *default_value; /* the default, as JSON; NULL: none */
};

struct workflow_texts {
    const char *const *at; /* ends with NULL, if there are any */
    size_t n;
};

struct workflow_pairs {
    const struct spec_pair *at;
    size_t n;
};

/* So many at once with the same key; no limit if key is NULL. */
struct workflow_concurrency {
    const char *key; /* a template */
    int max;
};

struct workflow_retry {
    int max; /* attempts after the first; -1: as configured */
    struct retry_policy policy;
};

#define CATCHUP_LAST (-1)
struct workflow_schedule {
    const char *name;      /* differs from that of others; NULL: its place in the list, from 1 */
    const char *cron, *tz; /* tz NULL: UTC */
    int64_t catchup;       /* µs: missed due times so long ago are still run; or CATCHUP_LAST */
    enum overlap overlap;
    int64_t jitter;             /* µs: firings come up to this long after they are due */
    int64_t start, end;         /* µs since 1970: start <= due < end; 0: open */
    struct workflow_pairs with; /* values of params: JSON without templates */
};

struct workflow_limits {
    int64_t memory, cpu; /* as in struct spec; 0: none */
    int files, pids;
};

struct workflow_approval {
    const char *message; /* a template; NULL: none */
    int64_t timeout;     /* µs; 0: none */
};

struct workflow;

struct workflow_task {
    const char *name;
    uint32_t index;        /* in tasks; on_failure has their number, on_exit one more */
    uint32_t line, column; /* in the file, for messages; 0: not known */
    const char *description;

    /* Exactly one of these four. */
    const char *run;            /* shell text, free of templates */
    struct workflow_texts argv; /* templates */
    const char *function;       /* its name */
    const struct workflow *nested;

    const uint32_t *needs;     /* indexes in tasks, as written */
    const uint32_t *followers; /* those that need this one, ascending */
    uint32_t nneeds, nfollowers;
    const char *condition; /* `if`, for expr_compile_condition; NULL: success() */
    int join;              /* so many needs must have succeeded; 0: all must have ended */

    const char *foreach; /* a value: a list, a number, or a text that is a template; NULL: none */
    int max_parallel;    /* items at once; 0: as many as there are slots */
    bool fail_fast;
    bool allow_failure;

    struct workflow_pairs with; /* values, by name of the param or variable */
    struct workflow_pairs env;  /* templates */
    const char *cwd;            /* a template; relative: to the workflow's folder; NULL: that */
    const char *input;          /* standard input, a template; NULL: none */
    const char *user;
    struct workflow_limits limits;
    const char *container;         /* a value: an object; NULL: none */
    struct workflow_texts secrets; /* names; those of the workflow among them */
    struct workflow_retry retry;
    int64_t timeout;   /* µs per attempt, of a nested workflow for the whole; 0: as configured */
    const char *queue; /* NULL: that of the execution above */
    int priority;
    const char *executor; /* NULL: by the routes */
    struct workflow_concurrency concurrency;
    int64_t delay;                 /* µs */
    struct workflow_texts outputs; /* names that count; none: all */
    bool has_approval;
    struct workflow_approval approval;
};

struct workflow {
    const char *name, *description;
    const char *file;   /* its name without folders, for messages; NULL: not from a file */
    const char *folder; /* absolute: where relative paths begin; NULL: nowhere */
    char hash[WORKFLOW_HASH_SIZE]; /* of its canonical text */

    const struct workflow_param *params;
    size_t nparams;
    struct workflow_pairs env, default_env; /* templates; default_env comes after all others */
    struct workflow_pairs vars;             /* values */
    int64_t timeout;                        /* µs for the whole; 0: none */
    const char *queue;                      /* already in the tasks; NULL: none */
    int priority;                           /* likewise */
    struct workflow_concurrency concurrency;
    const struct workflow_schedule *schedules;
    size_t nschedules;
    struct workflow_texts secrets; /* already in the tasks */
    struct workflow_pairs outputs; /* values; texts are templates over all tasks */

    struct workflow_task *tasks; /* in the order of the file */
    uint32_t ntasks;
    struct workflow_task *on_failure, *on_exit; /* NULL: none */

    /* The definitions that its tasks name, each once, in the order of their first use. */
    const struct workflow *const *nested;
    size_t nnested;
};

/* Appends the canonical text: keys in a fixed order, only what differs from the defaults. */
void workflow_write(const struct workflow *w, struct buf *out);
/* Its exact inverse. What is not a canonical text, or not a graph, is E_INVALID. */
MUST_USE int workflow_read(const char *json, size_t len, struct arena *arena,
                           const struct workflow **out, struct err *err);
/* The hash under which a canonical text is stored. */
void workflow_hash(const char *text, size_t len, char out[WORKFLOW_HASH_SIZE]);

/* The definitions below w, each once: those that it names, then those that these name, and so on.
 * The caller frees the list. */
const struct workflow **workflow_below(const struct workflow *w, size_t *n);

/* The task of that name, on_failure and on_exit among them; NULL: none. Takes a walk through all.
 */
const struct workflow_task *workflow_task(const struct workflow *w, const char *name);
/* Says that there is none of this name, nor of those that come after all others. */
int workflow_no_task(const struct workflow *w, const char *name, struct err *err);

/* [A-Za-z_][A-Za-z0-9_-]{0,99}: names of workflows, tasks, params, vars and outputs. */
bool workflow_is_name(const char *s);

/* ---- the graph ---- */

/* Fills in followers, from needs, and nested, from the tasks. Once. */
void workflow_link(struct workflow *w, struct arena *arena);
/* The tasks so that each comes after its needs, those of the file first where there is a choice;
 * `order` has room for all. False: some are in a circle, or behind one, and are left out;
 * *n is how many were placed. */
bool workflow_order(const struct workflow *w, uint32_t *order, uint32_t *n);
/* Circles: each task of the path needs the next, the last needs the first. Returns how many were
 * told, at most 100; those that begin or end in one that was told may be left out. */
size_t workflow_cycles(const struct workflow *w,
                       void (*each)(void *arg, const uint32_t *path, uint32_t n), void *arg);

#endif
