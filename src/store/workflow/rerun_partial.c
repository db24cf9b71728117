/* rerun_partial.c - rerun in place of some tasks of a workflow. */
#include "store/workflow/rerun.h"

#include "store/door/door.h"

/* A partial rerun needs all tasks of the workflow, as rows of its last run. */
static int refuse_incomplete(const struct workflow_state *f, struct err *err)
{
    const struct execution *e = &f->row->now;

    if (e->status == S_RUNNING && workflow_is_reusing(f))
        return err_set(
            err, E_INVALID,
            "workflow %lld is still taking over results of execution %lld: wait for that",
            (long long)e->id, (long long)e->rerun_of);
    if (rerun_has_started(f->row) && (uint32_t)e->cursor >= f->def->workflow->ntasks)
        return 0;
    if (status_is_terminal(e->status))
        return err_set(err, E_INVALID,
                       "execution %lld ended before its tasks were created: rerun it as a whole",
                       (long long)e->id);
    return err_set(err, E_INVALID, "workflow %lld is %s: wait for that", (long long)e->id,
                   e->status == S_RUNNING ? "still creating its tasks" : "about to run");
}

static void save_task_state(void *arg, const struct workflow_task *task, const struct execution *e)
{
    struct partial_rerun *p = arg;

    p->states[task->index] = task_as_need(task, e);
    p->open[task->index] = !status_is_terminal(e->status) || (e->flags & FLAG_NOTIFYING) != 0;
}

int partial_rerun_load(struct turn *t, struct workflow_state *f, struct partial_rerun *p,
                       struct err *err)
{
    uint32_t n = f->def->workflow->ntasks, i;
    int rc;

    *p = (struct partial_rerun){.f = f,
                                .marks = arena_zalloc(&t->arena, (n + 1) * sizeof(*p->marks)),
                                .states = arena_zalloc(&t->arena, (n + 1) * sizeof(*p->states)),
                                .open = arena_zalloc(&t->arena, (n + 1) * sizeof(*p->open)),
                                .rows = arena_zalloc(&t->arena, (n + 1) * sizeof(*p->rows))};
    if ((rc = refuse_incomplete(f, err)) ||
        (rc = tasks_read_states(t, f->row->now.id, f->def, save_task_state, p, err)))
        return rc;
    for (i = 0; i < n; i++)
        if (!p->states[i].status)
            return err_set(err, E_INVALID,
                           "retention has removed tasks of execution %lld: rerun it as a whole",
                           (long long)f->row->now.id);
    return 0;
}

/* Loads the rows of the tasks that run again, or that may have to wait for those. */
static int load_rows(struct turn *t, struct partial_rerun *p, struct err *err)
{
    uint32_t all = p->f->def->workflow->ntasks, n = 0, i;
    uint32_t *index = arena_alloc(&t->arena, (all + 1) * sizeof(*index));
    struct row **rows = arena_alloc(&t->arena, (all + 1) * sizeof(struct row *));
    int rc;

    for (i = 0; i < all; i++)
        if (p->marks[i] || p->open[i])
            index[n++] = i;
    if ((rc = tasks_get_rows(t, p->f, index, n, rows, err)))
        return rc;
    for (i = 0; i < n; i++)
        p->rows[index[i]] = rows[i];
    return 0;
}

static int refuse_running(const struct partial_rerun *p, struct err *err)
{
    const struct workflow *w = p->f->def->workflow;
    const struct execution *e = &p->f->row->now;
    uint32_t i;

    if (e->cancel_requested && e->status == S_RUNNING)
        return err_set(err, E_INVALID, "workflow %lld is being cancelled: wait for its end",
                       (long long)e->id);
    if (e->status == S_RUNNING && (e->flags & (FLAG_HANDLED | FLAG_EXITED)))
        return err_set(err, E_INVALID,
                       "workflow %lld is already running on_failure or on_exit: wait for its end",
                       (long long)e->id);
    for (i = 0; i < w->ntasks; i++) {
        const struct execution *c = p->rows[i] ? &p->rows[i]->now : NULL;

        if (p->marks[i] && !status_is_terminal(c->status) && (c->status != S_PENDING || c->held))
            return err_set(err, E_INVALID, "%s (%lld) would have to run again, but is %s now",
                           c->name, (long long)c->id,
                           c->held ? hold_text(c->held) : status_text(c->status));
    }
    return 0;
}

