/* config_executors.c - reads the executors and the routes of a configuration. */
#include "base/suggest.h"
#include "parse/config/config_parts.h"

#include <stdio.h>
#include <string.h>

#define MAX_KEY_LENGTH 64
#define MAX_EXECUTORS  100

const struct config_executor *config_executor(const struct config *c, const char *key)
{
    for (size_t i = 0; i < c->executors.n; i++)
        if (!strcmp(c->executors.at[i].key, key))
            return &c->executors.at[i];
    return NULL;
}

/* ---- executors ---- */

static bool is_valid_key(const char *key)
{
    static const char letters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-";
    size_t len = strlen(key);

    return len && len <= MAX_KEY_LENGTH && strspn(key, letters) == len && !strchr("_.-", *key);
}

/* The executor type whose name is the executor's key; -1 if there is none. */
static int type_by_key(const char *key)
{
    for (int i = 0; CONFIG_OURS >> i; i++)
        if (!strcmp(config_executor_types[i], key))
            return i;
    return -1;
}

/* Limits the variables that a container inherits by default: most variables of the host's
 * environment are meaningless in a container. */
static void use_container_env(struct config_executor *x)
{
    static const char *const names[] = {"LANG", "LC_ALL", "TZ", NULL};

    x->env = (struct texts){names, sizeof(names) / sizeof(*names) - 1};
}

/* Sets values of an executor that are derived from other values. */
static void derive_values(const struct reader *r, struct config_executor *x,
                          const struct yaml *value)
{
    const struct config *c = r->config;

    x->slots_given = reader_given(r, value, "slots");
    if (!x->slots_given)
        x->slots = x->type == CONFIG_FUNCTION ? c->functions.threads : c->worker.slots;
    if (!reader_given(r, value, "log.head"))
        x->log.head = c->logs.keep / 2;
    if (!reader_given(r, value, "log.tail"))
        x->log.tail = c->logs.keep / 2;
    if (!reader_given(r, value, "env") && x->type == CONFIG_CONTAINER)
        use_container_env(x);
}

struct type_check {
    const struct reader *r;
    const struct config_executor *x;
    const struct yaml *value;
};

static void check_type(void *arg, const char *path, const struct key *k)
{
    const struct type_check *c = arg;
    const struct yaml *node = reader_given(c->r, c->value, path);

    if (node && !(k->places & 1u << c->x->type))
        yaml_error(c->r->doc, node, "executors.%s.%s: an executor of type %s has no %s%s",
                   c->x->key, path, config_executor_types[c->x->type], path,
                   !strcmp(path, "slots") ? ": set functions.threads instead" : "");
}

/* An executor named like a type must have this type. Functions are registered in the worker and not
 * routed, so there is only one executor for them. */
static void check_name(const struct reader *r, const struct config_executor *x,
                       const struct yaml *at)
{
    int named = type_by_key(x->key);

    if (named >= 0 && named != x->type)
        yaml_error(r->doc, at,
                   "executors.%s: the type of this executor must be %s; use another key "
                   "for another type",
                   x->key, x->key);
    else if (named < 0 && x->type == CONFIG_FUNCTION)
        yaml_error(r->doc, at, "executors.%s: only the executor named `function` can run functions",
                   x->key);
}

/* Reads one executor. `at` and `value` are NULL for an executor that is not in the file. */
static void read_executor(struct reader *r, const char *key, const struct yaml *at,
                          const struct yaml *value, struct config_executor *x)
{
    char what[96];

    *x = (struct config_executor){.key = arena_strdup(&r->config->arena, key),
                                  .type = type_by_key(key)};
    reader_defaults_of(r, &config_executor_keys, x, true);
    snprintf(what, sizeof(what), "executors.%s", key);
    if (value && value->kind != YAML_NULL)
        reader_keys(r, &config_executor_keys, value, what, 0, x);
    if (value && x->type >= 0)
        check_name(r, x, at);
    if (x->type >= 0) {
        keys_walk(&config_executor_keys, "", check_type, &(struct type_check){r, x, value});
        derive_values(r, x, value);
    } else if (!yaml_get(value, "type")) {
        yaml_error(r->doc, at, "%s needs a type: process, container or custom", what);
    }
}

