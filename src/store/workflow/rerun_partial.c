/* rerun_partial.c - reruns some of the tasks of a workflow in place (rerun.h). */
#include "store/workflow/rerun.h"

#include "core/graph.h"
#include "store/door/door.h"
#include "store/ops/admission.h"

/* Refuses a partial rerun of a workflow whose last run has not created all of its tasks. */
static int refuse_incomplete(const struct workflow_state *f, struct err *err)
{
    const struct execution *e = &f->row->now;

    if (e->status == S_RUNNING && f->reuse_left)
        return err_set_state(
            err, "workflow %lld is still reusing results of execution %lld: try again later",
            (long long)e->id, (long long)e->rerun_of);
    if (rerun_has_started(f->row) && (uint32_t)e->children_made >= f->def->workflow->ntasks)
        return 0;
    if (status_is_terminal(e->status))
        return err_set_state(
            err, "execution %lld ended before all of its tasks were created: rerun it as a whole",
            (long long)e->id);
    return err_set_state(err, "workflow %lld is %s: try again later", (long long)e->id,
                         e->status == S_RUNNING ? "still creating its tasks" : "about to run");
}

int partial_rerun_load(struct turn *t, struct workflow_state *f, struct partial_rerun *p,
                       struct err *err)
{
    uint32_t n = f->def->workflow->ntasks, i;
    struct task_state *states;

    *p = (struct partial_rerun){.f = f,
                                .marks = arena_zalloc(&t->arena, (n + 1) * sizeof(*p->marks)),
                                .states = arena_zalloc(&t->arena, (n + 1) * sizeof(*p->states)),
                                .open = arena_zalloc(&t->arena, (n + 1) * sizeof(*p->open)),
                                .rows = arena_zalloc(&t->arena, (n + 1) * sizeof(*p->rows))};
    TRY(refuse_incomplete(f, err));
    TRY(tasks_read_states(t, f->row->now.id, f->def, &states, err));
    for (i = 0; i < n; i++) {
        if (!states[i].id)
            return err_set_state(
                err, "retention has removed tasks of execution %lld: rerun it as a whole",
                (long long)f->row->now.id);
        p->states[i] = states[i].need;
        p->open[i] = states[i].open;
    }
    return 0;
}

/* Loads the rows of the tasks that run again, and of tasks that may have to wait for them. */
static int load_rows(struct turn *t, struct partial_rerun *p, struct err *err)
{
    uint32_t all = p->f->def->workflow->ntasks, n = 0, i;
    uint32_t *index = arena_alloc(&t->arena, (all + 1) * sizeof(*index));
    struct row **rows = arena_alloc(&t->arena, (all + 1) * sizeof(struct row *));

    for (i = 0; i < all; i++)
        if (p->marks[i] || p->open[i])
            index[n++] = i;
    TRY(tasks_get_rows(t, p->f, index, n, rows, err));
    for (i = 0; i < n; i++)
        p->rows[index[i]] = rows[i];
    return 0;
}

static int refuse_running(const struct partial_rerun *p, struct err *err)
{
    const struct workflow *w = p->f->def->workflow;
    const struct execution *e = &p->f->row->now;

    if (e->cancel_requested && e->status == S_RUNNING)
        return err_set_state(err, "workflow %lld is being cancelled: wait for its end",
                             (long long)e->id);
    if (e->status == S_RUNNING && (e->flags & (FLAG_HANDLED | FLAG_EXITED)))
        return err_set_state(
            err, "workflow %lld is already running on_failure or on_exit: wait for its end",
            (long long)e->id);
    for (uint32_t i = 0; i < w->ntasks; i++) {
        const struct execution *c = p->rows[i] ? &p->rows[i]->now : NULL;

        if (p->marks[i] && !status_is_terminal(c->status) && (c->status != S_PENDING || c->held))
            return err_set_state(
                err,
                "%s (%lld) would have to run again, but is %s%s%s: wait until it has ended, or "
                "cancel it",
                c->name, (long long)c->id, c->held ? "held (" : "",
                c->held ? hold_text(c->held) : status_text(c->status), c->held ? ")" : "");
    }
    return 0;
}

