/* replay.c - reads from an event's data what the event changes, and applies it; see replay.h.
 * test_random compares replayed states with stored ones. */
#include "core/history/replay.h"

#include "base/json.h"
#include "base/text.h"

#include <jansson.h>
#include <string.h>

/* ---- event data ---- */

static json_t *data_of(const struct replay_event *e)
{
    return e->data ? json_loads(e->data, JSON_ALLOW_NUL, NULL) : NULL;
}

static const char *text_of(const json_t *data, const char *key)
{
    return json_string_value(json_object_get(data, key));
}

static int64_t time_of(const json_t *data, const char *key)
{
    const char *text = text_of(data, key);
    struct err ignored;
    int64_t us = 0;

    return text && !text_parse_time(text, &us, &ignored) ? us : 0;
}

/* The hold that the first `len` bytes of a string name: "delay", or "limit" in
 * "limit:queue:default". */
static int hold_of(const char *why, size_t len)
{
    for (int hold = HELD_APPROVAL; hold <= HELD_LIMIT; hold++)
        if (strlen(hold_text(hold)) == len && !memcmp(hold_text(hold), why, len))
            return hold;
    return HELD_PAUSED;
}

/* Reads the reason of a held event. The event has "by" or "reason" only if an operator paused the
 * job itself. */
static void read_hold(struct replay *f, const struct replay_event *e, struct execution_change *c,
                      struct arena *arena)
{
    json_auto_t *data = data_of(e);
    const char *why = text_of(data, "why"), *colon = why ? strchr(why, ':') : NULL;

    c->hold = why ? hold_of(why, colon ? (size_t)(colon - why) : strlen(why)) : HELD_PAUSED;
    c->held_key = colon ? arena_strdup(arena, colon + 1) : NULL;
    if (c->hold == HELD_DELAY)
        f->due_at = time_of(data, "until");
    if (c->is_job && c->hold == HELD_PAUSED && (text_of(data, "by") || text_of(data, "reason"))) {
        f->paused = true;
        f->pause = e->data;
    }
}

/* An attempt, a workflow or a fan-out ended: its error becomes the execution's error. */
static void apply_outcome(struct replay *f, const struct replay_event *e, struct arena *arena)
{
    json_auto_t *data = data_of(e);

    f->error = arena_strdup(arena, text_of(data, "error"));
}

static bool lets_finish(const struct replay_event *e)
{
    json_auto_t *data = data_of(e);

    return json_is_true(json_object_get(data, "let_finish"));
}

static void apply_reason(struct replay *f, const struct replay_event *e)
{
    json_auto_t *data = data_of(e);

    if (text_of(data, "reason"))
        f->reason = e->data;
}

const char *replay_result(const struct replay_event *rerun, struct arena *arena)
{
    json_auto_t *data = data_of(rerun);
    const json_t *result = json_object_get(data, "result");

    return result ? json_arena_text(result, arena) : NULL;
}

/* ---- events ---- */

static void set_pause(struct replay *f, const struct replay_event *e)
{
    f->paused = e->type % WORKFLOW_EVENT == EV_PAUSED;
    f->pause = f->paused ? e->data : NULL;
}

/* Whether the event ends a pause although it is not a resume, as in event_apply. */
static bool ends_pause(const struct replay_event *e)
{
    enum event_action action = (enum event_action)(e->type % WORKFLOW_EVENT);

    return action == EV_CANCEL_REQUESTED || action == EV_RERUN || status_is_terminal(e->to);
}

/* Applies what an event changes in the history of the execution (struct replay), and reads into `c`
 * what it changes in the state. */
static void read_event(struct replay *f, const struct replay_event *e, struct execution_change *c,
                       struct arena *arena)
{
    switch (c->action) {
    case EV_MARKED_READY:
        if (!f->started_at)
            f->ready_at = e->at;
        break;
    case EV_HELD:
        read_hold(f, e, c, arena);
        break;
    case EV_UNHELD:
        if (c->is_job)
            set_pause(f, e);
        break;
    case EV_PAUSED:
        set_pause(f, e);
        break;
    case EV_RESUMED:
        if (!c->is_job)
            set_pause(f, e);
        break;
    case EV_RETRY_SCHEDULED:
    case EV_COMPLETED:
    case EV_FAILED:
    case EV_TIMED_OUT:
    case EV_ABANDONED:
        apply_outcome(f, e, arena);
        f->outcome = e->data;
        break;
    case EV_CANCELLED:
        if (e->from == S_RUNNING)
            apply_outcome(f, e, arena);
        f->outcome = e->data;
        apply_reason(f, e);
        break;
    case EV_CANCEL_REQUESTED:
        c->let_finish = lets_finish(e);
        apply_reason(f, e);
        break;
    case EV_SKIPPED:
        apply_reason(f, e);
        break;
    case EV_RERUN:
        f->error = f->reason = NULL;
        f->reruns++;
        break;
    case EV_REUSED:
        f->error = NULL;
        break;
    default:
        break;
    }
}

void replay_event(struct replay *f, const struct replay_event *e, struct arena *arena)
{
    struct execution_change c = {.action = (enum event_action)(e->type % WORKFLOW_EVENT),
                                 .is_job = e->type < WORKFLOW_EVENT,
                                 .to = e->to,
                                 .at = e->at,
                                 .worker = e->worker};

    if (e->worker)
        f->last_worker = e->worker;
    read_event(f, e, &c, arena);
    if (ends_pause(e))
        set_pause(f, e);
    event_apply(&f->state, &c);
    if (f->held != HELD_DELAY)
        f->due_at = 0;
}
