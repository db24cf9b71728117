/* rerun.h - rerun in place: executions that have ended run again, with the same ids and their
 * history. Internal to the store; the public operation is op_rerun (operator.h).
 *
 *   rerun.c          which executions run again, for each kind of request
 *   rerun_partial.c  some tasks of a workflow
 *   rerun_node.c     one execution
 *   item_rerun.c     items of a fan-out */
#ifndef STORE_WORKFLOW_RERUN_H
#define STORE_WORKFLOW_RERUN_H

#include "core/rerun.h"
#include "store/operator.h"
#include "store/workflow/workflow.h"

/* Moves an execution that has ended to `to` (S_PENDING; for a workflow or fan-out also S_RUNNING)
 * and resets it to its initial state; its history stays. A job may make `attempts` further
 * attempts. `r` is NULL if the execution runs again because its parent does; the turn must then
 * have loaded the parent. */
MUST_USE int rerun_reset(struct turn *t, struct row *row, enum status to, int attempts,
                         struct rerun *r, struct err *err);
/* Whether a workflow or fan-out has started in its last run. If not, its descendants are from an
 * earlier run. */
bool rerun_has_started(const struct row *row);
/* Reruns the tasks of a nested workflow that failed, and their followers. Does nothing and sets
 * *whole if the workflow has no such task, or not all of its tasks exist: the caller must then
 * rerun it as a whole. If r is NULL, the workflow waits for its permit; otherwise it needs one at
 * once. */
MUST_USE int rerun_nested(struct turn *t, struct row *row, struct rerun *r, bool *whole,
                          struct err *err);

/* For a nested workflow that had to wait for its permit or for the end of a pause
 * (FLAG_ONLY_FAILED): starts it, or lets it wait again. */
MUST_USE int rerun_nested_unheld(struct turn *t, struct row *row, struct err *err);
/* Reruns the failed tasks of such a workflow once it has started. */
MUST_USE int rerun_nested_started(struct turn *t, struct workflow_state *f, struct err *err);

/* Restarts a workflow that has ended. It must get a new permit; if it does not, nothing changes and
 * -E_REFUSED is returned. */
MUST_USE int rerun_restart(struct turn *t, struct row *row, struct rerun *r, struct err *err);

/* A rerun of some tasks of a workflow. */
struct partial_rerun {
    struct workflow_state *f;
    enum rerun_mark *marks;
    struct graph_need *states; /* states of all tasks */
    bool *open;                /* whether a task has not ended, or still has followers to notify */
    struct row **rows;         /* the rows of the open and the marked tasks; NULL for other tasks */
    bool only_failed_below;    /* whether to rerun only the failed descendants of a failed task */
    bool starts;               /* the workflow has just started again, and no task of it yet */
};
/* Loads the states of the workflow's tasks. No task is marked yet. */
MUST_USE int partial_rerun_load(struct turn *t, struct workflow_state *f, struct partial_rerun *p,
                                struct err *err);
/* Continues or restarts the workflow with its marked tasks. `opened` is the number of children that
 * the caller has reopened already. */
MUST_USE int partial_rerun_reopen(struct turn *t, struct partial_rerun *p, int opened,
                                  struct rerun *r, struct err *err);

#endif
