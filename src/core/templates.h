/* templates.h - the templates and values of a workflow (core/workflow/model.h), parsed once when a
 * definition is loaded. resolve.h evaluates them. They live in the arena, never change, and may be
 * evaluated by several threads at once. */
#ifndef CORE_TEMPLATES_H
#define CORE_TEMPLATES_H

#include "core/expr/expr.h"
#include "core/workflow/model.h"

enum template_kind {
    TEMPLATE_TEXT, /* text without expressions */
    TEMPLATE_EXPR,
    TEMPLATE_LIST,
    TEMPLATE_OBJECT,
    TEMPLATE_FAULT,   /* an expression with a syntax error: evaluating it fails */
    TEMPLATE_NOT_JSON /* a value that is not valid JSON: evaluating it fails */
};

struct template
{
    enum template_kind kind;
    union {
        const char *text; /* set for TEMPLATE_TEXT and TEMPLATE_NOT_JSON */
        const struct expr *expr;
        struct {
            size_t n;
            const struct template *items;
            /* The keys of an object, in the order of its values; NULL for a list. */
            const char *const *keys;
        };
        const struct expr_fault *fault;
    };
};

/* The templates of a task. Templates up to TASK_MESSAGE are evaluated once for a fan-out, the
 * others once for each of its items. */
enum task_template {
    TASK_CONDITION,
    TASK_FOREACH,
    TASK_MESSAGE, /* the message of the approval */
    TASK_ARGV,
    TASK_ENV,
    TASK_FILES,
    TASK_WITH,
    TASK_CONTAINER,
    TASK_CWD,
    TASK_INPUT,
    TASK_KEY, /* the key of the concurrency limit */
    TASK_TEMPLATES
};

struct templates {
    const struct workflow *workflow;
    const struct template *env, *default_env, *vars, *outputs; /* objects */
    /* The key of the concurrency limit; NULL if the workflow has none. */
    const struct template *key;
    /* The `with` of each trigger: an object. */
    const struct template *const *follows, *const *webhooks;
    /* The templates of each task, by the task's index; NULL if the task has no such template.
     * TASK_ARGV is a list; TASK_ENV, TASK_FILES and TASK_WITH are objects. */
    const struct template *(*tasks)[TASK_TEMPLATES];
};

/* Parses all templates of w, without those of nested workflows. */
const struct templates *templates_parse(const struct workflow *w, struct arena *arena);

/* Whether the task can run only if success() is true: it has no condition, or one of the form
 * success() && …. */
bool templates_require_success(const struct templates *t, const struct workflow_task *task);

/* Calls `each` for every task that the templates of `task` refer to, possibly several times, and
 * with NULL if the templates refer to `tasks` as a whole or by a computed name. If `task` is NULL,
 * reads the templates of the workflow's outputs. For an item of a fan-out, the templates of
 * condition, foreach and approval are left out: they were evaluated for the fan-out. */
void templates_references(const struct templates *t, const struct workflow_task *task, bool item,
                          void (*each)(void *arg, const char *task), void *arg);

#endif
