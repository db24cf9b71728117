/* diff.c - compares definitions and runs; see diff.h. */
#include "core/history/diff.h"

#include "base/mem.h"
#include "core/expr/value.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#define NOTABLE_US 100000

const char *differs_text(int bit)
{
#define X(name, text) [DIFFERS_##name##_] = text,
    static const char *const texts[] = {DIFFERENCES(X)};
#undef X

    return texts[bit];
}

/* ---- values ---- */

static void add_member(json_t *list, const char *name, json_t *a, json_t *b)
{
    value_append(list, json_pack("{s:s, s:O*, s:O*}", "name", name, "a", a, "b", b));
}

json_t *compare_members(const json_t *a, const json_t *b)
{
    json_t *list = value_need(json_array()), *value, *other;
    const char *key;

    json_object_foreach((json_t *)a, key, value)
    {
        other = json_object_get(b, key);
        if (!other || !json_equal(value, other))
            add_member(list, key, value, other);
    }
    json_object_foreach((json_t *)b, key, value) if (!json_object_get(a, key))
        add_member(list, key, NULL, value);
    return list;
}

/* ---- definitions ---- */

static const char *const hooks[] = {"on_failure", "on_exit"}; /* members that are tasks */

struct definitions {
    const json_t *a, *b; /* the root definitions, which hold all nested ones */
    /* Pairs of hashes that were already compared, so that each is reported once. */
    json_t *seen;
    json_t *list;
};

/* Whether the values are equal; releases both. */
static bool equal_and_release(json_t *a, json_t *b)
{
    bool same = json_equal(a, b);

    json_decref(a);
    json_decref(b);
    return same;
}

static const char *name_of(const json_t *task)
{
    return json_string_value(json_object_get(task, "name"));
}

static void add_change(struct definitions *d, const char *path, const char *change, json_t *keys)
{
    value_append(d->list, json_pack("{s:s?, s:s, s:o}", "task", path, "change", change, "keys",
                                    keys ? keys : value_need(json_array())));
}

/* The needs of a task by name, because their indexes change whenever a task is added before
 * them. */
static json_t *named_needs(const json_t *task, const json_t *tasks)
{
    json_t *names = value_need(json_array()), *need;
    size_t i;

    json_array_foreach(json_object_get(task, "needs"), i, need)
    {
        const json_t *of = json_array_get(tasks, (size_t)json_integer_value(need));

        value_append(names, value_need(json_string(name_of(of) ? name_of(of) : "")));
    }
    return names;
}

static json_t *changed_keys(const json_t *a, const json_t *a_tasks, const json_t *b,
                            const json_t *b_tasks);

static bool same_value(const char *key, const json_t *a, const json_t *a_tasks, const json_t *b,
                       const json_t *b_tasks)
{
    const json_t *x = json_object_get(a, key), *y = json_object_get(b, key);

    if (!strcmp(key, "needs"))
        return equal_and_release(named_needs(a, a_tasks), named_needs(b, b_tasks));
    if (x && y && (!strcmp(key, hooks[0]) || !strcmp(key, hooks[1])))
        return equal_and_release(changed_keys(x, NULL, y, NULL), value_need(json_array()));
    return json_equal(x, y);
}

/* Whether the key is left out of the comparison: a different location in the file is not a
 * difference, and tasks and nested workflows are compared one by one. */
static bool is_reported_elsewhere(const char *key, const json_t *a, const json_t *b)
{
    if (!strcmp(key, "workflow"))
        return json_object_get(a, key) && json_object_get(b, key);
    return !strcmp(key, "at") || !strcmp(key, "name") || !strcmp(key, "tasks") ||
           !strcmp(key, "nested") || !strcmp(key, "file");
}

static json_t *changed_keys(const json_t *a, const json_t *a_tasks, const json_t *b,
                            const json_t *b_tasks)
{
    json_t *keys = value_need(json_array()), *value;
    const char *key;

    json_object_foreach((json_t *)a, key, value)
    {
        if (!is_reported_elsewhere(key, a, b) && !same_value(key, a, a_tasks, b, b_tasks))
            value_append(keys, value_need(json_string(key)));
    }
    json_object_foreach((json_t *)b, key, value)
    {
        if (!json_object_get(a, key) && !is_reported_elsewhere(key, a, b))
            value_append(keys, value_need(json_string(key)));
    }
    return keys;
}

static void add_changed(struct definitions *d, const char *path, json_t *keys)
{
    if (json_array_size(keys))
        add_change(d, path, "changed", keys);
    else
        json_decref(keys);
}

static char *path_to(const char *above, const char *name)
{
    return above ? mem_printf("%s/%s", above, name) : mem_strdup(name);
}

static void compare_workflows(struct definitions *d, const char *path, const json_t *a,
                              const json_t *b);

/* Compares two nested workflows, if the task nests one in both definitions. */
static void compare_nested(struct definitions *d, const char *path, const json_t *a,
                           const json_t *b)
{
    const char *x = json_string_value(json_object_get(a, "workflow"));
    const char *y = json_string_value(json_object_get(b, "workflow"));
    char *pair;

    if (!x || !y || !strcmp(x, y))
        return;
    pair = mem_printf("%s %s", x, y);
    if (!json_object_get(d->seen, pair)) {
        value_put(d->seen, pair, json_true());
        compare_workflows(d, path, json_object_get(json_object_get(d->a, "nested"), x),
                          json_object_get(json_object_get(d->b, "nested"), y));
    }
    free(pair);
}