/* Reruns only the failed descendants of a task, if that suffices because none of its needs runs
 * again. *done is false if the task has to run again as a whole. */
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
    uint32_t i;
    bool done;
    int rc;

    for (i = 0; i < w->ntasks; i++) {
        struct row *row = p->rows[i];

        if (!p->marks[i] || !status_is_terminal(row->now.status))
            continue;
        ++*n;
        if ((rc = rerun_failed_below(t, p, i, r, &done, err)))
            return rc;
        if (!done &&
            (rc = rerun_reset(t, row, S_PENDING, task_max_attempts(t, &w->tasks[i]), r, err)))
            return rc;
    }
    return 0;
}

/* Sets the counters of a pending task from the current states of its needs. */
static void count_needs(struct turn *t, const struct partial_rerun *p, uint32_t i)
{
    const struct workflow_task *task = &p->f->def->workflow->tasks[i];
    struct execution *e = &p->rows[i]->now;
    uint32_t k;

    e->needs_left = e->cursor = 0;
    for (k = 0; k < task->nneeds; k++) {
        const struct graph_need *n = &p->states[task->needs[k]];

        if (!status_is_terminal(n->status))
            e->needs_left++;
        else
            e->cursor += graph_is_success(n);
    }
    door_mark_changed(t, p->rows[i]);
}

/* Recounts and decides on all pending tasks. */
static void recount_pending(struct turn *t, const struct partial_rerun *p)
{
    uint32_t i;

    for (i = 0; i < p->f->def->workflow->ntasks; i++)
        if (p->rows[i] && p->rows[i]->now.status == S_PENDING && !p->rows[i]->now.held) {
            count_needs(t, p, i);
            agenda_add(t, p->rows[i], p->f->def->rank[i]);
        }
}

/* Completes all notifications in progress: needs are recounted afterwards, and an end must not be
 * counted twice. */
static int notify_all_left(struct turn *t, const struct partial_rerun *p, struct err *err)
{
    const struct workflow *w = p->f->def->workflow;
    uint32_t i;
    int rc = 0;

    for (i = 0; !rc && i < w->ntasks; i++)
        if (p->rows[i] && (p->rows[i]->now.flags & FLAG_NOTIFYING))
            rc = followers_notify_all(t, p->f, &w->tasks[i], p->rows[i], err);
    return rc;
}

int partial_rerun_reopen(struct turn *t, struct partial_rerun *p, int opened, struct rerun *r,
                         struct err *err)
{
    const struct workflow *w = p->f->def->workflow;
    struct row *row = p->f->row;
    bool ended = status_is_terminal(row->now.status);
    int left = ended ? 0 : row->now.needs_left, bits = row->now.flags & FLAG_PAUSED, rc;
    uint32_t i;

    if ((rc = load_rows(t, p, err)) || (rc = refuse_running(p, err)) ||
        (rc = notify_all_left(t, p, err)))
        return rc;
    if (ended && (rc = rerun_restart(t, row, r, err)))
        return rc;
    if ((rc = reset_marked(t, p, r, &opened, err)))
        return rc;
    for (i = 0; i < w->ntasks; i++) {
        if (p->rows[i])
            p->states[i] = task_as_need(&w->tasks[i], &p->rows[i]->now);
        bits |= graph_flags_of(&p->states[i]);
    }
    row->now.flags = bits | FLAG_RERUN;
    row->now.needs_left = left + opened;
    row->now.cursor = (int)w->ntasks;
    door_mark_changed(t, row);
    if (ended && (rc = workflow_set_timeout(t, p->f, err)))
        return rc;
    recount_pending(t, p);
    return 0;
}

int rerun_nested(struct turn *t, struct row *row, struct rerun *r, bool *whole, struct err *err)
{
    struct partial_rerun p;
    struct workflow_state *f;
    int rc;

    *whole = true;
    if (!rerun_has_started(row))
        return 0;
    if ((rc = workflow_state_get(t, row->now.id, row->now.root, &f, err)) || !f ||
        (uint32_t)row->now.cursor < f->def->workflow->ntasks)
        return rc;
    if ((rc = partial_rerun_load(t, f, &p, err)))
        return rc == -E_INVALID ? 0 : rc; /* incomplete: the caller reruns it as a whole */
    if (!rerun_failed(f->def->workflow, p.states, p.marks))
        return 0;
    *whole = false;
    p.only_failed_below = true;
    return partial_rerun_reopen(t, &p, 0, r, err);
}
