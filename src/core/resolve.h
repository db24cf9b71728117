/* resolve.h - from what a definition says to what a task runs by: templates are evaluated in the
 * scope of one task, and put together as a spec (core/spec.h) and an input. Pure: whoever calls it
 * has fetched what the templates speak of (resolve_references tells what that is). */
#ifndef CORE_RESOLVE_H
#define CORE_RESOLVE_H

#include "core/expr/expr.h"
#include "core/graph.h"
#include "core/workflow/model.h"

/* ---- what a workflow is started with ---- */

/* Reads the params that a program gives: a JSON object of at most JSON_DEPTH_MAX levels; NULL: none
 * are given. *out is a new reference. */
MUST_USE int resolve_read_params(const char *json, struct json_t **out, struct err *err);
/* Checks what was given against the params: E_INVALID and a sentence that names the param. */
MUST_USE int resolve_check_params(const struct workflow *w, struct json_t *given, struct err *err);
/* The same, adds their defaults, and evaluates the vars. *out is a new {"params": …, "vars": …},
 * each of at most JSON_DEPTH_MAX levels. */
MUST_USE int resolve_variables(const struct workflow *w, struct json_t *given, struct json_t **out,
                               struct err *err);

/* ---- the scope of a task ---- */

/* Borrowed, but for what resolve_scope makes itself: release it. */
struct resolve_scope {
    const struct workflow *workflow;
    const struct workflow_task *task; /* NULL: of the workflow as a whole */
    struct expr_scope expr;
    struct graph_facts facts;
    struct json_t *env; /* the workflow's, evaluated */
};

struct resolve_given {
    const struct workflow *workflow;
    const struct workflow_task *task; /* NULL: of the workflow as a whole */
    struct json_t *variables;
    struct json_t *tasks; /* {NAME: {"status", "outputs"}} */
    struct json_t *item;  /* NULL: it is none */
    struct json_t *index;
    struct json_t *execution; /* {"id", "name", "root", "due_at"} */
    struct graph_facts facts;
};
MUST_USE int resolve_scope(const struct resolve_given *g, struct resolve_scope *out,
                           struct err *err);
void resolve_scope_release(struct resolve_scope *s);

/* Which tasks the templates of a task speak of (task NULL: the outputs of the workflow); each may
 * come several times. For one of its items neither the list nor the condition is asked again. */
void resolve_references(const struct workflow *w, const struct workflow_task *task, bool item,
                        void (*each)(void *arg, const char *task), void *arg);

/* ---- its values ---- */

MUST_USE int resolve_condition(const struct workflow *w, const struct workflow_task *task,
                               const struct resolve_scope *s, bool *out, struct err *err);
/* JSON whose texts are templates; *out is a new reference. */
MUST_USE int resolve_value(const char *json, const struct resolve_scope *s, struct json_t **out,
                           struct err *err);
/* A template whose value is written as text. */
MUST_USE int resolve_text(const char *text, const struct resolve_scope *s, struct buf *out,
                          struct err *err);
/* The values of `with` as an object; a new reference. */
MUST_USE int resolve_pairs(const struct workflow_pairs *pairs, const struct resolve_scope *s,
                           struct json_t **out, struct err *err);
/* The same with each value as text, as variables of an environment are. */
MUST_USE int resolve_pairs_as_text(const struct workflow_pairs *pairs,
                                   const struct resolve_scope *s, struct json_t **out,
                                   struct err *err);
/* The list of a fan-out; a number is that many, from 0. A new reference. */
MUST_USE int resolve_items(const struct workflow_task *task, const struct resolve_scope *s,
                           struct json_t **out, struct err *err);

/* What the attempt of a command or function runs by: appends the JSON of its spec, and of its input
 * (nothing: it has none). */
MUST_USE int resolve_task(const struct workflow *w, const struct workflow_task *task,
                          const struct resolve_scope *s, const struct spec *defaults,
                          struct buf *spec, struct buf *input, struct err *err);

#endif
