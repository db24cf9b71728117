/* ready.c - makes a task ready: evaluates its templates, stores the resulting spec and input with
 * its row, and puts it into the outbox, holds it, or starts its items or its nested workflow. */
#include "base/json.h"
#include "core/graph.h"
#include "core/resolve.h"
#include "store/door/door.h"
#include "store/ops/admission.h"
#include "store/store_internal.h"
#include "store/workflow/rerun.h"
#include "store/workflow/workflow.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

/* ---- spec and input ---- */

/* If rc says that a value is invalid, fails the task, not the turn. */
int task_fail_if_invalid(struct turn *t, struct row *row, int rc, struct err *err)
{
    return rc == -E_INVALID ? task_fail(t, row, err->msg, err) : rc;
}

int task_store_resolved(struct turn *t, struct row *row, const struct buf *spec,
                        const struct buf *input, struct err *err)
{
    const char *what = row->now.kind == KIND_FOREACH ? "the list of foreach" : "the input";
    int rc;

    /* Set neither spec nor input in the row until both are checked: otherwise a new row would be
     * inserted with the refused value, which may be large and occur in hundreds of items. */
    if (spec->len > STORE_MAX_SPEC)
        return err_set(err, E_INVALID,
                       "the task, with its values filled in, is %zu bytes long; at most %d are "
                       "allowed: pass large values in files",
                       spec->len, STORE_MAX_SPEC);
    if (input->len > STORE_MAX_INPUT)
        return err_set(err, E_INVALID, "%s is %zu bytes long; at most %d are allowed", what,
                       input->len, STORE_MAX_INPUT);
    if ((rc =
             json_check_depth(json_depth(spec->ptr, spec->len), JSON_DEPTH_MAX, "the spec", err)) ||
        (rc = json_check_depth(json_depth(input->ptr, input->len), JSON_DEPTH_MAX, what, err)))
        return rc;
    row->now.spec = spec->len ? arena_strdup(&t->arena, buf_cstr(spec)) : NULL;
    row->now.input = input->len ? arena_strdup(&t->arena, buf_cstr(input)) : NULL;
    row->has_input_and_spec = row->input_changed = true;
    door_mark_changed(t, row);
    return 0;
}

/* Adds the approval of a task, with its message and timeout, to the reasons to hold the task. */
static int find_approval(struct turn *t, struct workflow_state *f, const struct eval_subject *s,
                         struct hold_reasons *out, struct err *err)
{
    const struct workflow_approval *a = &s->task->approval;
    struct resolve_scope scope;
    AUTO_BUF text = BUF_INIT;
    int rc = 0;

    if (!s->task->approval.wanted || s->item || (s->row->now.flags & FLAG_APPROVED))
        return 0;
    out->approval = true;
    out->approval_timeout_at = a->timeout ? t->now + a->timeout : 0;
    if (!a->message)
        return 0;
    TRY(workflow_build_scope(t, f, s, &scope, err));
    if (!(rc = resolve_text(resolve_template(&scope, TASK_MESSAGE), &scope, &text, err)))
        out->message = arena_strdup(&t->arena, buf_cstr(&text));
    else
        err_prefix(err, "approval.message");
    resolve_scope_release(&scope);
    return rc;
}

/* Finds the reasons to hold a task. A delay or an approval holds a fan-out once, not each of its
 * items. */
static int find_holds(struct turn *t, struct workflow_state *f, const struct eval_subject *s,
                      struct hold_reasons *out, struct err *err)
{
    *out =
        (struct hold_reasons){.due = s->task->delay > 0 && !s->item ? t->now + s->task->delay : 0};
    return find_approval(t, f, s, out, err);
}

/* Sets the lane of a task, which is routed when it becomes ready. An item is routed by the name of
 * its fan-out. */
static int set_lane(struct turn *t, const struct workflow_state *f, const struct eval_subject *s,
                    struct err *err)
{
    const struct workflow_task *task = s->task;
    struct route_query q = {.name = s->row->now.name,
                            .executor = task->executor,
                            .function = task->function,
                            .container = task->command.container != NULL};

    if (s->item)
        q.name = arena_printf(&t->arena, "%s::%s", f->def->workflow->name, task->name);
    return turn_route(t, &q, &s->row->now.lane, err);
}

static int admit_ready_job(struct turn *t, struct row *row, const struct hold_reasons *h,
                           struct err *err)
{
    limits_note(t, &row->now);
    TRY(limits_fetch(t, err));
    TRY(door_move(t, row, EV_MARKED_READY, S_READY, NULL, err));
    return admit_or_hold(t, row, h, err);
}

