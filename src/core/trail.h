/* trail.h - where the time of one execution went, since it was last asked to run: stretches that
 * follow each other without a gap, each of one part. Made from its events; pure.
 *
 *   wait    for its needs, for a worker, for an engine
 *   held    kept back: an approval, a pause, a delay, a limit
 *   run     a job: an attempt; a workflow or fan-out: from its beginning on
 *   retry   attempts that failed and were followed by another, and the back-off after them */
#ifndef CORE_TRAIL_H
#define CORE_TRAIL_H

#include "core/fold.h"

#include <stddef.h>

#define TRAIL_PARTS(X) \
    X(WAIT, "wait")    \
    X(HELD, "held")    \
    X(RUN, "run")      \
    X(RETRY, "retry")

#define X(name, text) TRAIL_##name,
enum trail_part { TRAIL_PARTS(X) TRAIL_COUNT };
#undef X

const char *trail_text(enum trail_part part);

struct trail {
    int64_t begin; /* when its last run was asked for */
    int64_t gate;  /* when it waited for no others any more; 0: it still does */
    struct trail_stretch {
        int64_t from; /* up to that of the next */
        enum trail_part part;
    } * at;
    size_t n, cap;
    size_t attempt; /* of them: where the last attempt began */
    bool failed;    /* it was not claimed again since an attempt failed */
};

/* The next event; `held` (enum hold) is why it is held after it. Grows in the arena. */
void trail_event(struct trail *t, const struct fold_event *e, int held, struct arena *arena);

/* Adds what lies between two times to its parts; what is before its first stretch is a wait. */
void trail_sum(const struct trail *t, int64_t from, int64_t to, int64_t parts[TRAIL_COUNT]);

/* When a workflow or fan-out began to run; INT64_MAX: not yet. */
int64_t trail_begun(const struct trail *t);

#endif
