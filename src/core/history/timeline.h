/* timeline.h - where the time of one execution went, since it was last asked to run: stretches that
 * follow each other without a gap, each of one part. Made from its events; pure.
 *
 *   wait    for its needs, for a worker, for an engine
 *   held    kept back: an approval, a pause, a delay, a limit
 *   run     a job: an attempt; a workflow or fan-out: from its beginning on
 *   retry   attempts that failed and were followed by another, and the back-off after them */
#ifndef CORE_HISTORY_TIMELINE_H
#define CORE_HISTORY_TIMELINE_H

#include "core/history/replay.h"

#include <stddef.h>

#define TIMELINE_PARTS(X) \
    X(WAIT, "wait")       \
    X(HELD, "held")       \
    X(RUN, "run")         \
    X(RETRY, "retry")

#define X(name, text) TIMELINE_##name,
enum timeline_part { TIMELINE_PARTS(X) TIMELINE_COUNT };
#undef X

const char *timeline_text(enum timeline_part part);

struct timeline {
    int64_t begin; /* when its last run was asked for */
    int64_t gate;  /* when it waited for no others any more; 0: it still does */
    struct timeline_span {
        int64_t from; /* up to that of the next */
        enum timeline_part part;
    } * at;
    size_t n, cap;
    size_t attempt; /* of them: where the last attempt began */
    bool failed;    /* it was not claimed again since an attempt failed */
};

/* The next event; `held` (enum hold) is why it is held after it. Grows in the arena. */
void timeline_event(struct timeline *t, const struct replay_event *e, int held,
                    struct arena *arena);

/* Adds what lies between two times to its parts; what is before its first stretch is a wait. */
void timeline_sum(const struct timeline *t, int64_t from, int64_t to,
                  int64_t parts[TIMELINE_COUNT]);

/* When a workflow or fan-out began to run; INT64_MAX: not yet. */
int64_t timeline_started(const struct timeline *t);

#endif
