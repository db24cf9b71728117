/* event_effect.h - what each event changes in an execution. event_apply() holds the one rule for
 * each event: the door applies an event to the row before it stores the row and the event; replay
 * (history/replay.h) applies the stored events to an empty state. Pure.
 *
 * Three things are not set by event_apply() but by the function in parentheses: result and error
 * (door_set_outcome), the due times of timers (door_move), and the flag of a task that was skipped
 * because of a failure (task_skip).
 *
 * The events of an end (completed, failed, skipped and others) have no rule by name: the status
 * that they lead to ends the lease, hold and pause and sets the time of the end (second half of
 * event_apply). Counters (needs_left, children_open and others) are not part of the state, because
 * no event belongs to their changes. */
#ifndef CORE_EVENT_EFFECT_H
#define CORE_EVENT_EFFECT_H

#include "core/vocab.h"

#include <stdint.h>

/* The fields of an execution's state. A macro, so that a structure that contains a state can also
 * have each field as a member of its own. */
#define EXECUTION_STATE_FIELDS                                                                  \
    int64_t requested_at, started_at, finished_at, updated_at; /* µs; 0 if not yet */          \
    /* µs from ends of earlier runs to starts of reruns. While the last rerun has not started, \
     * only the end before it is subtracted, so that the value is negative. */                  \
    int64_t idle;                                                                               \
    int status, held, seq, attempts, max_attempts, epoch;                                       \
    int flags; /* enum execution_flag */                                                        \
    bool deferred, cancel_requested;                                                            \
    const char *held_key;                                                                       \
    /* The lease of a running job; worker and until are 0 for an orphan. */                     \
    int64_t worker, until, expired_at;                                                          \
    const char *folder;

struct execution_state {
    EXECUTION_STATE_FIELDS
};

/* Defines the member `state`, and each field of the state as a member of the same structure. */
#define EXECUTION_STATE               \
    union {                           \
        struct execution_state state; \
        struct {                      \
            EXECUTION_STATE_FIELDS    \
        };                            \
    }

/* An event, with all values that it may set. A comment above a member names the events that set
 * it. */
struct execution_change {
    enum event_action action;
    bool is_job; /* true for a task or exec, false for a workflow or fan-out */
    int to;      /* enum status */
    int64_t at;
    /* claimed, resumed, adopted: the new lease */
    int64_t worker, until;
    const char *folder;
    /* held */
    int hold; /* enum hold */
    const char *held_key;
    /* cancel_requested */
    bool let_finish; /* if true, running jobs finish, but no follower starts */
    /* rerun of a job */
    int attempts; /* how many attempts the rerun allows */
};

void event_apply(struct execution_state *s, const struct execution_change *c);

/* How long an execution has run, in µs: its attempts and the waits between them, from its first
 * claim (a workflow or fan-out: from its start) to its end, or to `now`. The time between an end
 * and the start of the rerun that followed is not included. -1 if it has never started. */
int64_t execution_duration(const struct execution_state *s, int64_t now);

#endif
