/* templates.c - parses the templates of a workflow; see templates.h. */
#include "core/templates.h"

#include "base/json.h"

#include <jansson.h>
#include <string.h>

/* ---- parsing ---- */

static void parse_expr(const char *text, bool condition, struct arena *arena, struct template *out)
{
    struct expr_text source = {.at = text, .len = strlen(text)};
    struct expr_fault fault;

    out->kind = TEMPLATE_EXPR;
    if (condition ? expr_parse_condition(&source, arena, &out->expr, &fault)
                  : expr_parse_template(&source, arena, &out->expr, &fault)) {
        out->kind = TEMPLATE_FAULT;
        out->fault = memcpy(arena_alloc(arena, sizeof(fault)), &fault, sizeof(fault));
    }
}

/* Parses a string that may contain expressions. The string must live as long as the template. */
static void parse_text(const char *text, struct arena *arena, struct template *out)
{
    out->text = text;
    if (strstr(text, "${{"))
        parse_expr(text, false, arena, out);
}

/* Makes a list template with n items or, if `keys` is not NULL, an object template with room for n
 * keys. */
static struct template *make_items(struct template *out, size_t n, const char ***keys,
                                   struct arena *arena)
{
    struct template *items = arena_zalloc(arena, n * sizeof(*items));

    out->kind = keys ? TEMPLATE_OBJECT : TEMPLATE_LIST;
    out->n = n;
    out->items = items;
    if (keys)
        out->keys = *keys = arena_alloc(arena, n * sizeof(**keys));
    return items;
}

static void parse_json(json_t *v, struct arena *arena, struct template *out)
{
    struct template *items;
    const char *key, **keys;
    json_t *inner;
    size_t i = 0;

    if (json_is_array(v)) {
        items = make_items(out, json_array_size(v), NULL, arena);
        json_array_foreach(v, i, inner) parse_json(inner, arena, &items[i]);
    } else if (json_is_object(v)) {
        items = make_items(out, json_object_size(v), &keys, arena);
        json_object_foreach(v, key, inner)
        {
            keys[i] = arena_strdup(arena, key);
            parse_json(inner, arena, &items[i++]);
        }
    } else if (json_is_string(v)) {
        parse_text(arena_strdup(arena, json_string_value(v)), arena, out);
    } else { /* a number, a boolean or null, whose JSON is a valid expression */
        parse_expr(json_arena_text(v, arena), true, arena, out);
    }
}

static void parse_value(const char *json, struct arena *arena, struct template *out)
{
    json_auto_t *v = json_loads(json, JSON_DECODE_ANY, NULL);

    if (v) {
        parse_json(v, arena, out);
    } else {
        out->kind = TEMPLATE_NOT_JSON;
        out->text = json;
    }
}

typedef void parse_one(const char *text, struct arena *arena, struct template *out);

/* Parses a text that may be missing; returns NULL if it is. */
static const struct template *parse_optional(parse_one *one, const char *text, struct arena *arena)
{
    struct template *t = text ? arena_zalloc(arena, sizeof(*t)) : NULL;

    if (t)
        one(text, arena, t);
    return t;
}

static const struct template *parse_pairs(parse_one *one, const struct pairs *pairs,
                                          struct arena *arena)
{
    struct template *t = arena_zalloc(arena, sizeof(*t)), *items;
    const char **keys;

    items = make_items(t, pairs->n, &keys, arena);
    for (size_t i = 0; i < pairs->n; i++) {
        keys[i] = pairs->at[i].key;
        one(pairs->at[i].value, arena, &items[i]);
    }
    return t;
}

static const struct template *parse_texts(const struct texts *texts, struct arena *arena)
{
    struct template *t = arena_zalloc(arena, sizeof(*t)),
                    *items = make_items(t, texts->n, NULL, arena);

    for (size_t i = 0; i < texts->n; i++)
        parse_text(texts->at[i], arena, &items[i]);
    return t;
}

static void parse_condition(const char *text, struct arena *arena, struct template *out)
{
    parse_expr(text, true, arena, out);
}

