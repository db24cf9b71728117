/* trail.c - see trail.h. */
#include "core/trail.h"

#include <string.h>

const char *trail_text(enum trail_part part)
{
#define X(name, text) [TRAIL_##name] = text,
    static const char *const texts[] = {TRAIL_PARTS(X)};
#undef X

    return texts[part];
}

static void push(struct trail *t, int64_t from, enum trail_part part, struct arena *arena)
{
    if (t->n && t->at[t->n - 1].part == part)
        return;
    if (t->n == t->cap) {
        struct trail_stretch *old = t->at;

        t->cap = t->cap ? 2 * t->cap : 4;
        t->at = arena_alloc(arena, t->cap * sizeof(*t->at));
        if (t->n)
            memcpy(t->at, old, t->n * sizeof(*old));
    }
    t->at[t->n++] = (struct trail_stretch){from, part};
}

static void open_gate(struct trail *t, int64_t at)
{
    if (!t->gate)
        t->gate = at;
}

/* How its last attempt ended tells what the time for it was. */
static void was(struct trail *t, enum trail_part part)
{
    size_t i;

    for (i = t->attempt; i < t->n; i++)
        t->at[i].part = part;
}

static void take_hold(struct trail *t, const struct fold_event *e, int held, struct arena *arena)
{
    bool backoff = t->failed && held == HELD_DELAY;

    if (!held)
        return; /* paused by name before its time has come: it waits for others */
    open_gate(t, e->at);
    push(t, e->at, backoff ? TRAIL_RETRY : TRAIL_HELD, arena);
}

static void claim(struct trail *t, const struct fold_event *e, struct arena *arena)
{
    push(t, e->at, TRAIL_RUN, arena);
    t->attempt = t->n - 1;
    t->failed = false;
}

static void begin_again(struct trail *t, const struct fold_event *e, struct arena *arena)
{
    *t = (struct trail){.begin = e->at, .at = t->at, .cap = t->cap};
    push(t, e->at, e->to == S_RUNNING ? TRAIL_RUN : TRAIL_WAIT, arena);
    if (e->to == S_RUNNING)
        t->gate = e->at;
}

void trail_event(struct trail *t, const struct fold_event *e, int held, struct arena *arena)
{
    bool job = e->type < FLOW_EVENT;

    switch (e->type % FLOW_EVENT) {
    case EV_CREATED:
    case EV_RERUN:
        begin_again(t, e, arena);
        break;
    case EV_MARKED_READY:
        open_gate(t, e->at);
        break;
    case EV_HELD:
        take_hold(t, e, held, arena);
        break;
    case EV_UNHELD:
        push(t, e->at, TRAIL_WAIT, arena);
        break;
    case EV_CLAIMED:
        claim(t, e, arena);
        break;
    case EV_RESUMED:
        if (job)
            claim(t, e, arena);
        break;
    case EV_STARTED:
        if (job)
            break;
        open_gate(t, e->at);
        push(t, e->at, TRAIL_RUN, arena);
        break;
    case EV_RELEASED:
        was(t, TRAIL_WAIT);
        push(t, e->at, TRAIL_WAIT, arena);
        break;
    case EV_DEFERRED:
        push(t, e->at, TRAIL_WAIT, arena);
        break;
    case EV_RETRY_SCHEDULED:
        was(t, TRAIL_RETRY);
        push(t, e->at, TRAIL_WAIT, arena);
        t->failed = true;
        break;
    default:
        break;
    }
    if (status_is_terminal(e->to))
        open_gate(t, e->at);
}

void trail_sum(const struct trail *t, int64_t from, int64_t to, int64_t parts[TRAIL_COUNT])
{
    size_t i;

    if (t->n && from < t->at[0].from) {
        int64_t end = to < t->at[0].from ? to : t->at[0].from;

        parts[TRAIL_WAIT] += end - from;
        from = end;
    }
    for (i = 0; i < t->n && from < to; i++) {
        int64_t end = i + 1 < t->n && t->at[i + 1].from < to ? t->at[i + 1].from : to;

        if (end <= from)
            continue;
        parts[t->at[i].part] += end - from;
        from = end;
    }
}

int64_t trail_begun(const struct trail *t)
{
    size_t i;

    for (i = 0; i < t->n; i++)
        if (t->at[i].part == TRAIL_RUN)
            return t->at[i].from;
    return INT64_MAX;
}
