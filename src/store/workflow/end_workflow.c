/* end_workflow.c - the end of a workflow: starts on_failure and on_exit, evaluates the outputs, and
 * computes the final status from its tasks. Also has the timers of workflows and fan-outs:
 * timeouts, and work that continues in another turn. */
#include "base/json.h"
#include "core/graph.h"
#include "core/resolve.h"
#include "store/door/door.h"
#include "store/door/event_data.h"
#include "store/store_internal.h"
#include "store/workflow/rerun.h"
#include "store/workflow/workflow.h"

#define MAX_BLAMED 4 /* how many failed children are read for the error of their parent */

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

/* ---- timers ---- */

static int set_timer(struct turn *t, const struct row *row, enum timer_kind kind, int64_t due,
                     struct err *err)
{
    args_begin(&t->args, Q_TIMER_INSERT, due, row->now.id, (int)kind);
    t->wake |= WAKE_JOBS | WAKE_TIMERS;
    return db_send(t->db, &t->args, NULL, ANY_ROWS, err);
}

int execution_continue_later(struct turn *t, const struct row *row, struct err *err)
{
    return set_timer(t, row, TIMER_CONTINUE, t->now, err);
}

/* Finds the timeout of a workflow: the shorter of that of its definition and that of the task that
 * nests it. 0 if neither has one. */
static int find_timeout(struct turn *t, const struct workflow_state *f, int64_t *out,
                        struct err *err)
{
    const struct execution *e = &f->row->now;
    struct workflow_state *parent = NULL;
    int64_t own = f->def->workflow->timeout, task = 0;

    if (e->task_name && e->workflow) {
        TRY(workflow_state_get(t, e->workflow, e->root, &parent, err));
        task = parent ? definition_find_task(parent->def, e->task_name)->command.timeout : 0;
    }
    *out = own && (!task || own < task) ? own : task;
    return 0;
}

int workflow_set_timeout(struct turn *t, const struct workflow_state *f, struct err *err)
{
    int64_t timeout;
    int rc = find_timeout(t, f, &timeout, err);

    if (rc || !timeout)
        return rc;
    /* Delete the approval's timer first: both timers have the same kind. */
    if (f->row->stored.held == HELD_APPROVAL)
        TRY(door_write(t, err));
    return set_timer(t, f->row, TIMER_TIMEOUT, t->now + timeout, err);
}

/* ---- the end ---- */

int execution_finish(struct turn *t, struct row *row, int status, struct outcome *o,
                     struct err *err)
{
    struct move_note note = {0};
    enum event_action action = EV_COMPLETED;

    o->duration = execution_duration(&row->now.state, t->now);
    if (status == S_FAILED) {
        action = EV_FAILED;
        o->kind = OUTCOME_FAILED;
    } else if (status == S_CANCELLED) {
        action = EV_CANCELLED;
        o->kind = OUTCOME_CANCELLED;
    } else if (status == S_TIMED_OUT) {
        action = EV_TIMED_OUT;
        o->kind = OUTCOME_TIMED_OUT;
    } else {
        o->kind = OUTCOME_OK;
    }
    if (o->kind != OUTCOME_OK && !o->error && execution_explain_end(t, row, status, &o->error, err))
        return -(int)err->code;
    note.data = data_outcome(t, o, 0);
    door_set_outcome(row, o->result, o->error);
    return door_move(t, row, action, (enum status)status, &note, err);
}

/* Reads the failed children that caused the end of their parent, the first MAX_BLAMED of them.
 * Tasks with allow_failure are left out. */
static int read_failed_children(struct turn *t, const struct row *row, struct rows *r,
                                size_t failed[MAX_BLAMED], size_t *n, struct err *err)
{
    struct workflow_state *f = NULL;
    size_t most = MAX_BLAMED;

    *n = 0;
    TRY(door_write(t, err));
    if (row->now.kind == KIND_WORKFLOW)
        TRY(workflow_state_get(t, row->now.id, row->now.root, &f, err));
    for (uint32_t i = 0; f && i < f->def->workflow->ntasks; i++)
        most += f->def->workflow->tasks[i].allow_failure;
    TRY(ask(t->db, r, err, Q_FAILED_CHILDREN, row->now.id, most));
    for (size_t i = 0; i < r->n && *n < MAX_BLAMED; i++) {
        const char *name = rows_text(r, i, 0);
        const struct workflow_task *task = f && name ? definition_find_task(f->def, name) : NULL;

        if (!task || !task->allow_failure)
            failed[(*n)++] = i;
    }
    return 0;
}

