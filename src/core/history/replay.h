/* replay.h - an execution as it was at some moment, from its events alone: what the door (the
 * store's) did to its image when it wrote them is done again here, one after the other. Pure.
 *
 * The history does not keep everything: the result of a run is in the row until a rerun puts it
 * into its own event (replay_result), and how often a job may be tried is told only by difference
 * (fold.given). */
#ifndef CORE_HISTORY_REPLAY_H
#define CORE_HISTORY_REPLAY_H

#include "base/mem.h"
#include "core/vocab.h"

#include <stdint.h>

struct replay_event {
    int64_t at, worker; /* µs; 0: none */
    int type, from, to, attempt, epoch, seq;
    const char *data; /* JSON; NULL: none */
};

/* All 0 before the first event: then its status is S_NONE, and it is not there. Texts are in the
 * arena, or those of the events. */
struct replay {
    int64_t requested_at, ready_at, started_at, finished_at, updated_at; /* µs; 0: not yet */
    int64_t worker;      /* whose lease it is; 0: nobody's */
    int64_t last_worker; /* who worked on it last */
    int64_t due_at;      /* when a delay ends; 0: it is held for none */
    int status, held, attempts, epoch, seq;
    /* Of a job: attempts that count against no try: all before its last rerun, and since then those
     * that were deferred or given back. With its tries they make max_attempts. */
    int given;
    int reruns;
    bool deferred, cancel_requested;
    bool paused; /* by name, not because of what is above it */
    const char *held_key, *error;
    const char *outcome; /* data: how its last attempt ended; NULL: none did yet */
    const char *reason;  /* data: why it is skipped or cancelled; NULL: nobody said */
    const char *pause;   /* data: who paused it, and why; NULL: it is not */
};

/* Events come in the order of their seq. */
void replay_event(struct replay *f, const struct replay_event *e, struct arena *arena);

/* The result that a rerun found and put into its event, as JSON; NULL: there was none. */
const char *replay_result(const struct replay_event *rerun, struct arena *arena);

#endif