/* Reruns only the failed descendants of a task, if none of the task's needs runs again. *done is
 * false if the task must run again as a whole. */
static int rerun_failed_below(struct turn *t, const struct partial_rerun *p, uint32_t i,
                              struct rerun *r, bool *done, struct err *err)
{
    struct row *row = p->rows[i];
    bool whole = false;
    int rc = 0;

    *done = false;
    if (!p->only_failed_below || p->marks[i] != RERUN_FIRST || !rerun_has_started(row))
        return 0;
    if (row->now.kind == KIND_FOREACH)
        rc = items_rerun_failed(t, row, r, err);
    else if (row->now.kind == KIND_WORKFLOW)
        rc = rerun_nested(t, row, r, &whole, err);
    else
        return 0;
    *done = !rc && !whole;
    return rc;
}

/* Resets the marked tasks that have ended; adds their number to *n. */
static int reset_marked(struct turn *t, const struct partial_rerun *p, struct rerun *r, int *n,
                        struct err *err)
{
    const struct workflow *w = p->f->def->workflow;
    bool done;

    for (uint32_t i = 0; i < w->ntasks; i++) {
        struct row *row = p->rows[i];

        if (!p->marks[i] || !status_is_terminal(row->now.status))
            continue;
        ++*n;
        TRY(rerun_failed_below(t, p, i, r, &done, err));
        if (!done)
            TRY(rerun_reset(t, row, S_PENDING, task_max_attempts(t, &w->tasks[i]), r, err));
    }
    return 0;
}

/* Sets the counters of a pending task from the current states of its needs. */
static void count_needs(struct turn *t, const struct partial_rerun *p, uint32_t i)
{
    const struct workflow_task *task = &p->f->def->workflow->tasks[i];
    struct execution *e = &p->rows[i]->now;

    e->needs_left = e->needs_succeeded = 0;
    for (uint32_t k = 0; k < task->nneeds; k++) {
        const struct graph_need *n = &p->states[task->needs[k]];

        if (!status_is_terminal(n->status))
            e->needs_left++;
        else
            e->needs_succeeded += graph_is_success(n);
    }
    door_mark_changed(t, p->rows[i]);
}

/* Recounts the needs of all pending tasks, and puts the tasks on the agenda to be decided on. */
static void recount_pending(struct turn *t, const struct partial_rerun *p)
{
    for (uint32_t i = 0; i < p->f->def->workflow->ntasks; i++)
        if (p->rows[i] && p->rows[i]->now.status == S_PENDING && !p->rows[i]->now.held) {
            count_needs(t, p, i);
            agenda_add(t, p->rows[i], p->f->def->rank[i]);
        }
}

/* Notifies all followers that ended tasks have not notified yet. This is necessary because the
 * counters of the followers are computed anew afterwards, and a later notification would count an
 * end twice. */
static int notify_all_left(struct turn *t, const struct partial_rerun *p, struct err *err)
{
    const struct workflow *w = p->f->def->workflow;
    int rc = 0;

    for (uint32_t i = 0; !rc && i < w->ntasks; i++)
        if (p->rows[i] && p->rows[i]->now.notify_left)
            rc = followers_notify_all(t, p->f, &w->tasks[i], p->rows[i], err);
    return rc;
}

int partial_rerun_reopen(struct turn *t, struct partial_rerun *p, int opened, struct rerun *r,
                         struct err *err)
{
    const struct workflow *w = p->f->def->workflow;
    struct row *row = p->f->row;
    bool closed = status_is_terminal(row->now.status), ended = closed || p->starts;
    int left = ended ? 0 : row->now.children_open;
    int bits = row->now.flags & (FLAG_CAPPED | (ended ? 0 : FLAG_PAUSED));

