/* graph_rules.c - checks one workflow or fan-out against its definition. Its children must be those
 * that it created, must leave the status pending only when their needs allow it, must wait only for
 * something that can still happen, and must explain its final status. The rules of core/graph.h are
 * applied to the current rows. This is valid for past decisions, too, because an end is final, and
 * a rerun resets all followers. */
#include "store/verify/workflows.h"

#include "core/templates.h"

#include <stdlib.h>
#include <string.h>

#define RESULT_FLAGS (FLAG_FAILED | FLAG_CANCELLED)

/* Whether the rules apply. An execution that ended before it started has no children, or only those
 * of an earlier run. */
bool graph_check_applies(const struct checked_parent *f)
{
    return f->hash[0] && !f->retaining &&
           (f->status == S_RUNNING || (status_is_terminal(f->status) && f->from == S_RUNNING));
}

static bool has_ended(const struct graph_check *j)
{
    return status_is_terminal(j->f.status);
}

static struct graph_need child_as_need(const struct workflow_task *task,
                                       const struct checked_child *c)
{
    return (struct graph_need){.status = c->status,
                               .allow_failure = task && task->allow_failure,
                               .skipped_by_failure = (c->flags & FLAG_FAILED) != 0,
                               .by_operator = (c->flags & FLAG_BY_OPERATOR) != 0};
}

void graph_check_start(struct graph_check *j)
{
    size_t n = j->def->workflow->ntasks + 2;

    j->will_continue = -1;
    j->items = 0;
    j->items_flags = 0;
    j->seen.n = 0;
    j->tasks.n = 0;
    while (j->f.kind == KIND_WORKFLOW && j->tasks.n < n)
        *vec_add(&j->tasks) = (struct checked_child){.id = 0};
}

void graph_check_release(struct graph_check *j)
{
    vec_release(&j->tasks);
    vec_release(&j->seen);
    vec_release(&j->needs);
}

/* ---- children ---- */

/* Reports I35 if no timer and no end of a hold will continue with the pending child. */
static int check_stranded(struct graph_check *j, const struct checked_child *c, const char *why,
                          struct err *err)
{
    bool will_continue;

    if (c->held)
        return 0;
    TRY(graph_check_will_continue(j, &will_continue, err));
    if (!will_continue)
        verify_violation(j->v, "I35", c->id, "%s is pending, but %s", c->name, why);
    return 0;
}

static bool is_rerun(const struct graph_check *j)
{
    return (j->f.flags & FLAG_RERUN) != 0;
}

static int check_item(struct graph_check *j, const struct checked_child *c, struct err *err)
{
    struct graph_need n = child_as_need(NULL, c);
    size_t byte = (size_t)c->index / 8;
    unsigned char bit = (unsigned char)(1u << (c->index % 8));

    if (c->index >= j->f.children_made && is_rerun(j) && status_is_terminal(c->status))
        /* The child is from an earlier run: this run has not reached it, or its list is shorter. */
        return 0;
    if (c->index < 0 || c->index >= j->f.children_made) {
        verify_violation(j->v, "I36", c->id, "it is item %d of %lld, which has created %d items",
                         c->index, (long long)j->f.id, j->f.children_made);
        return 0;
    }
    while (j->seen.n <= byte)
        *vec_add(&j->seen) = 0;
    if (j->seen.at[byte] & bit)
        verify_violation(j->v, "I36", c->id, "item %d of %lld exists twice", c->index,
                         (long long)j->f.id);
    else
        j->items++;
    j->seen.at[byte] |= bit;
    if (status_is_terminal(c->status))
        j->items_flags |= graph_flags_of(&n);
    if (c->status == S_PENDING && !has_ended(j))
        return check_stranded(j, c, "an item has nothing to wait for", err);
    return 0;
}

/* Whether the child's row is from an earlier run, and the current run has not reached it yet. */
static bool is_of_earlier_run(const struct graph_check *j, const struct workflow_task *task,
                              const struct checked_child *c)
{
    const struct workflow *w = j->def->workflow;

    if (!is_rerun(j) || !status_is_terminal(c->status))
        return false;
    if (task == w->on_failure)
        return !(j->f.flags & FLAG_HANDLED);
    if (task == w->on_exit)
        return !(j->f.flags & FLAG_EXITED);
    return task->index >= (uint32_t)j->f.children_made;
}

