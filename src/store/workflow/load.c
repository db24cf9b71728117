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

    if (f) { /* it restarts in the turn that loaded it for a rerun */
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
    json_t *variables;
    int rc;

    if (idmap_get(&t->workflow_states, id) || !turn_row(t, id))
        return 0;
    if ((rc = definition_get(t, rows_text(r, nth, 1), &def, err)))
        return rc;
    if (!(variables = json_loads(rows_text(r, nth, 2), JSON_ALLOW_NUL, NULL)))
        return err_set(err, E_INTERNAL, "the variables of workflow %lld can't be read",
                       (long long)id);
    workflow_state_add(t, turn_row(t, id), def, variables)->reuse =
        arena_strdup(&t->arena, rows_text(r, nth, 3));
    return 0;
}

int workflow_states_send(struct turn *t, const int64_t *ids, size_t n, struct rows *out,
                         struct err *err)
{
    struct args a = ARGS_INIT;
    size_t i;
    int rc;

    args_begin(&a, Q_WORKFLOW_READ);
    for (i = 0; i < n; i++)
        args_int(&a, ids[i]);
    rc = db_send(t->db, &a, out, ANY_ROWS, err);
    args_release(&a);
    return rc;
}

int workflow_states_read(struct turn *t, const int64_t *ids, size_t n, struct err *err)
{
    struct rows r = ROWS_INIT;
    size_t i;
    int rc = 0;

    if (n && !(rc = workflow_states_send(t, ids, n, &r, err)))
        rc = db_flush(t->db, err);
    for (i = 0; !rc && i < r.n; i++)
        rc = workflow_state_receive(t, &r, i, err);
    rows_release(&r);
    return rc;
}

int workflow_state_get(struct turn *t, int64_t id, int64_t root, struct workflow_state **out,
                       struct err *err)
{
    struct row_ref row_ref = {.id = id, .root = root};
    int rc;

    if ((*out = idmap_get(&t->workflow_states, id)))
        return 0;
    if ((rc = turn_load(t, &row_ref, 1, err)))
        return rc;
    if (row_ref.rc == -E_BUSY)
        return err_set(err, E_REDO, "the tree of workflow %lld is locked by another turn",
                       (long long)id);
    if (row_ref.rc)
        return err_set(err, E_INTERNAL, "workflow %lld does not exist", (long long)id);
    if (!(rc = workflow_states_read(t, &id, 1, err)))
        *out = idmap_get(&t->workflow_states, id);
    return rc;
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
        row->now.input = arena_strdup(&t->arena, rows_text(r, nth, STATE_COLUMNS));
        row->now.spec = arena_strdup(&t->arena, rows_text(r, nth, STATE_COLUMNS + 1));
    }
    if (!row->outcome) { /* else this turn ended it */
        row->has_outcome = true;
        row->now.result = arena_strdup(&t->arena, rows_text(r, nth, STATE_COLUMNS + 2));
        row->now.error = arena_strdup(&t->arena, rows_text(r, nth, STATE_COLUMNS + 3));
    }
    f = idmap_get(&t->workflow_states, row->now.parent);
    workflow_state_put_task(f, definition_find_task(f->def, row->now.task_name)->index, row);
}

int tasks_read(struct turn *t, const struct task_ref *list, size_t n, struct err *err)
{
    struct args a = ARGS_INIT;
    struct rows r = ROWS_INIT;
    size_t i;
    int rc = 0;

    args_begin(&a, Q_TASKS_NAMED);
    for (i = 0; i < n; i++) {
        args_int(&a, list[i].state->row->now.id);
        args_text(&a, task_name(list[i].state, list[i].index));
    }
    if (n)
        rc = db_query(t->db, &a, &r, err);
    for (i = 0; !rc && i < r.n; i++)
        add_task_row(t, &r, i);
    rows_release(&r);
    args_release(&a);
    return rc;
}

#define STATES_PAGE 5000

static int read_states_page(struct turn *t, int64_t workflow, const char *after, struct rows *out,
                            struct err *err)
{
    struct args a = ARGS_INIT;
    int rc;

    args_begin(&a, Q_TASK_STATES);
    args_int(&a, workflow);
    args_text(&a, after);
    args_int(&a, STATES_PAGE);
    rc = db_query(t->db, &a, out, err);
    args_release(&a);
    return rc;
}

/* Changes that this turn made to a task take precedence. */
static void report_task_state(
    struct turn *t, const struct definition *def, const struct rows *r, size_t i,
    void (*each)(void *arg, const struct workflow_task *task, const struct execution *e), void *arg)
{
    const struct workflow_task *task = definition_find_task(def, rows_text(r, i, 0));
    struct execution e = {.id = rows_int(r, i, 1),
                          .status = (int)rows_int(r, i, 2),
                          .flags = (int)rows_int(r, i, 3),
                          .held = (int)rows_int(r, i, 4)};
    const struct row *row = turn_row(t, e.id);

    if (task && task->index < def->workflow->ntasks)
        each(arg, task, row ? &row->now : &e);
}

int tasks_read_states(struct turn *t, int64_t workflow, const struct definition *def,
                      void (*each)(void *arg, const struct workflow_task *task,
                                   const struct execution *e),
                      void *arg, struct err *err)
{
    struct rows r = ROWS_INIT;
    struct buf after = BUF_INIT;
    size_t i, n;
    int rc;

    do {
        if ((rc = read_states_page(t, workflow, buf_cstr(&after), &r, err)))
            break;
        for (i = 0; i < r.n; i++)
            report_task_state(t, def, &r, i, each, arg);
        n = r.n;
        buf_reset(&after);
        buf_addstr(&after, n ? rows_text(&r, n - 1, 0) : "");
    } while (n == STATES_PAGE);
    buf_release(&after);
    rows_release(&r);
    return rc;
}

int tasks_get_rows(struct turn *t, struct workflow_state *f, const uint32_t *index, size_t n,
                   struct row **out, struct err *err)
{
    struct task_ref *list = NULL;
    size_t i, unknown = 0;
    int rc = 0;

    for (i = 0; i < n; i++)
        unknown += !(out[i] = idmap_get(&f->tasks, (int64_t)index[i] + 1));
    if (!unknown)
        return 0;
    list = arena_alloc(&t->arena, unknown * sizeof(*list));
    for (unknown = 0, i = 0; i < n; i++)
        if (!out[i])
            list[unknown++] = (struct task_ref){f, index[i]};
    rc = tasks_read(t, list, unknown, err);
    for (i = 0; !rc && i < n; i++)
        out[i] = idmap_get(&f->tasks, (int64_t)index[i] + 1);
    return rc;
}
