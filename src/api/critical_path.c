/* critical_path.c - computes the critical path of a run (core/history/critical_path.h) from the
 * events of its tree and the graphs of its workflows. */
#include "core/history/critical_path.h"
#include "api/api.h"
#include "base/idmap.h"
#include "store/query/as_of.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

/* The definitions of the workflows in the tree, each read once, by hash. */
struct graphs {
    struct pawl *pawl;
    json_t *known; /* hash -> index in `at` */
    VEC(const struct workflow *) at;
    struct arena arena;
};

static void graphs_release(struct graphs *g)
{
    json_decref(g->known);
    vec_release(&g->at);
    arena_release(&g->arena);
}

static int graph_of(struct graphs *g, const struct timeline_row *r, const struct workflow **out,
                    struct err *err)
{
    const json_t *number = json_object_get(g->known, r->definition);
    struct buf text = BUF_INIT;
    int rc;

    if (number) {
        *out = g->at.at[json_integer_value(number)];
        return 0;
    }
    if (!(rc = query_definition(g->pawl->store, r->execution.id, &text, err)) &&
        !(rc = workflow_read(text.ptr, text.len, &g->arena, out, err))) {
        json_object_set_new(g->known, r->definition, json_integer((json_int_t)g->at.n));
        *vec_add(&g->at) = *out;
    }
    buf_release(&text);
    return rc;
}

/* ---- nodes ---- */

struct nodes {
    const struct timeline_list *list;
    struct critical_node *at;
    struct idmap by_id; /* id -> struct critical_node */
    struct arena arena;
};

static void nodes_release(struct nodes *n)
{
    free(n->at);
    idmap_release(&n->by_id);
    arena_release(&n->arena);
}

/* The index of the node with this id; 0, the top, for an execution above the top. */
static size_t number_of(const struct nodes *n, int64_t id)
{
    const struct critical_node *node = idmap_get(&n->by_id, id);

    return node ? (size_t)(node - n->at) : 0;
}

static void add_node(struct nodes *n, size_t i)
{
    const struct timeline_row *r = &n->list->at[i];
    const struct execution *e = &r->execution;
    size_t parent = number_of(n, e->parent);
    bool is_child = !i || n->at[parent].is_parent;

    n->at[i] = (struct critical_node){.timeline = &r->timeline,
                                      .end = e->finished_at ? e->finished_at : n->list->now,
                                      .ended = e->finished_at != 0,
                                      .is_parent = !kind_is_job(e->kind),
                                      .parent = is_child ? parent : number_of(n, e->workflow),
                                      .after = is_child ? AFTER_OTHERS : AFTER_STARTER,
                                      .starter = parent};
    idmap_put(&n->by_id, e->id, &n->at[i]);
}

/* Links the tasks of one workflow to their needs, by its graph. */
static void link_tasks(struct nodes *n, const struct workflow *w, json_t *numbers)
{
    uint32_t i, k;

    for (i = 0; i < w->ntasks; i++) {
        const struct workflow_task *t = &w->tasks[i];
        const json_t *own = json_object_get(numbers, t->name);
        struct critical_node *node;
        size_t *needs;

        if (!own)
            continue;
        node = &n->at[json_integer_value(own)];
        needs = arena_alloc(&n->arena, (t->nneeds + 1) * sizeof(*needs));
        node->after = AFTER_NEEDS;
        node->needs = needs;
        for (k = 0; k < t->nneeds; k++) {
            const json_t *need = json_object_get(numbers, w->tasks[t->needs[k]].name);

            if (need)
                needs[node->nneeds++] = (size_t)json_integer_value(need);
        }
    }
}

/* The list is ordered by depth, so the tasks of one workflow need not be adjacent. Their names are
 * therefore collected first: workflow -> (task name -> index). */
