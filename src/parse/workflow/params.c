/* params.c - reads the params and the triggers of a workflow file. */
#include "parse/workflow/reader.h"

#include <string.h>

#define MAX_PARAMS    1000
#define MAX_SCHEDULES 100
#define MAX_FOLLOWS   100
#define MAX_WEBHOOKS  100

/* ---- params ---- */

/* The type of a param, derived from the type of its default. */
static enum param_type type_of(const struct yaml *node)
{
    static const enum param_type types[] = {
        [YAML_NULL] = PARAM_STRING,  [YAML_BOOL] = PARAM_BOOLEAN, [YAML_INT] = PARAM_INTEGER,
        [YAML_FLOAT] = PARAM_NUMBER, [YAML_TEXT] = PARAM_STRING,  [YAML_LIST] = PARAM_LIST,
        [YAML_MAP] = PARAM_OBJECT};

    return types[node->kind];
}

static void read_param(struct reader *r, const struct yaml_pair *p, const char *what,
                       struct workflow_param *out)
{
    const struct yaml *node = &p->value, *default_value = node;
    char name[WHAT_SIZE];

    if (!reader_is_variable(p->key.text) || !strncmp(p->key.text, "PAWL_", 5))
        (void)yaml_expected(r->doc, &p->key, what,
                            "a name of letters, digits and _ that does not start with PAWL_");
    out->name = reader_keep(r, &p->key, p->key.text);
    if (node->kind == YAML_MAP) {
        default_value = yaml_get(node, "default");
        out->type = default_value ? type_of(default_value) : PARAM_STRING;
        reader_keys(r, &keys_param, node, what, 0, out);
        if (default_value && default_value->kind == YAML_NULL) {
            default_value = NULL;
            out->default_value = NULL;
        }
    } else if (node->kind == YAML_NULL) {
        default_value = NULL;
    } else {
        out->type = type_of(node);
        out->default_value = reader_value(r, node, what, true);
    }
    if (!default_value)
        return;
    (void)reader_check_type(r, default_value, reader_what(name, what, "default"), out->type);
    if (out->required)
        yaml_error(r->doc, default_value,
                   "%s has a default, so it can't be required: remove required or the default",
                   what);
}

bool reader_params(struct reader *r, const struct yaml *node, const char *what)
{
    struct workflow_param *params;
    char name[WHAT_SIZE];

    if (!yaml_is_map(r->doc, node, what))
        return false;
    if (node->n > MAX_PARAMS)
        return yaml_expected(r->doc, node, what, "a mapping of at most 1000 params");
    params = arena_zalloc(r->arena, (node->n + 1) * sizeof(*params));
    for (size_t i = 0; i < node->n; i++) {
        const struct yaml_pair *p = yaml_pair(node, i);

        read_param(r, p, reader_what(name, what, p->key.text), &params[i]);
    }
    r->w->params = params;
    r->w->nparams = node->n;
    return true;
}

/* ---- schedules ---- */

static bool is_named_before(const struct workflow_schedule *all, const struct workflow_schedule *s)
{
    for (; s->name && all < s; all++)
        if (all->name && !strcmp(all->name, s->name))
            return true;
    return false;
}

static void read_schedule(struct reader *r, const struct yaml *node, const char *what,
                          struct workflow_schedule *out)
{
    const struct yaml *with = yaml_get(node, "with");
    char name[WHAT_SIZE];

    if (node->kind != YAML_MAP) {
        (void)reader_key(r, key_find(&keys_schedule, "cron"), node, what, out);
    } else {
        reader_keys(r, &keys_schedule, node, what, 0, out);
        if (!yaml_get(node, "cron"))
            yaml_error(r->doc, node, "%s has no cron: add one, such as cron: \"0 2 * * *\"", what);
    }
    if (out->start && out->end && out->start >= out->end)
        yaml_error(r->doc, yaml_get(node, "end"), "%s: end must be after start", what);
    reader_check_with(r, r->w, with, with ? with : node, reader_what(name, what, "with"));
}

