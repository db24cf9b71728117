/* interpret_scope.c - the scope in which a node's expressions are evaluated: its needs, and the
 * outputs of the tasks that it refers to. */
#include "interpret_inner.h"

#include "base/mem.h"
#include "core/resolve.h"

struct graph_need node_need(const struct node *n)
{
    return (struct graph_need){.status = n->status,
                               .allow_failure = n->item < 0 && n->task->allow_failure,
                               .skipped_by_failure = (n->bits & FLAG_FAILED) != 0,
                               .by_operator = (n->bits & FLAG_BY_OPERATOR) != 0};
}

struct references {
    json_t *tasks;
    const struct node *of;
};

static json_t *outputs_of_job(const struct node *n)
{
    json_t *list = json_array();
    int i;

    for (i = 0; i < n->list; i++)
        json_array_append_new(list, json_integer(i));
    return json_pack("{s:i, s:o}", "n", 1, "list", list);
}

static json_t *outputs_of_items(const struct node *n)
{
    json_t *all = json_array(), *items = json_loads(n->task->foreach, JSON_DECODE_ANY, NULL);
    int i;

    for (i = 0; i < n->nchildren; i++)
        json_array_append_new(
            all,
            json_pack("{s:s, s:o}", "status",
                      status_text(n->children[i] ? n->children[i]->status : S_CANCELLED), "item",
                      json_is_array(items) ? json_incref(json_array_get(items, (size_t)i))
                                           : json_integer(i)));
    json_decref(items);
    return all;
}

static void on_reference(void *arg, const char *name)
{
    struct references *s = arg;
    const struct workflow_task *task = workflow_task(s->of->in, name);
    const struct node *n = s->of->parent->children[task->index];
    json_t *outputs = NULL;

    if (n->kind == KIND_TASK && n->status == S_SUCCEEDED)
        outputs = outputs_of_job(n);
    else if (n->kind == KIND_FOREACH && status_is_terminal(n->status) && n->children)
        outputs = outputs_of_items(n);
    json_object_set_new(s->tasks, name,
                        json_pack("{s:s, s:o}", "status", status_text(n->status), "outputs",
                                  outputs ? outputs : json_object()));
}

int node_evaluate(struct node *n, struct graph_facts facts, bool *runs, json_t **list,
                  struct err *err)
{
    struct references s = {json_object(), n};
    json_t *variables = json_pack("{s:{}, s:{}}", "params", "vars"), *execution = json_object();
    struct arena arena = ARENA_INIT;
    struct resolve_given g = {.templates = templates_parse(n->in, &arena),
                              .task = n->task,
                              .variables = variables,
                              .tasks = s.tasks,
                              .execution = execution,
                              .facts = facts};
    struct resolve_scope scope;
    int rc;

    templates_references(g.templates, n->task, false, on_reference, &s);
    if (!(rc = resolve_scope(&g, &scope, err))) {
        rc = list ? resolve_items(&scope, list, err) : resolve_condition(&scope, runs, err);
        resolve_scope_release(&scope);
    }
    json_decref(variables);
    json_decref(execution);
    json_decref(s.tasks);
    arena_release(&arena);
    return rc;
}

struct graph_facts node_facts(const struct node *n)
{
    struct graph_need needs[PLAN_NEEDS];
    struct graph_facts f;
    uint32_t i;

    for (i = 0; i < n->task->nneeds; i++)
        needs[i] = node_need(n->parent->children[n->task->needs[i]]);
    f = graph_facts(needs, n->task->nneeds);
    f.success |= n->task->join > 0;
    return f;
}

bool node_is_resolved(const struct node *n)
{
    json_t *list = json_loads(n->task->foreach ? n->task->foreach : "0", JSON_DECODE_ANY, NULL);
    bool bad = n->item >= 0 && n->task->command.argc &&
               !json_object_get(json_array_get(list, (size_t)n->item), "a");

    json_decref(list);
    return !bad;
}
