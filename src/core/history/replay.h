/* replay.h - computes the state of an execution at some moment from its events alone, with the
 * rules of event_effect.h. Pure.
 *
 * Events do not contain everything. The result of a run is only in the row until a rerun copies it
 * to the event of the rerun (replay_result). Events do not contain how many attempts a job is
 * allowed: a replayed max_attempts is the number of attempts that do not count against the job's
 * retries, which are all attempts before its last rerun, and the deferred and released ones since
 * then. Events contain the worker of a lease, but not when the lease ends. */
#ifndef CORE_HISTORY_REPLAY_H
#define CORE_HISTORY_REPLAY_H

#include "base/mem.h"
#include "core/event_effect.h"

struct replay_event {
    int64_t at, worker; /* `at` in µs; `worker` is 0 if none */
    int type, from, to;
    const char *data; /* the event's data as JSON; NULL if none */
};

/* A replayed execution. Start with all fields 0: status S_NONE means that the execution does not
 * exist yet. Strings are in the arena or belong to the events. */
struct replay {
    EXECUTION_STATE;
    int64_t ready_at;    /* when the execution first became ready; 0 if not yet */
    int64_t last_worker; /* the last worker that ran it */
    int64_t due_at;      /* when the delay ends; 0 if the execution is not held for a delay */
    int reruns;
    bool paused; /* the execution itself is paused, not only an ancestor of it */
    const char *error;
    /* Event data that tells how the last attempt ended; NULL if no attempt has ended yet. */
    const char *outcome;
    /* Event data that tells why the execution was skipped or cancelled; NULL if not given. */
    const char *reason;
    /* Event data that tells who paused the execution and why; NULL if it is not paused. */
    const char *pause;
};

/* Applies the next event. Call it for all events of an execution in the order of their seq. */
void replay_event(struct replay *f, const struct replay_event *e, struct arena *arena);

/* The result of the run before a rerun, as JSON, from the rerun's event; NULL if it had none. */
const char *replay_result(const struct replay_event *rerun, struct arena *arena);

#endif