static void parse_task(const struct workflow_task *task, struct templates *to, struct arena *arena)
{
    const struct template **t = task ? to->tasks[task->index] : NULL;
    const struct spec *c = task ? &task->command : NULL;

    if (!task)
        return;
    t[TASK_CONDITION] = parse_optional(parse_condition, task->condition, arena);
    t[TASK_FOREACH] = parse_optional(parse_value, task->foreach, arena);
    t[TASK_MESSAGE] = parse_optional(parse_text, task->approval.message, arena);
    t[TASK_ARGV] = parse_texts(&(struct texts){c->argv, c->argc}, arena);
    t[TASK_ENV] = parse_pairs(parse_text, &(struct pairs){c->env, c->nenv}, arena);
    t[TASK_FILES] = parse_pairs(parse_text, &(struct pairs){c->files, c->nfiles}, arena);
    t[TASK_WITH] = parse_pairs(parse_value, &task->with, arena);
    t[TASK_CONTAINER] = parse_optional(parse_value, c->container, arena);
    t[TASK_CWD] = parse_optional(parse_text, c->cwd, arena);
    t[TASK_INPUT] = parse_optional(parse_text, c->input, arena);
    t[TASK_KEY] = parse_optional(parse_text, task->concurrency.key, arena);
}

static void parse_triggers(const struct workflow *w, struct templates *t, struct arena *arena)
{
    const struct template **follows = arena_alloc(arena, (w->nfollows + 1) * sizeof(*follows));
    const struct template **webhooks = arena_alloc(arena, (w->nwebhooks + 1) * sizeof(*webhooks));

    for (size_t i = 0; i < w->nfollows; i++)
        follows[i] = parse_pairs(parse_value, &w->follows[i].with, arena);
    for (size_t i = 0; i < w->nwebhooks; i++)
        webhooks[i] = parse_pairs(parse_value, &w->webhooks[i].with, arena);
    t->follows = follows;
    t->webhooks = webhooks;
}

const struct templates *templates_parse(const struct workflow *w, struct arena *arena)
{
    struct templates *t = arena_zalloc(arena, sizeof(*t));

    t->workflow = w;
    t->env = parse_pairs(parse_text, &w->env, arena);
    t->default_env = parse_pairs(
        parse_text, &(struct pairs){w->defaults.command.env, w->defaults.command.nenv}, arena);
    t->vars = parse_pairs(parse_value, &w->vars, arena);
    t->outputs = parse_pairs(parse_value, &w->outputs, arena);
    t->key = parse_optional(parse_text, w->concurrency.key, arena);
    parse_triggers(w, t, arena);
    t->tasks = arena_zalloc(arena, (w->ntasks + 2) * sizeof(*t->tasks));
    for (uint32_t i = 0; i < w->ntasks; i++)
        parse_task(&w->tasks[i], t, arena);
    parse_task(w->on_failure, t, arena);
    parse_task(w->on_exit, t, arena);
    return t;
}

bool templates_require_success(const struct templates *t, const struct workflow_task *task)
{
    const struct template *condition = t->tasks[task->index][TASK_CONDITION];

    return !condition ||
           (condition->kind == TEMPLATE_EXPR && expr_requires_success(condition->expr));
}

/* ---- references ---- */

struct reference_visitor {
    void (*each)(void *arg, const char *task);
    void *arg;
};

static void on_ref(void *arg, const struct expr_ref *ref)
{
    const struct reference_visitor *v = arg;

    if (ref->name == EXPR_TASKS)
        v->each(v->arg, ref->n ? ref->path[0] : NULL);
}

static void visit(const struct template *t, struct reference_visitor *v)
{
    if (t && t->kind == TEMPLATE_EXPR)
        expr_references(t->expr, on_ref, v);
    else if (t && (t->kind == TEMPLATE_LIST || t->kind == TEMPLATE_OBJECT))
        for (size_t i = 0; i < t->n; i++)
            visit(&t->items[i], v);
}

void templates_references(const struct templates *t, const struct workflow_task *task, bool item,
                          void (*each)(void *arg, const char *task), void *arg)
{
    struct reference_visitor v = {each, arg};

    if (!task)
        visit(t->outputs, &v);
    for (int i = item ? TASK_MESSAGE + 1 : 0; task && i < TASK_TEMPLATES; i++)
        visit(t->tasks[task->index][i], &v);
}
