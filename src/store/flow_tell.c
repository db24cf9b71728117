/* flow_tell.c - the end of a task is told to those that need it: each counts it, and is decided on.
 * There may be a hundred thousand of them, and each may end in turn and have others behind it, so a
 * turn tells only so many. One that has some left says so in its own row (GRAPH_TELLING, and
 * needs_left, which is of no other use after the end, says how many), and a timer of its own goes
 * on with them. They are pending until then, so their workflow can't end before. */
#include "core/graph.h"
#include "store/door.h"
#include "store/flow.h"
#include "store/store_internal.h"

#define TELL_SLICE 1000 /* of one task in a turn */
#define TELL_MAX   4000 /* of all together */
#define TELL_ROUND 20   /* what a round counts for: its statements come on top of the rows */

/* Some of those that are to be told have no row yet, or one of an earlier run. */
static bool is_being_made(const struct flow *f)
{
    return (uint32_t)f->row->now.cursor < f->def->workflow->ntasks;
}

uint32_t flow_tells(const struct turn *t, const struct flow *f, uint32_t told, uint32_t left)
{
    uint32_t all = t->store->flow.tells ? t->store->flow.tells : flow_bound(t, TELL_MAX);
    uint32_t slice = flow_bound(t, TELL_SLICE);
    uint32_t most = told < all && !is_being_made(f) ? all - told : 0;

    most = most < slice ? most : slice;
    return left < most ? left : most;
}

void flow_told_round(struct turn *t, uint32_t before)
{
    if (t->told > before)
        t->told += TELL_ROUND;
}

static void note_left(struct turn *t, struct row *row, uint32_t left)
{
    row->now.needs_left = (int)left;
    row->now.failed_behind &= ~GRAPH_TELLING;
    if (left) {
        row->now.failed_behind |= GRAPH_TELLING;
        *vec_add(&t->untold) = row;
    }
    door_touch(t, row);
}

/* The first of those that are left. */
static int tell(struct turn *t, struct flow *f, const struct workflow_task *task, struct row *row,
                uint32_t left, uint32_t n, struct err *err)
{
    bool begun = (row->now.failed_behind & GRAPH_TELLING) != 0;
    int rc = flow_count_end(t, f, task, row, task->nfollowers - left, n, err);

    t->told += n;
    if (!rc && (begun || left > n))
        note_left(t, row, left - n);
    return rc;
}

int flow_tell(struct turn *t, struct flow *f, const struct workflow_task *task, struct row *row,
              struct err *err)
{
    uint32_t all = task->nfollowers;

    return tell(t, f, task, row, all, flow_tells(t, f, t->told, all), err);
}

int flow_tell_all(struct turn *t, struct flow *f, const struct workflow_task *task, struct row *row,
                  struct err *err)
{
    uint32_t left = (uint32_t)row->now.needs_left;

    return tell(t, f, task, row, left, left, err);
}

/* Nobody waits for it any more: all have ended, or will without being asked; or it ended in an
 * earlier run, and this one has not come to it yet. */
static bool is_moot(const struct flow *f, const struct workflow_task *task)
{
    const struct execution *e = &f->row->now;

    return e->status != S_RUNNING || e->cancel_requested ||
           (is_being_made(f) && task->index >= (uint32_t)e->cursor);
}

int flow_tell_on(struct turn *t, struct row *row, struct err *err)
{
    uint32_t left = (uint32_t)row->now.needs_left;
    const struct workflow_task *task;
    struct flow *f;
    int rc;

    if ((rc = flow_of(t, row->now.parent, row->now.root, &f, err)) || !f)
        return rc;
    task = definition_task(f->def, row->now.task_name);
    if (is_moot(f, task)) {
        note_left(t, row, 0);
        return 0;
    }
    return tell(t, f, task, row, left, flow_tells(t, f, t->told, left), err);
}

int flow_tell_later(struct turn *t, struct err *err)
{
    size_t i;

    if (!t->untold.n)
        return 0;
    args_begin(&t->args, Q_TIMER_INSERT);
    for (i = 0; i < t->untold.n; i++) {
        args_int(&t->args, t->now);
        args_int(&t->args, t->untold.at[i]->now.id);
        args_int(&t->args, TIMER_FLOW);
    }
    t->untold.n = 0;
    t->wake |= WAKE_JOBS | WAKE_TIMERS;
    return db_send(t->db, &t->args, NULL, ANY_ROWS, err);
}
