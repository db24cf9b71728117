/* scope_tasks.c - the values of tasks in expressions: their status, outputs and error. */
#include "base/buf.h"
#include "store/door/door.h"
#include "store/workflow/rerun.h"
#include "store/workflow/workflow.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#define VALUES_PAGE 100 /* rows per page; the outputs of one task may be 1 MB long */

/* ---- outputs ---- */

/* Parses the outputs of a task. If they can't be read, the task that refers to them fails with this
 * error, because an empty object in their place would be an invented value. */
static int read_outputs(const char *task, int64_t id, const char *text, json_t **out,
                        struct err *err)
{
    json_error_t at;

    *out = json_loads(text, JSON_DECODE_ANY | JSON_ALLOW_NUL, &at);
    if (*out)
        return 0;
    return err_set(err, E_INVALID, "the outputs of %s (execution %lld) can't be read: %s", task,
                   (long long)id, at.text);
}

/* Reads the outputs of an ended fan-out that are stored only with its items. */
static int read_item_outputs(struct turn *t, const struct row *row, json_t **out, struct err *err)
{
    AUTO_BUF all = BUF_INIT;
    bool fits;

    TRY(items_build_outputs(t, row, ITEMS_MAX_IN_SCOPE, &all, &fits, err));
    if (fits)
        return read_outputs(row->now.task_name, row->now.id, buf_cstr(&all), out, err);
    return err_set(err, E_INVALID,
                   "the outputs of all items of %s together are larger than %d MB: store them in "
                   "files and pass the paths",
                   row->now.task_name, ITEMS_MAX_IN_SCOPE >> 20);
}

/* Reads the outputs of a task; {} if it has none. */
static int read_task_outputs(struct turn *t, const struct row *row, json_t **out, struct err *err)
{
    if (row->now.result)
        return read_outputs(row->now.task_name, row->now.id, row->now.result, out, err);
    if (row->now.kind == KIND_FOREACH && status_is_terminal(row->now.status)) {
        if (rerun_has_started(row))
            return read_item_outputs(t, row, out, err);
        /* Its outputs were to be reused from an earlier execution. */
        if (row->now.status == S_SUCCEEDED)
            return err_set(
                err, E_INVALID,
                "the outputs of %s were too large to be reused from the earlier execution: "
                "rerun that task, too",
                row->now.task_name);
    }
    *out = json_object();
    return 0;
}

/* ---- values ---- */

/* Makes the value of a task for expressions. Takes ownership of the outputs; `error` may be
 * NULL. */
static json_t *make_value(struct turn *t, const char *status, json_t *outputs, const char *error)
{
    return turn_keep_json(t, json_pack("{s:s, s:o, s:o}", "status", status, "outputs", outputs,
                                       "error", error ? json_string(error) : json_null()));
}

/* Makes the value of a task that was not created, because its workflow was cancelled or timed
 * out. */
static json_t *make_uncreated_value(struct turn *t)
{
    return make_value(t, status_text(S_CANCELLED), json_object(), NULL);
}

/* The value of an ended task is cached, because many items may refer to it, and its outputs may be
 * large. */
int task_read_value(struct turn *t, struct workflow_state *f, uint32_t index, const struct row *row,
                    json_t **out, struct err *err)
{
    const char *status = row ? status_text(row->now.status) : NULL;
    json_t *outputs;

    *out = row ? idmap_get(&f->scope_values, (int64_t)index + 1) : make_uncreated_value(t);
    if (!row || (*out && !strcmp(json_string_value(json_object_get(*out, "status")), status)))
        return 0;
    TRY(read_task_outputs(t, row, &outputs, err));
    *out = make_value(t, status, outputs, row->now.error);
    if (status_is_terminal(row->now.status))
        idmap_put(&f->scope_values, (int64_t)index + 1, *out);
    return 0;
}

/* ---- all tasks ---- */

/* The values of all tasks. They are read without loading the rows of the tasks, and only up to
 * ITEMS_MAX_IN_SCOPE bytes, because many tasks may have large outputs. */
struct all_values {
    json_t **at;          /* the values by task index; NULL if the task was not created */
    VEC(uint32_t) by_row; /* indexes of fan-outs whose outputs are stored only with their items */
    size_t size;          /* bytes of all outputs and errors */
};

static int add_value(struct turn *t, const struct workflow_state *f, struct all_values *all,
                     const struct rows *r, size_t nth, struct err *err)
{
    const char *name, *result, *error;
    const struct workflow_task *task;
    json_t *outputs;
    int64_t id;
    int kind, status;

    rows_read(r, nth, 0, NULL, &name, &id, &kind, &status, &result, &error);
    task = definition_find_task(f->def, name);
    if (!task || task_is_final(f, task))
        return 0;
    if (kind == KIND_FOREACH && !result) {
        *vec_add(&all->by_row) = task->index;
        return 0;
    }
    all->size += (result ? strlen(result) : 0) + (error ? strlen(error) : 0);
    if (all->size > ITEMS_MAX_IN_SCOPE)
        return err_set(err, E_INVALID,
                       "the outputs of all tasks together are larger than %d MB: refer only to "
                       "the tasks that are needed, by name",
                       ITEMS_MAX_IN_SCOPE >> 20);
    if (result)
        TRY(read_outputs(name, id, result, &outputs, err));
    else
        outputs = json_object();
    all->at[task->index] = make_value(t, status_text(status), outputs, error);
    return 0;
}

static int read_stored_values(struct turn *t, const struct workflow_state *f,
                              struct all_values *all, struct err *err)
{
    AUTO_ROWS r = ROWS_INIT;
    AUTO_BUF after = BUF_INIT;

    TRY(door_write(t, err)); /* write first: the query must see the tasks that ended in this turn */
    do {
        TRY(ask(t->db, &r, err, Q_TASK_VALUES, f->row->now.id, buf_cstr(&after), VALUES_PAGE));
        for (size_t i = 0; i < r.n; i++)
            TRY(add_value(t, f, all, &r, i, err));
        buf_reset(&after);
        buf_addstr(&after, r.n ? rows_text(&r, r.n - 1, 0) : "");
    } while (r.n == VALUES_PAGE);
    return 0;
}

static int read_values_by_row(struct turn *t, struct workflow_state *f, struct all_values *all,
                              struct err *err)
{
    struct row **rows = arena_alloc(&t->arena, (all->by_row.n + 1) * sizeof(*rows));

    TRY(tasks_get_rows(t, f, all->by_row.at, all->by_row.n, rows, err));
    for (size_t i = 0; i < all->by_row.n; i++)
        TRY(task_read_value(t, f, all->by_row.at[i], rows[i], &all->at[all->by_row.at[i]], err));
    return 0;
}

int tasks_read_all_values(struct turn *t, struct workflow_state *f, json_t *tasks, struct err *err)
{
    const struct workflow *w = f->def->workflow;
    struct all_values all = {.at = arena_zalloc(&t->arena, (w->ntasks + 1) * sizeof(*all.at))};
    int rc = read_stored_values(t, f, &all, err);

    if (!rc)
        rc = read_values_by_row(t, f, &all, err);
    for (uint32_t i = 0; !rc && i < w->ntasks; i++)
        json_object_set(tasks, w->tasks[i].name, all.at[i] ? all.at[i] : make_uncreated_value(t));
    vec_release(&all.by_row);
    return rc;
}
