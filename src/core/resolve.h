/* resolve.h - turns the definition of a task into the spec (core/spec.h) and the input that it runs
 * with, by evaluating its templates in the task's scope. Pure: the caller loads the values that the
 * templates refer to; templates_references lists them. */
#ifndef CORE_RESOLVE_H
#define CORE_RESOLVE_H

#include "core/graph.h"
#include "core/templates.h"

/* ---- params and vars of a workflow ---- */

/* Parses the params that a program gives: a JSON object of at most JSON_DEPTH_MAX levels. NULL
 * stands for an empty object. *out is a new reference. */
MUST_USE int resolve_read_params(const char *json, struct json_t **out, struct err *err);
/* Checks the given values against the workflow's params. Fails with -E_INVALID and a message that
 * names the param. */
MUST_USE int resolve_check_params(const struct workflow *w, struct json_t *given, struct err *err);
/* Sets the error that an environment variable is too large; `bytes` is the length of NAME=VALUE. */
int resolve_too_large(const char *name, size_t bytes, struct err *err);
/* Adds the defaults of the params to values that resolve_check_params accepted, and evaluates the
 * vars. *out is a new reference to {"params": …, "vars": …}, each of at most JSON_DEPTH_MAX
 * levels. */
MUST_USE int resolve_variables(const struct templates *t, struct json_t *given, struct json_t **out,
                               struct err *err);

/* Evaluates the `with` of a trigger, whose expressions see the event that starts the workflow, and
 * checks the values as params of the workflow. *out is a new reference. */
MUST_USE int resolve_trigger(const struct templates *t, const struct template *with,
                             struct json_t *trigger, struct json_t **out, struct err *err);

/* ---- the scope of a task ---- */

/* The values that the templates of a task may refer to. Values are borrowed from struct
 * resolve_given, except those that resolve_scope creates and resolve_scope_release releases. */
struct resolve_scope {
    const struct templates *templates;
    const struct workflow_task *task; /* NULL for the scope of the whole workflow */
    struct expr_scope expr;
    struct graph_facts facts;
    struct json_t *env; /* the workflow's env, evaluated */
};

struct resolve_given {
    const struct templates *templates;
    const struct workflow_task *task; /* NULL for the scope of the whole workflow */
    struct json_t *variables;
    /* The tasks that templates refer to: {NAME: {"status", "outputs", "error"}}. */
    struct json_t *tasks;
    struct json_t *item; /* the item; NULL unless the task is an item of a fan-out */
    struct json_t *index;
    struct json_t *execution; /* the execution: {"id", "name", "root", "due_at"} */
    struct graph_facts facts;
    /* How the workflow ended; NULL except in on_failure and on_exit; error is NULL if there is
     * none. */
    const char *status, *error;
};
MUST_USE int resolve_scope(const struct resolve_given *g, struct resolve_scope *out,
                           struct err *err);
void resolve_scope_release(struct resolve_scope *s);

/* ---- values ---- */

/* The template of the scope's task for one of its keys; NULL if the task does not have the key. */
const struct template *resolve_template(const struct resolve_scope *s, enum task_template which);
/* Evaluates a template; *out is a new reference. */
MUST_USE int resolve_value(const struct template *t, const struct resolve_scope *s,
                           struct json_t **out, struct err *err);
/* -E_INVALID if the value is a string with a NUL character: a command would get only the text
 * before it. */
MUST_USE int resolve_check_nul(const struct json_t *v, struct err *err);
/* Evaluates a template and appends its value as text. A value that contains a NUL character is an
 * error. */
MUST_USE int resolve_text(const struct template *t, const struct resolve_scope *s, struct buf *out,
                          struct err *err);
/* Evaluates the values of an object; an error names the key. *out is a new reference. If `as_text`
 * is set, each value is converted to a string, as for environment variables. */
MUST_USE int resolve_pairs(const struct template *t, const struct resolve_scope *s, bool as_text,
                           struct json_t **out, struct err *err);

/* Evaluates the condition of the scope's task. */
MUST_USE int resolve_condition(const struct resolve_scope *s, bool *out, struct err *err);
/* Evaluates the list of a fan-out; a number n stands for the list 0 … n-1. *out is a new
 * reference. */
MUST_USE int resolve_items(const struct resolve_scope *s, struct json_t **out, struct err *err);

/* Appends the JSON of the spec of a task and, for a function, the JSON of its input. */
MUST_USE int resolve_task(const struct resolve_scope *s, const struct spec *defaults,
                          struct buf *spec, struct buf *input, struct err *err);

#endif