    TRY(load_rows(t, p, err));
    TRY(refuse_running(p, err));
    TRY(notify_all_left(t, p, err));
    if (closed)
        TRY(rerun_restart(t, row, r, err));
    TRY(reset_marked(t, p, r, &opened, err));
    for (uint32_t i = 0; i < w->ntasks; i++) {
        if (p->rows[i])
            p->states[i] = task_as_need(&w->tasks[i], &p->rows[i]->now);
        bits |= graph_flags_of(&p->states[i]);
    }
    row->now.flags = bits | FLAG_RERUN;
    row->now.children_open = left + opened;
    row->now.children_made = (int)w->ntasks;
    door_mark_changed(t, row);
    TRY(workflow_set_progress(t, p->f, 0, 0, err));
    if (ended)
        TRY(workflow_set_timeout(t, p->f, err));
    recount_pending(t, p);
    return 0;
}

/* A nested workflow that runs again because its parent does must not be refused: the outcome of
 * another execution may be stored in the same turn. So it waits for its permit. */
static int wait_for_permit(struct turn *t, struct row *row, struct err *err)
{
    TRY(rerun_reset(t, row, S_PENDING, 0, NULL, err));
    row->now.flags |= FLAG_ONLY_FAILED;
    return admit_or_hold(t, row, &(struct hold_reasons){0}, err);
}

int rerun_nested(struct turn *t, struct row *row, struct rerun *r, bool *whole, struct err *err)
{
    struct partial_rerun p;
    struct workflow_state *f;
    int rc;

    *whole = true;
    if (!rerun_has_started(row))
        return 0;
    TRY(workflow_state_get(t, row->now.id, row->now.root, &f, err));
    if (!f || (uint32_t)row->now.children_made < f->def->workflow->ntasks)
        return 0;
    if ((rc = partial_rerun_load(t, f, &p, err)))
        /* The workflow is incomplete: the caller reruns it as a whole. */
        return rc == -E_INVALID ? 0 : rc;
    if (!rerun_failed(f->def->workflow, p.states, p.marks))
        return 0;
    *whole = false;
    p.only_failed_below = true;
    if (!r && row->now.concurrency && status_is_terminal(row->now.status))
        return wait_for_permit(t, row, err);
    return partial_rerun_reopen(t, &p, 0, r, err);
}

int rerun_nested_unheld(struct turn *t, struct row *row, struct err *err)
{
    struct workflow_state *f;

    limits_note(t, &row->now);
    TRY(limits_fetch(t, err));
    TRY(door_admit(t, row, err));
    if (row->now.held)
        return 0; /* it starts when it gets its permit */
    TRY(door_move(t, row, EV_STARTED, S_RUNNING, NULL, err));
    TRY(workflow_state_get(t, row->now.id, row->now.root, &f, err));
    return f ? rerun_nested_started(t, f, err) : 0;
}

int rerun_nested_started(struct turn *t, struct workflow_state *f, struct err *err)
{
    struct execution *e = &f->row->now;
    struct partial_rerun p;
    int rc;

    e->flags &= ~FLAG_ONLY_FAILED;
    e->children_made = (int)f->def->workflow->ntasks; /* those of its last run */
    door_mark_changed(t, f->row);
    rc = partial_rerun_load(t, f, &p, err);
    if (rc && rc != -E_INVALID)
        return rc;
    if (!rc && rerun_failed(f->def->workflow, p.states, p.marks)) {
        p.only_failed_below = p.starts = true;
        return partial_rerun_reopen(t, &p, 0, NULL, err);
    }
    *err = (struct err)ERR_INIT; /* tasks of it are gone: it runs again as a whole */
    e->children_made = 0;
    TRY(workflow_set_timeout(t, f, err));
    return workflow_create_tasks(t, f, err);
}