static json_t *by_name(const json_t *tasks)
{
    json_t *map = value_need(json_object()), *task;
    size_t i;

    json_array_foreach((json_t *)tasks, i, task) if (name_of(task))
        value_put(map, name_of(task), json_incref(task));
    return map;
}

static void compare_tasks(struct definitions *d, const char *above, const json_t *a,
                          const json_t *b)
{
    json_t *in_a = by_name(a), *in_b = by_name(b), *task, *other;
    const char *name;
    char *path;

    json_object_foreach(in_a, name, task)
    {
        path = path_to(above, name);
        if ((other = json_object_get(in_b, name))) {
            add_changed(d, path, changed_keys(task, a, other, b));
            compare_nested(d, path, task, other);
        } else {
            add_change(d, path, "removed", NULL);
        }
        free(path);
    }
    json_object_foreach(in_b, name, task)
    {
        if (json_object_get(in_a, name))
            continue;
        path = path_to(above, name);
        add_change(d, path, "added", NULL);
        free(path);
    }
    json_decref(in_a);
    json_decref(in_b);
}

static void compare_workflows(struct definitions *d, const char *path, const json_t *a,
                              const json_t *b)
{
    add_changed(d, path, changed_keys(a, NULL, b, NULL));
    compare_tasks(d, path, json_object_get(a, "tasks"), json_object_get(b, "tasks"));
    for (size_t i = 0; i < 2; i++) {
        char *hook = path_to(path, hooks[i]);

        compare_nested(d, hook, json_object_get(a, hooks[i]), json_object_get(b, hooks[i]));
        free(hook);
    }
}

json_t *compare_definitions(const json_t *a, const json_t *b)
{
    struct definitions d = {
        .a = a, .b = b, .seen = value_need(json_object()), .list = value_need(json_array())};

    compare_workflows(&d, NULL, a, b);
    json_decref(d.seen);
    return d.list;
}

json_t *compare_specs(const json_t *a, const json_t *b)
{
    struct definitions d = {.list = value_need(json_array())};

    add_changed(&d, NULL, changed_keys(a, NULL, b, NULL));
    return d.list;
}

/* ---- executions ---- */

static bool same_text(const char *a, const char *b)
{
    return a && b ? !strcmp(a, b) : a == b;
}

static bool same_json(const char *a, const char *b)
{
    if (!a || !b || !strcmp(a, b))
        return same_text(a, b);
    return equal_and_release(json_loads(a, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL),
                             json_loads(b, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL));
}

static bool is_notable(int64_t a, int64_t b)
{
    int64_t by = a > b ? a - b : b - a;

    return a >= 0 && b >= 0 && by >= NOTABLE_US && by >= (a > b ? a : b) / 4;
}

unsigned compare_nodes(const struct diff_node *a, const struct diff_node *b)
{
    unsigned differs = 0;

    if (!a || !b)
        return DIFFERS_THERE;
    if (a->status != b->status)
        differs |= DIFFERS_STATUS;
    if (!same_json(a->outputs, b->outputs))
        differs |= DIFFERS_OUTPUTS;
    if (!same_text(a->error, b->error))
        differs |= DIFFERS_ERROR;
    if (a->attempts != b->attempts)
        differs |= DIFFERS_ATTEMPTS;
    if (is_notable(a->duration, b->duration))
        differs |= DIFFERS_DURATION;
    return differs;
}

static int by_path(const void *a, const void *b)
{
    const struct diff_node *const *x = a, *const *y = b;
    int order = strcmp((*x)->path, (*y)->path);

    return order ? order : ((*x)->id > (*y)->id) - ((*x)->id < (*y)->id);
}

static const struct diff_node **sorted(const struct diff_node *nodes, size_t n)
{
    const struct diff_node **list = mem_alloc((n + 1) * sizeof(*list));

    for (size_t i = 0; i < n; i++)
        list[i] = &nodes[i];
    qsort(list, n, sizeof(*list), by_path);
    list[n] = NULL;
    return list;
}

/* The time at which the first of the two executions ended; INT64_MAX, which sorts last, if neither
 * has ended. */
static int64_t end_of(const struct diff_pair *p)
{
    int64_t a = p->a && p->a->ended >= 0 ? p->a->ended : INT64_MAX;
    int64_t b = p->b && p->b->ended >= 0 ? p->b->ended : INT64_MAX;

    return a < b ? a : b;
}

static int by_time(const void *a, const void *b)
{
    const struct diff_pair *x = a, *y = b;
    const struct diff_node *m = x->a ? x->a : x->b, *n = y->a ? y->a : y->b;

    if (end_of(x) != end_of(y))
        return end_of(x) < end_of(y) ? -1 : 1;
    if (m->depth != n->depth)
        return m->depth > n->depth ? -1 : 1;
    return strcmp(m->path, n->path);
}

size_t diff_runs(const struct diff_node *a, size_t na, const struct diff_node *b, size_t nb,
                 struct diff_pair *out)
{
    const struct diff_node **x = sorted(a, na), **y = sorted(b, nb);
    size_t i = 0, k = 0, n = 0;

    while (x[i] || y[k]) {
        int order = !x[i] ? 1 : !y[k] ? -1 : strcmp(x[i]->path, y[k]->path);
        struct diff_pair p = {.a = order <= 0 ? x[i++] : NULL, .b = order >= 0 ? y[k++] : NULL};

        p.differs = compare_nodes(p.a, p.b);
        out[n++] = p;
    }
    qsort(out, n, sizeof(*out), by_time);
    free(x);
    free(y);
    return n;
}
