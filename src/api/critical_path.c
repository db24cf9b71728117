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
    AUTO(stored_definition_release) struct stored_definition d = {0};

    if (number) {
        *out = g->at.at[json_integer_value(number)];
        return 0;
    }
    TRY(query_definition(g->pawl->store, r->execution.id, &d, err));
    TRY(workflow_read(d.definition, strlen(d.definition), &g->arena, out, err));
    json_object_set_new(g->known, r->definition, json_integer((json_int_t)g->at.n));
    *vec_add(&g->at) = *out;
    return 0;
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

/* The index of the node with this id; 0, the index of the top, for an execution above the top. */
static size_t node_index(const struct nodes *n, int64_t id)
{
    const struct critical_node *node = idmap_get(&n->by_id, id);

    return node ? (size_t)(node - n->at) : 0;
}

static void add_node(struct nodes *n, size_t i)
{
    const struct timeline_row *r = &n->list->at[i];
    const struct execution *e = &r->execution;
    size_t parent = node_index(n, e->parent);
    bool is_child = !i || n->at[parent].is_parent;

    n->at[i] = (struct critical_node){.timeline = &r->timeline,
                                      .end = e->finished_at ? e->finished_at : n->list->now,
                                      .ended = e->finished_at != 0,
                                      .is_parent = !kind_is_job(e->kind),
                                      .parent = is_child ? parent : node_index(n, e->workflow),
                                      .after = is_child ? AFTER_OTHERS : AFTER_STARTER,
                                      .starter = parent};
    idmap_put(&n->by_id, e->id, &n->at[i]);
}

/* Links the tasks of one workflow to their needs, as its graph says. */
static void link_tasks(struct nodes *n, const struct workflow *w, json_t *numbers)
{
    for (uint32_t i = 0; i < w->ntasks; i++) {
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
        for (uint32_t k = 0; k < t->nneeds; k++) {
            const json_t *need = json_object_get(numbers, w->tasks[t->needs[k]].name);

            if (need)
                needs[node->nneeds++] = (size_t)json_integer_value(need);
        }
    }
}

/* Links the tasks of all workflows. The list is ordered by depth, so the tasks of one workflow need
 * not be adjacent. Their names are therefore collected first: workflow -> (task name -> index). */
static int link_all(struct nodes *n, struct graphs *g, struct err *err)
{
    json_t **names = mem_zalloc(n->list->n * sizeof(*names));
    const struct workflow *w;
    int rc = 0;

    for (size_t i = 1; i < n->list->n; i++) {
        const struct execution *e = &n->list->at[i].execution;
        size_t up = node_index(n, e->parent);

        if (!e->task_name || n->list->at[up].execution.kind != KIND_WORKFLOW)
            continue;
        if (!names[up])
            names[up] = json_object();
        json_object_set_new(names[up], e->task_name, json_integer((json_int_t)i));
    }
    for (size_t i = 0; i < n->list->n; i++) {
        if (!rc && names[i] && n->list->at[i].definition &&
            !(rc = graph_of(g, &n->list->at[i], &w, err)))
            link_tasks(n, w, names[i]);
        json_decref(names[i]);
    }
    free(names);
    return rc;
}

/* ---- JSON ---- */

struct step {
    struct execution e;
    struct critical_step at;
    int64_t total;
};

#define ROW struct step
static const struct column step_columns[] = {
    {E_ID},
    {E_DEPTH},
    {E_KIND},
    {E_NAME},
    {E_STATUS},
    {E_ATTEMPT},
    {"from", TIME(at.from), "when the end of the run began to depend on it"},
    {"to", TIME(at.to), NULL},
    {"total_us", INT(total), "its own time: the time of its children belongs to other steps"},
    {"wait_us", INT(at.parts[TIMELINE_WAIT]), "waiting for a worker or an engine"},
    {"held_us", INT(at.parts[TIMELINE_HELD]), "held by an approval, a pause, a delay, a limit"},
    {"run_us", INT(at.parts[TIMELINE_RUN]), NULL},
    {"retry_us", INT(at.parts[TIMELINE_RETRY]),
     "failed attempts that were followed by another, and the back-off after them"},
};
const struct noun step_noun = {"### A step", NOUN_COLUMNS(step_columns)};
#undef ROW

struct path {
    struct execution e;      /* the run itself */
    struct critical_step at; /* the sums over all steps */
    int64_t total;
    struct noun_rows steps;
};

#define ROW struct path
static const struct column path_columns[] = {
    {E_ID},
    {E_NAME},
    {E_STATUS},
    {"from", TIME(at.from), "when it was requested, or last rerun"},
    {"to", TIME(at.to), "its end, or the moment given by `--at`"},
    {"total_us", INT(total), NULL},
    {"wait_us", INT(at.parts[TIMELINE_WAIT]), NULL},
    {"held_us", INT(at.parts[TIMELINE_HELD]), NULL},
    {"run_us", INT(at.parts[TIMELINE_RUN]), NULL},
    {"retry_us", INT(at.parts[TIMELINE_RETRY]), NULL},
    {"steps", LIST(steps, step_noun),
     "a workflow or fan-out before its children, otherwise in chronological order"},
};
const struct noun critical_path_noun = {"## A critical path", NOUN_COLUMNS(path_columns)};

static char *path_text(const struct nodes *n)
{
    AUTO_FREE struct critical_step *found = mem_alloc(n->list->n * sizeof(*found));
    size_t count = critical_path(n->at, n->list->n, found);
    AUTO_FREE struct step *steps = mem_zalloc((count + 1) * sizeof(*steps));
    struct path path = {.e = n->list->at[0].execution,
                        .at = {.from = found[0].from, .to = found[0].to},
                        .steps = {steps, count, sizeof(*steps)}};

    for (size_t i = 0; i < count; i++) {
        steps[i] = (struct step){.e = n->list->at[found[i].node].execution, .at = found[i]};
        for (int part = 0; part < TIMELINE_COUNT; part++) {
            steps[i].total += found[i].parts[part];
            path.at.parts[part] += found[i].parts[part];
            path.total += found[i].parts[part];
        }
    }
    return noun_text(&critical_path_noun, &path);
}

int pawl_critical(struct pawl *p, int64_t id, const struct pawl_moment *at, char **json,
                  struct pawl_error *e)
{
    AUTO(graphs_release) struct graphs graphs = {.pawl = p, .known = json_object()};
    AUTO(timeline_list_release) struct timeline_list list = {0};
    AUTO(nodes_release) struct nodes nodes = {.list = &list};
    struct moment moment = {.time = INT64_MAX};
    API_ERR(e);

    if (at)
        TRY(api_moment(at, &moment, err));
    if (p->remote)
        return remote_show(p->remote, id, "/critical", at, json, err);
    TRY(query_timelines(p->store, id, &moment, &list, err));
    nodes.at = mem_alloc(list.n * sizeof(*nodes.at));
    for (size_t i = 0; i < list.n; i++)
        add_node(&nodes, i);
    TRY(link_all(&nodes, &graphs, err));
    *json = path_text(&nodes);
    return 0;
}
