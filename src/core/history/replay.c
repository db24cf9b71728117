/* replay.c - applies events; see replay.h. Each rule repeats one of store/door/door.c. The random
 * workflows of the tests compare replayed and stored states. */
#include "core/history/replay.h"

#include "base/json.h"
#include "base/text.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

static bool is_job(const struct replay_event *e)
{
    return e->type < WORKFLOW_EVENT;
}

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

/* The hold that a text names, such as "delay", or "limit" in "limit:queue:default". */
static int hold_of(const char *why, size_t len)
{
    int hold;

    for (hold = HELD_APPROVAL; hold <= HELD_LIMIT; hold++)
        if (strlen(hold_text(hold)) == len && !memcmp(hold_text(hold), why, len))
            return hold;
    return HELD_PAUSED;
}

/* A job that an operator paused itself has "by" or "reason" in its event. A hold for approval takes
 * precedence: a pause does not replace it. */
static void apply_hold(struct replay *f, const struct replay_event *e, struct arena *arena)
{
    json_t *data = data_of(e);
    const char *why = text_of(data, "why"), *colon = why ? strchr(why, ':') : NULL;
    int hold = why ? hold_of(why, colon ? (size_t)(colon - why) : strlen(why)) : HELD_PAUSED;

    if (is_job(e) && hold == HELD_PAUSED && (text_of(data, "by") || text_of(data, "reason"))) {
        f->paused = true;
        f->pause = e->data;
    }
    if (f->held != HELD_APPROVAL || hold != HELD_PAUSED) {
        f->held = hold;
        f->held_key = colon ? arena_strdup(arena, colon + 1) : NULL;
        f->due_at = hold == HELD_DELAY ? time_of(data, "until") : 0;
    }
    json_decref(data);
}

static void end_hold(struct replay *f)
{
    f->held = HELD_NONE;
    f->held_key = NULL;
    f->due_at = 0;
}

/* An attempt, a workflow or a fan-out ended: its error becomes the execution's error. */
static void apply_outcome(struct replay *f, const struct replay_event *e, struct arena *arena)
{
    json_t *data = data_of(e);

    f->error = arena_strdup(arena, text_of(data, "error"));
    json_decref(data);
}

/* Whether the cancelled job may finish; then it does not receive a cancel request. */
static bool may_finish(const struct replay_event *e)
{
    json_t *data = data_of(e);
    bool may = is_job(e) && json_is_true(json_object_get(data, "let_finish"));

    json_decref(data);
    return may;
}

static void apply_reason(struct replay *f, const struct replay_event *e)
{
    json_t *data = data_of(e);

    if (text_of(data, "reason"))
        f->reason = e->data;
    json_decref(data);
}

const char *replay_result(const struct replay_event *rerun, struct arena *arena)
{
    json_t *data = data_of(rerun), *result = json_object_get(data, "result");
    char *text = result ? json_text(result) : NULL;
    const char *kept = arena_strdup(arena, text);

    free(text);
    json_decref(data);
    return kept;
}

/* ---- events ---- */

static void apply_claim(struct replay *f, const struct replay_event *e)
{
    f->worker = e->worker;
    f->deferred = false;
    if (!f->started_at)
        f->started_at = e->at;
}

static void apply_rerun(struct replay *f, const struct replay_event *e)
{
    f->cancel_requested = f->deferred = false;
    f->error = f->reason = NULL;
    f->reruns++;
    if (is_job(e))
        f->given = f->attempts;
}

static void set_pause(struct replay *f, const struct replay_event *e)
{
    f->paused = e->type % WORKFLOW_EVENT == EV_PAUSED;
    f->pause = f->paused ? e->data : NULL;
}

/* Applies everything that an event changes besides status, seq and time. */
static void apply_action(struct replay *f, const struct replay_event *e, struct arena *arena)
{
    switch ((enum event_action)(e->type % WORKFLOW_EVENT)) {
    case EV_CREATED:
        f->requested_at = e->at;
        break;
    case EV_MARKED_READY:
        if (!f->ready_at)
            f->ready_at = e->at;
        break;
    case EV_HELD:
        apply_hold(f, e, arena);
        break;
    case EV_UNHELD:
        end_hold(f);
        if (is_job(e))
            set_pause(f, e);
        break;
    case EV_CLAIMED:
        apply_claim(f, e);
        break;
    case EV_RESUMED:
        if (is_job(e))
            apply_claim(f, e);
        else
            set_pause(f, e);
        break;
    case EV_ADOPTED:
        f->worker = e->worker;
        break;
    case EV_LEASE_EXPIRED:
        f->worker = 0;
        break;
    case EV_STARTED:
        if (!is_job(e) && !f->started_at)
            f->started_at = e->at;
        break;
    case EV_DEFERRED:
        f->deferred = true;
        f->given++;
        break;
    case EV_RELEASED:
        f->given++;
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
        f->cancel_requested |= !may_finish(e);
        apply_reason(f, e);
        break;
    case EV_SKIPPED:
        apply_reason(f, e);
        break;
    case EV_RERUN:
        apply_rerun(f, e);
        break;
    case EV_REUSED:
        f->error = NULL;
        break;
    case EV_PAUSED:
        set_pause(f, e);
        break;
    case EV_COUNT:
        break;
    }
}

void replay_event(struct replay *f, const struct replay_event *e, struct arena *arena)
{
    f->seq = e->seq;
    f->updated_at = e->at;
    f->status = e->to;
    f->attempts = e->attempt;
    f->epoch = e->epoch;
    if (e->worker)
        f->last_worker = e->worker;
    apply_action(f, e, arena);
    f->finished_at = status_is_terminal(e->to) ? e->at : 0;
    if (e->to != S_RUNNING)
        f->worker = 0;
    if (e->to != (is_job(e) ? S_READY : S_PENDING)) /* only this status can be held */
        end_hold(f);
}
