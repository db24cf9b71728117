/* resolve.c - scopes and values; see resolve.h. resolve_params.c has the params and vars of a
 * workflow, resolve_task.c the spec and input of a task. */
#include "core/resolve.h"

#include "core/expr/value.h"

#include <jansson.h>
#include <string.h>

/* ---- values ---- */

/* Sets an error from a fault. It shows the location of the task, since a definition keeps no other
 * locations. A location within the expression would be mistaken for one in the file. */
static int fault_err(struct expr_fault *fault, const struct resolve_scope *s, struct err *err)
{
    const struct workflow_task *at = s->task && s->task->line ? s->task : NULL;

    fault->file = at ? s->templates->workflow->file : NULL;
    fault->line = at ? at->line : 0;
    fault->column = at ? at->column : 0;
    return expr_fault_err(fault, err);
}

static int eval_items(const struct template *t, const struct resolve_scope *s, json_t **out,
                      struct err *err)
{
    json_auto_t *all = value_need(t->keys ? json_object() : json_array());
    json_t *item;
    int rc;

    for (size_t i = 0; i < t->n; i++) {
        if ((rc = resolve_value(&t->items[i], s, &item, err)))
            return rc;
        if (t->keys)
            value_put(all, t->keys[i], item);
        else
            value_append(all, item);
    }
    *out = json_incref(all);
    return 0;
}

int resolve_value(const struct template *t, const struct resolve_scope *s, json_t **out,
                  struct err *err)
{
    struct expr_fault fault;

    switch (t->kind) {
    case TEMPLATE_TEXT:
        *out = value_need(json_string(t->text));
        return 0;
    case TEMPLATE_EXPR:
        return expr_eval(t->expr, &s->expr, out, &fault) ? fault_err(&fault, s, err) : 0;
    case TEMPLATE_LIST:
    case TEMPLATE_OBJECT:
        return eval_items(t, s, out, err);
    case TEMPLATE_FAULT:
        fault = *t->fault;
        return fault_err(&fault, s, err);
    case TEMPLATE_NOT_JSON:
        break;
    }
    return err_set(err, E_INTERNAL, "a value in the definition is not valid JSON: %.100s", t->text);
}

int resolve_check_nul(const json_t *v, struct err *err)
{
    if (!json_is_string(v) || !memchr(json_string_value(v), '\0', json_string_length(v)))
        return 0;
    return err_set(err, E_INVALID,
                   "the value contains a NUL character, which is not allowed in text");
}

int resolve_text(const struct template *t, const struct resolve_scope *s, struct buf *out,
                 struct err *err)
{
    json_auto_t *v = NULL;
    int rc = resolve_value(t, s, &v, err);

    if (!rc && !(rc = resolve_check_nul(v, err)))
        (void)!value_write_plain(v, SIZE_MAX, out);
    return rc;
}

int resolve_pairs(const struct template *t, const struct resolve_scope *s, bool as_text,
                  json_t **out, struct err *err)
{
    json_auto_t *object = value_need(json_object());
    json_t *v;

    for (size_t i = 0; i < t->n; i++) {
        if (resolve_value(&t->items[i], s, &v, err))
            return err_prefix(err, "%s", t->keys[i]);
        value_put(object, t->keys[i], as_text ? value_as_text(v) : v);
    }
    *out = json_incref(object);
    return 0;
}

const struct template *resolve_template(const struct resolve_scope *s, enum task_template which)
{
    return s->templates->tasks[s->task->index][which];
}

int resolve_condition(const struct resolve_scope *s, bool *out, struct err *err)
{
    const struct template *t = resolve_template(s, TASK_CONDITION);
    struct expr_scope scope = s->expr;
    struct expr_fault fault;

    /* The scope may have been copied since resolve_scope made it, so its pointer to facts is set
     * again. */
    scope.arg = (void *)&s->facts;
    if (t->kind == TEMPLATE_FAULT)
        fault = *t->fault;
    else if (!expr_eval_bool(t->expr, &scope, out, &fault))
        return 0;
    return fault_err(&fault, s, err);
}

int resolve_items(const struct resolve_scope *s, json_t **out, struct err *err)
{
    json_auto_t *v = NULL;

    if (resolve_value(resolve_template(s, TASK_FOREACH), s, &v, err))
        return err_prefix(err, "foreach");
    if (json_is_array(v)) {
        *out = json_incref(v);
        return 0;
    }
    if (!json_is_integer(v) || json_integer_value(v) < 0 || json_integer_value(v) > EXPR_RANGE_MAX)
        return err_set(err, E_INVALID, "foreach needs a list, or a number from 0 to %d, not %s%s",
                       EXPR_RANGE_MAX, value_type_text(v),
                       json_is_string(v) ? ": fromJSON() converts a string to a list" : "");
    *out = value_need(json_array());
    for (json_int_t i = 0; i < json_integer_value(v); i++)
        json_array_append_new(*out, json_integer(i));
    return 0;
}

/* ---- scopes ---- */

static bool status_function(void *arg, enum expr_status which)
{
    const struct graph_facts *f = arg;

    switch (which) {
    case EXPR_SUCCESS:
        return f->success;
    case EXPR_FAILURE:
        return f->failure;
    case EXPR_CANCELLED:
        return f->cancelled;
    default:
        return true;
    }
}

static json_t *make_workflow_value(const struct resolve_given *g)
{
    const struct workflow *w = g->templates->workflow;
    json_t *v = value_need(json_pack("{s:s, s:s}", "name", w->name, "hash", w->hash));

    if (g->status) {
        value_put(v, "status", json_string(g->status));
        value_put(v, "error", g->error ? json_string(g->error) : json_null());
    }
    return v;
}

int resolve_scope(const struct resolve_given *g, struct resolve_scope *out, struct err *err)
{
    struct expr_scope *x = &out->expr;

    *out = (struct resolve_scope){.templates = g->templates, .task = g->task, .facts = g->facts};
    x->names[EXPR_PARAMS] = json_object_get(g->variables, "params");
    x->names[EXPR_VARS] = json_object_get(g->variables, "vars");
    x->names[EXPR_TASKS] = g->tasks;
    x->names[EXPR_ITEM] = g->item;
    x->names[EXPR_INDEX] = g->index;
    x->names[EXPR_EXECUTION] = g->execution;
    x->names[EXPR_WORKFLOW] = make_workflow_value(g);
    if (resolve_pairs(g->templates->env, out, true, &out->env, err)) {
        resolve_scope_release(out);
        return err_prefix(err, "env");
    }
    x->names[EXPR_ENV] = out->env;
    x->status = status_function;
    x->arg = &out->facts;
    return 0;
}

void resolve_scope_release(struct resolve_scope *s)
{
    json_decref(s->expr.names[EXPR_WORKFLOW]);
    json_decref(s->env);
    *s = (struct resolve_scope){0};
}
