/* replay.h - computes the state of an execution at some moment from its events alone. Each event is
 * applied by the function that applied it to the row (core/event_effect.h). Pure.
 *
 * The history does not keep everything. The result of a run is only in the row until a rerun copies
 * it to its event (replay_result). The events do not contain how many attempts a job is allowed;
 * here max_attempts is the number of its attempts that do not count against its retries: all
 * attempts before its last rerun, and the deferred and released ones since then. Only the worker of
 * a lease is known. */
#ifndef CORE_HISTORY_REPLAY_H
#define CORE_HISTORY_REPLAY_H

#include "base/mem.h"
#include "core/event_effect.h"

struct replay_event {
    int64_t at, worker; /* at in µs; worker is 0 if none */
    int type, from, to;
    const char *data; /* JSON; NULL if none */
};

/* Start with all fields 0: status S_NONE means that the execution does not exist yet. Strings are
 * in the arena or belong to the events. */
struct replay {
    EXECUTION_STATE;
    int64_t ready_at;    /* when it first became ready; 0 if not yet */
    int64_t last_worker; /* the last worker that ran it */
    int64_t due_at;      /* when its delay ends; 0 if it is not held for a delay */
    int reruns;
    bool paused; /* the execution itself is paused, not only an ancestor */
    const char *error;
    const char *outcome; /* event data: how its last attempt ended; NULL if none has ended yet */
    const char *reason;  /* event data: why it was skipped or cancelled; NULL if not given */
    const char *pause;   /* event data: who paused it and why; NULL if it is not paused */
};

/* Applies the next event. Call it in the order of seq. */
void replay_event(struct replay *f, const struct replay_event *e, struct arena *arena);

/* The result that a rerun copied to its event, as JSON; NULL if there was none. */
const char *replay_result(const struct replay_event *rerun, struct arena *arena);

#endif
