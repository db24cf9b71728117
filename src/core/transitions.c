/* transitions.c - the table of legal moves; see transitions.h.
 *
 *   pending --> ready --claimed, resumed--> running --> succeeded | failed | timed_out | cancelled
 *      |          ^                            |
 *      |          `-- retry_scheduled, --------'
 *      |              deferred, released
 *      `-> skipped | cancelled | failed | timed_out         terminal --rerun--> pending | running
 *
 * These events keep the status: held and unheld of a ready job; started, adopted, lease_expired and
 * cancel_requested of a running one. */
#include "core/transitions.h"

#define MOVE(a, f, t, w)                                             \
    {                                                                \
        .action = EV_##a, .from = S_##f, .to = S_##t, .who = FOR_##w \
    }
#define FROM_TERMINAL(a, t, w)                                                 \
    MOVE(a, SUCCEEDED, t, w), MOVE(a, FAILED, t, w), MOVE(a, TIMED_OUT, t, w), \
        MOVE(a, CANCELLED, t, w), MOVE(a, SKIPPED, t, w)

const struct move legal_moves[] = {
    MOVE(CREATED, NONE, PENDING, ALL),

    /* a job is claimed by a worker and may return to the queue */
    MOVE(MARKED_READY, PENDING, READY, JOBS),
    MOVE(HELD, READY, READY, JOBS),
    MOVE(UNHELD, READY, READY, JOBS),
    MOVE(HELD, PENDING, PENDING, ALL), /* a job that is paused before its needs are met */
    MOVE(UNHELD, PENDING, PENDING, ALL),
    MOVE(CLAIMED, READY, RUNNING, JOBS),
    MOVE(RESUMED, READY, RUNNING, JOBS),
    MOVE(STARTED, RUNNING, RUNNING, JOBS),
    MOVE(LEASE_EXPIRED, RUNNING, RUNNING, JOBS),
    MOVE(ADOPTED, RUNNING, RUNNING, JOBS),
    MOVE(DEFERRED, RUNNING, READY, JOBS),
    MOVE(RELEASED, RUNNING, READY, JOBS),
    MOVE(RETRY_SCHEDULED, RUNNING, READY, JOBS),
    MOVE(ABANDONED, RUNNING, FAILED, JOBS),

    /* a workflow or fan-out starts without a claim and has no lease */
    MOVE(STARTED, PENDING, RUNNING, WORKFLOWS),
    MOVE(PAUSED, PENDING, PENDING, WORKFLOWS),
    MOVE(PAUSED, RUNNING, RUNNING, WORKFLOWS),
    MOVE(RESUMED, PENDING, PENDING, WORKFLOWS),
    MOVE(RESUMED, RUNNING, RUNNING, WORKFLOWS),

    /* the end of an attempt */
    MOVE(CANCEL_REQUESTED, RUNNING, RUNNING, ALL),
    MOVE(COMPLETED, RUNNING, SUCCEEDED, ALL),
    MOVE(FAILED, RUNNING, FAILED, ALL),
    MOVE(TIMED_OUT, RUNNING, TIMED_OUT, ALL),
    MOVE(CANCELLED, RUNNING, CANCELLED, ALL),

    /* the end of an execution without an attempt */
    MOVE(FAILED, PENDING, FAILED, ALL),
    MOVE(FAILED, READY, FAILED, JOBS),
    MOVE(TIMED_OUT, PENDING, TIMED_OUT, ALL),
    MOVE(TIMED_OUT, READY, TIMED_OUT, JOBS),
    MOVE(CANCELLED, PENDING, CANCELLED, ALL),
    MOVE(CANCELLED, READY, CANCELLED, JOBS),
    MOVE(SKIPPED, PENDING, SKIPPED, ALL),
    MOVE(SKIPPED, READY, SKIPPED, JOBS),
    MOVE(REUSED, PENDING, SUCCEEDED, ALL),

    /* reruns, of the task, its followers and its ancestors */
    FROM_TERMINAL(RERUN, PENDING, ALL),
    FROM_TERMINAL(RERUN, RUNNING, WORKFLOWS),
};

const size_t legal_move_count = sizeof(legal_moves) / sizeof(*legal_moves);

bool move_is_legal(int kind, enum event_action action, int from, int to)
{
    enum move_for who = kind_is_job(kind) ? FOR_JOBS : FOR_WORKFLOWS;

    for (size_t i = 0; i < legal_move_count; i++) {
        const struct move *m = &legal_moves[i];

        if (m->action == action && (int)m->from == from && (int)m->to == to && (m->who & who))
            return true;
    }
    return false;
}
