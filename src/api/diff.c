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
    struct execution e;      /* the execution itself */
    const char *hash;        /* hash of a workflow's definition; NULL for other kinds */
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

/* Returns a path of names such as "each[1]" or "below/one", which is the same for the same task in
 * both runs. */
static const char *path_of(struct arena *arena, const char *above, const struct execution *e)
{
    if (e->task_name && e->task_index >= 0)
        return arena_printf(arena, "%s[%d]", above, e->task_index);
    return arena_printf(arena, "%s%s%s", above, *above ? "/" : "",
                        e->task_name ? e->task_name : e->name);
}

static void make_nodes(struct side *s)
{
    const struct execution *top = &s->list.at[0];
    AUTO_IDMAP paths = IDMAP_INIT;

    s->nodes = mem_alloc(s->list.n * sizeof(*s->nodes));
    for (size_t i = 0; i < s->list.n; i++) {
        const struct execution *e = &s->list.at[i];
        const char *above = i ? idmap_get(&paths, e->parent) : NULL;
        const char *path = i ? path_of(&s->arena, above, e) : "";

        s->nodes[i] =
            (struct diff_node){.path = path,
                               .id = e->id,
                               .kind = e->kind,
                               .status = e->status,
                               .attempts = e->attempts,
                               .depth = e->depth - top->depth,
                               .ended = e->finished_at ? e->finished_at - top->requested_at : -1,
                               .duration = final_duration(e),
                               .outputs = e->result,
                               .error = e->error};
        idmap_put(&paths, e->id, (void *)path);
    }
}

static int load(struct pawl *p, int64_t id, struct side *s, struct err *err)
{
    json_auto_t *variables = NULL;
    AUTO(stored_definition_release) struct stored_definition d = {0};

    TRY(query_tree(p->store, id, &s->list, err));
    make_nodes(s);
    s->e = s->list.at[0];
    if (!(s->hash = s->list.history[0].definition)) {
        s->given = api_data(s->list.at[0].input);
        s->definition = api_data(s->list.at[0].spec);
        return 0;
    }
    variables = api_data(s->list.history[0].variables);
    s->given = json_incref(json_object_get(variables, "params"));
    TRY(query_definition(p->store, id, &d, err));
    s->definition = api_data(d.definition);
    return 0;
}

/* ---- JSON ---- */

/* Returns the changed params. Inputs that are not objects are compared as a whole; the name of that
 * change is null. */
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

#define ROW struct diff_node
static const struct column node_columns[] = {
    {"id", INT(id), NULL},
    {"status", WORD(status, status_text), NULL},
    {"attempt", INT(attempts), NULL},
    {"duration_us", OPT_INT(duration), NULL},
    {"error", OPT_TEXT(error), NULL},
    {"outputs", JSON(outputs, "any"), NULL},
};
static const struct noun node_noun = {NULL, NOUN_COLUMNS(node_columns)};
#undef ROW

static void write_differs(struct json_writer *w, const void *row)
{
    const struct diff_pair *p = row;

    json_write_begin(w, '[');
    for (int bit = 0; bit < DIFFERS_COUNT; bit++)
        if (p->differs & (1u << bit))
            json_write_text(w, differs_text(bit));
    json_write_end(w, ']');
}

static void write_path(struct json_writer *w, const void *row)
{
    const struct diff_pair *p = row;

    json_write_text(w, p->a ? p->a->path : p->b->path);
}

#define ROW struct diff_pair
static const struct column pair_columns[] = {
    {"task", CUSTOM(write_path, "text"), "its path: `first`, `each[1]`, `below/one`"},
    {"differs", CUSTOM(write_differs, "array of texts"),
     "`there` (only one execution has the task), `status`, `outputs`, "
     "`error`, `attempts`, `duration` (by at least 0.1 s and at least a "
     "quarter of the longer one)"},
    {"a", OPT_OBJECT(a, node_noun),
     "`id`, `status`, `attempt`, `duration_us` (as of an execution), "
     "`error`, `outputs`"},
    {"b", OPT_OBJECT(b, node_noun), NULL},
};
const struct noun diff_task_noun = {"### A task of both executions", NOUN_COLUMNS(pair_columns)};
/* The outcomes of the two executions themselves are written like a task, without its path. */
static const struct noun outcome_noun = {.columns = pair_columns + 1, .n = 3};
#undef ROW