static int link_all(struct nodes *n, struct graphs *g, struct err *err)
{
    json_t **names = mem_zalloc(n->list->n * sizeof(*names));
    const struct workflow *w;
    size_t i;
    int rc = 0;

    for (i = 1; i < n->list->n; i++) {
        const struct execution *e = &n->list->at[i].execution;
        size_t up = number_of(n, e->parent);

        if (!e->task_name || n->list->at[up].execution.kind != KIND_WORKFLOW)
            continue;
        if (!names[up])
            names[up] = json_object();
        json_object_set_new(names[up], e->task_name, json_integer((json_int_t)i));
    }
    for (i = 0; i < n->list->n; i++) {
        if (!rc && names[i] && n->list->at[i].definition &&
            !(rc = graph_of(g, &n->list->at[i], &w, err)))
            link_tasks(n, w, names[i]);
        json_decref(names[i]);
    }
    free(names);
    return rc;
}

/* ---- JSON ---- */

static void parts_fields(struct json_writer *w, const int64_t parts[TIMELINE_COUNT])
{
    int64_t total = 0;
    int part;

    for (part = 0; part < TIMELINE_COUNT; part++)
        total += parts[part];
    json_field_i64(w, "total_us", total);
    for (part = 0; part < TIMELINE_COUNT; part++) {
        char *key = mem_printf("%s_us", timeline_text((enum timeline_part)part));

        json_field_i64(w, key, parts[part]);
        free(key);
    }
}

static void write_step(struct json_writer *w, const struct timeline_list *l,
                       const struct critical_step *step)
{
    const struct execution *e = &l->at[step->node].execution;

    json_write_begin(w, '{');
    json_field_i64(w, "id", e->id);
    json_field_i64(w, "depth", e->depth);
    json_field_text(w, "kind", kind_text(e->kind));
    json_field_text(w, "name", e->name);
    json_field_text(w, "status", status_text(e->status));
    json_field_i64(w, "attempt", e->attempts);
    json_field_time(w, "from", step->from);
    json_field_time(w, "to", step->to);
    parts_fields(w, step->parts);
    json_write_end(w, '}');
}

static void write_path(struct json_writer *w, const struct nodes *n)
{
    const struct execution *top = &n->list->at[0].execution;
    struct critical_step *steps = mem_alloc(n->list->n * sizeof(*steps));
    size_t count = critical_path(n->at, n->list->n, steps), i;
    int64_t sums[TIMELINE_COUNT] = {0};
    int part;

    for (i = 0; i < count; i++)
        for (part = 0; part < TIMELINE_COUNT; part++)
            sums[part] += steps[i].parts[part];
    json_write_begin(w, '{');
    json_field_i64(w, "id", top->id);
    json_field_text(w, "name", top->name);
    json_field_text(w, "status", status_text(top->status));
    json_field_time(w, "from", steps[0].from);
    json_field_time(w, "to", steps[0].to);
    parts_fields(w, sums);
    json_write_key(w, "steps");
    json_write_begin(w, '[');
    for (i = 0; i < count; i++)
        write_step(w, n->list, &steps[i]);
    json_write_end(w, ']');
    json_write_end(w, '}');
    free(steps);
}

int pawl_critical(struct pawl *p, int64_t id, const struct pawl_moment *at, char **json,
                  struct pawl_error *e)
{
    struct graphs graphs = {.pawl = p, .known = json_object()};
    struct timeline_list list = {0};
    struct nodes nodes = {.list = &list};
    struct moment moment = {.time = INT64_MAX};
    struct err err = ERR_INIT;
    struct buf b = BUF_INIT;
    struct json_writer w = JSON_WRITER(&b);
    size_t i;
    int rc = at ? api_moment(at, &moment, &err) : 0;

    if (rc || (rc = query_timelines(p->store, id, &moment, &list, &err)))
        goto done;
    nodes.at = mem_alloc(list.n * sizeof(*nodes.at));
    for (i = 0; i < list.n; i++)
        add_node(&nodes, i);
    if ((rc = link_all(&nodes, &graphs, &err)))
        goto done;
    write_path(&w, &nodes);
    *json = b.ptr;
done:
    nodes_release(&nodes);
    timeline_list_release(&list);
    graphs_release(&graphs);
    return api_end(rc, &err, e);
}
