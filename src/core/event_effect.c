/* event_effect.c - applies an event to the state of an execution; see event_effect.h. */
#include "core/event_effect.h"

#include "core/graph.h"

static void set_lease(struct execution_state *s, const struct execution_change *c)
{
    s->epoch++;
    s->worker = c->worker;
    s->until = c->until;
    s->expired_at = 0;
    s->folder = c->folder;
}

static void end_lease(struct execution_state *s)
{
    s->worker = s->until = s->expired_at = 0;
    s->folder = NULL;
}

static void end_hold(struct execution_state *s)
{
    s->held = HELD_NONE;
    s->held_key = NULL;
}

static void start_run(struct execution_state *s)
{
    if (!s->started_at)
        s->started_at = s->updated_at;
    else if (s->idle < 0)
        s->idle += s->updated_at;
}

/* A pause ends when its execution ends or is asked to cancel. Otherwise it would hold the on_exit
 * of a cancelled workflow, and an ended execution, which can't be resumed, would stay paused. */
static void end_pause(struct execution_state *s)
{
    s->flags &= ~(FLAG_PAUSED | FLAG_RELEASING);
}

/* A rerun clears the execution's cancel request, deferral and most flags, which belong to the
 * earlier run. */
static void apply_rerun(struct execution_state *s, const struct execution_change *c)
{
    s->cancel_requested = s->deferred = false;
    s->flags = (s->flags & FLAG_CAPPED) | FLAG_RERUN | (c->is_job ? s->flags & FLAG_ROUTED : 0);
    if (s->started_at && s->idle >= 0)
        s->idle -= s->finished_at;
    if (c->to == S_RUNNING) /* a workflow or fan-out continues to run without a started event */
        start_run(s);
    if (c->is_job)
        s->max_attempts = s->attempts + c->attempts;
}

/* Applies what the action changes besides status, seq and time. */
static void apply_action(struct execution_state *s, const struct execution_change *c)
{
    switch (c->action) {
    case EV_CREATED:
        s->requested_at = c->at;
        break;
    case EV_CLAIMED:
    case EV_RESUMED:
        if (!c->is_job)
            break; /* for a workflow, this event ends a pause */
        s->attempts++;
        s->deferred = false;
        start_run(s);
        set_lease(s, c);
        break;
    case EV_ADOPTED:
        set_lease(s, c);
        break;
    case EV_LEASE_EXPIRED:
        s->expired_at = s->until;
        s->worker = s->until = 0;
        break;
    case EV_STARTED:
        s->flags &= ~FLAG_NOT_STARTED;
        if (!c->is_job)
            start_run(s);
        break;
    case EV_DEFERRED:
        s->deferred = true;
        s->max_attempts++; /* a deferred attempt does not count */
        break;
    case EV_RELEASED:
        s->max_attempts++;
        break;
    case EV_HELD:
        if (s->held == HELD_APPROVAL && c->hold == HELD_PAUSED)
            break; /* the approval takes precedence */
        s->held = c->hold;
        s->held_key = c->held_key;
        break;
    case EV_UNHELD:
        end_hold(s);
        break;
    case EV_CANCEL_REQUESTED:
        if (c->let_finish)
            s->flags |= FLAG_LET_FINISH;
        if (!c->let_finish || !c->is_job) /* a job that may finish is not asked to stop */
            s->cancel_requested = true;
        end_pause(s);
        break;
    case EV_RERUN:
        apply_rerun(s, c);
        break;
    default:
        break;
    }
}

void event_apply(struct execution_state *s, const struct execution_change *c)
{
    s->seq++;
    s->updated_at = c->at;
    s->status = c->to;
    apply_action(s, c);
    s->finished_at = status_is_terminal(c->to) ? c->at : 0;
    if (status_is_terminal(c->to))
        end_pause(s);
    if (c->to != S_RUNNING)
        end_lease(s);
    /* Only ready jobs and pending workflows can be held. */
    if (c->to != (c->is_job ? S_READY : S_PENDING))
        end_hold(s);
}

int64_t execution_duration(const struct execution_state *s, int64_t now)
{
    int64_t end = s->idle < 0 ? 0 : s->finished_at ? s->finished_at : now;

    return s->started_at ? end - s->idle - s->started_at : -1;
}