static int make_job_ready(struct turn *t, struct workflow_state *f, const struct eval_subject *s,
                          const struct resolve_scope *scope, struct err *err)
{
    const struct workflow_task *task = s->task;
    struct buf spec = BUF_INIT, input = BUF_INIT;
    struct err why = ERR_INIT;
    struct hold_reasons h;
    int rc = resolve_task(scope, &t->store->workflow_options.defaults, &spec, &input, &why);

    if (!rc)
        rc = task_store_resolved(t, s->row, &spec, &input, &why);
    if (!rc && task->concurrency.key)
        rc = concurrency_set_key(t, s->row, &task->concurrency, scope, &why);
    if (!rc)
        rc = find_holds(t, f, s, &h, &why);
    if (rc) {
        *err = why;
        rc = task_fail_if_invalid(t, s->row, rc, err);
    } else if (!(rc = set_lane(t, f, s, err))) {
        rc = admit_ready_job(t, s->row, &h, err);
    }
    buf_release(&spec);
    buf_release(&input);
    return rc;
}

static int start_nested(struct turn *t, struct workflow_state *f, const struct workflow_task *task,
                        struct row *row, const struct resolve_scope *scope, struct err *err)
{
    struct workflow_input in = {.due = json_object_get(f->variables, "due_at")};
    const struct definition *def;
    int rc;

    row->now.concurrency = NULL; /* the key is evaluated anew at each start */
    if (task->concurrency.key && (rc = concurrency_set_key(t, row, &task->concurrency, scope, err)))
        return task_fail_if_invalid(t, row, rc, err);
    if ((rc = resolve_pairs(resolve_template(scope, TASK_WITH), scope, false, &in.params, err)))
        return task_fail_if_invalid(t, row, rc, err);
    if ((rc = definition_use(t, task->nested->hash, task->nested, NULL, err)) ||
        (rc = definition_get(t, task->nested->hash, &def, err))) {
        json_decref(in.params);
        return rc;
    }
    return workflow_start(t, row, def, &in, err);
}

static int start_job_or_nested(struct turn *t, struct workflow_state *f,
                               const struct eval_subject *s, struct err *err)
{
    struct resolve_scope scope;
    int rc = workflow_build_scope(t, f, s, &scope, err);

    if (rc)
        return task_fail_if_invalid(t, s->row, rc, err);
    rc = s->task->nested ? start_nested(t, f, s->task, s->row, &scope, err)
                         : make_job_ready(t, f, s, &scope, err);
    resolve_scope_release(&scope);
    return rc;
}

static int start_task(struct turn *t, struct workflow_state *f, const struct eval_subject *s,
                      struct err *err)
{
    if (s->row->now.kind == KIND_FOREACH)
        return items_start(t, f, s, err);
    return start_job_or_nested(t, f, s, err);
}

int task_make_ready(struct turn *t, struct workflow_state *f, const struct eval_subject *s,
                    struct err *err)
{
    struct hold_reasons h;
    bool held = false;
    int rc;

    if (!kind_is_job(s->row->now.kind)) {
        if ((rc = find_holds(t, f, s, &h, err)))
            return task_fail_if_invalid(t, s->row, rc, err);
        TRY(row_hold_if_needed(t, s->row, &h, &held, err));
        if (held)
            return 0;
    }
    return start_task(t, f, s, err);
}

/* ---- start after a hold ---- */

static int start_unheld_item(struct turn *t, struct row *foreach, struct row *row, struct err *err)
{
    struct eval_subject s;
    struct workflow_state *f;

    TRY(items_get_subject(t, foreach, row, &f, &s, err));
    return start_task(t, f, &s, err);
}

int execution_start_unheld(struct turn *t, struct row *row, struct err *err)
{
    struct row *parent = row->now.parent ? turn_row(t, row->now.parent) : NULL;
    struct eval_subject s = {.row = row};
    struct workflow_state *f;
    int rc = 0;

    if (row->now.kind == KIND_WORKFLOW && (row->now.flags & FLAG_ONLY_FAILED))
        return rerun_nested_unheld(t, row, err);
    /* The execution was submitted, so it is not a task of a workflow. */
    if (!parent || kind_is_job(parent->now.kind) || !row->now.task_name) {
        rc = workflow_state_get(t, row->now.id, row->now.root, &f, err);
        return rc || !f ? rc : workflow_start_unheld(t, f, err);
    }
    if (parent->now.kind == KIND_FOREACH)
        return start_unheld_item(t, parent, row, err);
    TRY(workflow_state_get(t, parent->now.id, row->now.root, &f, err));
    if (!f)
        return 0;
    s.task = definition_find_task(f->def, row->now.task_name);
    TRY(task_read_facts(t, f, s.task, &s.facts, err));
    return start_task(t, f, &s, err);
}
