/* timeline.h - where the time of one execution went since its last run was requested. The time is
 * divided into spans without gaps; each span belongs to one part. Computed from its events; pure.
 *
 *   wait    for its needs, for a worker, for an engine
 *   held    for an approval, a pause, a delay or a limit
 *   run     a job: an attempt; a workflow or fan-out: from its start on
 *   retry   failed attempts that were retried, and the back-off after them */
#ifndef CORE_HISTORY_TIMELINE_H
#define CORE_HISTORY_TIMELINE_H

#include "core/history/replay.h"

#include <stddef.h>

enum timeline_part { TIMELINE_WAIT, TIMELINE_HELD, TIMELINE_RUN, TIMELINE_RETRY, TIMELINE_COUNT };

struct timeline {
    int64_t begin; /* when the last run was requested */
    bool rerun;    /* the last run is a rerun */
    int64_t gate;  /* when the execution's needs were met; 0 if it still waits for them */
    struct timeline_span {
        int64_t from; /* start of the span; it ends where the next span starts */
        enum timeline_part part;
    } * at;
    size_t n, cap;
    size_t attempt; /* index of the first span of the last attempt */
    bool failed;    /* an attempt failed, and the job has not been claimed since */
};

/* Applies the next event. `held` (enum hold) is the execution's hold after the event. Spans are in
 * the arena. */
void timeline_event(struct timeline *t, const struct replay_event *e, int held,
                    struct arena *arena);

/* Adds the time between `from` and `to` to parts[], by part. Time before the first span counts as
 * waiting. */
void timeline_sum(const struct timeline *t, int64_t from, int64_t to,
                  int64_t parts[TIMELINE_COUNT]);

/* When a workflow or fan-out started to run; INT64_MAX if it has not started. */
int64_t timeline_started(const struct timeline *t);

#endif
