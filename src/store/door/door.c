/* door.c - moves: checks whether an event is legal, applies it to the image of an execution
 * (core/event_effect.h) and records it. flush.c writes the images. */
#include "store/door/door.h"

#include "core/transitions.h"
#include "store/door/event_data.h"

void door_mark_changed(struct turn *t, struct row *r)
{
    if (r->dirty)
        return;
    r->dirty = true;
    *vec_add(&t->dirty) = r;
}

int door_move(struct turn *t, struct row *r, enum event_action action, enum status to,
              const struct move_note *note, struct err *err)
{
    static const struct move_note nothing;
    struct execution *e = &r->now;
    int64_t since = e->updated_at;
    int from = e->status;
    struct event *ev;

    if (!note)
        note = &nothing;
    if (!move_is_legal(e->kind, action, from, (int)to))
        return err_set(err, E_INTERNAL,
                       "execution %lld: the event %s is not allowed from status %s to %s",
                       (long long)e->id, event_text(event_type(e->kind, action)),
                       from ? status_text(from) : "none", status_text((int)to));
    event_apply(&e->state,
                &(struct execution_change){.action = action,
                                           .is_job = kind_is_job(e->kind),
                                           .to = (int)to,
                                           .at = e->updated_at < t->now
                                                     ? t->now
                                                     : e->updated_at, /* times never decrease */
                                           .worker = note->worker,
                                           .until = note->until,
                                           .folder = note->folder,
                                           .hold = (int)note->why,
                                           .held_key = note->held_key,
                                           .let_finish = note->let_finish,
                                           .attempts = note->attempts});
    if (action == EV_HELD) {
        r->due_at = note->due_at;
        r->timeout_at = note->timeout_at;
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
    attempts_count_move(t, e, action, note, since);
    door_mark_changed(t, r);
    if (status_is_terminal((int)to)) {
        t->wake |= WAKE_ENDS;
        *vec_add(&t->end_notes) =
            (struct end_note){r, ev->at, ev->seq, event_type(e->kind, action), (int)to};
    }
    if (status_is_terminal((int)to) && (e->parent || !kind_is_job(e->kind)))
        /* The parent and followers of an ended execution may have to change. */
        *vec_add(&t->ended) = r;
    return 0;
}

int door_create(struct turn *t, const struct execution *e, const char *data, struct row **out,
                struct err *err)
{
    struct move_note note = {.data = data};
    struct row *r = arena_zalloc(&t->arena, sizeof(*r));

    r->now = *e;
    r->now.status = S_NONE;
    r->now.seq = 0;
    r->stored.id = e->id;
    r->is_new = r->has_input_and_spec = true;
    TRY(door_move(t, r, EV_CREATED, S_PENDING, &note, err));
    idmap_put(&t->rows, e->id, r);
    if (e->id == e->root)
        /* The new root counts as locked: no other transaction can see it yet. */
        idmap_put(&t->roots, e->id, t);
    *out = r;
    return 0;
}

void door_set_outcome(struct row *r, const char *result, const char *error)
{
    r->now.result = result;
    r->now.error = error;
    r->outcome_changed = true;
}

int door_admit(struct turn *t, struct row *r, struct err *err)
{
    struct limit *limits[LIMITS_MAX];
    size_t n = limits_find(t, &r->now, limits), i;

    if (!execution_is_claimable(&r->now) && !execution_may_start(&r->now))
        return 0;
    /* Hold it if other executions have all permits of a limit. */
    for (i = 0; i < n; i++)
        if (limits[i]->used - r->has_permits >= limits[i]->max) {
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
