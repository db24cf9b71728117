/* execution.h - the image of one row of `executions`, with its lease. All code of the store uses
 * this structure for an execution; sql/00_columns.sql has the columns in the same order. */
#ifndef STORE_EXECUTION_H
#define STORE_EXECUTION_H

#include "core/event_effect.h"
#include "store/driver/db.h"

struct execution {
    EXECUTION_STATE;                              /* changed by events */
    int64_t id, parent, root, workflow, rerun_of; /* ids; 0 if none */
    /* For a task: how many needs have not ended, and how many have succeeded. */
    int needs_left, needs_succeeded;
    /* For a workflow or fan-out: its open tasks or items, and open executions that they
     * submitted. */
    int children_open;
    int children_made; /* tasks (except on_failure and on_exit) or items that were created so far */
    int notify_left;   /* for an ended task: followers that do not know of its end yet */
    int task_index;    /* position of an item in its fan-out, from 0; -1 for other executions */
    int depth, kind, priority;
    const char *name, *queue, *lane, *concurrency, *task_name;

    /* The large columns, which execution_read_state does not read; a claim loads input and spec. */
    const char *input, *result, *error, *spec;
};

/* The number of columns of the SQL macros @state@ and @whole@ (sql/00_columns.sql). @whole@ has all
 * columns of @state@ and the large columns. */
#define STATE_COLUMNS 38
#define WHOLE_COLUMNS (STATE_COLUMNS + 4)

/* Add the values of an execution to the arguments of a statement with the SQL macro @job@: all of
 * them, or those that a turn may change. */
void execution_write_all(const struct execution *e, struct args *a);
void execution_write_changes(const struct execution *e, struct args *a);

/* Reads an execution from row `row` of r, starting at column `col`; texts are copied to `arena`. */
void execution_read_state(struct execution *e, const struct rows *r, size_t row, size_t col,
                          struct arena *arena);
void execution_read_whole(struct execution *e, const struct rows *r, size_t row, size_t col,
                          struct arena *arena);

/* Sets the counters to the values that they have before a run starts. */
static inline void execution_reset_counters(struct execution *e)
{
    e->needs_left = e->needs_succeeded = 0;
    e->children_open = e->children_made = e->notify_left = 0;
}

/* Whether the execution is a job that may be claimed, so that it has an outbox row. */
static inline bool execution_is_claimable(const struct execution *e)
{
    return kind_is_job(e->kind) && e->status == S_READY && e->held == HELD_NONE;
}

/* Whether the execution is a running job, so that it has a lease row. */
static inline bool execution_has_lease(const struct execution *e)
{
    return kind_is_job(e->kind) && e->status == S_RUNNING;
}

/* Whether the execution is a workflow or fan-out that is not held and can start in this turn. */
static inline bool execution_may_start(const struct execution *e)
{
    return !kind_is_job(e->kind) && e->status == S_PENDING && e->held == HELD_NONE;
}

/* Whether the execution was read from a SQL submission that no worker has taken yet. */
static inline bool execution_is_submission(const struct execution *e)
{
    return !e->seq;
}

/* Whether the execution counts against its limits. */
static inline bool execution_has_permit(const struct execution *e)
{
    if (!kind_is_job(e->kind))
        return e->status == S_RUNNING;
    return execution_is_claimable(e) || e->status == S_RUNNING;
}

#endif
