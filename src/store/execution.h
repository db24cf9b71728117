/* execution.h - the image of one row of `executions`, with its lease. All code of the store uses
 * this structure for an execution; sql/00_columns.sql has the columns in the same order. */
#ifndef STORE_EXECUTION_H
#define STORE_EXECUTION_H

#include "core/vocab.h"
#include "store/driver/db.h"

struct execution {
    int64_t id, parent, root, workflow, rerun_of;              /* 0 if none */
    int64_t requested_at, started_at, finished_at, updated_at; /* µs; 0 if not yet */
    int priority, attempts, max_attempts, epoch, seq;
    /* Two counters with a meaning by kind and status:
     *                        needs_left             cursor
     *   a pending task       needs not ended        needs that succeeded
     *   an ended task        followers to notify
     *   a workflow           open children          tasks created
     *   a fan-out            open items             items created */
    int needs_left, cursor;
    int task_index; /* of an item, from 0; -1 if not an item */
    int depth;
    int kind, status, held;
    bool deferred, cancel_requested;
    int flags; /* enum execution_flag */
    const char *name, *queue, *lane, *concurrency, *held_key, *task_name;

    /* The lease of a running job; worker and until are 0 for an orphan. */
    int64_t worker, until, expired_at;
    const char *folder;

    /* The large columns: loaded only with the whole execution; a claim loads input and spec. */
    const char *input, *result, *error, *spec;
};

/* The number of columns of @state@, and of @whole@, which is @state@ and the large columns. */
#define STATE_COLUMNS 34
#define WHOLE_COLUMNS (STATE_COLUMNS + 4)

/* Reads row `row` of r, starting at column `col`; texts are copied into `arena`. */
void execution_read_state(struct execution *e, const struct rows *r, size_t row, size_t col,
                          struct arena *arena);
void execution_read_whole(struct execution *e, const struct rows *r, size_t row, size_t col,
                          struct arena *arena);

/* Whether it is a job that may be claimed; it then has an outbox row. */
static inline bool execution_is_claimable(const struct execution *e)
{
    return kind_is_job(e->kind) && e->status == S_READY && e->held == HELD_NONE;
}

/* Whether it is a job with a lease row. */
static inline bool execution_has_lease(const struct execution *e)
{
    return kind_is_job(e->kind) && e->status == S_RUNNING;
}

/* Whether it is a workflow or fan-out that is not held and can start in this turn. */
static inline bool execution_may_start(const struct execution *e)
{
    return !kind_is_job(e->kind) && e->status == S_PENDING && e->held == HELD_NONE;
}

/* Whether it counts against its limits. */
static inline bool execution_has_permit(const struct execution *e)
{
    if (!kind_is_job(e->kind))
        return e->status == S_RUNNING;
    return execution_is_claimable(e) || e->status == S_RUNNING;
}

#endif
