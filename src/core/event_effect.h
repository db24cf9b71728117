/* event_effect.h - what each event changes in an execution: event_apply() is the one rule for each
 * event. The door applies an event to the row before it stores both; replay (history/replay.h)
 * applies stored events to nothing. Pure.
 *
 * Three things are not in this state: result and error (door_set_outcome), the times of timers
 * (door_move), and the flag of a task that is skipped because of a failure (task_skip). */
#ifndef CORE_EVENT_EFFECT_H
#define CORE_EVENT_EFFECT_H

#include "core/vocab.h"

#include <stdint.h>

/* A list, so that structures that contain a state can name its fields without a prefix. */
#define EXECUTION_STATE_FIELDS                                                         \
    int64_t requested_at, started_at, finished_at, updated_at; /* µs; 0 if not yet */ \
    int status, held, seq, attempts, max_attempts, epoch;                              \
    int flags; /* enum execution_flag */                                               \
    bool deferred, cancel_requested;                                                   \
    const char *held_key;                                                              \
    /* The lease of a running job; worker and until are 0 for an orphan. */            \
    int64_t worker, until, expired_at;                                                 \
    const char *folder;

struct execution_state {
    EXECUTION_STATE_FIELDS
};

/* Defines the member `state`, and all of its fields as members of their own. */
#define EXECUTION_STATE               \
    union {                           \
        struct execution_state state; \
        struct {                      \
            EXECUTION_STATE_FIELDS    \
        };                            \
    }

/* An event with everything that it may change. */
struct execution_change {
    enum event_action action;
    bool is_job; /* a task or exec; otherwise a workflow or fan-out */
    int to;      /* enum status */
    int64_t at;
    /* claimed, resumed, adopted: the new lease */
    int64_t worker, until;
    const char *folder;
    /* held */
    int hold; /* enum hold */
    const char *held_key;
    /* cancel_requested */
    bool let_finish; /* running jobs finish, but no follower starts */
    /* rerun of a job */
    int attempts; /* that it may have again */
};

void event_apply(struct execution_state *s, const struct execution_change *c);

#endif
