/* timeline.c - computes the spans of a timeline from events; see timeline.h. */
#include "core/history/timeline.h"

#include <string.h>

static void add_span(struct timeline *t, int64_t from, enum timeline_part part, struct arena *arena)
{
    if (t->n && t->at[t->n - 1].part == part)
        return;
    if (t->n == t->cap) {
        struct timeline_span *old = t->at;

        t->cap = t->cap ? 2 * t->cap : 4;
        t->at = arena_alloc(arena, t->cap * sizeof(*t->at));
        if (t->n)
            memcpy(t->at, old, t->n * sizeof(*old));
    }
    t->at[t->n++] = (struct timeline_span){from, part};
}

static void open_gate(struct timeline *t, int64_t at)
{
    if (!t->gate)
        t->gate = at;
}

/* Assigns the spans of the last attempt to `part`, which depends on how the attempt ended. */
static void reassign_attempt(struct timeline *t, enum timeline_part part)
{
    for (size_t i = t->attempt; i < t->n; i++)
        t->at[i].part = part;
}

static void add_hold(struct timeline *t, const struct replay_event *e, int held,
                     struct arena *arena)
{
    bool backoff = t->failed && held == HELD_DELAY;

    if (!held)
        return; /* the task is paused by an operator while it still waits for its needs */
    open_gate(t, e->at);
    add_span(t, e->at, backoff ? TIMELINE_RETRY : TIMELINE_HELD, arena);
}

static void start_attempt(struct timeline *t, const struct replay_event *e, struct arena *arena)
{
    add_span(t, e->at, TIMELINE_RUN, arena);
    t->attempt = t->n - 1;
    t->failed = false;
}

static void restart(struct timeline *t, const struct replay_event *e, struct arena *arena)
{
    *t = (struct timeline){
        .begin = e->at, .rerun = e->type % WORKFLOW_EVENT == EV_RERUN, .at = t->at, .cap = t->cap};
    add_span(t, e->at, e->to == S_RUNNING ? TIMELINE_RUN : TIMELINE_WAIT, arena);
    if (e->to == S_RUNNING)
        t->gate = e->at;
}

void timeline_event(struct timeline *t, const struct replay_event *e, int held, struct arena *arena)
{
    bool job = e->type < WORKFLOW_EVENT;

    switch (e->type % WORKFLOW_EVENT) {
    case EV_CREATED:
    case EV_RERUN:
        restart(t, e, arena);
        break;
    case EV_MARKED_READY:
        open_gate(t, e->at);
        break;
    case EV_HELD:
        add_hold(t, e, held, arena);
        break;
    case EV_UNHELD:
        add_span(t, e->at, TIMELINE_WAIT, arena);
        break;
    case EV_CLAIMED:
        start_attempt(t, e, arena);
        break;
    case EV_RESUMED:
        if (job)
            start_attempt(t, e, arena);
        break;
    case EV_STARTED:
        if (job)
            break;
        open_gate(t, e->at);
        add_span(t, e->at, TIMELINE_RUN, arena);
        break;
    case EV_RELEASED:
        reassign_attempt(t, TIMELINE_WAIT);
        add_span(t, e->at, TIMELINE_WAIT, arena);
        break;
    case EV_DEFERRED:
        add_span(t, e->at, TIMELINE_WAIT, arena);
        break;
    case EV_RETRY_SCHEDULED:
        reassign_attempt(t, TIMELINE_RETRY);
        add_span(t, e->at, TIMELINE_WAIT, arena);
        t->failed = true;
        break;
    default:
        break;
    }
    if (status_is_terminal(e->to))
        open_gate(t, e->at);
}

void timeline_sum(const struct timeline *t, int64_t from, int64_t to, int64_t parts[TIMELINE_COUNT])
{
    if (t->n && from < t->at[0].from) {
        int64_t end = to < t->at[0].from ? to : t->at[0].from;

        parts[TIMELINE_WAIT] += end - from;
        from = end;
    }
    for (size_t i = 0; i < t->n && from < to; i++) {
        int64_t end = i + 1 < t->n && t->at[i + 1].from < to ? t->at[i + 1].from : to;

        if (end <= from)
            continue;
        parts[t->at[i].part] += end - from;
        from = end;
    }
}

int64_t timeline_started(const struct timeline *t)
{
    for (size_t i = 0; i < t->n; i++)
        if (t->at[i].part == TIMELINE_RUN)
            return t->at[i].from;
    return INT64_MAX;
}
