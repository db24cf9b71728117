/* load.c - loads the states of workflow executions, and the rows and states of their tasks, into a
 * turn. */
#include "base/buf.h"
#include "store/door/door.h"
#include "store/store_internal.h"
#include "store/workflow/workflow.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

json_t *turn_keep_json(struct turn *t, json_t *json)
{
    *vec_add(&t->json) = json;
    return json;
}

struct workflow_state *workflow_state_add(struct turn *t, struct row *row,
                                          const struct definition *def, json_t *variables)
{
    struct workflow_state *f = idmap_get(&t->workflow_states, row->now.id);

    /* The state is loaded already: the turn that loaded it for a rerun restarts the workflow. */
    if (f) {
        idmap_release(&f->tasks);
        idmap_release(&f->scope_values);
    } else {
        f = arena_alloc(&t->arena, sizeof(*f));
    }
    *f = (struct workflow_state){.row = row, .def = def, .variables = turn_keep_json(t, variables)};
    idmap_put(&t->workflow_states, row->now.id, f);
    return f;
}

int workflow_state_receive(struct turn *t, const struct rows *r, size_t nth, struct err *err)
{
    int64_t id = rows_int(r, nth, 0);
    const struct definition *def;
    struct workflow_state *f;
    json_t *variables;

    if (idmap_get(&t->workflow_states, id) || !turn_row(t, id))
        return 0;
    TRY(definition_get(t, rows_text(r, nth, 1), &def, err));
    if (!(variables = json_loads(rows_text(r, nth, 2), JSON_ALLOW_NUL, NULL)))
        return err_set(err, E_INTERNAL,
                       "the stored variables of workflow %lld are not valid JSON: restore the "
                       "database from a backup",
                       (long long)id);
    f = workflow_state_add(t, turn_row(t, id), def, variables);
    f->reuse = arena_strdup(&t->arena, rows_text(r, nth, 3));
    f->reuse_left = (uint32_t)rows_int(r, nth, 4);
    f->start_left = (uint32_t)rows_int(r, nth, 5);
    return 0;
}

int workflow_states_send(struct turn *t, const int64_t *ids, size_t n, struct rows *out,
                         struct err *err)
{
    AUTO_ARGS a = ARGS_INIT;

    args_begin(&a, Q_WORKFLOW_READ);
    args_ids(&a, ids, n);
    return db_send(t->db, &a, out, ANY_ROWS, err);
}

int workflow_states_read(struct turn *t, const int64_t *ids, size_t n, struct err *err)
{
    AUTO_ROWS r = ROWS_INIT;

    if (n)
        TRY(ask_ids(t->db, &r, err, Q_WORKFLOW_READ, ids, n));
    for (size_t i = 0; i < r.n; i++)
        TRY(workflow_state_receive(t, &r, i, err));
    return 0;
}

int workflow_state_get(struct turn *t, int64_t id, int64_t root, struct workflow_state **out,
                       struct err *err)
{
    struct row *row;

    if ((*out = idmap_get(&t->workflow_states, id)))
        return 0;
    TRY(turn_load_row(t, id, root, &row, err));
    TRY(workflow_states_read(t, &id, 1, err));
    *out = idmap_get(&t->workflow_states, id);
    return 0;
}

/* ---- tasks ---- */

void workflow_state_put_task(struct workflow_state *f, uint32_t index, struct row *row)
{
    idmap_put(&f->tasks, (int64_t)index + 1, row);
}

static const char *task_name(const struct workflow_state *f, uint32_t index)
{
    const struct workflow *w = f->def->workflow;

    if (index < w->ntasks)
        return w->tasks[index].name;
    return w->on_failure && w->on_failure->index == index ? w->on_failure->name : w->on_exit->name;
}

static void add_task_row(struct turn *t, const struct rows *r, size_t nth)
{
    struct execution e;
    struct workflow_state *f;
    struct row *row;
    bool known;

    execution_read_state(&e, r, nth, 0, &t->arena);
    known = turn_row(t, e.id) != NULL;
    row = turn_add_row(t, &e);
    if (!known) {
        row->unlocked = row->has_input_and_spec = true;
        rows_read(r, nth, STATE_COLUMNS, &t->arena, &row->now.input, &row->now.spec);
    }
    if (!row->outcome_changed) { /* keep an outcome that this turn has set, which is newer */
        row->has_outcome = true;
        rows_read(r, nth, STATE_COLUMNS + 2, &t->arena, &row->now.result, &row->now.error);
    }
    f = idmap_get(&t->workflow_states, row->now.parent);
    workflow_state_put_task(f, definition_find_task(f->def, row->now.task_name)->index, row);
}

int tasks_read(struct turn *t, const struct task_ref *list, size_t n, struct err *err)
{
    AUTO_ARGS a = ARGS_INIT;
    AUTO_ROWS r = ROWS_INIT;

    args_begin(&a, Q_TASKS_NAMED);
    for (size_t i = 0; i < n; i++)
        args_row(&a, list[i].state->row->now.id, task_name(list[i].state, list[i].index));
    if (n)
        TRY(db_query(t->db, &a, &r, err));
    for (size_t i = 0; i < r.n; i++)
        add_task_row(t, &r, i);
    return 0;
}

#define STATES_PAGE 5000

/* Reads the state of a task. A change that this turn made to the task takes precedence. */
static void read_task_state(struct turn *t, const struct definition *def, const struct rows *r,
                            size_t i, struct task_state *out)
{
    const struct workflow_task *task = definition_find_task(def, rows_text(r, i, 0));
    struct execution e = {0};
    const struct row *row;

    rows_read(r, i, 1, NULL, &e.id, &e.status, &e.flags, &e.held, &e.notify_left);
    if ((row = turn_row(t, e.id)))
        e = row->now;
    if (task && task->index < def->workflow->ntasks)
        out[task->index] =
            (struct task_state){.id = e.id,
                                .need = task_as_need(task, &e),
                                .open = !status_is_terminal(e.status) || e.notify_left > 0};
}

int tasks_read_states(struct turn *t, int64_t workflow, const struct definition *def,
                      struct task_state **out, struct err *err)
{
    AUTO_ROWS r = ROWS_INIT;
    AUTO_BUF after = BUF_INIT;

    *out = arena_zalloc(&t->arena, (def->workflow->ntasks + 1) * sizeof(**out));
    do {
        TRY(ask(t->db, &r, err, Q_TASK_STATES, workflow, buf_cstr(&after), STATES_PAGE));
        for (size_t i = 0; i < r.n; i++)
            read_task_state(t, def, &r, i, *out);
        buf_reset(&after);
        buf_addstr(&after, r.n ? rows_text(&r, r.n - 1, 0) : "");
    } while (r.n == STATES_PAGE);
    return 0;
}

int tasks_get_rows(struct turn *t, struct workflow_state *f, const uint32_t *index, size_t n,
                   struct row **out, struct err *err)
{
    struct task_ref *list = NULL;
    size_t i, unknown = 0;

    for (i = 0; i < n; i++)
        unknown += !(out[i] = idmap_get(&f->tasks, (int64_t)index[i] + 1));
    if (!unknown)
        return 0;
    list = arena_alloc(&t->arena, unknown * sizeof(*list));
    for (unknown = 0, i = 0; i < n; i++)
        if (!out[i])
            list[unknown++] = (struct task_ref){f, index[i]};
    TRY(tasks_read(t, list, unknown, err));
    for (i = 0; i < n; i++)
        out[i] = idmap_get(&f->tasks, (int64_t)index[i] + 1);
    return 0;
}