static void check_created(struct graph_check *j, const struct checked_child *c)
{
    const struct workflow_task *task = definition_find_task(j->def, c->name);

    if (!task) {
        verify_violation(j->v, "I36", c->id, "%s is not a task of its workflow", c->name);
        return;
    }
    if (is_of_earlier_run(j, task, c))
        return;
    if (j->tasks.at[task->index].id)
        verify_violation(j->v, "I36", c->id, "the task %s exists twice", c->name);
    j->tasks.at[task->index] = *c;
    j->tasks.at[task->index].name = task->name;
}

int graph_check_child(struct graph_check *j, const struct checked_child *c, struct err *err)
{
    if (j->f.kind == KIND_FOREACH)
        return check_item(j, c, err);
    check_created(j, c);
    return 0;
}

/* ---- the tasks of a workflow ---- */

/* Whether `need`, which has ended, has not notified its follower `task` yet: followers are notified
 * in order. */
static bool is_not_yet_notified(const struct workflow_task *need, const struct checked_child *c,
                                const struct workflow_task *task)
{
    uint32_t left = (uint32_t)c->notify_left;

    return left > 0 && left <= need->nfollowers &&
           task->index >= need->followers[need->nfollowers - left];
}

/* Collects the current needs of a task in j->needs, and counts how many have not ended and how many
 * are a success. If `notified` is true, a need that has not notified the task yet counts as not
 * ended. */
static void collect_needs(struct graph_check *j, const struct workflow_task *task, bool notified,
                          size_t *left, size_t *succeeded)
{
    const struct workflow *w = j->def->workflow;

    j->needs.n = *left = *succeeded = 0;
    for (uint32_t i = 0; i < task->nneeds; i++) {
        const struct workflow_task *need = &w->tasks[task->needs[i]];
        const struct checked_child *c = &j->tasks.at[task->needs[i]];
        struct graph_need n = child_as_need(need, c);
        bool ended = c->id && status_is_terminal(c->status) &&
                     !(notified && is_not_yet_notified(need, c, task));

        *vec_add(&j->needs) = n;
        *left += !ended;
        *succeeded += ended && graph_is_success(&n);
    }
}

/* Whether the needs of a decided task, in j->needs, allow it to run. Only a condition that requires
 * success certainly forbids it; any other condition may have been true. A task that failed without
 * a start may have been decided by an older version: if it could not evaluate the rest of a
 * condition that requires success, it failed the task. */
static bool needs_allow_run(const struct graph_check *j, const struct workflow_task *task,
                            const struct checked_child *c)
{
    if (task->join || graph_facts(j->needs.at, j->needs.n).success ||
        !templates_require_success(j->def->templates, task))
        return true;
    return task->condition && c->status == S_FAILED && !c->started;
}

/* Checks that the needs of a decided task allowed a decision, and that they allowed this decision.
 * A task with a condition may have been skipped whatever the statuses of its needs. */
static void check_decided(struct graph_check *j, const struct workflow_task *task,
                          const struct checked_child *c)
{
    bool skipped = c->status == S_SKIPPED, may_run;
    enum graph_decision now;
    size_t left, succeeded;

    collect_needs(j, task, false, &left, &succeeded);
    now = graph_join(task->join, left, succeeded);
    may_run = now == GRAPH_DECIDE && needs_allow_run(j, task, c);
    if ((uint32_t)j->f.children_made < j->def->workflow->ntasks)
        verify_violation(j->v, "I34", c->id, "%s is %s, but not all tasks were created", c->name,
                         status_text(c->status));
    else if (now == GRAPH_WAIT)
        verify_violation(j->v, "I34", c->id, "%s is %s, but %zu of its needs have not ended",
                         c->name, status_text(c->status), left);
    else if (skipped ? may_run && !task->condition : !may_run)
        verify_violation(j->v, "I34", c->id, "%s is %s, but its needs %s", c->name,
                         status_text(c->status), skipped ? "succeeded" : "did not succeed");
}