/* Makes the error of a workflow or fan-out, such as "task b failed: exited with code 3 (and 2
 * more)". */
int execution_explain_end(struct turn *t, struct row *row, int status, const char **out,
                          struct err *err)
{
    AUTO_ROWS r = ROWS_INIT;
    AUTO_BUF b = BUF_INIT;
    size_t failed[MAX_BLAMED], n;

    if (status == S_TIMED_OUT || status == S_CANCELLED) {
        *out = status == S_TIMED_OUT ? "it took longer than its timeout" : "cancelled";
        return 0;
    }
    TRY(read_failed_children(t, row, &r, failed, &n, err));
    if (!n) {
        buf_addstr(&b, "one of its tasks failed");
    } else {
        buf_addstr(&b, rows_text(&r, failed[0], 0) ? rows_text(&r, failed[0], 0) : "a child");
        if (!rows_null(&r, failed[0], 1))
            buf_addf(&b, "[%lld]", (long long)rows_int(&r, failed[0], 1));
        buf_addf(&b, " %s", rows_int(&r, failed[0], 2) == S_TIMED_OUT ? "timed out" : "failed");
        if (rows_text(&r, failed[0], 3))
            buf_addf(&b, ": %.400s", rows_text(&r, failed[0], 3));
        if (n > 1)
            buf_addf(&b, " (and %zu%s more)", n - 1, n == MAX_BLAMED ? " or" : "");
    }
    *out = arena_strdup(&t->arena, b.ptr);
    return 0;
}

static int build_outputs(struct turn *t, struct workflow_state *f, const char **out,
                         struct err *err)
{
    const struct workflow *w = f->def->workflow;
    struct eval_subject s = {.facts = {.success = true}};
    struct resolve_scope scope;
    json_t *outputs;
    const char *text;
    int rc = 0;

    *out = NULL;
    if (!w->outputs.n)
        return 0;
    TRY(workflow_build_scope(t, f, &s, &scope, err));
    if (!(rc = resolve_pairs(f->def->templates->outputs, &scope, false, &outputs, err))) {
        text = json_arena_text(outputs, &t->arena);
        if (strlen(text) > STORE_MAX_RESULT)
            rc = err_set(err, E_INVALID, "the outputs are %zu bytes long; at most %d are allowed",
                         strlen(text), STORE_MAX_RESULT);
        else if (!(rc = json_check_depth(json_depth(text, strlen(text)), JSON_DEPTH_MAX,
                                         "the outputs object", err)))
            *out = text;
        json_decref(outputs);
    }
    resolve_scope_release(&scope);
    return rc ? err_prefix(err, "outputs") : 0;
}

/* The status that a workflow ends with if its tasks have ended and its outputs can be evaluated. */
static int find_end_status(const struct execution *e)
{
    return e->flags & FLAG_TIMED_OUT ? S_TIMED_OUT : graph_end(e->flags, e->cancel_requested);
}

bool task_is_final(const struct workflow_state *f, const struct workflow_task *task)
{
    return task && task->index >= f->def->workflow->ntasks;
}

struct graph_facts workflow_end_facts(const struct workflow_state *f)
{
    int status = find_end_status(&f->row->now);

    return (struct graph_facts){.success = status == S_SUCCEEDED,
                                .failure = status == S_FAILED || status == S_TIMED_OUT,
                                .cancelled = status == S_CANCELLED};
}

int workflow_describe_end(struct turn *t, struct workflow_state *f, const char **status,
                          const char **error, struct err *err)
{
    int end = find_end_status(&f->row->now);

    *status = status_text(end);
    *error = NULL;
    return end == S_SUCCEEDED ? 0 : execution_explain_end(t, f->row, end, error, err);
}

