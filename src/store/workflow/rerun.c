/* rerun.c - reruns executions in place: under their ids. When an execution runs again, so do its
 * followers, in its own workflow and in the workflows above; ancestors that have ended are
 * reopened. The descendants of the execution are not changed until it starts; then it reuses their
 * old rows (create.c, items.c), a slice at a time. */
#include "store/workflow/rerun.h"

#include "store/door/door.h"
#include "store/ops/admission.h"

#include <stdlib.h>

/* ---- ancestors ---- */

/* Refuses a rerun of a final task alone. on_failure, on_exit and their descendants run after all
 * other tasks have ended, so they can't run again alone. */
static int refuse_final_task(const struct workflow_state *f, const struct workflow_task *task,
                             const struct row *row, struct err *err)
{
    if (task->index < f->def->workflow->ntasks)
        return 0;
    return err_set(err, E_INVALID,
                   "%s can't be rerun alone, because it runs at the end of its workflow: rerun the "
                   "workflow, or one of its tasks",
                   row->now.name);
}

static int reopen_above(struct turn *t, struct row *row, struct rerun *r, struct err *err);

/* Reruns the followers of `task` in its workflow. If `again` is set, reruns the task itself, too;
 * otherwise the caller has reopened it. `row` is the execution of the task. If `row` is an
 * execution that a job submitted, `task` is NULL. */
static int rerun_in_workflow(struct turn *t, struct workflow_state *f,
                             const struct workflow_task *task, const struct row *row, bool again,
                             struct rerun *r, struct err *err)
{
    bool ended = status_is_terminal(f->row->now.status);
    struct partial_rerun p;

    if (task)
        TRY(refuse_final_task(f, task, row, err));
    TRY(partial_rerun_load(t, f, &p, err));
    if (task)
        rerun_from(f->def->workflow, task->index, again, p.marks);
    TRY(partial_rerun_reopen(t, &p, !again, r, err));
    return ended ? reopen_above(t, f->row, r, err) : 0;
}

/* Refuses to rerun an item that does not belong to the fan-out's last run. */
static int refuse_item(const struct row *foreach, const struct row *row, struct err *err)
{
    const char *why = NULL;

    if (!rerun_has_started(foreach))
        why = "is about to run";
    else if (foreach->now.status == S_RUNNING && foreach->now.cancel_requested)
        why = "is being cancelled";
    else if (row->now.task_index >= foreach->now.children_made)
        why = foreach->now.status == S_RUNNING ? "has not reached this item yet"
                                               : "no longer has this item";
    return why ? err_set_state(err, "%s can't run again: its fan-out %s", row->now.name, why) : 0;
}

static int reopen_items(struct turn *t, struct row *foreach, struct rerun *r, struct err *err)
{
    int bits, made = foreach->now.children_made;
    struct workflow_state *f;

    TRY(items_compute_flags(t, foreach, &bits, err));
    if (!status_is_terminal(foreach->now.status)) {
        foreach->now.flags = (foreach->now.flags & ~(FLAG_FAILED | FLAG_CANCELLED)) | bits;
        foreach->now.children_open++;
        door_mark_changed(t, foreach);
        return 0;
    }
    TRY(workflow_state_get(t, foreach->now.workflow, foreach->now.root, &f, err));
    if (!f)
        return 0;
    TRY(rerun_reset(t, foreach, S_RUNNING, 0, r, err));
    if ((bits & FLAG_FAILED) && definition_find_task(f->def, foreach->now.task_name)->fail_fast)
        /* The item that failed does not run again and must not cancel this item. */
        bits |= FLAG_STOPPED;
    foreach->now.flags |= bits;
    foreach->now.children_made = made;
    foreach->now.children_open = 1;
    door_mark_changed(t, foreach);
    agenda_add(t, foreach, 0); /* create the items that fail_fast left out */
    return reopen_above(t, foreach, r, err);
}

/* Reopens the parent of an execution that runs again, and resets the followers of the execution.
 * Then does this for the parent, too, if the parent had ended. */
static int reopen_above(struct turn *t, struct row *row, struct rerun *r, struct err *err)
{
    const struct workflow_task *task = NULL;
    int64_t above = row->now.workflow;
    struct row *parent;
    struct workflow_state *f;

    if (!row->now.parent)
        return 0;
    TRY(turn_load_row(t, row->now.parent, row->now.root, &parent, err));
    if (!kind_is_job(parent->now.kind) && row->now.task_name) {
        if (parent->now.kind == KIND_FOREACH) {
            TRY(refuse_item(parent, row, err));
            return reopen_items(t, parent, r, err);
        }
        above = parent->now.id;
    }
    if (!above)
        return 0;
    TRY(workflow_state_get(t, above, row->now.root, &f, err));
    if (!f)
        return 0;
    if (above == parent->now.id && row->now.task_name)
        task = definition_find_task(f->def, row->now.task_name);
    return rerun_in_workflow(t, f, task, row, false, r, err);
}

/* ---- the request ---- */

static int rerun_whole_workflow(struct turn *t, struct workflow_state *f, struct rerun *r,
                                struct err *err)
{
    TRY(rerun_restart(t, f->row, r, err));
    TRY(workflow_set_timeout(t, f, err));
    return workflow_create_tasks(t, f, err);
}

