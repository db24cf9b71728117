/* pause.c - pauses and resumes an execution: nothing in its subtree starts, at any depth, until it
 * is resumed. The paused execution gets a flag; every execution that could start checks the flags
 * of its ancestors. Descendants that are already ready are held, one slice per turn. A timer
 * continues with the next slice, so that a pause, once written, is completed even if the process
 * that requested it dies. */
#include "core/graph.h"
#include "store/door/door.h"
#include "store/door/event_data.h"
#include "store/operator.h"
#include "store/ops/admission.h"
#include "store/workflow/workflow.h"

/* ---- the subtree ---- */

struct subtree_slice {
    struct request *at; /* a list of which only execution, root and rc are used */
    size_t n;
};

/* Loads the executions that a statement finds in the subtree of a row, and notes their limits; the
 * caller locks all limits of the turn at once, in order. */
static int load_subtree_slice(struct turn *t, enum stmt_id q, const struct row *row, size_t slice,
                              struct subtree_slice *out, struct err *err)
{
    AUTO_ROWS r = ROWS_INIT;

    TRY(ask(t, &r, err, q, row->now.id, slice));
    out->n = r.n;
    out->at = arena_zalloc(&t->arena, (r.n + 1) * sizeof(*out->at));
    for (size_t i = 0; i < r.n; i++)
        out->at[i] = (struct request){.execution = rows_int(&r, i, 0), .root = row->now.root};
    TRY(requests_load(t, out->at, out->n, err));
    for (size_t i = 0; i < out->n; i++)
        if (!out->at[i].rc)
            limits_note(t, &turn_row(t, out->at[i].execution)->now);
    return 0;
}

/* Whether e is a ready job, or a workflow or fan-out that waits to start, and is held neither for a
 * pause nor for an approval. */
static bool could_start(const struct execution *e)
{
    bool stopped = e->held == HELD_PAUSED || e->held == HELD_APPROVAL;

    return kind_is_job(e->kind) ? e->status == S_READY && !stopped
                                : e->status == S_PENDING && e->held && !stopped;
}

static int hold_rows(struct turn *t, const struct subtree_slice *b, size_t slice, bool *more,
                     struct err *err)
{
    *more = b->n == slice;
    for (size_t i = 0; i < b->n; i++) {
        struct move_note note = {.why = HELD_PAUSED, .data = data_hold(t, HELD_PAUSED, NULL, 0)};
        struct row *r = turn_row(t, b->at[i].execution);

        if (b->at[i].rc == -E_BUSY)
            *more = true; /* a claim may have locked it: a later slice checks it again */
        else if (!b->at[i].rc && could_start(&r->now))
            TRY(door_move(t, r, EV_HELD, (enum status)r->now.status, &note, err));
    }
    return 0;
}

/* Ends the pause of a held row, which may then be held for its delay or a limit. If a cancel that
 * will reach the row has ended the pause, sets *cancelled and leaves the row as it is. */
static int release_row(struct turn *t, struct row *r, int64_t due_at, bool *cancelled,
                       struct err *err)
{
    TRY(row_is_cancelled_above(t, r, cancelled, err));
    if (*cancelled)
        return 0;
    TRY(door_move(t, r, EV_UNHELD, (enum status)r->now.status, NULL, err));
    return admit_or_hold(t, r, &(struct hold_reasons){.due = due_at}, err);
}

static int release_rows(struct turn *t, const struct subtree_slice *b, size_t slice, bool *more,
                        struct err *err)
{
    int64_t *due_at = arena_zalloc(&t->arena, (b->n + 1) * sizeof(*due_at));

    *more = b->n == slice;
    TRY(requests_find_delays(t, b->at, b->n, due_at, err));
    for (size_t i = 0; i < b->n; i++) {
        struct row *r = turn_row(t, b->at[i].execution);
        bool later = b->at[i].rc == -E_BUSY;

        if (!b->at[i].rc && r->now.held == HELD_PAUSED)
            TRY(release_row(t, r, due_at[i], &later, err));
        *more |= later;
    }
    return 0;
}

/* Holds or releases the executions of one slice. If more are left, sets a timer; the first engine
 * that sees that the timer is due continues. */
static int apply_to_slice(struct turn *t, struct row *row, const struct subtree_slice *b,
                          size_t slice, bool *more, struct err *err)
{
    bool paused = (row->now.flags & FLAG_PAUSED) != 0;

    TRY(paused ? hold_rows(t, b, slice, more, err) : release_rows(t, b, slice, more, err));
    if (!*more && (row->now.flags & FLAG_RELEASING)) {
        row->now.flags &= ~FLAG_RELEASING;
        door_mark_changed(t, row);
    }
    return *more ? execution_continue_later(t, row, err) : 0;
}

int pause_next_slice(struct turn *t, struct row *row, struct err *err)
{
    bool paused = (row->now.flags & FLAG_PAUSED) != 0, more;
    struct subtree_slice b;

    if (!paused && !(row->now.flags & FLAG_RELEASING))
        return 0;
    TRY(door_write(t, err)); /* write first, so that the query sees the changes of this turn */
    TRY(load_subtree_slice(t, paused ? Q_STARTABLE_BELOW : Q_PAUSED_BELOW, row, PAUSE_SLICE, &b,
                           err));
    TRY(limits_fetch(t, err));
    return apply_to_slice(t, row, &b, PAUSE_SLICE, &more, err);
}