static int check_pending(struct graph_check *j, const struct workflow_task *task,
                         const struct checked_child *c, struct err *err)
{
    size_t left, succeeded;

    if (has_ended(j))
        return 0; /* verify_open reports this (I32) */
    if (j->f.cancel_requested)
        return check_stranded(j, c, "its workflow is being cancelled", err);
    if (c->held) { /* the task is decided: it waits for its hold and no longer counts needs */
        check_decided(j, task, c);
        return 0;
    }
    collect_needs(j, task, true, &left, &succeeded);
    if ((size_t)c->needs_left != left || (size_t)c->needs_succeeded != succeeded)
        verify_violation(j->v, "I35", c->id,
                         "%s counts %d open needs and %d that succeeded, instead of %zu and %zu",
                         c->name, c->needs_left, c->needs_succeeded, left, succeeded);
    if ((uint32_t)j->f.children_made < j->def->workflow->ntasks ||
        graph_join(task->join, left, succeeded) == GRAPH_WAIT)
        return 0;
    return check_stranded(j, c, "its needs have ended", err);
}

/* Checks a task that has not notified all its followers: it must have ended and have a timer. */
static int check_notifying(struct graph_check *j, const struct workflow_task *task,
                           const struct checked_child *c, struct err *err)
{
    bool will_continue;

    if (has_ended(j) || j->f.cancel_requested)
        return 0; /* no follower waits for the notification any longer */
    if (!status_is_terminal(c->status) || (uint32_t)c->notify_left > task->nfollowers)
        verify_violation(j->v, "I35", c->id,
                         "%s is %s, but has %d of its %u followers left to notify", c->name,
                         status_text(c->status), c->notify_left, task->nfollowers);
    TRY(graph_check_has_timer(j, c->id, &will_continue, err));
    if (!will_continue)
        verify_violation(j->v, "I35", c->id,
                         "%s has ended, but no timer notifies its %d remaining followers", c->name,
                         c->notify_left);
    return 0;
}

static int check_task(struct graph_check *j, const struct workflow_task *task, struct err *err)
{
    const struct checked_child *c = &j->tasks.at[task->index];
    bool reused = c->status == S_SUCCEEDED && !c->started;

    if (c->notify_left)
        TRY(check_notifying(j, task, c, err));
    if ((task->index < (uint32_t)j->f.children_made) != (c->id != 0))
        verify_violation(j->v, "I36", j->f.id, "%d of its tasks were created, but %s %s",
                         j->f.children_made, task->name, c->id ? "exists" : "does not exist");
    if (!c->id || c->status == S_CANCELLED || reused ||
        (c->status == S_SKIPPED && (c->flags & FLAG_BY_OPERATOR)))
        return 0; /* the task was not created, or ended without a decision on its needs */
    if (c->status == S_PENDING)
        return check_pending(j, task, c, err);
    check_decided(j, task, c);
    return 0;
}

/* Checks on_failure or on_exit. `open` is the number of other tasks that have not ended. */
static int check_final_task(struct graph_check *j, const struct workflow_task *task, size_t open,
                            struct err *err)
{
    const struct checked_child *c = &j->tasks.at[task->index];

    if (c->status == S_PENDING && !open && !has_ended(j))
        return check_stranded(j, c, "all other tasks have ended", err);
    if ((c->status == S_READY || c->status == S_RUNNING) && open)
        verify_violation(j->v, "I34", c->id, "%s is %s, but %zu other tasks have not ended",
                         c->name, status_text(c->status), open);
    return 0;
}

static bool is_open(const struct checked_child *c)
{
    return c->id && !status_is_terminal(c->status);
}

static int check_tasks(struct graph_check *j, int *flags, struct err *err)
{
    const struct workflow *w = j->def->workflow;
    size_t open = 0, i;

    for (i = 0; i < w->ntasks; i++) {
        open += is_open(&j->tasks.at[i]);
        TRY(check_task(j, &w->tasks[i], err));
    }
    if (w->on_failure) {
        TRY(check_final_task(j, w->on_failure, open, err));
        open += is_open(&j->tasks.at[w->on_failure->index]);
    }
    if (w->on_exit)
        TRY(check_final_task(j, w->on_exit, open, err));
    for (*flags = 0, i = 0; i < j->def->ntasks; i++) {
        const struct workflow_task *task = j->def->by_name[i];
        struct graph_need n = child_as_need(task, &j->tasks.at[task->index]);

        if (n.status && status_is_terminal(n.status))
            *flags |= graph_flags_of(&n);
    }
    return 0;
}

/* ---- the end ---- */

static void check_flags(struct graph_check *j, int flags)
{
    int kept = j->f.flags & RESULT_FLAGS;

    if (kept != flags)
        verify_violation(j->v, "I33", j->f.id,
                         "its flags record that %s and %s, but of its children %s and %s",
                         kept & FLAG_FAILED ? "one failed" : "none failed",
                         kept & FLAG_CANCELLED ? "one was cancelled" : "none was cancelled",
                         flags & FLAG_FAILED ? "one failed" : "none failed",
                         flags & FLAG_CANCELLED ? "one was cancelled" : "none was cancelled");
}