#define ROW struct side
static const struct column side_columns[] = {
    {E_ID},        {E_KIND},    {E_NAME},     {"definition", OPT_TEXT(hash), NULL},
    {E_REQUESTED}, {E_STARTED}, {E_FINISHED},
};
static const struct noun side_noun = {NULL, NOUN_COLUMNS(side_columns)};
#undef ROW

struct answer {
    const struct side *a, *b;
    json_t *params, *definition;
    const struct diff_pair *outcome, *first;
    struct noun_rows tasks;
    bool same;
};

#define ROW struct answer
static const struct column columns[] = {
    {"a", OBJECT(a, side_noun),
     "the first: `id`, `kind`, `name`, `definition`, `requested_at`, `started_at`, "
     "`finished_at`"},
    {"b", OBJECT(b, side_noun), "the second"},
    {"params", VALUE(params, "array"),
     "of `{name, a, b}`: the params that differ; `a` or `b` is omitted where the param is missing; "
     "`name` is null for an input that is not an object"},
    {"definition", VALUE(definition, "array"),
     "of `{task, change, keys}`: `change` is `added`, `removed` or `changed`; `task` is null for "
     "the workflow itself; for single commands the keys of their spec"},
    {"outcome", OBJECT(outcome, outcome_noun),
     "the outcomes of the two executions themselves: `differs`, `a`, `b`, as in a task"},
    {"tasks", LIST(tasks, diff_task_noun), "all tasks of both, in the order in which they ended"},
    {"first", OPT_OBJECT(first, diff_task_noun), "the first of them that differs"},
    {"same", BOOL(same),
     "whether the params, the definition and the tasks of both, with their status, outputs and "
     "error, are equal"},
};
const struct noun diff_noun = {"## A difference", NOUN_COLUMNS(columns)};

static char *diff_text(const struct side *a, const struct side *b, bool *same)
{
    AUTO_FREE struct diff_pair *pairs = mem_alloc((a->list.n + b->list.n) * sizeof(*pairs));
    struct diff_pair tops = {a->nodes, b->nodes, compare_nodes(a->nodes, b->nodes)};
    size_t n = diff_runs(a->nodes + 1, a->list.n - 1, b->nodes + 1, b->list.n - 1, pairs);
    json_auto_t *params = given_changes(a, b);
    json_auto_t *definition = a->hash && b->hash ? compare_definitions(a->definition, b->definition)
                                                 : compare_specs(a->definition, b->definition);
    struct answer answer = {.a = a,
                            .b = b,
                            .params = params,
                            .definition = definition,
                            .outcome = &tops,
                            .tasks = {pairs, n, sizeof(*pairs)}};

    for (size_t i = 0; i < n && !answer.first; i++)
        if (pairs[i].differs & DIFFERS_REALLY)
            answer.first = &pairs[i];
    *same = answer.same = !answer.first && !(tops.differs & DIFFERS_REALLY) &&
                          !json_array_size(params) && !json_array_size(definition);
    return noun_text(&diff_noun, &answer);
}

int pawl_diff(struct pawl *p, int64_t a, int64_t b, char **json, bool *same, struct pawl_error *e)
{
    AUTO(side_release) struct side left = {0}, right = {0};
    bool equal;
    API_ERR(e);

    if (p->remote)
        return remote_diff(p->remote, a, b, json, same, err);
    TRY(load(p, a, &left, err));
    TRY(load(p, b, &right, err));
    *json = diff_text(&left, &right, &equal);
    if (same)
        *same = equal;
    return 0;
}