bool reader_schedules(struct reader *r, const struct yaml *node, const char *what)
{
    struct workflow_schedule *schedules;
    const struct yaml *items;
    size_t n, i;

    if (!yaml_list(r->doc, node, what, &items, &n))
        return false;
    if (n > MAX_SCHEDULES)
        return yaml_expected(r->doc, node, what, "a list of at most 100 schedules");
    schedules = arena_zalloc(r->arena, (n + 1) * sizeof(*schedules));
    for (i = 0; i < n; i++) {
        read_schedule(r, &items[i], what, &schedules[i]);
        if (is_named_before(schedules, &schedules[i]))
            yaml_error(r->doc, yaml_get(&items[i], "name"), "%s: two schedules are named %s", what,
                       schedules[i].name);
    }
    r->w->schedules = schedules;
    r->w->nschedules = n;
    return true;
}

/* ---- other workflows ---- */

static void read_follow(struct reader *r, const struct yaml *node, const char *what,
                        struct workflow_follow *out)
{
    const struct yaml *with = yaml_get(node, "with");
    char name[WHAT_SIZE];

    if (node->kind != YAML_MAP) {
        (void)reader_key(r, key_find(&keys_follow, "name"), node, what, out);
    } else {
        reader_keys(r, &keys_follow, node, what, 0, out);
        if (!yaml_get(node, "name"))
            yaml_error(r->doc, node, "%s has no name: add the name of the other workflow", what);
    }
    if (out->name && r->w->name && !strcmp(out->name, r->w->name))
        yaml_error(r->doc, node,
                   "%s: a workflow can't start itself when it ends; schedule it, or repeat the "
                   "work inside one run",
                   what);
    reader_check_with(r, r->w, with, with ? with : node, reader_what(name, what, "with"));
}

bool reader_follows(struct reader *r, const struct yaml *node, const char *what)
{
    struct workflow_follow *follows;
    const struct yaml *items;
    size_t n;

    if (!yaml_list(r->doc, node, what, &items, &n))
        return false;
    if (n > MAX_FOLLOWS)
        return yaml_expected(r->doc, node, what, "a list of at most 100 workflows");
    follows = arena_zalloc(r->arena, (n + 1) * sizeof(*follows));
    for (size_t i = 0; i < n; i++)
        read_follow(r, &items[i], what, &follows[i]);
    r->w->follows = follows;
    r->w->nfollows = n;
    return true;
}

/* ---- webhooks ---- */

static void read_webhook(struct reader *r, const struct yaml *node, const char *what,
                         struct workflow_webhook *out)
{
    const struct yaml *with = yaml_get(node, "with");
    char name[WHAT_SIZE];

    if (node->kind != YAML_MAP) {
        (void)reader_key(r, key_find(&keys_webhook, "name"), node, what, out);
    } else {
        reader_keys(r, &keys_webhook, node, what, 0, out);
        if (!yaml_get(node, "name"))
            yaml_error(r->doc, node, "%s has no name: add one, such as name: push", what);
    }
    reader_check_with(r, r->w, with, with ? with : node, reader_what(name, what, "with"));
}

bool reader_webhooks(struct reader *r, const struct yaml *node, const char *what)
{
    struct workflow_webhook *webhooks;
    const struct yaml *items;
    size_t n;

    if (!yaml_list(r->doc, node, what, &items, &n))
        return false;
    if (n > MAX_WEBHOOKS)
        return yaml_expected(r->doc, node, what, "a list of at most 100 webhooks");
    webhooks = arena_zalloc(r->arena, (n + 1) * sizeof(*webhooks));
    for (size_t i = 0; i < n; i++) {
        read_webhook(r, &items[i], what, &webhooks[i]);
        for (size_t k = 0; webhooks[i].name && k < i; k++)
            if (webhooks[k].name && !strcmp(webhooks[k].name, webhooks[i].name))
                yaml_error(r->doc, &items[i], "%s: the webhook %s is listed twice", what,
                           webhooks[i].name);
    }
    r->w->webhooks = webhooks;
    r->w->nwebhooks = n;
    return true;
}