/* Whether a workflow whose tasks succeeded may have failed: its outputs may be too large, or could
 * not be evaluated. */
static bool may_fail_by_outputs(const struct graph_check *j)
{
    return j->f.kind == KIND_WORKFLOW && j->f.error && j->def->workflow->outputs.n > 0;
}

static void check_status(struct graph_check *j, int flags)
{
    int status =
        j->f.flags & FLAG_TIMED_OUT ? S_TIMED_OUT : graph_end(flags, j->f.cancel_requested);

    if (j->f.status == status ||
        (j->f.status == S_FAILED && status == S_SUCCEEDED && may_fail_by_outputs(j)))
        return;
    verify_violation(j->v, "I33", j->f.id, "it is %s, but its children imply %s",
                     status_text(j->f.status), status_text(status));
}

/* Whether one of the tasks failed; on_failure and on_exit are not counted. */
static bool has_failure(const struct graph_check *j)
{
    const struct workflow *w = j->def->workflow;

    for (uint32_t i = 0; i < w->ntasks; i++) {
        struct graph_need n = child_as_need(&w->tasks[i], &j->tasks.at[i]);

        if (j->tasks.at[i].id && (graph_flags_of(&n) & FLAG_FAILED))
            return true;
    }
    return false;
}

/* Checks that on_failure and on_exit ran. After a timeout, on_failure is not required, because an
 * older version, which did not run it then, may have ended the workflow. */
static void check_final_tasks_ran(struct graph_check *j)
{
    const struct workflow *w = j->def->workflow;

    if (w->on_failure && has_failure(j) && !j->f.cancel_requested &&
        !j->tasks.at[w->on_failure->index].id)
        verify_violation(j->v, "I33", j->f.id,
                         "a task failed, but the workflow ended without running on_failure");
    if (w->on_exit && !j->tasks.at[w->on_exit->index].id)
        verify_violation(j->v, "I33", j->f.id, "it ended without running on_exit");
}

static int check_workflow_end(struct graph_check *j, struct err *err)
{
    uint32_t all = j->def->workflow->ntasks;
    bool will_continue;
    int flags;

    TRY(check_tasks(j, &flags, err));
    check_flags(j, flags);
    if (has_ended(j)) {
        check_status(j, flags);
        check_final_tasks_ran(j);
    }
    if ((uint32_t)j->f.children_made >= all || j->f.cancel_requested)
        return 0;
    if (has_ended(j)) {
        verify_violation(j->v, "I32", j->f.id,
                         "it has ended, but only %d of its %u tasks were created",
                         j->f.children_made, all);
        return 0;
    }
    TRY(graph_check_will_continue(j, &will_continue, err));
    if (!will_continue)
        verify_violation(j->v, "I35", j->f.id,
                         "%d of its %u tasks were created, and no timer will create the others",
                         j->f.children_made, all);
    return 0;
}

static void check_items(struct graph_check *j, int64_t all)
{
    bool stopped = j->f.cancel_requested || (j->f.flags & FLAG_STOPPED);
    size_t i = 0;

    if (j->items < (size_t)j->f.children_made) {
        while (i / 8 < j->seen.n && (j->seen.at[i / 8] & (1u << (i % 8))))
            i++;
        verify_violation(j->v, "I36", j->f.id,
                         "it has created %d items, but item %zu does not exist", j->f.children_made,
                         i);
    }
    if (all < 0)
        verify_violation(j->v, "I36", j->f.id, "its list can't be read");
    else if (j->f.children_made > all || (has_ended(j) && !stopped && j->f.children_made < all))
        verify_violation(j->v, "I36", j->f.id, "it %s with %d items created from a list of %lld",
                         has_ended(j) ? "has ended" : "is running", j->f.children_made,
                         (long long)all);
}

int graph_check_end(struct graph_check *j, struct err *err)
{
    int64_t all;

    if (j->f.kind == KIND_WORKFLOW)
        return check_workflow_end(j, err);
    TRY(graph_check_list_size(j, &all, err));
    check_items(j, all);
    check_flags(j, j->items_flags);
    if (has_ended(j))
        check_status(j, j->items_flags);
    return 0;
}