/* Whether on_failure has to run. on_failure runs once, before on_exit, which is always the last
 * task, even if on_failure fails. After a cancel only on_exit runs. A timeout also cancels, but is
 * a failure, so on_failure runs after it. */
static bool needs_on_failure(const struct execution *e)
{
    if (e->flags & (FLAG_HANDLED | FLAG_EXITED))
        return false;
    return (e->flags & FLAG_TIMED_OUT) || ((e->flags & FLAG_FAILED) && !e->cancel_requested);
}

/* Creates and starts on_failure or on_exit, which are tasks in the tree, when all other tasks have
 * ended. */
static int start_final_task(struct turn *t, struct workflow_state *f,
                            const struct workflow_task *task, int flag, struct err *err)
{
    struct eval_subject s = {.task = task, .facts = workflow_end_facts(f)};

    f->row->now.flags |= flag;
    TRY(workflow_create_task(t, f, task, &s.row, err));
    door_mark_changed(t, f->row);
    return task_make_ready(t, f, &s, err);
}

int workflow_end_if_done(struct turn *t, struct workflow_state *f, struct err *err)
{
    const struct workflow *w = f->def->workflow;
    struct execution *e = &f->row->now;
    struct outcome o = {0};
    int status, rc = 0;

    if (e->status != S_RUNNING || e->children_open > 0 ||
        ((uint32_t)e->children_made < w->ntasks && !e->cancel_requested))
        return 0;
    if (w->on_failure && needs_on_failure(e))
        return start_final_task(t, f, w->on_failure, FLAG_HANDLED, err);
    if (w->on_exit && !(e->flags & FLAG_EXITED))
        return start_final_task(t, f, w->on_exit, FLAG_EXITED, err);
    status = find_end_status(e);
    if (status == S_SUCCEEDED && (rc = build_outputs(t, f, &o.result, err))) {
        if (rc != -E_INVALID)
            return rc;
        o.error = arena_strdup(&t->arena, err->msg);
        status = S_FAILED;
    }
    if (w->timeout || e->task_name)
        TRY(db_queue(t->db, NULL, ANY_ROWS, err, Q_TIMER_DELETE, e->id, TIMER_TIMEOUT));
    /* The permit of the workflow goes to the next execution that waits for it. */
    if (e->concurrency) {
        limits_note(t, e);
        TRY(limits_fetch(t, err));
    }
    return execution_finish(t, f->row, status, &o, err);
}

/* Handles a due timer. The timer is only a hint: the row shows what must be done. */
int execution_fire_timer(struct turn *t, struct row *row, enum timer_kind kind, struct err *err)
{
    struct workflow_state *f;
    int rc = 0;

    if (kind == TIMER_CONTINUE && row->now.notify_left)
        return followers_notify_next(t, row, err);
    if (kind == TIMER_CONTINUE)
        TRY(pause_next_slice(t, row, err));
    if (row->now.status != S_RUNNING || kind_is_job(row->now.kind))
        return 0;
    if (kind == TIMER_TIMEOUT && !row->now.cancel_requested) {
        row->now.flags |= FLAG_TIMED_OUT;
        door_mark_changed(t, row);
        return cancel_tree(t, row, "it took longer than its timeout", err);
    }
    if (row->now.cancel_requested || (row->now.flags & FLAG_STOPPED)) {
        agenda_add(t, row, 0);
        return row->now.cancel_requested ? cancel_next_slice(t, row, err)
                                         : cancel_below(t, row, "another item failed", err);
    }
    if (row->now.kind == KIND_FOREACH) {
        agenda_add(t, row, 0);
        return 0;
    }
    TRY(workflow_state_get(t, row->now.id, row->now.root, &f, err));
    if (!f)
        return 0;
    if (row->now.flags & FLAG_ONLY_FAILED) /* the workflow has just got its permit */
        return rerun_nested_started(t, f, err);
    if (!row->now.children_made && /* the workflow has just started, because it got a permit */
        (rc = workflow_set_timeout(t, f, err)))
        return rc;
    if (workflow_is_starting(f))
        return workflow_create_tasks(t, f, err);
    return workflow_end_if_done(t, f, err);
}
