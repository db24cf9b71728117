/* scope.c - builds the values that expressions of a workflow see: its variables, the tasks that
 * they refer to, and the execution that they are evaluated for. */
#include "base/buf.h"
#include "core/resolve.h"
#include "store/workflow/rerun.h"
#include "store/workflow/workflow.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

struct referenced_tasks {
    const struct definition *def;
    VEC(uint32_t) index;
};

static void add_reference(void *arg, const char *name)
{
    struct referenced_tasks *n = arg;
    const struct workflow_task *task = definition_find_task(n->def, name);

    for (size_t i = 0; task && i < n->index.n; i++)
        if (n->index.at[i] == task->index)
            return;
    if (task)
        *vec_add(&n->index) = task->index;
}

/* A task that reads unreadable outputs fails with this error. Substituting an empty object would
 * invent a value. */
static int read_outputs(const struct row *row, const char *text, json_t **out, struct err *err)
{
    json_error_t at;

    *out = json_loads(text, JSON_DECODE_ANY | JSON_ALLOW_NUL, &at);
    if (*out)
        return 0;
    return err_set(err, E_INVALID, "the outputs of %s (execution %lld) can't be read: %s",
                   row->now.task_name, (long long)row->now.id, at.text);
}

/* Reads the outputs of an ended fan-out that are stored only with its items. */
static int read_item_outputs(struct turn *t, const struct row *row, json_t **out, struct err *err)
{
    AUTO_BUF all = BUF_INIT;
    bool fits;

    TRY(items_build_outputs(t, row, ITEMS_MAX_IN_SCOPE, &all, &fits, err));
    if (fits)
        return read_outputs(row, buf_cstr(&all), out, err);
    return err_set(err, E_INVALID, "the outputs of all items of %s together are larger than %d MB",
                   row->now.task_name, ITEMS_MAX_IN_SCOPE >> 20);
}

/* Reads the outputs of a task; {} if it has none. */
static int read_task_outputs(struct turn *t, const struct row *row, json_t **out, struct err *err)
{
    if (row->now.result)
        return read_outputs(row, row->now.result, out, err);
    if (row->now.kind == KIND_FOREACH && status_is_terminal(row->now.status)) {
        if (rerun_has_started(row))
            return read_item_outputs(t, row, out, err);
        if (row->now.status == S_SUCCEEDED) /* reused from an earlier execution */
            return err_set(err, E_INVALID,
                           "the outputs of %s were too large to be taken over from the earlier "
                           "execution: rerun that task, too",
                           row->now.task_name);
    }
    *out = json_object();
    return 0;
}

/* Builds {"status", "outputs"} of a task, as expressions see it; borrowed from the turn. The value
 * of an ended task is cached: many items may refer to the same large outputs. */
static int read_task_value(struct turn *t, struct workflow_state *f, uint32_t index,
                           const struct row *row, json_t **out, struct err *err)
{
    const char *status = status_text(row->now.status);
    json_t *outputs;

    *out = idmap_get(&f->scope_values, (int64_t)index + 1);
    if (*out && !strcmp(json_string_value(json_object_get(*out, "status")), status))
        return 0;
    TRY(read_task_outputs(t, row, &outputs, err));
    *out = turn_keep_json(t, json_pack("{s:s, s:o}", "status", status, "outputs", outputs));
    if (status_is_terminal(row->now.status))
        idmap_put(&f->scope_values, (int64_t)index + 1, *out);
    return 0;
}

static int build_tasks_scope(struct turn *t, struct workflow_state *f, const struct eval_subject *s,
                             json_t **out, struct err *err)
{
    struct referenced_tasks referenced_tasks = {.def = f->def};
    struct row **rows;
    json_t *tasks = turn_keep_json(t, json_object()), *task;
    int rc;

    templates_references(f->def->templates, s->task, s->item != NULL, add_reference,
                         &referenced_tasks);
    rows = arena_alloc(&t->arena, (referenced_tasks.index.n + 1) * sizeof(*rows));
    rc = tasks_get_rows(t, f, referenced_tasks.index.at, referenced_tasks.index.n, rows, err);
    for (size_t i = 0; !rc && i < referenced_tasks.index.n; i++)
        if (rows[i] &&
            !(rc = read_task_value(t, f, referenced_tasks.index.at[i], rows[i], &task, err)))
            json_object_set(tasks, rows[i]->now.task_name, task);
    vec_release(&referenced_tasks.index);
    *out = tasks;
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
    if (s->item)
        g.index = turn_keep_json(t, json_integer(s->index));
    g.execution =
        turn_keep_json(t, json_pack("{s:I, s:I, s:s}", "id", (json_int_t)row->now.id, "root",
                                    (json_int_t)row->now.root, "name", row->now.name));
    json_object_set(g.execution, "due_at", due ? due : json_null());
    return resolve_scope(&g, out, err);
}
