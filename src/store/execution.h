/* execution.h - the image of one row of `executions`, with its lease. Everything in the store that
 * looks at an execution looks at this structure; the columns are in sql/00_columns.sql, in the same
 * order. */
#ifndef STORE_EXECUTION_H
#define STORE_EXECUTION_H

#include "core/vocab.h"
#include "store/driver/db.h"

struct execution {
    int64_t id, parent, root, workflow, rerun_of;              /* 0 = none */
    int64_t requested_at, started_at, finished_at, updated_at; /* µs; 0 = not yet */
    int priority, attempts, max_attempts, epoch, seq, needs_left;
    int task_index; /* of an item, from 0; -1 = it is none */
    int cursor, depth;
    int kind, status, held;
    bool deferred, cancel_requested;
    int flags; /* of a skipped task, and what children left: enum execution_flag */
    const char *name, *queue, *lane, *concurrency, *held_key, *task_name;

    /* its lease, while it runs; worker and until are 0 for an orphan */
    int64_t worker, until, expired_at;
    const char *folder;

    /* the large ones: only where a query asks for the whole execution (or claim: input, spec) */
    const char *input, *result, *error, *spec;
};

/* Columns of @state@, and of @whole@ = @state@ and the large ones. */
#define STATE_COLUMNS 34
#define WHOLE_COLUMNS (STATE_COLUMNS + 4)

/* Reads row `row` of r from column `col` on; texts are copied into `arena`. */
void execution_read_state(struct execution *e, const struct rows *r, size_t row, size_t col,
                          struct arena *arena);
void execution_read_whole(struct execution *e, const struct rows *r, size_t row, size_t col,
                          struct arena *arena);

/* A job that may be claimed, i.e. has an outbox row. */
static inline bool execution_is_claimable(const struct execution *e)
{
    return kind_is_job(e->kind) && e->status == S_READY && e->held == HELD_NONE;
}

/* A job that has a lease row. */
static inline bool execution_has_lease(const struct execution *e)
{
    return kind_is_job(e->kind) && e->status == S_RUNNING;
}

/* A workflow or fan-out that nothing holds, and that is begun in this turn. */
static inline bool execution_may_start(const struct execution *e)
{
    return !kind_is_job(e->kind) && e->status == S_PENDING && e->held == HELD_NONE;
}

/* What counts in the limits that it falls under. */
static inline bool execution_has_permit(const struct execution *e)
{
    if (!kind_is_job(e->kind))
        return e->status == S_RUNNING;
    return execution_is_claimable(e) || e->status == S_RUNNING;
}

#endif
