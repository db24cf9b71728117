/* schedule.c - decides which due times fire; see schedule.h. */
#include "core/schedule/schedule.h"

#define NEVER INT64_MAX

/* FNV-1a, followed by the final mix of MurmurHash3 because due times differ in few bits. Never
 * change this hash: engines of all versions must compute the same hash. */
static uint64_t hash(const char *name, int64_t due)
{
    uint64_t h = UINT64_C(0xcbf29ce484222325), bits = (uint64_t)due;

    for (; *name; name++)
        h = (h ^ (unsigned char)*name) * UINT64_C(0x100000001b3);
    for (int i = 0; i < 8; i++, bits >>= 8)
        h = (h ^ (bits & 0xff)) * UINT64_C(0x100000001b3);
    h = (h ^ h >> 33) * UINT64_C(0xff51afd7ed558ccd);
    h = (h ^ h >> 33) * UINT64_C(0xc4ceb9fe1a85ec53);
    return h ^ h >> 33;
}

int64_t schedule_fires_at(const struct schedule *s, const struct tz *z, int64_t due)
{
    int64_t span = s->jitter, next;

    if (span <= 0)
        return due;
    /* A firing never comes after the next due time, so that firings stay in order and `done` can be
     * a single time. */
    if (cron_next(&s->cron, z, due, &next) && next - due < span)
        span = next - due;
    return due + (int64_t)(hash(s->name, due) % (uint64_t)span);
}

bool schedule_next(const struct schedule *s, const struct tz *z, int64_t after, int64_t *due)
{
    if (s->start && after < s->start)
        after = s->start - 1;
    return cron_next(&s->cron, z, after, due) && (!s->end || *due < s->end);
}

static bool last_due(const struct schedule *s, const struct tz *z, int64_t after, int64_t until,
                     int64_t *due)
{
    if (s->start && after < s->start)
        after = s->start - 1;
    if (s->end && until >= s->end)
        until = s->end - 1;
    return cron_last(&s->cron, z, after, until, due);
}

/* The newest due time whose firing is not later than `now`. If jitter still delays the newest due
 * time, the one before it has fired, because a firing always comes before the next due time. */
static bool last_fired_by(const struct schedule *s, const struct tz *z, int64_t after, int64_t now,
                          int64_t *due)
{
    if (!last_due(s, z, after, now, due))
        return false;
    return schedule_fires_at(s, z, *due) <= now || last_due(s, z, after, *due - 1, due);
}

/* The oldest due time after `last` that is not missed. It may be in the future. */
static bool first_kept(const struct schedule *s, const struct tz *z, int64_t last, int64_t now,
                       int64_t *due)
{
    int64_t window = s->catchup > SCHEDULE_TOLERANCE ? s->catchup : SCHEDULE_TOLERANCE;
    int64_t since = now - window;

    if (s->catchup == CATCHUP_LAST)
        return last_fired_by(s, z, last, now, due) || schedule_next(s, z, last, due);
    if (since <= last)
        return schedule_next(s, z, last, due);
    /* Because of jitter, a due time before the catch-up window may fire within it. */
    if (last_due(s, z, last, since - 1, due) && schedule_fires_at(s, z, *due) >= since)
        return true;
    return schedule_next(s, z, since - 1, due);
}

void schedule_due(const struct schedule *s, const struct tz *z, int64_t last, int64_t now,
                  size_t max, int64_t *out, struct schedule_due_times *result)
{
    int64_t first, due, fires;
    bool found;

    *result = (struct schedule_due_times){.done = last, .again = NEVER};
    if (s->paused || !schedule_next(s, z, last, &first))
        return;
    found = first_kept(s, z, last, now, &due);
    if (!found || due > first) {
        result->missed = true;
        result->done = found && due <= now ? due - 1 : now;
    }
    for (; found; found = schedule_next(s, z, due, &due)) {
        fires = schedule_fires_at(s, z, due);
        if (fires > now || result->n == max) {
            result->more = fires <= now;
            result->again = result->more ? now : fires;
            return;
        }
        out[result->n++] = result->done = due;
    }
}

enum firing schedule_firing(enum overlap overlap, bool running, bool waiting)
{
    if (overlap == OVERLAP_ALLOW || (!running && !waiting))
        return FIRING_RUN;
    return overlap == OVERLAP_QUEUE && !waiting ? FIRING_WAIT : FIRING_SKIP;
}

/* Whether the firing is late by more than the tolerance: no engine checked the schedule in time. */
static bool is_late(const struct schedule *s, const struct tz *z, int64_t due, int64_t now)
{
    return schedule_fires_at(s, z, due) + SCHEDULE_TOLERANCE < now;
}

/* Plans the firing of one due time. Returns false if it must wait, because an earlier due time
 * still waits to start. */
static bool plan_one(const struct schedule *s, int64_t due, bool late, bool *running,
                     struct schedule_plan *p)
{
    enum overlap overlap = late && s->overlap == OVERLAP_SKIP ? OVERLAP_QUEUE : s->overlap;

    switch (schedule_firing(overlap, *running, p->waiting != 0)) {
    case FIRING_RUN:
        p->due[p->n++] = due;
        *running = true;
        break;
    case FIRING_WAIT:
        p->waiting = due;
        break;
    case FIRING_SKIP:
        if (late)
            return false;
        p->skipped++;
        break;
    }
    p->done = due;
    return true;
}

/* Finds the due times after the last check and returns the time of that check, or `now` if the
 * clock has been set back since then. */
static int64_t due_since_check(const struct schedule *s, const struct tz *z,
                               const struct schedule_state *state, int64_t now,
                               int64_t out[SCHEDULE_PLAN_MAX], struct schedule_due_times *result)
{
    int64_t last = state->done < now ? state->done : now;

    schedule_due(s, z, last, now, SCHEDULE_PLAN_MAX, out, result);
    return last;
}

size_t schedule_candidates(const struct schedule *s, const struct tz *z,
                           const struct schedule_state *state, int64_t now,
                           int64_t out[SCHEDULE_PLAN_MAX + 1])
{
    struct schedule_due_times result;

    (void)due_since_check(s, z, state, now, out, &result);
    if (state->waiting)
        out[result.n++] = state->waiting;
    return result.n;
}

static bool was_fired(const struct schedule_state *state, int64_t due)
{
    for (size_t i = 0; i < state->nfired; i++)
        if (state->fired[i] == due)
            return true;
    return false;
}

void schedule_plan(const struct schedule *s, const struct tz *z, const struct schedule_state *state,
                   int64_t now, struct schedule_plan *p)
{
    int64_t due[SCHEDULE_PLAN_MAX], last, started = 0;
    bool running = state->running, late = false;
    struct schedule_due_times result;

    *p = (struct schedule_plan){.waiting = was_fired(state, state->waiting) ? 0 : state->waiting};
    if (p->waiting && !running && !s->paused) {
        p->due[p->n++] = started = p->waiting;
        p->waiting = 0;
        running = true;
    }
    last = due_since_check(s, z, state, now, due, &result);
    p->missed = result.missed;
    p->done = !result.n ? result.done : result.missed ? due[0] - 1 : last;
    for (size_t i = 0; i < result.n; i++) {
        if (due[i] == started || due[i] == p->waiting || was_fired(state, due[i])) {
            p->done = due[i]; /* the clock was set back, and this due time was planned earlier */
            continue;
        }
        late |= is_late(s, z, due[i], now); /* every due time after a late one counts as late */
        if (!plan_one(s, due[i], late, &running, p))
            return;
    }
    p->next = result.again == NEVER ? 0 : result.again;
}
