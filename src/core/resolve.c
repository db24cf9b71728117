/* resolve.c - scopes, params and values; see resolve.h. The spec and input of a task are made in
 * resolve_task.c. */
#include "core/resolve.h"

#include "base/json.h"
#include "core/expr/value.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#define PARAMS "the params object" /* in error messages */

/* ---- templates ---- */

static struct expr_text text_of(const char *s)
{
    return (struct expr_text){.at = s, .len = strlen(s)};
}

/* Reports the location of the task, since a definition keeps no other locations. A location within
 * the expression would be mistaken for one in the file. */
static int fault_err(struct expr_fault *fault, const struct resolve_scope *s, struct err *err)
{
    const struct workflow_task *at = s->task && s->task->line ? s->task : NULL;

    fault->file = at ? s->workflow->file : NULL;
    fault->line = at ? at->line : 0;
    fault->column = at ? at->column : 0;
    return expr_fault_err(fault, err);
}

static int eval_template(const char *text, const struct resolve_scope *s, json_t **out,
                         struct err *err)
{
    const struct expr_text source = text_of(text);
    const struct expr_template *compiled;
    struct arena arena = ARENA_INIT;
    struct expr_fault fault;
    int rc;

    if (!strstr(text, "${{")) {
        *out = value_need(json_string(text));
        return 0;
    }
    if ((rc = expr_template_compile(&source, &arena, &compiled, &fault)) ||
        (rc = expr_template_eval(compiled, &s->expr, out, &fault)))
        rc = fault_err(&fault, s, err);
    arena_release(&arena);
    return rc;
}

static int eval_json(const json_t *v, const struct resolve_scope *s, json_t **out, struct err *err);

static int eval_list(const json_t *v, const struct resolve_scope *s, json_t **out, struct err *err)
{
    json_t *list = value_need(json_array()), *item;
    size_t i, n = json_array_size(v);
    int rc = 0;

    for (i = 0; !rc && i < n; i++)
        if (!(rc = eval_json(json_array_get(v, i), s, &item, err)))
            json_array_append_new(list, item);
    if (rc)
        json_decref(list);
    else
        *out = list;
    return rc;
}

static int eval_object(const json_t *v, const struct resolve_scope *s, json_t **out,
                       struct err *err)
{
    json_t *object = value_need(json_object()), *inner, *value;
    const char *key;
    int rc = 0;

    json_object_foreach((json_t *)v, key, inner)
    {
        if ((rc = eval_json(inner, s, &value, err)))
            break;
        json_object_set_new(object, key, value);
    }
    if (rc)
        json_decref(object);
    else
        *out = object;
    return rc;
}

static int eval_json(const json_t *v, const struct resolve_scope *s, json_t **out, struct err *err)
{
    if (json_is_string(v))
        return eval_template(json_string_value(v), s, out, err);
    if (json_is_array(v))
        return eval_list(v, s, out, err);
    if (json_is_object(v))
        return eval_object(v, s, out, err);
    *out = json_incref((json_t *)v);
    return 0;
}

int resolve_value(const char *json, const struct resolve_scope *s, json_t **out, struct err *err)
{
    json_t *v = json_loads(json, JSON_DECODE_ANY, NULL);
    int rc =
        v ? eval_json(v, s, out, err)
          : err_set(err, E_INTERNAL, "a value of the definition is not valid JSON: %.100s", json);

    json_decref(v);
    return rc;
}

int resolve_text(const char *text, const struct resolve_scope *s, struct buf *out, struct err *err)
{
    json_t *v;
    int rc = eval_template(text, s, &v, err);

    if (rc)
        return rc;
    if (json_is_string(v)) {
        buf_add(out, json_string_value(v), json_string_length(v));
    } else {
        char *json = json_text(v);

        buf_addstr(out, json);
        free(json);
    }
    json_decref(v);
    return 0;
}

int resolve_pairs(const struct workflow_pairs *pairs, const struct resolve_scope *s, json_t **out,
                  struct err *err)
{
    json_t *object = value_need(json_object()), *v;
    size_t i;
    int rc = 0;

    for (i = 0; i < pairs->n; i++) {
        if ((rc = resolve_value(pairs->at[i].value, s, &v, err))) {
            json_decref(object);
            return err_prefix(err, "%s", pairs->at[i].key);
        }
        json_object_set_new(object, pairs->at[i].key, v);
    }
    *out = object;
    return 0;
}

int resolve_items(const struct workflow_task *task, const struct resolve_scope *s, json_t **out,
                  struct err *err)
{
    json_t *v, *list;
    json_int_t i;
    int rc = resolve_value(task->foreach, s, &v, err);

