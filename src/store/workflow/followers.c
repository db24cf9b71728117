/* followers.c - notifies the followers of an ended task: each follower counts the end and is
 * decided on.
 *
 * A task may have a hundred thousand followers, and each may end in turn and have followers, so the
 * number of notifications per turn is limited. notify_left of an ended task is the number of
 * followers that are still to be notified; a timer of the task continues with them. The remaining
 * followers stay pending, so the workflow can't end early. */
#include "core/graph.h"
#include "store/door/door.h"
#include "store/store_internal.h"
#include "store/workflow/workflow.h"

#define NOTIFY_SLICE      1000 /* followers of one task that one turn notifies */
#define NOTIFY_MAX        4000 /* followers of all tasks that one turn notifies */
/* Statements of one count_ends cost as much as this many followers. */
#define NOTIFY_ROUND_COST 20

/* Whether followers may have no row yet, or only the row of an earlier run. */
static bool has_uncreated_tasks(const struct workflow_state *f)
{
    return (uint32_t)f->row->now.children_made < f->def->workflow->ntasks;
}

uint32_t followers_slice_size(const struct turn *t, const struct workflow_state *f,
                              uint32_t notified, uint32_t left)
{
    uint32_t all = t->store->workflow_options.notify_max ? t->store->workflow_options.notify_max
                                                         : slice_bound(t, NOTIFY_MAX);
    uint32_t slice = slice_bound(t, NOTIFY_SLICE);
    uint32_t most = notified < all && !has_uncreated_tasks(f) ? all - notified : 0;

    most = most < slice ? most : slice;
    return left < most ? left : most;
}

void followers_count_round(struct turn *t, uint32_t before)
{
    if (t->notified > before)
        t->notified += NOTIFY_ROUND_COST;
}

static void set_notify_left(struct turn *t, struct row *row, uint32_t left)
{
    row->now.notify_left = (int)left;
    if (left)
        *vec_add(&t->to_notify) = row;
    door_mark_changed(t, row);
}

/* Counts one more ended need of a follower. The decision comes later, because other needs may end
 * in this turn, too. A held follower was already decided on and must not be changed here: the
 * transaction that gives it its permit changes its row without holding this tree's root lock. */
static void count_need_end(struct turn *t, struct workflow_state *f, uint32_t follower,
                           struct row *row, bool success)
{
    if (row->now.status != S_PENDING || row->now.held)
        return;
    row->now.needs_left--;
    row->now.needs_succeeded += success;
    door_mark_changed(t, row);
    if (!row->on_agenda)
        *vec_add(&t->to_prefetch) = row;
    agenda_add(t, row, f->def->rank[follower]);
}

static int count_end_in_followers(struct turn *t, struct workflow_state *f,
                                  const struct workflow_task *task, const struct row *row,
                                  uint32_t from, uint32_t n, struct err *err)
{
    struct row **rows = arena_alloc(&t->arena, (n + 1) * sizeof(*rows));
    struct graph_need need = task_as_need(task, &row->now);
    int rc = tasks_get_rows(t, f, task->followers + from, n, rows, err);

    for (uint32_t i = 0; !rc && i < n; i++)
        count_need_end(t, f, task->followers[from + i], rows[i], graph_is_success(&need));
    return rc;
}

/* Notifies the first n of the followers that were not notified yet. */
static int notify_slice(struct turn *t, struct workflow_state *f, const struct workflow_task *task,
                        struct row *row, uint32_t left, uint32_t n, struct err *err)
{
    bool is_notifying = row->now.notify_left > 0;
    int rc = count_end_in_followers(t, f, task, row, task->nfollowers - left, n, err);

    t->notified += n;
    if (!rc && (is_notifying || left > n))
        set_notify_left(t, row, left - n);
    return rc;
}

int followers_notify(struct turn *t, struct workflow_state *f, const struct workflow_task *task,
                     struct row *row, struct err *err)
{
    uint32_t all = task->nfollowers;

    return notify_slice(t, f, task, row, all, followers_slice_size(t, f, t->notified, all), err);
}

int followers_notify_all(struct turn *t, struct workflow_state *f, const struct workflow_task *task,
                         struct row *row, struct err *err)
{
    uint32_t left = (uint32_t)row->now.notify_left;

    return notify_slice(t, f, task, row, left, left, err);
}

/* Whether no follower waits for the task's end any longer: the followers have ended or are being
 * cancelled, or the task ended in an earlier run and its row was not reset for the current run
 * yet. */
static bool needs_no_notification(const struct workflow_state *f, const struct workflow_task *task)
{
    const struct execution *e = &f->row->now;

    return e->status != S_RUNNING || e->cancel_requested ||
           (has_uncreated_tasks(f) && task->index >= (uint32_t)e->children_made);
}

int followers_notify_next(struct turn *t, struct row *row, struct err *err)
{
    uint32_t left = (uint32_t)row->now.notify_left;
    const struct workflow_task *task;
    struct workflow_state *f;

    TRY(workflow_state_get(t, row->now.parent, row->now.root, &f, err));
    if (!f)
        return 0;
    task = definition_find_task(f->def, row->now.task_name);
    if (needs_no_notification(f, task)) {
        set_notify_left(t, row, 0);
        return 0;
    }
    return notify_slice(t, f, task, row, left, followers_slice_size(t, f, t->notified, left), err);
}

int followers_notify_later(struct turn *t, struct err *err)
{
    if (!t->to_notify.n)
        return 0;
    args_begin(&t->args, Q_TIMER_INSERT);
    for (size_t i = 0; i < t->to_notify.n; i++)
        args_row(&t->args, t->now, t->to_notify.at[i]->now.id, TIMER_CONTINUE);
    t->to_notify.n = 0;
    t->wake |= WAKE_JOBS | WAKE_TIMERS;
    return db_send(t->db, &t->args, NULL, ANY_ROWS, err);
}

int workflow_count_task_end(struct turn *t, struct workflow_state *f, struct row *row,
                            struct err *err)
{
    const struct workflow_task *task = definition_find_task(f->def, row->now.task_name);
    struct graph_need n = task_as_need(task, &row->now);

    workflow_state_put_task(f, task->index, row);
    f->row->now.flags |= graph_flags_of(&n);
    f->row->now.children_open--;
    door_mark_changed(t, f->row);
    if (!f->row->now.cancel_requested)
        TRY(followers_notify(t, f, task, row, err));
    agenda_add(t, f->row, 0);
    return 0;
}
