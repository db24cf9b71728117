/* flow_scope.c - what the expressions of a workflow see of it: its variables, the tasks that they
 * speak of, and themselves. */
#include "base/buf.h"
#include "core/resolve.h"
#include "store/flow.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

struct named {
    const struct definition *def;
    VEC(uint32_t) index;
};

static void on_reference(void *arg, const char *name)
{
    struct named *n = arg;
    const struct workflow_task *task = definition_task(n->def, name);
    size_t i;

    for (i = 0; task && i < n->index.n; i++)
        if (n->index.at[i] == task->index)
            return;
    if (task)
        *vec_add(&n->index) = task->index;
}

/* A task that reads them fails with this sentence: an empty object in their place would be a
 * value that nobody gave. */
static int read_outputs(const struct row *row, const char *text, json_t **out, struct err *err)
{
    json_error_t at;

    *out = json_loads(text, JSON_DECODE_ANY | JSON_ALLOW_NUL, &at);
    if (*out)
        return 0;
    return err_set(err, E_INVALID, "the outputs of %s (execution %lld) can't be read: %s",
                   row->now.task_name, (long long)row->now.id, at.text);
}

/* What it gave. */
static int outputs_of(struct turn *t, const struct row *row, json_t **out, struct err *err)
{
    bool elsewhere = row->now.kind == KIND_FOREACH && row->now.status == S_SUCCEEDED, fits;
    struct buf all = BUF_INIT;
    int rc = 0;

    *out = NULL;
    if (row->now.result) {
        rc = read_outputs(row, row->now.result, out, err);
    } else if (elsewhere && !(rc = items_outputs(t, row, ITEMS_SHOWN, &all, &fits, err))) {
        if (fits)
            rc = read_outputs(row, buf_cstr(&all), out, err);
        else
            rc = err_set(err, E_INVALID,
                         "the outputs of all items of %s together are larger than %d MB",
                         row->now.task_name, ITEMS_SHOWN >> 20);
    }
    buf_release(&all);
    if (!rc && !*out)
        *out = json_object();
    return rc;
}

/* {"status", "outputs"} of a task, as expressions see it; borrowed. Made once for what has ended:
 * many items may speak of the same large outputs. */
static int shown(struct turn *t, struct flow *f, uint32_t index, const struct row *row,
                 json_t **out, struct err *err)
{
    const char *status = status_text(row->now.status);
    json_t *outputs;
    int rc;

    *out = idmap_get(&f->shown, (int64_t)index + 1);
    if (*out && !strcmp(json_string_value(json_object_get(*out, "status")), status))
        return 0;
    if ((rc = outputs_of(t, row, &outputs, err)))
        return rc;
    *out = turn_keep(t, json_pack("{s:s, s:o}", "status", status, "outputs", outputs));
    if (status_is_terminal(row->now.status))
        idmap_put(&f->shown, (int64_t)index + 1, *out);
    return 0;
}

static int tasks_in_scope(struct turn *t, struct flow *f, const struct flow_subject *s,
                          json_t **out, struct err *err)
{
    struct named named = {.def = f->def};
    struct row **rows;
    json_t *tasks = turn_keep(t, json_object()), *task;
    size_t i;
    int rc;

    resolve_references(f->def->workflow, s->task, s->item != NULL, on_reference, &named);
    rows = arena_alloc(&t->arena, (named.index.n + 1) * sizeof(*rows));
    rc = flow_tasks(t, f, named.index.at, named.index.n, rows, err);
    for (i = 0; !rc && i < named.index.n; i++)
        if (rows[i] && !(rc = shown(t, f, named.index.at[i], rows[i], &task, err)))
            json_object_set(tasks, rows[i]->now.task_name, task);
    vec_release(&named.index);
    *out = tasks;
    return rc;
}

int flow_scope(struct turn *t, struct flow *f, const struct flow_subject *s,
               struct resolve_scope *out, struct err *err)
{
    struct resolve_given g = {.workflow = f->def->workflow,
                              .task = s->task,
                              .variables = f->variables,
                              .item = s->item,
                              .facts = s->facts};
    const struct row *row = s->row ? s->row : f->row;
    json_t *due = json_object_get(f->variables, "due_at");
    int rc;

    if ((rc = tasks_in_scope(t, f, s, &g.tasks, err)))
        return rc;
    if (s->item)
        g.index = turn_keep(t, json_integer(s->index));
    g.execution = turn_keep(t, json_pack("{s:I, s:I, s:s}", "id", (json_int_t)row->now.id, "root",
                                         (json_int_t)row->now.root, "name", row->now.name));
    json_object_set(g.execution, "due_at", due ? due : json_null());
    return resolve_scope(&g, out, err);
}