void config_read_executors(struct reader *r, const struct yaml *node)
{
    struct config_executor *list;
    size_t n = 0, i, given = 0;

    if (node && node->kind != YAML_NULL && yaml_is_map(r->doc, node, "executors"))
        given = node->n;
    if (given > MAX_EXECUTORS) {
        yaml_error(r->doc, node, "executors: at most %d are allowed", MAX_EXECUTORS);
        given = 0;
    }
    list = arena_alloc(&r->config->arena, (given + 3) * sizeof(*list));
    for (i = 0; i < given; i++) {
        const struct yaml_pair *p = yaml_pair(node, i);

        if (!is_valid_key(p->key.text))
            yaml_error(
                r->doc, &p->key,
                "executors: \"%.60s\" is not a valid key: use at most %d letters, digits, _, . "
                "and -, and start with a letter or digit",
                p->key.text, MAX_KEY_LENGTH);
        read_executor(r, p->key.text, &p->key, &p->value, &list[n++]);
    }
    for (i = 0; CONFIG_OURS >> i; i++)
        if (!given || !yaml_get(node, config_executor_types[i]))
            read_executor(r, config_executor_types[i], NULL, NULL, &list[n++]);
    r->config->executors = (struct config_executors){.at = list, .n = n};
}

void config_check_executor(const struct reader *r, const struct yaml *node, const char *what,
                           const char *key)
{
    const struct config_executors *xs = &r->config->executors;
    const struct config_executor *x = config_executor(r->config, key);
    struct suggestion s = suggest_for(key);

    if (x && x->type == CONFIG_FUNCTION)
        yaml_error(r->doc, node, "%s: the executor \"%.60s\" runs functions, not commands", what,
                   key);
    if (x)
        return;
    for (size_t i = 0; i < xs->n; i++)
        if (xs->at[i].type != CONFIG_FUNCTION)
            suggest_try(&s, xs->at[i].key);
    if (s.best)
        yaml_error(r->doc, node, "%s: there is no executor \"%.60s\"; did you mean \"%s\"?", what,
                   key, s.best);
    else
        yaml_error(r->doc, node, "%s: there is no executor \"%.60s\"; add it to executors", what,
                   key);
}

/* ---- routes ---- */

static void read_route(struct reader *r, const struct yaml *node, struct route *out)
{
    static const struct key names[] = {
        {"task", KEY_TEXT, .sentence = ""}, {"executor", KEY_TEXT, .sentence = ""}, KEYS_END};
    static const struct keys keys = {.at = names};
    const struct yaml *task, *executor;

    if (!yaml_is_map(r->doc, node, "dispatch.routes") ||
        !reader_known_keys(r, &keys, node, "a route"))
        return;
    task = yaml_get(node, "task");
    executor = yaml_get(node, "executor");
    if (!task || !executor) {
        yaml_error(r->doc, node, "dispatch.routes: a route needs both task and executor");
        return;
    }
    if (yaml_text(r->doc, task, "dispatch.routes.task", &out->glob)) {
        if (!*out->glob)
            (void)yaml_expected(r->doc, task, "dispatch.routes.task", "a glob such as ml::*");
        out->glob = arena_strdup(&r->config->arena, out->glob);
    }
    if (yaml_text(r->doc, executor, "dispatch.routes.executor", &out->executor)) {
        config_check_executor(r, executor, "dispatch.routes.executor", out->executor);
        out->executor = arena_strdup(&r->config->arena, out->executor);
    }
}

void config_read_routes(struct reader *r, const struct yaml *node)
{
    struct route *list;

    if (!node)
        return;
    if (node->kind != YAML_LIST || node->n > ROUTES_MAX) {
        (void)yaml_expected(r->doc, node, "dispatch.routes",
                            "a list of at most 10000 {task: GLOB, executor: KEY}");
        return;
    }
    list = arena_zalloc(&r->config->arena, node->n * sizeof(*list));
    for (size_t i = 0; i < node->n; i++)
        read_route(r, &node->items[i], &list[i]);
    r->config->dispatch.routes.at = list;
    r->config->dispatch.routes.n = node->n;
}
