/* diff.c - compares two executions (core/history/diff.h): their params, their definitions, their
 * outcomes, and the outcome of each task. */
#include "core/history/diff.h"
#include "api/api.h"
#include "base/idmap.h"
#include "base/json.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

/* One of the two executions, with its descendants. */
struct side {
    struct execution_list list;
    struct diff_node *nodes; /* one for each execution in the list; the first is the top */
    json_t *given;           /* the params of a workflow, the input of a job */
    json_t *definition;      /* the definition of a workflow, the spec of a job */
    struct arena arena;
};

static void side_release(struct side *s)
{
    execution_list_release(&s->list);
    free(s->nodes);
    json_decref(s->given);
    json_decref(s->definition);
    arena_release(&s->arena);
}

/* ---- loading ---- */

static json_t *parse(const char *text)
{
    return text ? json_loads(text, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL) : NULL;
}

/* "each[1]", "below/one": a path of names, equal for the same task of two runs. */
static const char *path_of(struct arena *arena, const char *above, const struct execution *e)
{
    struct buf b = BUF_INIT;
    const char *path;

    if (e->task_name && e->task_index >= 0)
        buf_addf(&b, "%s[%d]", above, e->task_index);
    else
        buf_addf(&b, "%s%s%s", above, *above ? "/" : "", e->task_name ? e->task_name : e->name);
    path = arena_strdup(arena, b.ptr);
    buf_release(&b);
    return path;
}

static void make_nodes(struct side *s)
{
    const struct execution *top = &s->list.at[0];
    struct idmap paths = IDMAP_INIT;
    size_t i;

    s->nodes = mem_alloc(s->list.n * sizeof(*s->nodes));
    for (i = 0; i < s->list.n; i++) {
        const struct execution *e = &s->list.at[i];
        const char *above = i ? idmap_get(&paths, e->parent) : NULL;
        const char *path = i ? path_of(&s->arena, above, e) : "";

        s->nodes[i] = (struct diff_node){
            .path = path,
            .id = e->id,
            .kind = e->kind,
            .status = e->status,
            .attempts = e->attempts,
            .depth = e->depth - top->depth,
            .ended = e->finished_at ? e->finished_at - top->requested_at : -1,
            .duration = e->finished_at && e->started_at ? e->finished_at - e->started_at : -1,
            .outputs = e->result,
            .error = e->error};
        idmap_put(&paths, e->id, (void *)path);
    }
    idmap_release(&paths);
}

static int load(struct pawl *p, int64_t id, struct side *s, struct err *err)
{
    struct buf text = BUF_INIT;
    json_t *variables;
    int rc = query_tree(p->store, id, &s->list, err);

    if (rc)
        return rc;
    make_nodes(s);
    if (s->list.history[0].definition) {
        variables = parse(s->list.history[0].variables);
        s->given = json_incref(json_object_get(variables, "params"));
        json_decref(variables);
        rc = query_definition(p->store, id, &text, err);
        s->definition = parse(text.ptr);
        buf_release(&text);
    } else {
        s->given = parse(s->list.at[0].input);
        s->definition = parse(s->list.at[0].spec);
    }
    return rc;
}

/* ---- JSON ---- */

/* Writes the list and frees it; returns whether it has any entry. */
static bool raw_field(struct json_writer *w, const char *key, json_t *list)
{
    char *text = json_text(list);
    bool any = json_array_size(list) > 0;

    json_field_raw(w, key, text);
    free(text);
    json_decref(list);
    return any;
}

/* The changed params. Inputs that are not objects are compared as a whole, with the name null. */
static json_t *given_changes(const struct side *a, const struct side *b)
{
    json_t *list = compare_members(a->given, b->given), *o;
    bool members =
        (!a->given || json_is_object(a->given)) && (!b->given || json_is_object(b->given));

    if (members || (a->given && b->given && json_equal(a->given, b->given)))
        return list;
    o = json_object();
    json_object_set_new(o, "name", json_null());
    if (a->given)
        json_object_set(o, "a", a->given);
    if (b->given)
        json_object_set(o, "b", b->given);
    json_array_append_new(list, o);
    return list;
}