    if (rc)
        return err_prefix(err, "foreach");
    if (json_is_array(v)) {
        *out = v;
        return 0;
    }
    if (!json_is_integer(v) || json_integer_value(v) < 0 ||
        json_integer_value(v) > EXPR_RANGE_MAX) {
        rc = err_set(err, E_INVALID, "foreach needs a list, or a number from 0 to %d, not %s%s",
                     EXPR_RANGE_MAX, value_type_text(value_of(v).type),
                     json_is_string(v) ? ": fromJSON() converts a string to a list" : "");
        json_decref(v);
        return rc;
    }
    list = value_need(json_array());
    for (i = 0; i < json_integer_value(v); i++)
        json_array_append_new(list, json_integer(i));
    json_decref(v);
    *out = list;
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

int resolve_scope(const struct resolve_given *g, struct resolve_scope *out, struct err *err)
{
    struct expr_scope *x = &out->expr;
    int rc;

    *out = (struct resolve_scope){.workflow = g->workflow, .task = g->task, .facts = g->facts};
    x->names[EXPR_PARAMS] = json_object_get(g->variables, "params");
    x->names[EXPR_VARS] = json_object_get(g->variables, "vars");
    x->names[EXPR_TASKS] = g->tasks;
    x->names[EXPR_ITEM] = g->item;
    x->names[EXPR_INDEX] = g->index;
    x->names[EXPR_EXECUTION] = g->execution;
    x->names[EXPR_WORKFLOW] =
        value_need(json_pack("{s:s, s:s}", "name", g->workflow->name, "hash", g->workflow->hash));
    if ((rc = resolve_pairs_as_text(&g->workflow->env, out, &out->env, err))) {
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

int resolve_condition(const struct workflow *w, const struct workflow_task *task,
                      const struct resolve_scope *s, bool *out, struct err *err)
{
    struct expr_text text = text_of(task->condition);
    struct expr_scope scope = s->expr;
    struct arena arena = ARENA_INIT;
    const struct expr *e;
    struct expr_fault fault;
    int rc;

    (void)w;
    scope.arg = (void *)&s->facts; /* the scope may have been copied since resolve_scope */
    if ((rc = expr_compile_condition(&text, &arena, &e, &fault)) ||
        (rc = expr_eval_bool(e, &scope, out, &fault)))
        rc = fault_err(&fault, s, err);
    arena_release(&arena);
    return rc;
}

/* ---- params and vars of a workflow ---- */

int resolve_read_params(const char *json, json_t **out, struct err *err)
{
    json_error_t at;
    json_t *params;
    int rc;

    if (!json)
        json = "{}";
    if ((rc = json_check_depth(json_depth(json, strlen(json)), JSON_DEPTH_MAX, PARAMS, err)))
        return rc;
    if (!(params = json_loads(json, JSON_DECODE_ANY, &at)))
        return err_set(err, E_INVALID,
                       "the params of a workflow are not valid JSON: line %d, column %d: %s",
                       at.line, at.column, at.text);
    if (!json_is_object(params)) {
        json_decref(params);
        return err_set(err, E_INVALID, "the params of a workflow must be a JSON object");
    }
    *out = params;
    return 0;
}

static bool has_type(const json_t *v, enum param_type type)
{
    switch (type) {
    case PARAM_STRING:
        return json_is_string(v);
    case PARAM_NUMBER:
        return json_is_number(v);
    case PARAM_INTEGER:
        return json_is_integer(v);
    case PARAM_BOOLEAN:
        return json_is_boolean(v);
    case PARAM_LIST:
        return json_is_array(v);
    case PARAM_OBJECT:
        return json_is_object(v);
    }
    return false;
}

/* Whether a param without a given value is null. Then an explicit null is accepted, too: callers
 * that pass on their own params give one. */
static bool may_be_null(const struct workflow_param *p)
{
    return !p->required && (!p->default_value || !strcmp(p->default_value, "null"));
}

static int set_param(const struct workflow_param *p, json_t *given, json_t *params, struct err *err)
{
    json_t *v = json_object_get(given, p->name);

    if (!v && p->default_value) {
        if (!(v = json_loads(p->default_value, JSON_DECODE_ANY, NULL)))
            return err_set(err, E_INTERNAL, "the default of the param %s can't be read", p->name);
        return json_object_set_new(params, p->name, v);
    }
    if (!v && p->required) {
        err_set(err, E_INVALID, "the param %s is missing: it must be %s %s", p->name,
                param_article(p->type), param_types[p->type]);
        return err_missing(err, MISSING_PARAM, p->name);
    }
    if (!v)
        return json_object_set_new(params, p->name, json_null());
    if (!has_type(v, p->type) && !(json_is_null(v) && may_be_null(p)))
        return err_set(err, E_INVALID, "the param %s must be %s %s, not %s", p->name,
                       param_article(p->type), param_types[p->type],
                       value_type_text(value_of(v).type));
    return json_object_set(params, p->name, v);
}

static int refuse_unknown(const struct workflow *w, json_t *given, struct err *err)
{
    const char *key;
    json_t *v;
    size_t i;

    json_object_foreach(given, key, v)
    {
        for (i = 0; i < w->nparams && strcmp(w->params[i].name, key); i++)
            ;
        if (i == w->nparams)
            return err_set(err, E_INVALID, "the workflow %s has no param %.100s", w->name, key);
    }
    return 0;
}

static int set_params(const struct workflow *w, json_t *given, json_t *params, struct err *err)
{
    int rc = refuse_unknown(w, given, err);
    size_t i;

    for (i = 0; !rc && i < w->nparams; i++)
        rc = set_param(&w->params[i], given, params, err);
    /* Checked here because the params of a nested workflow are values of expressions. */
    return rc ? rc : json_check_depth(json_value_depth(params), JSON_DEPTH_MAX, PARAMS, err);
}

int resolve_check_params(const struct workflow *w, json_t *given, struct err *err)
{
    json_t *params = value_need(json_object());
    int rc = set_params(w, given, params, err);

    json_decref(params);
    return rc;
}

int resolve_variables(const struct workflow *w, json_t *given, json_t **out, struct err *err)
{
    json_t *params = value_need(json_object()), *vars = NULL;
    struct resolve_scope s = {0};
    int rc = set_params(w, given, params, err);

    s.expr.names[EXPR_PARAMS] = params;
    if (!rc && (rc = resolve_pairs(&w->vars, &s, &vars, err)))
        err_prefix(err, "vars");
    if (!rc)
        rc = json_check_depth(json_value_depth(vars), JSON_DEPTH_MAX, "the vars object", err);
    if (!rc)
        *out = value_need(json_pack("{s:O, s:O}", "params", params, "vars", vars));
    json_decref(params);
    json_decref(vars);
    return rc;
}

/* ---- references of templates ---- */

struct reference_visitor {
    void (*each)(void *arg, const char *task);
    void *arg;
};

static void on_ref(void *arg, const struct expr_ref *ref)
{
    const struct reference_visitor *s = arg;

    if (ref->name == EXPR_TASKS && ref->n)
        s->each(s->arg, ref->path[0]);
}

static void visit_text(const char *text, bool condition, struct reference_visitor *s)
{
    struct expr_text source;
    struct arena arena = ARENA_INIT;
    const struct expr_template *template;
    const struct expr *e;
    struct expr_fault fault;

    if (!text || (!condition && !strstr(text, "${{")))
        return;
    source = text_of(text);
    if (condition && !expr_compile_condition(&source, &arena, &e, &fault))
        expr_references(e, on_ref, s);
    else if (!condition && !expr_template_compile(&source, &arena, &template, &fault))
        expr_template_references(template, on_ref, s);
    arena_release(&arena);
}

static void visit_json(const json_t *v, struct reference_visitor *s)
{
    const char *key;
    json_t *inner;
    size_t i;

    if (json_is_string(v))
        visit_text(json_string_value(v), false, s);
    json_array_foreach((json_t *)v, i, inner) visit_json(inner, s);
    json_object_foreach((json_t *)v, key, inner) visit_json(inner, s);
}

static void visit_value(const char *json, struct reference_visitor *s)
{
    json_t *v = json && strstr(json, "${{") ? json_loads(json, JSON_DECODE_ANY, NULL) : NULL;

    visit_json(v, s);
    json_decref(v);
}

void resolve_references(const struct workflow *w, const struct workflow_task *task, bool item,
                        void (*each)(void *arg, const char *task), void *arg)
{
    struct reference_visitor s = {each, arg};
    size_t i;

    for (i = 0; !task && i < w->outputs.n; i++)
        visit_value(w->outputs.at[i].value, &s);
    if (!task)
        return;
    if (!item) {
        visit_text(task->condition, true, &s);
        visit_value(task->foreach, &s);
        visit_text(task->approval.message, false, &s);
    }
    for (i = 0; i < task->argv.n; i++)
        visit_text(task->argv.at[i], false, &s);
    for (i = 0; i < task->env.n; i++)
        visit_text(task->env.at[i].value, false, &s);
    for (i = 0; i < task->with.n; i++)
        visit_value(task->with.at[i].value, &s);
    visit_value(task->container, &s);
    visit_text(task->cwd, false, &s);
    visit_text(task->input, false, &s);
    visit_text(task->concurrency.key, false, &s);
}