/* ---- the paused execution itself ---- */

/* Holds the row for its approval again, with the original request. The timers of the delay and of
 * the approval do not change. */
static int hold_for_approval_again(struct turn *t, struct row *r, struct err *err)
{
    struct move_note note = {.why = HELD_APPROVAL};
    AUTO_ROWS found = ROWS_INIT;

    TRY(ask(t, &found, err, Q_APPROVAL_REQUEST, r->now.root, r->now.id));
    note.data = found.n ? arena_strdup(&t->arena, rows_text(&found, 0, 0))
                        : data_hold(t, HELD_APPROVAL, NULL, 0);
    return door_move(t, r, EV_HELD, S_READY, &note, err);
}

/* A job has one event for all kinds of holds; a workflow or fan-out has separate events for pauses.
 * An approval takes precedence: the job stays held for the approval, and the pause is checked when
 * the approval is given. */
static int move_paused_row(struct turn *t, struct row *r, const struct request *q, bool pause,
                           struct err *err)
{
    bool job = kind_is_job(r->now.kind), for_approval = job && r->now.held == HELD_APPROVAL;
    enum status status = (enum status)r->now.status;
    struct move_note note = {.why = HELD_PAUSED};
    int rc;

    note.data = job && pause ? data_build(t, "ttt", "why", hold_text(HELD_PAUSED), "by", q->by,
                                          "reason", q->reason)
                             : data_request(t, q);
    if (!job)
        return door_move(t, r, pause ? EV_PAUSED : EV_RESUMED, status, &note, err);
    rc = door_move(t, r, pause ? EV_HELD : EV_UNHELD, status, &note, err);
    return rc || pause || !for_approval ? rc : hold_for_approval_again(t, r, err);
}

static bool may_be_paused(const struct execution *e)
{
    return !status_is_terminal(e->status) && !(e->flags & FLAG_PAUSED) && !e->cancel_requested &&
           !(kind_is_job(e->kind) && e->status == S_RUNNING);
}

static int pause_request(struct turn *t, struct request *q, const struct subtree_slice *b,
                         size_t slice, bool *more, struct err *err)
{
    struct row *r = turn_row(t, q->execution);

    if (!q->is_continuation) {
        if (!may_be_paused(&r->now)) {
            q->rc = -E_INVALID;
            return 0;
        }
        r->now.flags = (r->now.flags | FLAG_PAUSED) & ~FLAG_RELEASING;
        TRY(move_paused_row(t, r, q, true, err));
    }
    return apply_to_slice(t, r, b, slice, more, err);
}

static int resume_request(struct turn *t, struct request *q, const struct subtree_slice *b,
                          size_t slice, bool *more, struct err *err)
{
    struct row *r = turn_row(t, q->execution);
    bool paused;
    int64_t due;

    if (!q->is_continuation) {
        if (!(r->now.flags & FLAG_PAUSED) || status_is_terminal(r->now.status)) {
            q->rc = -E_INVALID;
            return 0;
        }
        r->now.flags = (r->now.flags & ~FLAG_PAUSED) | FLAG_RELEASING;
        TRY(requests_find_delays(t, q, 1, &due, err));
        TRY(move_paused_row(t, r, q, false, err));
        if (kind_is_job(r->now.kind) && execution_is_claimable(&r->now))
            TRY(admit_or_hold(t, r, &(struct hold_reasons){.due = due}, err));
    }
    TRY(row_is_paused(t, r, &paused, err));
    if (paused) { /* if an ancestor is paused, nothing can be released */
        r->now.flags &= ~FLAG_RELEASING;
        door_mark_changed(t, r);
        return 0;
    }
    return apply_to_slice(t, r, b, slice, more, err);
}

int op_pause_or_resume(struct turn *t, struct request *list, size_t n, size_t slice, bool *more,
                       bool pause, struct err *err)
{
    struct subtree_slice *slices = arena_zalloc(&t->arena, (n + 1) * sizeof(*slices));

    *more = false;
    TRY(requests_load(t, list, n, err));
    TRY(door_write(t, err));
    for (size_t i = 0; i < n; i++) {
        const struct row *r = turn_row(t, list[i].execution);

        if (list[i].rc)
            continue;
        limits_note(t, &r->now);
        TRY(load_subtree_slice(t, pause ? Q_STARTABLE_BELOW : Q_PAUSED_BELOW, r, slice, &slices[i],
                               err));
    }
    TRY(limits_fetch(t, err));
    for (size_t i = 0; i < n; i++) {
        bool left = false;

        if (list[i].rc)
            continue;
        TRY((pause ? pause_request : resume_request)(t, &list[i], &slices[i], slice, &left, err));
        *more |= left;
        list[i].status = turn_row(t, list[i].execution)->now.status;
    }
    return 0;
}
