/* schedule.h - decides when a schedule fires. Pure: all engines that check the same schedule at the
 * same time get the same result.
 *
 * A due time is a moment that the cron pattern matches. It identifies a firing: there is one firing
 * per due time, however many engines check. With jitter, a firing comes after its due time, by a
 * delay that depends only on the schedule and the due time, and before the next due time. */
#ifndef CORE_SCHEDULE_SCHEDULE_H
#define CORE_SCHEDULE_SCHEDULE_H

#include "core/schedule/cron.h"
#include "core/workflow/model.h"

#include <stddef.h>

/* How late a firing may be and still count as on time. An engine that restarts, or a long turn,
 * delays firings. */
#define SCHEDULE_TOLERANCE (60 * INT64_C(1000000))

struct schedule {
    const char *name; /* a unique name, so that jitter spreads schedules with the same due time */
    struct cron cron;
    const char *tz; /* the time zone; NULL for UTC; the caller loads and keeps the zone */
    /* µs: firings missed by at most this much are caught up; 0 for none; or CATCHUP_LAST. */
    int64_t catchup;
    enum overlap overlap;
    int64_t jitter;     /* µs: the longest delay of a firing after its due time */
    int64_t start, end; /* a due time counts only if start <= due < end; 0 for no bound */
    bool paused;
};

/* The result of schedule_due(), besides the due times themselves. */
struct schedule_due_times {
    size_t n;      /* number of due times written to `out`, oldest first */
    bool more;     /* `out` is full: fire these due times, then check again */
    bool missed;   /* older due times were missed and will not be caught up */
    int64_t done;  /* every due time up to here is fired or missed; pass it as `last` to the next
                      check */
    int64_t again; /* when to check again; INT64_MAX for only after a change of the schedule */
};

/* Writes the due times after `last` that must fire at `now` to `out`, at most `max` (>= 1). `last`
 * is `done` of the previous check. For a new schedule, `last` is the time of its creation; after a
 * pause, it is the end of the pause, so firings missed during the pause are not caught up. */
void schedule_due(const struct schedule *s, const struct tz *z, int64_t last, int64_t now,
                  size_t max, int64_t *out, struct schedule_due_times *result);

/* The first due time after `after`; false if there is none. */
MUST_USE bool schedule_next(const struct schedule *s, const struct tz *z, int64_t after,
                            int64_t *due);

/* When a due time fires: the due time plus its own part of the jitter. */
int64_t schedule_fires_at(const struct schedule *s, const struct tz *z, int64_t due);

/* The treatment of a firing while the run of an earlier firing is still running, or another firing
 * waits for that run to end. */
enum firing {
    FIRING_RUN,
    FIRING_WAIT, /* wait until the earlier runs have ended; at most one firing waits */
    FIRING_SKIP,
};
enum firing schedule_firing(enum overlap overlap, bool running, bool waiting);

/* The state of a schedule. */
struct schedule_state {
    int64_t done;    /* every due time up to here is fired, skipped or missed */
    int64_t waiting; /* a due time whose run starts when the last run has ended; 0 if none */
    bool running;    /* the last run is still running */
    /* Those of the due times of schedule_candidates() that have already fired. */
    const int64_t *fired;
    size_t nfired;
};

/* The decisions of schedule_plan(): the due times to start now, and the state of the schedule
 * afterwards. */
#define SCHEDULE_PLAN_MAX 5
struct schedule_plan {
    int64_t due[SCHEDULE_PLAN_MAX + 1]; /* due times to start now, oldest first */
    size_t n;
    int64_t done, waiting;
    /* When to check again; 0 for only after a change of the schedule or the end of its last run. */
    int64_t next;
    size_t skipped; /* due times skipped because the last run was still running */
    bool missed;    /* older due times were missed and will not be caught up */
};

/* Writes the due times that schedule_plan() decides about to `out` and returns their number. If the
 * clock was set back, some of them may have fired before: the caller looks these up and passes them
 * to schedule_plan() as `fired`. */
size_t schedule_candidates(const struct schedule *s, const struct tz *z,
                           const struct schedule_state *state, int64_t now,
                           int64_t out[SCHEDULE_PLAN_MAX + 1]);

/* Plans the next firings. If runs may not overlap, due times that are caught up start one after
 * another: no engine was checking when they were due, so none of them is skipped because of the run
 * of another. */
void schedule_plan(const struct schedule *s, const struct tz *z, const struct schedule_state *state,
                   int64_t now, struct schedule_plan *out);

#endif