/* Reads how many attempts a job outside of any workflow was submitted with. */
static int read_own_max_attempts(struct turn *t, const struct row *row, int *out, struct err *err)
{
    int granted = 0;

    TRY(ask_one(t->db, INTO(&granted), err, Q_ATTEMPTS_GRANTED, row->now.root, row->now.id));
    *out = row->now.max_attempts - granted > 1 ? row->now.max_attempts - granted : 1;
    return 0;
}

static int route_again(struct turn *t, struct row *row, struct err *err)
{
    if (!(row->now.flags & FLAG_ROUTED))
        return 0;
    TRY(turn_route(t, &(struct route_query){.name = row->now.name}, &row->now.lane, err));
    args_begin(&t->args, Q_EXECUTION_LANE);
    args_row(&t->args, row->now.id, row->now.lane);
    return db_send(t->db, &t->args, NULL, 1, err);
}

static int rerun_single_job(struct turn *t, struct row *row, struct rerun *r, struct err *err)
{
    int attempts = 1;

    limits_note(t, &row->now);
    TRY(limits_fetch(t, err));
    TRY(read_own_max_attempts(t, row, &attempts, err));
    TRY(rerun_reset(t, row, S_PENDING, attempts, r, err));
    TRY(route_again(t, row, err));
    TRY(door_move(t, row, EV_MARKED_READY, S_READY, NULL, err));
    return admit_or_hold(t, row, &(struct hold_reasons){0}, err);
}

static int rerun_as_item(struct turn *t, struct row *foreach, struct row *row, struct rerun *r,
                         struct err *err)
{
    TRY(refuse_item(foreach, row, err));
    TRY(items_rerun_one(t, foreach, row, r, err));
    return reopen_items(t, foreach, r, err);
}

static int rerun_part_of_workflow(struct turn *t, struct row *row, struct rerun *r, struct err *err)
{
    bool ended = status_is_terminal(row->now.status);
    const struct workflow_task *task = NULL;
    struct partial_rerun p;
    struct workflow_state *f;

    TRY(workflow_state_get(t, row->now.id, row->now.root, &f, err));
    if (!f || row->now.kind != KIND_WORKFLOW)
        return err_set(err, E_INVALID,
                       "execution %lld is not a workflow, so it can only be rerun as a whole",
                       (long long)row->now.id);
    if (r->what == RERUN_FROM_TASK) {
        task = definition_find_task(f->def, r->from);
        if (!task || task->index >= f->def->workflow->ntasks)
            return workflow_no_task(f->def->workflow, r->from, err);
    }
    TRY(partial_rerun_load(t, f, &p, err));
    if (task)
        rerun_from(f->def->workflow, task->index, true, p.marks);
    else if (!rerun_failed(f->def->workflow, p.states, p.marks))
        return err_set_state(
            err,
            "no task of execution %lld failed or was cancelled, so there is nothing to "
            "rerun",
            (long long)row->now.id);
    p.only_failed_below = !task;
    TRY(partial_rerun_reopen(t, &p, 0, r, err));
    return ended ? reopen_above(t, row, r, err) : 0;
}

/* Reruns an execution as a whole, depending on its kind and parent. */
static int rerun_whole(struct turn *t, struct row *row, struct rerun *r, struct err *err)
{
    struct row *parent = NULL;
    struct workflow_state *f;
    int rc = 0;

    if (row->now.parent)
        TRY(turn_load_row(t, row->now.parent, row->now.root, &parent, err));
    if (parent && row->now.task_name && parent->now.kind == KIND_FOREACH)
        return rerun_as_item(t, parent, row, r, err);
    if (parent && row->now.task_name && parent->now.kind == KIND_WORKFLOW) {
        TRY(workflow_state_get(t, parent->now.id, row->now.root, &f, err));
        if (f)
            return rerun_in_workflow(t, f, definition_find_task(f->def, row->now.task_name), row,
                                     true, r, err);
    }
    if (kind_is_job(row->now.kind)) {
        rc = rerun_single_job(t, row, r, err);
    } else {
        TRY(workflow_state_get(t, row->now.id, row->now.root, &f, err));
        if (!f)
            return err_set(err, E_INVALID,
                           "execution %lld has no definition, so it can't run again",
                           (long long)row->now.id);
        rc = rerun_whole_workflow(t, f, r, err);
    }
    return rc ? rc : reopen_above(t, row, r, err);
}

void rerun_release(struct rerun *r)
{
    for (size_t i = 0; i < r->reruns.n; i++)
        free(r->reruns.at[i].name);
    vec_release(&r->reruns);
}

int op_rerun(struct turn *t, struct rerun *r, struct err *err)
{
    struct row *row;

    rerun_release(r); /* start anew: the body of a turn may run more than once */
    TRY(requests_load(t, &r->request, 1, err));
    if (r->request.rc)
        return 0;
    row = turn_row(t, r->request.execution);
    if (r->what != RERUN_FROM_TASK && !status_is_terminal(row->now.status))
        return err_set_state(
            err,
            "execution %lld can't be rerun, because it has not ended; its status is %s: "
            "wait for its end, or cancel it first",
            (long long)row->now.id, status_text(row->now.status));
    TRY(r->what == RERUN_WHOLE ? rerun_whole(t, row, r, err)
                               : rerun_part_of_workflow(t, row, r, err));
    r->request.status = row->now.status;
    r->planned = true;
    return r->dry_run ? err_set(err, E_INVALID, "nothing was changed: this was a dry run") : 0;
}
