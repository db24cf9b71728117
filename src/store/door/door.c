/* door.c - moves: applies an event to the image of an execution. flush.c writes the images. */
#include "store/door/door.h"

#include "core/graph.h"
#include "core/transitions.h"
#include "store/door/event_data.h"

static void mark_dirty(struct turn *t, struct row *r)
{
    if (r->dirty)
        return;
    r->dirty = true;
    *vec_add(&t->dirty) = r;
}

void door_mark_changed(struct turn *t, struct row *r)
{
    mark_dirty(t, r);
}

/* Sets the lease of a claim or an adoption. */
static void set_lease(struct execution *e, const struct move_note *note)
{
    e->epoch++;
    e->worker = note->worker;
    e->until = note->until;
    e->expired_at = 0;
    e->folder = note->folder;
}

/* Applies what an event changes besides status, seq and time. core/history/replay.c computes the
 * same state from events alone and must be changed together with this. */
static void apply_move(struct execution *e, struct row *r, enum event_action action,
                       const struct move_note *note)
{
    switch (action) {
    case EV_CLAIMED:
    case EV_RESUMED:
        if (!kind_is_job(e->kind))
            break; /* a workflow: this event is the end of a pause */
        e->attempts++;
        e->deferred = false;
        if (!e->started_at)
            e->started_at = e->updated_at;
        set_lease(e, note);
        break;
    case EV_ADOPTED:
        set_lease(e, note);
        break;
    case EV_LEASE_EXPIRED:
        e->expired_at = e->until;
        e->worker = e->until = 0;
        break;
    case EV_STARTED:
        e->flags &= ~FLAG_NOT_STARTED;
        if (kind_is_job(e->kind))
            break;
        e->cursor = e->needs_left = 0; /* they counted needs; from now on they count children */
        if (!e->started_at)
            e->started_at = e->updated_at;
        break;
    case EV_DEFERRED:
        e->deferred = true;
        e->max_attempts++; /* a deferred attempt does not count */
        break;
    case EV_RELEASED:
        e->max_attempts++;
        break;
    case EV_HELD:
        e->held = (int)note->why;
        e->held_key = note->held_key;
        r->due_at = note->due_at;
        r->timeout_at = note->timeout_at;
        break;
    case EV_UNHELD:
        e->held = HELD_NONE;
        e->held_key = NULL;
        break;
    case EV_CANCEL_REQUESTED:
        if (note->let_finish)
            e->flags |= FLAG_LET_FINISH;
        if (!note->let_finish || !kind_is_job(e->kind)) /* otherwise the job runs to its end */
            e->cancel_requested = true;
        break;
    case EV_RERUN: /* earlier requests no longer count, except for a pause */
        e->cancel_requested = e->deferred = false;
        e->flags = (e->flags & FLAG_PAUSED) | FLAG_RERUN;
        break;
    default:
        break;
    }
}

int door_move(struct turn *t, struct row *r, enum event_action action, enum status to,
              const struct move_note *note, struct err *err)
{
    static const struct move_note nothing;
    struct execution *e = &r->now;
    int from = e->status;
    struct event *ev;

    if (!note)
        note = &nothing;
    if (!move_is_legal(e->kind, action, from, (int)to))
        return err_set(err, E_INTERNAL, "execution %lld: %s may not move from %s to %s",
                       (long long)e->id, event_text(event_type(e->kind, action)),
                       from ? status_text(from) : "nothing", status_text((int)to));
    e->seq++;
    if (e->updated_at < t->now)
        e->updated_at = t->now; /* times never decrease within an execution */
    e->status = (int)to;
    apply_move(e, r, action, note);
    e->finished_at = status_is_terminal((int)to) ? e->updated_at : 0;
    if (to != S_RUNNING) {
        e->worker = e->until = e->expired_at = 0;
        e->folder = NULL;
    }
    if (to != (kind_is_job(e->kind) ? S_READY : S_PENDING)) { /* only these can be held */
        e->held = HELD_NONE;
        e->held_key = NULL;
    }
    ev = vec_add(&t->events);
    *ev = (struct event){.row = r,
                         .at = e->updated_at,
                         .worker = note->worker,
                         .seq = e->seq,
                         .attempt = e->attempts,
                         .epoch = e->epoch,
                         .type = event_type(e->kind, action),
                         .from = from,
                         .to = (int)to,
                         .data = note->data};
    mark_dirty(t, r);
    if (status_is_terminal((int)to) && (e->parent || !kind_is_job(e->kind)))
        *vec_add(&t->ended) = r; /* its parent or its followers may have to change */
    return 0;
}

int door_create(struct turn *t, const struct execution *e, const char *data, struct row **out,
                struct err *err)
{
    struct move_note note = {.data = data};
    struct row *r = arena_zalloc(&t->arena, sizeof(*r));
    int rc;

    r->now = *e;
    r->now.status = S_NONE;
    r->now.seq = 0;
    r->now.requested_at = r->now.updated_at = t->now;
    r->stored.id = e->id;
    r->is_new = r->has_input_and_spec = true;
    if ((rc = door_move(t, r, EV_CREATED, S_PENDING, &note, err)))
        return rc;
    idmap_put(&t->rows, e->id, r);
    if (e->id == e->root)
        idmap_put(&t->roots, e->id, t); /* no other transaction can see it yet */
    *out = r;
    return 0;
}

void door_set_outcome(struct row *r, const char *result, const char *error)
{
    r->now.result = result;
    r->now.error = error;
    r->outcome = true;
}

int door_admit(struct turn *t, struct row *r, struct err *err)
{
    struct limit *limits[2];
    size_t n = limits_find(t, &r->now, limits), i;

    if (!execution_is_claimable(&r->now) && !execution_may_start(&r->now))
        return 0;
    for (i = 0; i < n; i++)
        if (limits[i]->used - r->has_permits >=
            limits[i]->max) { /* a permit that it already has does not count against it */
            struct move_note note = {.why = HELD_LIMIT,
                                     .held_key = limits[i]->key,
                                     .data = data_hold(t, HELD_LIMIT, limits[i]->key, 0)};

            return door_move(t, r, EV_HELD, (enum status)r->now.status, &note, err);
        }
    if (r->has_permits)
        return 0;
    for (i = 0; i < n; i++)
        limits[i]->used++;
    r->has_permits = true;
    return 0;
}
