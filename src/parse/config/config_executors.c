/* config_executors.c - reads the executors and the routes of a configuration. */
#include "base/suggest.h"
#include "parse/config/config_map.h"

#include <stdio.h>
#include <string.h>

#define MAX_KEY_LENGTH 64
#define MAX_EXECUTORS  100
#define MAX_ROUTES     10000

const struct config_executor *config_executor(const struct config *c, const char *key)
{
    size_t i;

    for (i = 0; i < c->executors.n; i++)
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

/* The type that an executor is named after; -1 if none. */
static int type_by_key(const char *key)
{
    int i;

    for (i = 0; CONFIG_OURS >> i; i++)
        if (!strcmp(config_executor_types[i], key))
            return i;
    return -1;
}

/* Most variables of the host's environment are meaningless in a container. */
static void use_container_env(struct config_executor *x)
{
    static const char *const names[] = {"LANG", "LC_ALL", "TZ", NULL};

    x->env = (struct config_texts){names, sizeof(names) / sizeof(*names) - 1};
}

/* Sets the values that follow from others. */
static void derive_values(const struct config *c, struct config_executor *x,
                          const struct yaml *const *nodes)
{
    const struct config_table *t = &config_executor_keys;
    size_t i;

    for (i = 0; i < t->n; i++) {
        bool slots = !strcmp(t->keys[i].path, "slots");

        if (slots)
            x->slots_given = nodes[i] != NULL;
        if (nodes[i])
            continue;
        if (slots)
            x->slots = x->type == CONFIG_FUNCTION ? c->functions.threads : c->worker.slots;
        else if (!strcmp(t->keys[i].path, "log.head"))
            x->log.head = c->logs.keep / 2;
        else if (!strcmp(t->keys[i].path, "log.tail"))
            x->log.tail = c->logs.keep / 2;
        else if (!strcmp(t->keys[i].path, "env") && x->type == CONFIG_CONTAINER)
            use_container_env(x);
    }
}

static void check_types(const struct config_reader *r, const struct config_executor *x,
                        const struct yaml *const *nodes)
{
    size_t i;

    for (i = 0; i < config_executor_keys.n; i++) {
        const struct config_key *k = &config_executor_keys.keys[i];

        if (nodes[i] && !(k->only & 1u << x->type))
            yaml_error(r->doc, nodes[i], "executors.%s.%s: an executor of type %s has no %s%s",
                       x->key, k->path, config_executor_types[x->type], k->path,
                       !strcmp(k->path, "slots") ? ": set functions.threads instead" : "");
    }
}

/* The three default executors have the type that they are named after. Functions are registered in
 * the worker and not routed, so there is only one executor for them. */
static void check_name(const struct config_reader *r, const struct config_executor *x,
                       const struct yaml *at)
{
    int named = type_by_key(x->key);

    if (named >= 0 && named != x->type)
        yaml_error(
            r->doc, at,
            "executors.%s: the type of this executor must be %s: use another key for another type",
            x->key, x->key);
    else if (named < 0 && x->type == CONFIG_FUNCTION)
        yaml_error(r->doc, at,
                   "executors.%s: only the executor with the key function runs functions", x->key);
}

/* `at` and `value` are NULL for an executor that is not in the file. */
static void read_executor(struct config_reader *r, const char *key, const struct yaml *at,
                          const struct yaml *value, struct config_executor *x)
{
    const struct yaml *nodes[CONFIG_EXECUTOR_COUNT] = {0};
    char what[96];

    *x = (struct config_executor){.key = arena_strdup(&r->config->arena, key),
                                  .type = type_by_key(key)};
    config_defaults(r, &config_executor_keys, x);
    snprintf(what, sizeof(what), "executors.%s", key);
    if (value && value->kind != YAML_NULL)
        config_read_map(r, &config_executor_keys, "", what, value, x, nodes);
    if (value && x->type >= 0)
        check_name(r, x, at);
    if (x->type >= 0) {
        check_types(r, x, nodes);
        derive_values(r->config, x, nodes);
    } else if (!yaml_get(value, "type")) {
        yaml_error(r->doc, at, "%s needs a type: process, container, function or custom", what);
    }
}

void config_read_executors(struct config_reader *r, const struct yaml *node)
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
                "executors: '%.60s' is not a valid key: use at most %d letters, digits, _, . "
                "and -, and start with a letter or digit",
                p->key.text, MAX_KEY_LENGTH);
        read_executor(r, p->key.text, &p->key, &p->value, &list[n++]);
    }
    for (i = 0; CONFIG_OURS >> i; i++)
        if (!given || !yaml_get(node, config_executor_types[i]))
            read_executor(r, config_executor_types[i], NULL, NULL, &list[n++]);
    r->config->executors = (struct config_executors){.at = list, .n = n};
}

void config_check_executor(const struct config_reader *r, const struct yaml *node, const char *what,
                           const char *key)
{
    const struct config_executors *xs = &r->config->executors;
    const struct config_executor *x = config_executor(r->config, key);
    struct suggestion s = suggest_for(key);
    size_t i;

    if (x && x->type == CONFIG_FUNCTION)
        yaml_error(r->doc, node, "%s: '%.60s' runs functions, not commands", what, key);
    if (x)
        return;
    for (i = 0; i < xs->n; i++)
        if (xs->at[i].type != CONFIG_FUNCTION)
            suggest_try(&s, xs->at[i].key);
    if (s.best)
        yaml_error(r->doc, node, "%s: there is no executor '%.60s': did you mean \"%s\"?", what,
                   key, s.best);
    else
        yaml_error(r->doc, node, "%s: there is no executor '%.60s': add it to executors", what,
                   key);
}

/* ---- routes ---- */

static void read_route(struct config_reader *r, const struct yaml *node, struct config_route *out)
{
    static const char *const names[] = {"task", "executor", NULL};
    const struct yaml *task, *executor;

    if (!yaml_is_map(r->doc, node, "dispatch.routes") ||
        !yaml_known_keys(r->doc, node, "a route", names))
        return;
    task = yaml_get(node, "task");
    executor = yaml_get(node, "executor");
    if (!task || !executor) {
        yaml_error(r->doc, node, "dispatch.routes: a route needs both task and executor");
        return;
    }
    if (yaml_text(r->doc, task, "dispatch.routes.task", &out->task)) {
        if (!*out->task)
            (void)yaml_expected(r->doc, task, "dispatch.routes.task", "a glob such as ml::*");
        out->task = arena_strdup(&r->config->arena, out->task);
    }
    if (yaml_text(r->doc, executor, "dispatch.routes.executor", &out->executor)) {
        config_check_executor(r, executor, "dispatch.routes.executor", out->executor);
        out->executor = arena_strdup(&r->config->arena, out->executor);
    }
}

void config_read_routes(struct config_reader *r, const struct yaml *node)
{
    struct config_route *list;
    size_t i;

    if (!node)
        return;
    if (node->kind != YAML_LIST || node->n > MAX_ROUTES) {
        (void)yaml_expected(r->doc, node, "dispatch.routes",
                            "a list of at most 10000 {task: GLOB, executor: KEY}");
        return;
    }
    list = arena_zalloc(&r->config->arena, node->n * sizeof(*list));
    for (i = 0; i < node->n; i++)
        read_route(r, &node->items[i], &list[i]);
    r->config->dispatch.routes = (struct config_routes){.at = list, .n = node->n};
}
