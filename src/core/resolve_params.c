/* resolve_params.c - the params and vars of a workflow; see resolve.h. */
#include "base/json.h"
#include "core/expr/value.h"
#include "core/resolve.h"

#include <jansson.h>
#include <string.h>

#define PARAMS "the params object" /* its name in error messages */

int resolve_read_params(const char *json, json_t **out, struct err *err)
{
    json_error_t at;
    json_auto_t *params = NULL;
    int rc;

    if (!json)
        json = "{}";
    if ((rc = json_check_depth(json_depth(json, strlen(json)), JSON_DEPTH_MAX, PARAMS, err)))
        return rc;
    if (!(params = json_loads(json, JSON_DECODE_ANY | JSON_REJECT_DUPLICATES, &at)))
        return json_refuse(PARAMS, &at, err);
    if (!json_is_object(params))
        return err_set(err, E_INVALID, "the params of a workflow must be a JSON object");
    *out = json_incref(params);
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

/* Whether the param is null if no value is given. Then an explicit null is accepted, too: callers
 * that pass on their own params may pass one. */
static bool may_be_null(const struct workflow_param *p)
{
    return !p->required && (!p->default_value || !strcmp(p->default_value, "null"));
}

static int check_param(const struct workflow_param *p, json_t *given, struct err *err)
{
    json_t *v = json_object_get(given, p->name);
    const char *default_value = v ? NULL : p->default_value;
    size_t depth = v               ? json_value_depth(v)
                   : default_value ? json_depth(default_value, strlen(default_value))
                                   : 0;

    if (!v && p->required && !default_value) {
        err_set(err, E_INVALID, "the param %s is missing: it must be %s %s", p->name,
                param_article(p->type), param_types[p->type]);
        return err_missing(err, MISSING_PARAM, p->name);
    }
    if (v && !has_type(v, p->type) && !(json_is_null(v) && may_be_null(p)))
        return err_set(err, E_INVALID, "the param %s must be %s %s, not %s", p->name,
                       param_article(p->type), param_types[p->type], value_type_text(v));
    /* The params of a nested workflow come from expressions, so their depth was not checked
     * before. */
    return json_check_depth(depth + 1, JSON_DEPTH_MAX, PARAMS, err);
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

int resolve_check_params(const struct workflow *w, json_t *given, struct err *err)
{
    int rc = refuse_unknown(w, given, err);

    for (size_t i = 0; !rc && i < w->nparams; i++)
        rc = check_param(&w->params[i], given, err);
    return rc;
}

/* *out is a new reference to the given values and the defaults of the others. */
static int add_defaults(const struct workflow *w, json_t *given, json_t **out, struct err *err)
{
    json_t *params = *out = value_need(json_object());

    for (size_t i = 0; i < w->nparams; i++) {
        const struct workflow_param *p = &w->params[i];
        json_t *v =
            p->default_value ? json_loads(p->default_value, JSON_DECODE_ANY, NULL) : json_null();

        if (!v)
            return err_set(err, E_INTERNAL, "the default of the param %s can't be read", p->name);
        json_object_set_new(params, p->name, v);
    }
    json_object_update(params, given);
    return 0;
}

int resolve_variables(const struct templates *t, json_t *given, json_t **out, struct err *err)
{
    json_auto_t *params = NULL, *vars = NULL;
    struct resolve_scope s = {.templates = t};
    int rc = add_defaults(t->workflow, given, &params, err);

    if (rc)
        return rc;
    s.expr.names[EXPR_PARAMS] = params;
    if (resolve_pairs(t->vars, &s, false, &vars, err))
        return err_prefix(err, "vars");
    if (!(rc = json_check_depth(json_value_depth(vars), JSON_DEPTH_MAX, "the vars object", err)))
        *out = value_need(json_pack("{s:O, s:O}", "params", params, "vars", vars));
    return rc;
}
