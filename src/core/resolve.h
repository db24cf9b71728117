/* resolve.h - turns the definition of a task into the spec (core/spec.h) and the input that it runs
 * with, by evaluating its templates in the task's scope. Pure: the caller loads the values that the
 * templates refer to; resolve_references lists them. */
#ifndef CORE_RESOLVE_H
#define CORE_RESOLVE_H

#include "core/expr/expr.h"
#include "core/graph.h"
#include "core/workflow/model.h"

/* ---- params and vars of a workflow ---- */

/* Parses the params that a program gives: a JSON object of at most JSON_DEPTH_MAX levels; NULL is
 * an empty object. *out is a new reference. */
MUST_USE int resolve_read_params(const char *json, struct json_t **out, struct err *err);
/* Checks the given values against the workflow's params. E_INVALID, with a message that names the
 * param. */
MUST_USE int resolve_check_params(const struct workflow *w, struct json_t *given, struct err *err);
/* Checks the given values, adds the defaults of the params, and evaluates the vars. *out is a new
 * reference to {"params": …, "vars": …}, each of at most JSON_DEPTH_MAX levels. */
MUST_USE int resolve_variables(const struct workflow *w, struct json_t *given, struct json_t **out,
                               struct err *err);

/* ---- the scope of a task ---- */

/* Values are borrowed from struct resolve_given, except those that resolve_scope creates:
 * resolve_scope_release releases these. */
struct resolve_scope {
    const struct workflow *workflow;
    const struct workflow_task *task; /* NULL for the scope of the whole workflow */
    struct expr_scope expr;
    struct graph_facts facts;
    struct json_t *env; /* the workflow's env, evaluated */
};

struct resolve_given {
    const struct workflow *workflow;
    const struct workflow_task *task; /* NULL for the scope of the whole workflow */
    struct json_t *variables;
    struct json_t *tasks; /* {NAME: {"status", "outputs"}} */
    struct json_t *item;  /* NULL unless the task is an item of a fan-out */
    struct json_t *index;
    struct json_t *execution; /* {"id", "name", "root", "due_at"} */
    struct graph_facts facts;
};
MUST_USE int resolve_scope(const struct resolve_given *g, struct resolve_scope *out,
                           struct err *err);
void resolve_scope_release(struct resolve_scope *s);

/* Calls `each` with every task that the templates of `task` refer to, possibly several times. If
 * `task` is NULL, reads the templates of the workflow's outputs. For an item, foreach, condition
 * and approval are left out: they were evaluated for the fan-out. */
void resolve_references(const struct workflow *w, const struct workflow_task *task, bool item,
                        void (*each)(void *arg, const char *task), void *arg);

/* ---- values of a task ---- */

MUST_USE int resolve_condition(const struct workflow *w, const struct workflow_task *task,
                               const struct resolve_scope *s, bool *out, struct err *err);
/* Evaluates JSON whose texts are templates; *out is a new reference. */
MUST_USE int resolve_value(const char *json, const struct resolve_scope *s, struct json_t **out,
                           struct err *err);
/* Evaluates a template and appends its value as text. */
MUST_USE int resolve_text(const char *text, const struct resolve_scope *s, struct buf *out,
                          struct err *err);
/* Evaluates the values of `with`; *out is a new reference to an object. */
MUST_USE int resolve_pairs(const struct workflow_pairs *pairs, const struct resolve_scope *s,
                           struct json_t **out, struct err *err);
/* Like resolve_pairs, but converts each value to a text, as for environment variables. */
MUST_USE int resolve_pairs_as_text(const struct workflow_pairs *pairs,
                                   const struct resolve_scope *s, struct json_t **out,
                                   struct err *err);
/* Evaluates the list of a fan-out; a number n stands for the list 0 … n-1. *out is a new
 * reference. */
MUST_USE int resolve_items(const struct workflow_task *task, const struct resolve_scope *s,
                           struct json_t **out, struct err *err);

/* Appends the JSON of the spec of a command or function and, for a function, the JSON of its
 * input. */
MUST_USE int resolve_task(const struct workflow *w, const struct workflow_task *task,
                          const struct resolve_scope *s, const struct spec *defaults,
                          struct buf *spec, struct buf *input, struct err *err);

#endif
