/* scope.c - builds the values that expressions of a workflow can refer to: its variables, the tasks
 * that they refer to, and the execution that they are evaluated for. */
#include "core/resolve.h"
#include "store/workflow/workflow.h"

#include <jansson.h>
#include <stdlib.h>

struct referenced_tasks {
    const struct definition *def;
    VEC(uint32_t) index;
    bool all; /* whether the expressions use `tasks` as a whole, or with a computed name */
};

static void add_reference(void *arg, const char *name)
{
    struct referenced_tasks *n = arg;
    const struct workflow_task *task = name ? definition_find_task(n->def, name) : NULL;

    n->all |= !name;
    for (size_t i = 0; task && i < n->index.n; i++)
        if (n->index.at[i] == task->index)
            return;
    if (task)
        *vec_add(&n->index) = task->index;
}

static int add_named_tasks(struct turn *t, struct workflow_state *f, const uint32_t *index,
                           size_t n, json_t *tasks, struct err *err)
{
    struct row **rows = arena_alloc(&t->arena, (n + 1) * sizeof(*rows));
    json_t *task;

    TRY(tasks_get_rows(t, f, index, n, rows, err));
    for (size_t i = 0; i < n; i++) {
        TRY(task_read_value(t, f, index[i], rows[i], &task, err));
        json_object_set(tasks, f->def->workflow->tasks[index[i]].name, task);
    }
    return 0;
}

/* Builds the value of `tasks`. The parser accepts `tasks` as a whole only where all tasks have
 * ended. Elsewhere, in a definition that an earlier version stored, `tasks` contains only the tasks
 * that the same templates name. */
static int build_tasks_scope(struct turn *t, struct workflow_state *f, const struct eval_subject *s,
                             json_t **out, struct err *err)
{
    struct referenced_tasks r = {.def = f->def};
    int rc;

    *out = turn_keep_json(t, json_object());
    templates_references(f->def->templates, s->task, s->item != NULL, add_reference, &r);
    rc = r.all && (!s->task || task_is_final(f, s->task))
             ? tasks_read_all_values(t, f, *out, err)
             : add_named_tasks(t, f, r.index.at, r.index.n, *out, err);
    vec_release(&r.index);
    return rc;
}

int workflow_build_scope(struct turn *t, struct workflow_state *f, const struct eval_subject *s,
                         struct resolve_scope *out, struct err *err)
{
    struct resolve_given g = {.templates = f->def->templates,
                              .task = s->task,
                              .variables = f->variables,
                              .item = s->item,
                              .facts = s->facts};
    const struct row *row = s->row ? s->row : f->row;
    json_t *due = json_object_get(f->variables, "due_at");

    TRY(build_tasks_scope(t, f, s, &g.tasks, err));
    if (task_is_final(f, s->task))
        TRY(workflow_describe_end(t, f, &g.status, &g.error, err));
    if (s->item)
        g.index = turn_keep_json(t, json_integer(s->index));
    g.execution =
        turn_keep_json(t, json_pack("{s:I, s:I, s:s}", "id", (json_int_t)row->now.id, "root",
                                    (json_int_t)row->now.root, "name", row->now.name));
    json_object_set(g.execution, "due_at", due ? due : json_null());
    return resolve_scope(&g, out, err);
}
