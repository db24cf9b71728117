/* flow_ready.c - a task that is to run: its templates are evaluated, what it runs by is stored with
 * its row, and it goes its way: to the outbox, into a hold, or on to the tasks of a nested
 * workflow. */
#include "core/resolve.h"
#include "store/data.h"
#include "store/door.h"
#include "store/flow.h"
#include "store/store_internal.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

/* ---- the scope ---- */

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

/* {"status", "outputs"} of a task, as expressions see it. */
static json_t *shown(const struct row *row)
{
    json_t *outputs = row->now.result ? json_loads(row->now.result, JSON_DECODE_ANY, NULL) : NULL;

    return json_pack("{s:s, s:o}", "status", status_text(row->now.status), "outputs",
                     outputs ? outputs : json_object());
}

static int tasks_in_scope(struct turn *t, struct flow *f, const struct workflow_task *task,
                          json_t **out, struct err *err)
{
    struct named named = {.def = f->def};
    struct row **rows;
    json_t *tasks = turn_keep(t, json_object());
    size_t i;
    int rc;

    resolve_references(f->def->workflow, task, on_reference, &named);
    rows = arena_alloc(&t->arena, (named.index.n + 1) * sizeof(*rows));
    if (!(rc = flow_tasks(t, f, named.index.at, named.index.n, rows, err)))
        for (i = 0; i < named.index.n; i++)
            if (rows[i])
                json_object_set_new(tasks, rows[i]->now.task_name, shown(rows[i]));
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
    int rc;

    if ((rc = tasks_in_scope(t, f, s->task, &g.tasks, err)))
        return rc;
    if (s->item)
        g.index = turn_keep(t, json_integer(s->index));
    g.execution = turn_keep(t, json_pack("{s:I, s:I, s:s}", "id", (json_int_t)row->now.id, "root",
                                         (json_int_t)row->now.root, "name", row->now.name));
    return resolve_scope(&g, out, err);
}

/* ---- what it runs by ---- */

/* Values that can't be had fail the task; the turn goes on. */
int flow_or_fail(struct turn *t, struct row *row, int rc, struct err *err)
{
    return rc == -E_INVALID ? flow_fail(t, row, err->msg, err) : rc;
}

int flow_store_resolved(struct turn *t, struct row *row, const struct buf *spec,
                        const struct buf *input, struct err *err)
{
    int rc;

    row->now.spec = spec->len ? arena_strdup(&t->arena, buf_cstr(spec)) : NULL;
    row->now.input = input->len ? arena_strdup(&t->arena, buf_cstr(input)) : NULL;
    if (spec->len > STORE_MAX_SPEC || input->len > STORE_MAX_INPUT)
        return err_set(err, E_INVALID, "what the task runs by has %zu bytes; at most %d are taken",
                       spec->len + input->len, STORE_MAX_SPEC);
    if (row->is_new)
        return 0; /* it goes into the row with all else */
    args_begin(&t->args, Q_EXECUTION_RESOLVE);
    args_int(&t->args, row->now.id);
    args_text(&t->args, row->now.input);
    args_text(&t->args, row->now.spec);
    rc = db_send(t->db, &t->args, NULL, 1, err);
    return rc;
}

/* Whether something above it is paused: then it is held, too. */
static int is_paused(struct turn *t, const struct row *row, bool *out, struct err *err)
{
    int64_t above = row->now.parent;
    int rc;

    for (*out = false; above && !*out;) {
        struct want want = {.id = above, .root = row->now.root};

        if ((rc = turn_load(t, &want, 1, err)))
            return rc;
        if (want.rc)
            return err_set(err, E_REDO, "execution %lld is locked by another turn",
                           (long long)above);
        *out = turn_row(t, above)->now.held == HELD_PAUSED;
        above = turn_row(t, above)->now.parent;
    }
    return 0;
}

static int to_outbox(struct turn *t, const struct workflow_task *task, struct row *row,
                     struct err *err)
{
    bool paused;
    int rc;

    if ((rc = is_paused(t, row, &paused, err)))
        return rc;
    limits_note(t, &row->now);
    if ((rc = limits_fetch(t, err)) ||
        (rc = door_move(t, row, EV_MARKED_READY, S_READY, NULL, err)))
        return rc;
    if (paused || task->delay > 0) {
        enum hold why = paused ? HELD_PAUSED : HELD_DELAY;
        int64_t due = task->delay > 0 ? t->now + task->delay : 0;
        struct move_note note = {.why = why, .due_at = due, .data = data_hold(t, why, NULL, due)};

        return door_move(t, row, EV_HELD, S_READY, &note, err);
    }
    return door_admit(t, row, err);
}

static int ready_job(struct turn *t, struct flow *f, const struct workflow_task *task,
                     struct row *row, const struct resolve_scope *scope, struct err *err)
{
    struct buf spec = BUF_INIT, input = BUF_INIT;
    struct err why = ERR_INIT;
    int rc =
        resolve_task(f->def->workflow, task, scope, &t->store->flow.defaults, &spec, &input, &why);

    if (!rc)
        rc = flow_store_resolved(t, row, &spec, &input, &why);
    if (rc) {
        *err = why;
        rc = flow_or_fail(t, row, rc, err);
    } else {
        rc = to_outbox(t, task, row, err);
    }
    buf_release(&spec);
    buf_release(&input);
    return rc;
}

static int begin_nested(struct turn *t, const struct workflow_task *task, struct row *row,
                        const struct resolve_scope *scope, struct err *err)
{
    const struct definition *def;
    json_t *params;
    int rc;

    if ((rc = resolve_pairs(&task->with, scope, &params, err)))
        return flow_or_fail(t, row, rc, err);
    if ((rc = definition_of(t, task->nested->hash, &def, err))) {
        json_decref(params);
        return rc;
    }
    return flow_begin(t, row, def, params, err);
}

static int begin(struct turn *t, struct flow *f, const struct flow_subject *s, struct err *err)
{
    struct resolve_scope scope;
    int rc = flow_scope(t, f, s, &scope, err);

    if (rc)
        return flow_or_fail(t, s->row, rc, err);
    rc = s->task->nested ? begin_nested(t, s->task, s->row, &scope, err)
                         : ready_job(t, f, s->task, s->row, &scope, err);
    resolve_scope_release(&scope);
    return rc;
}

int flow_ready(struct turn *t, struct flow *f, const struct flow_subject *s, struct err *err)
{
    if (s->task->foreach && !s->item)
        return items_begin(t, f, s, err);
    return begin(t, f, s, err);
}