static void node_field(struct json_writer *w, const char *key, const struct diff_node *n)
{
    json_write_key(w, key);
    if (!n) {
        json_write_null(w);
        return;
    }
    json_write_begin(w, '{');
    json_field_i64(w, "id", n->id);
    json_field_text(w, "status", status_text(n->status));
    json_field_i64(w, "attempt", n->attempts);
    json_write_key(w, "duration_us");
    if (n->duration < 0)
        json_write_null(w);
    else
        json_write_i64(w, n->duration);
    json_field_text(w, "error", n->error);
    json_field_raw(w, "outputs", n->outputs);
    json_write_end(w, '}');
}

static void pair_fields(struct json_writer *w, const struct diff_pair *p)
{
    int bit;

    json_write_key(w, "differs");
    json_write_begin(w, '[');
    for (bit = 0; bit < DIFFERS_COUNT; bit++)
        if (p->differs & (1u << bit))
            json_write_text(w, differs_text(bit));
    json_write_end(w, ']');
    node_field(w, "a", p->a);
    node_field(w, "b", p->b);
}

static void write_pair(struct json_writer *w, const struct diff_pair *p)
{
    json_write_begin(w, '{');
    json_field_text(w, "task", p->a ? p->a->path : p->b->path);
    pair_fields(w, p);
    json_write_end(w, '}');
}

/* Writes all tasks in the order of time, and the first one that really differs. */
static bool tasks_fields(struct json_writer *w, const struct side *a, const struct side *b)
{
    struct diff_pair *pairs = mem_alloc((a->list.n + b->list.n) * sizeof(*pairs));
    size_t n = diff_runs(a->nodes + 1, a->list.n - 1, b->nodes + 1, b->list.n - 1, pairs), i;
    const struct diff_pair *first = NULL;

    json_write_key(w, "tasks");
    json_write_begin(w, '[');
    for (i = 0; i < n; i++) {
        if (!first && (pairs[i].differs & DIFFERS_REALLY))
            first = &pairs[i];
        write_pair(w, &pairs[i]);
    }
    json_write_end(w, ']');
    json_write_key(w, "first");
    if (first)
        write_pair(w, first);
    else
        json_write_null(w);
    free(pairs);
    return first != NULL;
}

static void side_field(struct json_writer *w, const char *key, const struct side *s)
{
    const struct execution *e = &s->list.at[0];

    json_write_key(w, key);
    json_write_begin(w, '{');
    json_field_i64(w, "id", e->id);
    json_field_text(w, "kind", kind_text(e->kind));
    json_field_text(w, "name", e->name);
    json_field_text(w, "definition", s->list.history[0].definition);
    json_field_time(w, "requested_at", e->requested_at);
    json_field_time(w, "started_at", e->started_at);
    json_field_time(w, "finished_at", e->finished_at);
    json_write_end(w, '}');
}

static void write_diff(struct json_writer *w, const struct side *a, const struct side *b,
                       bool *same)
{
    struct diff_pair tops = {a->nodes, b->nodes, compare_nodes(a->nodes, b->nodes)};
    bool workflows = a->list.history[0].definition && b->list.history[0].definition;
    bool differ = (tops.differs & DIFFERS_REALLY) != 0;

    json_write_begin(w, '{');
    side_field(w, "a", a);
    side_field(w, "b", b);
    differ |= raw_field(w, "params", given_changes(a, b));
    differ |= raw_field(w, "definition",
                        workflows ? compare_definitions(a->definition, b->definition)
                                  : compare_specs(a->definition, b->definition));
    json_write_key(w, "outcome");
    json_write_begin(w, '{');
    pair_fields(w, &tops);
    json_write_end(w, '}');
    differ |= tasks_fields(w, a, b);
    json_write_key(w, "same");
    json_write_bool(w, !differ);
    json_write_end(w, '}');
    *same = !differ;
}

int pawl_diff(struct pawl *p, int64_t a, int64_t b, char **json, bool *same, struct pawl_error *e)
{
    struct side left = {0}, right = {0};
    struct buf out = BUF_INIT;
    struct json_writer w = JSON_WRITER(&out);
    struct err err = ERR_INIT;
    bool equal;
    int rc;

    if (!(rc = load(p, a, &left, &err)) && !(rc = load(p, b, &right, &err))) {
        write_diff(&w, &left, &right, &equal);
        *json = out.ptr;
        if (same)
            *same = equal;
    }
    side_release(&left);
    side_release(&right);
    return api_end(rc, &err, e);
}
