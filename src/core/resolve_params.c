/* resolve_params.c - the params and vars of a workflow; see resolve.h. */
#include "base/json.h"
#include "core/expr/value.h"
#include "core/resolve.h"
#include "core/workflow/keys.h"

#include <jansson.h>
#include <string.h>

#define PARAMS "the params object" /* name of the document in error messages */

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

/* Whether the param is null when no value is given. Such a param also accepts a null that is given:
 * a workflow may pass on a param of its own that is null. */
static bool may_be_null(const struct workflow_param *p)
{
    return !p->required && (!p->default_value || !strcmp(p->default_value, "null"));
}

int resolve_too_large(const char *name, size_t bytes, struct err *err)
{
    return err_set(
        err, E_INVALID,
        "the value of %s is too large for an environment variable: with its name it is "
        "%zu bytes long, and at most %d are possible; give it to the command as a file, with the "
        "key files: {%s: ${{ … }}}, or on its standard input, with the key stdin",
        name, bytes, KEY_ARG_BYTES, name);
}

static bool sets_variable(const struct workflow_task *t, const char *name)
{
    return pairs_have(t->command.env, t->command.nenv, name) ||
           pairs_have(t->command.files, t->command.nfiles, name) ||
           pairs_have(t->with.at, t->with.n, name);
}

/* The length of NAME=VALUE for the given value or, without one, for the default. 0 if neither can
 * be too long. */
static size_t param_size(const struct workflow_param *p, json_t *v)
{
    bool is_large = !v && p->default_value && strlen(p->default_value) > KEY_ARG_BYTES / 2;
    json_auto_t *value =
        is_large ? json_loads(p->default_value, JSON_DECODE_ANY, NULL) : json_incref(v);
    AUTO_FREE char *text = value && !json_is_string(value) ? json_text(value) : NULL;

    return value ? strlen(p->name) + 1 + strlen(text ? text : json_string_value(value)) : 0;
}

/* Refuses a value of a param if a task reads the param from an environment variable and the value
 * is too large for one. */
static int check_size(const struct workflow *w, const struct workflow_param *p, json_t *v,
                      struct err *err)
{
    size_t bytes = param_size(p, v);

    if (bytes <= KEY_ARG_BYTES)
        return 0;
    for (uint32_t i = 0; i < w->ntasks; i++) {
        const struct workflow_task *t = &w->tasks[i];

        if (spec_mentions(&t->command, p->name) && !sets_variable(t, p->name)) {
            (void)resolve_too_large(p->name, bytes, err);
            return err_prefix(err, "task %s", t->name);
        }
    }
    return 0;
}

static int check_param(const struct workflow *w, const struct workflow_param *p, json_t *given,
                       struct err *err)
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
    /* The params of a nested workflow come from expressions, so their depth has not been checked
     * yet. */
    TRY(json_check_depth(depth + 1, JSON_DEPTH_MAX, PARAMS, err));
    return check_size(w, p, v, err);
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
        rc = check_param(w, &w->params[i], given, err);
    return rc;
}

/* Copies the given values and adds the defaults of all other params. *out is a new reference to the
 * object. */
static int add_defaults(const struct workflow *w, json_t *given, json_t **out, struct err *err)
{
    json_t *params = *out = value_need(json_object());

    for (size_t i = 0; i < w->nparams; i++) {
        const struct workflow_param *p = &w->params[i];
        json_t *v =
            p->default_value ? json_loads(p->default_value, JSON_DECODE_ANY, NULL) : json_null();

        if (!v)
            return err_set(err, E_INTERNAL,
                           "the default of the param %s is not valid JSON: apply the workflow "
                           "file again",
                           p->name);
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

int resolve_trigger(const struct templates *t, const struct template *with, json_t *trigger,
                    json_t **out, struct err *err)
{
    struct resolve_scope s = {.templates = t};
    json_auto_t *params = NULL;

    s.expr.names[EXPR_TRIGGER] = trigger;
    if (resolve_pairs(with, &s, false, &params, err))
        return err_prefix(err, "with");
    TRY(resolve_check_params(t->workflow, params, err));
    TRY(json_check_depth(json_value_depth(params), JSON_DEPTH_MAX, PARAMS, err));
    *out = json_incref(params);
    return 0;
}
