/* schedule.h - what a schedule is and when it fires. Pure: every engine that looks at the same
 * schedule at the same time comes to the same answer.
 *
 * A due time is a moment that the pattern names; it identifies a firing, of which there is one
 * however many engines look. With jitter the firing comes a while after its due time, always the
 * same while for the same due time, and always before the next due time. */
#ifndef CORE_SCHEDULE_SCHEDULE_H
#define CORE_SCHEDULE_SCHEDULE_H

#include "core/schedule/cron.h"
#include "core/workflow/model.h"

#include <stddef.h>

/* How late a firing may be without being missed: an engine restarts, a turn takes long. */
#define SCHEDULE_TOLERANCE (60 * INT64_C(1000000))

struct schedule {
    const char *name; /* differs from every other schedule's: jitter shall spread them */
    struct cron cron;
    const char *tz;  /* whoever calls reads the zone, and keeps it; NULL: UTC */
    int64_t catchup; /* µs: firings missed so long ago are made up for; 0: none; CATCHUP_LAST */
    enum overlap overlap;
    int64_t jitter;     /* µs: firings come up to this long after they are due */
    int64_t start, end; /* due times with start <= due < end count; 0: open */
    bool paused;
};

/* What to do now. */
struct schedule_look {
    size_t n;      /* how many due times to fire, the oldest first */
    bool more;     /* as many as there was room for: fire these, then look again */
    bool dropped;  /* older ones were missed, and are not made up for */
    int64_t done;  /* up to here everything is fired or dropped: `last` of the next look */
    int64_t again; /* when to look again; INT64_MAX: not until the schedule is changed */
};

/* Which due times after `last` are to be fired at `now`, at most `max` (>= 1) into out. `last` is
 * the `done` of the look before. At first it is when the schedule came to be, and when a pause
 * ends, that moment: nothing is due before, and a pause is not made up for. */
void schedule_due(const struct schedule *s, const struct tz *z, int64_t last, int64_t now,
                  size_t max, int64_t *out, struct schedule_look *look);

/* The first due time after `after`; false: there is none any more. */
MUST_USE bool schedule_next(const struct schedule *s, const struct tz *z, int64_t after,
                            int64_t *due);

/* When the firing of a due time comes: the due time plus its share of the jitter. */
int64_t schedule_fires_at(const struct schedule *s, const struct tz *z, int64_t due);

/* What becomes of a firing while runs of earlier ones still go on, or one waits for them to end. */
enum firing {
    FIRING_RUN,
    FIRING_WAIT, /* until those that go on have ended; one at a time */
    FIRING_SKIP,
};
enum firing schedule_firing(enum overlap overlap, bool running, bool waiting);

/* Where a schedule stands. */
struct schedule_state {
    int64_t done;    /* everything due until then is fired, left out or missed */
    int64_t waiting; /* a due time that is begun when the last run has ended; 0: none */
    bool running;    /* the last run goes on */
};

/* What a look at it comes to: the due times to begin now, and where it stands then. */
#define SCHEDULE_PLAN_MAX 5
struct schedule_plan {
    int64_t begin[SCHEDULE_PLAN_MAX + 1]; /* the oldest first */
    size_t n;
    int64_t done, waiting;
    int64_t next;   /* when to look again; 0: not before it is changed, or the last run has ended */
    size_t skipped; /* left out, since the last run went on */
    bool missed;    /* others were missed, and are not made up for */
};

/* Decides. Where runs may not overlap, due times that are made up for are begun one after the
 * other: they came while nobody looked, so none of them is left out because of another. */
void schedule_plan(const struct schedule *s, const struct tz *z, const struct schedule_state *is,
                   int64_t now, struct schedule_plan *out);

#endif
