/* flow_ready.c - a task that is to run: its templates are evaluated, what it runs by is stored with
 * its row, and it goes its way: to the outbox, into a hold, or on to the tasks of a nested
 * workflow. */
#include "base/json.h"
#include "core/resolve.h"
#include "store/door.h"
#include "store/flow.h"
#include "store/hold.h"
#include "store/store_internal.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

/* ---- what it runs by ---- */

/* Values that can't be had fail the task; the turn goes on. */
int flow_or_fail(struct turn *t, struct row *row, int rc, struct err *err)
{
    return rc == -E_INVALID ? flow_fail(t, row, err->msg, err) : rc;
}

int flow_store_resolved(struct turn *t, struct row *row, const struct buf *spec,
                        const struct buf *input, struct err *err)
{
    const char *what = row->now.kind == KIND_FOREACH ? "the list of foreach" : "the input";
    int rc;

    row->now.spec = spec->len ? arena_strdup(&t->arena, buf_cstr(spec)) : NULL;
    row->now.input = input->len ? arena_strdup(&t->arena, buf_cstr(input)) : NULL;
    if (spec->len > STORE_MAX_SPEC || input->len > STORE_MAX_INPUT)
        return err_set(err, E_INVALID, "what the task runs by has %zu bytes; at most %d are taken",
                       spec->len + input->len, STORE_MAX_SPEC);
    if ((rc =
             json_check_depth(json_depth(spec->ptr, spec->len), JSON_DEPTH_MAX, "the spec", err)) ||
        (rc = json_check_depth(json_depth(input->ptr, input->len), JSON_DEPTH_MAX, what, err)))
        return rc;
    row->has_texts = row->resolved = true;
    door_touch(t, row);
    return 0;
}

/* What an approval is asked with. */
static int approval_of(struct turn *t, struct flow *f, const struct flow_subject *s,
                       struct holds *out, struct err *err)
{
    const struct workflow_approval *a = &s->task->approval;
    struct resolve_scope scope;
    struct buf text = BUF_INIT;
    int rc;

    if (!s->task->has_approval || s->item || (s->row->now.failed_behind & GRAPH_APPROVED))
        return 0;
    out->approval = true;
    out->approve_until = a->timeout ? t->now + a->timeout : 0;
    if (!a->message)
        return 0;
    if ((rc = flow_scope(t, f, s, &scope, err)))
        return rc;
    if (!(rc = resolve_text(a->message, &scope, &text, err)))
        out->message = arena_strdup(&t->arena, buf_cstr(&text));
    resolve_scope_release(&scope);
    buf_release(&text);
    return rc;
}

/* A fan-out waits once, not each of its items. */
static int holds_of(struct turn *t, struct flow *f, const struct flow_subject *s, struct holds *out,
                    struct err *err)
{
    *out = (struct holds){.due = s->task->delay > 0 && !s->item ? t->now + s->task->delay : 0};
    return approval_of(t, f, s, out, err);
}

static int to_outbox(struct turn *t, struct row *row, const struct holds *h, struct err *err)
{
    int rc;

    limits_note(t, &row->now);
    if ((rc = limits_fetch(t, err)) ||
        (rc = door_move(t, row, EV_MARKED_READY, S_READY, NULL, err)))
        return rc;
    return hold_or_go(t, row, h, err);
}

static int ready_job(struct turn *t, struct flow *f, const struct flow_subject *s,
                     const struct resolve_scope *scope, struct err *err)
{
    const struct workflow_task *task = s->task;
    struct buf spec = BUF_INIT, input = BUF_INIT;
    struct err why = ERR_INIT;
    struct holds h;
    int rc =
        resolve_task(f->def->workflow, task, scope, &t->store->flow.defaults, &spec, &input, &why);

    if (!rc)
        rc = flow_store_resolved(t, s->row, &spec, &input, &why);
    if (!rc && task->concurrency.key)
        rc = flow_take_key(t, s->row, &task->concurrency, scope, &why);
    if (!rc)
        rc = holds_of(t, f, s, &h, &why);
    if (rc) {
        *err = why;
        rc = flow_or_fail(t, s->row, rc, err);
    } else {
        rc = to_outbox(t, s->row, &h, err);
    }
    buf_release(&spec);
    buf_release(&input);
    return rc;
}

static int begin_nested(struct turn *t, struct flow *f, const struct workflow_task *task,
                        struct row *row, const struct resolve_scope *scope, struct err *err)
{
    const struct definition *def;
    json_t *params;
    int rc;

    row->now.concurrency = NULL; /* evaluated each time that it begins */
    if (task->concurrency.key && (rc = flow_take_key(t, row, &task->concurrency, scope, err)))
        return flow_or_fail(t, row, rc, err);
    if ((rc = resolve_pairs(&task->with, scope, &params, err)))
        return flow_or_fail(t, row, rc, err);
    if ((rc = definition_use(t, task->nested->hash, task->nested, NULL, err)) ||
        (rc = definition_of(t, task->nested->hash, &def, err))) {
        json_decref(params);
        return rc;
    }
    return flow_begin(t, row, def, params, json_object_get(f->variables, "due_at"), NULL, err);
}

static int begin(struct turn *t, struct flow *f, const struct flow_subject *s, struct err *err)
{
    struct resolve_scope scope;
    int rc = flow_scope(t, f, s, &scope, err);

    if (rc)
        return flow_or_fail(t, s->row, rc, err);
    rc = s->task->nested ? begin_nested(t, f, s->task, s->row, &scope, err)
                         : ready_job(t, f, s, &scope, err);
    resolve_scope_release(&scope);
    return rc;
}

static int run(struct turn *t, struct flow *f, const struct flow_subject *s, struct err *err)
{
    if (s->row->now.kind == KIND_FOREACH)
        return items_begin(t, f, s, err);
    return begin(t, f, s, err);
}

int flow_ready(struct turn *t, struct flow *f, const struct flow_subject *s, struct err *err)
{
    struct holds h;
    bool held = false;
    int rc;

    if (!kind_is_job(s->row->now.kind)) {
        if ((rc = holds_of(t, f, s, &h, err)))
            return flow_or_fail(t, s->row, rc, err);
        if ((rc = hold_if_any(t, s->row, &h, &held, err)) || held)
            return rc;
    }
    return run(t, f, s, err);
}

/* ---- what was held, and may begin ---- */

static int go_as_item(struct turn *t, struct row *foreach, struct row *row, struct err *err)
{
    struct flow_subject s;
    struct flow *f;
    int rc = items_subject(t, foreach, row, &f, &s, err);

    return rc ? rc : run(t, f, &s, err);
}

int flow_go(struct turn *t, struct row *row, struct err *err)
{
    struct row *parent = row->now.parent ? turn_row(t, row->now.parent) : NULL;
    struct flow_subject s = {.row = row};
    struct flow *f;
    int rc;

    if (!parent || kind_is_job(parent->now.kind) || !row->now.task_name) { /* it was submitted */
        rc = flow_of(t, row->now.id, row->now.root, &f, err);
        return rc || !f ? rc : flow_open(t, f, err);
    }
    if (parent->now.kind == KIND_FOREACH)
        return go_as_item(t, parent, row, err);
    if ((rc = flow_of(t, parent->now.id, row->now.root, &f, err)) || !f)
        return rc;
    s.task = definition_task(f->def, row->now.task_name);
    if ((rc = flow_facts(t, f, s.task, &s.facts, err)))
        return rc;
    return run(t, f, &s, err);
}
