/* rerun_part.c - running again in place: a workflow in part. */
#include "store/rerun.h"

#include "store/door.h"

/* What is below it must be of its last run, all of it. */
static int refuse_unmade(const struct flow *f, struct err *err)
{
    const struct execution *e = &f->row->now;

    if (e->status == S_RUNNING && flow_is_reusing(f))
        return err_set(
            err, E_INVALID,
            "workflow %lld still takes over what stands of execution %lld: wait for that",
            (long long)e->id, (long long)e->rerun_of);
    if (rerun_has_begun(f->row) && (uint32_t)e->cursor >= f->def->workflow->ntasks)
        return 0;
    if (status_is_terminal(e->status))
        return err_set(err, E_INVALID,
                       "execution %lld ended before its tasks were made: rerun it as a whole",
                       (long long)e->id);
    return err_set(err, E_INVALID, "workflow %lld is %s: wait for that", (long long)e->id,
                   e->status == S_RUNNING ? "still making its tasks" : "itself about to run");
}

static void note_state(void *arg, const struct workflow_task *task, const struct execution *e)
{
    struct part *p = arg;

    p->states[task->index] = flow_need(task, e);
    p->open[task->index] =
        !status_is_terminal(e->status) || (e->failed_behind & GRAPH_TELLING) != 0;
}

int part_load(struct turn *t, struct flow *f, struct part *p, struct err *err)
{
    uint32_t n = f->def->workflow->ntasks, i;
    int rc;

    *p = (struct part){.f = f,
                       .marks = arena_zalloc(&t->arena, (n + 1) * sizeof(*p->marks)),
                       .states = arena_zalloc(&t->arena, (n + 1) * sizeof(*p->states)),
                       .open = arena_zalloc(&t->arena, (n + 1) * sizeof(*p->open)),
                       .rows = arena_zalloc(&t->arena, (n + 1) * sizeof(*p->rows))};
    if ((rc = refuse_unmade(f, err)) ||
        (rc = flow_task_states(t, f->row->now.id, f->def, note_state, p, err)))
        return rc;
    for (i = 0; i < n; i++)
        if (!p->states[i].status)
            return err_set(err, E_INVALID,
                           "retention has removed tasks of execution %lld: rerun it as a whole",
                           (long long)f->row->now.id);
    return 0;
}

/* The rows of what runs again, or might have to wait for it. */
static int load_rows(struct turn *t, struct part *p, struct err *err)
{
    uint32_t all = p->f->def->workflow->ntasks, n = 0, i;
    uint32_t *index = arena_alloc(&t->arena, (all + 1) * sizeof(*index));
    struct row **rows = arena_alloc(&t->arena, (all + 1) * sizeof(struct row *));
    int rc;

    for (i = 0; i < all; i++)
        if (p->marks[i] || p->open[i])
            index[n++] = i;
    if ((rc = flow_tasks(t, p->f, index, n, rows, err)))
        return rc;
    for (i = 0; i < n; i++)
        p->rows[index[i]] = rows[i];
    return 0;
}

static int refuse_what_runs(const struct part *p, struct err *err)
{
    const struct workflow *w = p->f->def->workflow;
    const struct execution *e = &p->f->row->now;
    uint32_t i;

    if (e->cancel_requested && e->status == S_RUNNING)
        return err_set(err, E_INVALID, "workflow %lld is being cancelled: wait for its end",
                       (long long)e->id);
    if (e->status == S_RUNNING && (e->failed_behind & (GRAPH_HANDLED | GRAPH_EXITED)))
        return err_set(err, E_INVALID, "workflow %lld is at its end already: wait for it",
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

/* Whether only what failed below it runs again: its own needs are as they were. */
static int go_deeper(struct turn *t, const struct part *p, uint32_t i, struct rerun *r, bool *done,
                     struct err *err)
{
    struct row *row = p->rows[i];
    bool whole = false;
    int rc = 0;

    *done = false;
    if (!p->deeper || p->marks[i] != RERUN_FIRST || !rerun_has_begun(row))
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

/* The marked ones are pending again; *n counts those that had ended. */
static int reset_marked(struct turn *t, const struct part *p, struct rerun *r, int *n,
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
        if ((rc = go_deeper(t, p, i, r, &done, err)))
            return rc;
        if (!done && (rc = rerun_reset(t, row, S_PENDING, flow_tries(t, &w->tasks[i]), r, err)))
            return rc;
    }
    return 0;
}

/* What a pending task waits for, from what its needs are now. */
static void count_needs(struct turn *t, const struct part *p, uint32_t i)
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
    door_touch(t, p->rows[i]);
}

/* All that is pending is looked at anew. */
static void look_at_pending(struct turn *t, const struct part *p)
{
    uint32_t i;

    for (i = 0; i < p->f->def->workflow->ntasks; i++)
        if (p->rows[i] && p->rows[i]->now.status == S_PENDING && !p->rows[i]->now.held) {
            count_needs(t, p, i);
            flow_look(t, p->rows[i], p->f->def->rank[i]);
        }
}

/* Needs are counted anew, so nobody may be left who has to be told of an end before it. */
static int tell_all(struct turn *t, const struct part *p, struct err *err)
{
    const struct workflow *w = p->f->def->workflow;
    uint32_t i;
    int rc = 0;

    for (i = 0; !rc && i < w->ntasks; i++)
        if (p->rows[i] && (p->rows[i]->now.failed_behind & GRAPH_TELLING))
            rc = flow_tell_all(t, p->f, &w->tasks[i], p->rows[i], err);
    return rc;
}

/* The workflow goes on with its marked tasks, and `opened` more that others of us opened. */
int part_reopen(struct turn *t, struct part *p, int opened, struct rerun *r, struct err *err)
{
    const struct workflow *w = p->f->def->workflow;
    struct row *row = p->f->row;
    bool ended = status_is_terminal(row->now.status);
    int left = ended ? 0 : row->now.needs_left, bits = row->now.failed_behind & GRAPH_PAUSED, rc;
    uint32_t i;

    if ((rc = load_rows(t, p, err)) || (rc = refuse_what_runs(p, err)) ||
        (rc = tell_all(t, p, err)))
        return rc;
    if (ended && (rc = rerun_restart(t, row, r, err)))
        return rc;
    if ((rc = reset_marked(t, p, r, &opened, err)))
        return rc;
    for (i = 0; i < w->ntasks; i++) {
        if (p->rows[i])
            p->states[i] = flow_need(&w->tasks[i], &p->rows[i]->now);
        bits |= graph_bits_of(&p->states[i]);
    }
    row->now.failed_behind = bits | GRAPH_AGAIN;
    row->now.needs_left = left + opened;
    row->now.cursor = (int)w->ntasks;
    door_touch(t, row);
    if (ended && (rc = flow_set_timeout(t, p->f, err)))
        return rc;
    look_at_pending(t, p);
    return 0;
}

int rerun_nested(struct turn *t, struct row *row, struct rerun *r, bool *whole, struct err *err)
{
    struct part p;
    struct flow *f;
    int rc;

    *whole = true;
    if (!rerun_has_begun(row))
        return 0;
    if ((rc = flow_of(t, row->now.id, row->now.root, &f, err)) || !f ||
        (uint32_t)row->now.cursor < f->def->workflow->ntasks)
        return rc;
    if ((rc = part_load(t, f, &p, err)))
        return rc == -E_INVALID ? 0 : rc; /* not all of it is there any more */
    if (!rerun_failed(f->def->workflow, p.states, p.marks))
        return 0;
    *whole = false;
    p.deeper = true;
    return part_reopen(t, &p, 0, r, err);
}
