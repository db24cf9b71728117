/* admission.c - decides whether a ready job, or a workflow that could start, is held; see
 * admission.h. */
#include "store/ops/admission.h"

#include "core/graph.h"
#include "store/door/door.h"
#include "store/door/event_data.h"
#include "store/workflow/workflow.h"

#include <string.h>

/* ---- ancestors ---- */

/* Loads the row of the parent under the root lock; *out is NULL if there is no parent. */
static int load_parent(struct turn *t, const struct row *row, struct row **out, struct err *err)
{
    *out = row->now.parent ? turn_row(t, row->now.parent) : NULL;
    return *out || !row->now.parent ? 0
                                    : turn_load_row(t, row->now.parent, row->now.root, out, err);
}

/* Whether the execution itself is paused. The flag is ignored on ended executions, because earlier
 * versions left it there. */
static bool has_pause(const struct execution *e)
{
    return (e->flags & FLAG_PAUSED) && !status_is_terminal(e->status);
}

int row_is_paused(struct turn *t, const struct row *row, bool *out, struct err *err)
{
    struct row *above;

    *out = has_pause(&row->now);
    while (!*out) {
        TRY(load_parent(t, row, &above, err));
        if (!above)
            return 0;
        *out = has_pause(&above->now);
        row = above;
    }
    return 0;
}

/* Whether the row is a task that is run although its workflow was cancelled: on_exit, and
 * on_failure if the workflow's timeout cancelled it. */
static bool runs_after_cancel(const struct row *row, const struct row *workflow)
{
    if (!row->now.task_name)
        return false;
    return !strcmp(row->now.task_name, "on_exit") ||
           (!strcmp(row->now.task_name, "on_failure") && (workflow->now.flags & FLAG_TIMED_OUT));
}

int row_is_cancelled_above(struct turn *t, const struct row *row, bool *out, struct err *err)
{
    struct row *above;

    for (*out = false; !*out; row = above) {
        TRY(load_parent(t, row, &above, err));
        if (!above || runs_after_cancel(row, above))
            return 0;
        *out = above->now.cancel_requested;
    }
    return 0;
}

/* ---- hold or admit ---- */

int row_hold_if_needed(struct turn *t, struct row *row, const struct hold_reasons *h, bool *held,
                       struct err *err)
{
    int64_t due = h->due > t->now ? h->due : 0;
    struct move_note note = {.due_at = due};
    bool paused;

    if ((*held = h->only_create))
        return 0;
    TRY(row_is_paused(t, row, &paused, err));
    note.why = h->approval ? HELD_APPROVAL : paused ? HELD_PAUSED : due ? HELD_DELAY : HELD_NONE;
    *held = note.why != HELD_NONE;
    if (!*held)
        return 0;
    note.timeout_at = h->approval ? h->approval_timeout_at : 0;
    note.data = h->approval ? data_build(t, "ttu", "why", hold_text(HELD_APPROVAL), "message",
                                         h->message, "until", note.timeout_at)
                            : data_hold(t, note.why, NULL, due);
    return door_move(t, row, EV_HELD, (enum status)row->now.status, &note, err);
}

int admit_or_hold(struct turn *t, struct row *row, const struct hold_reasons *h, struct err *err)
{
    bool held;
    int rc = row_hold_if_needed(t, row, h, &held, err);

    if (rc || held)
        return rc;
    return kind_is_job(row->now.kind) ? door_admit(t, row, err)
                                      : execution_start_unheld(t, row, err);
}

/* ---- requests of operators and engines ---- */

int requests_load(struct turn *t, struct request *list, size_t n, struct err *err)
{
    struct row_ref *wants = arena_zalloc(&t->arena, (n + 1) * sizeof(*wants));

    for (size_t i = 0; i < n; i++)
        wants[i] = (struct row_ref){.id = list[i].execution, .root = list[i].root};
    TRY(turn_find_roots(t, wants, n, err));
    TRY(turn_load(t, wants, n, err));
    for (size_t i = 0; i < n; i++)
        list[i].rc = wants[i].rc;
    return 0;
}

int requests_load_limits(struct turn *t, struct request *list, size_t n, struct err *err)
{
    TRY(requests_load(t, list, n, err));
    for (size_t i = 0; i < n; i++)
        if (!list[i].rc)
            limits_note(t, &turn_row(t, list[i].execution)->now);
    return limits_fetch(t, err);
}

int requests_find_delays(struct turn *t, const struct request *list, size_t n, int64_t *due_at,
                         struct err *err)
{
    AUTO_IDMAP due = IDMAP_INIT;
    AUTO_ROWS r = ROWS_INIT;

    args_begin(&t->args, Q_TIMERS_OF);
    for (size_t i = 0; i < n; i++)
        args_int(&t->args, list[i].execution);
    TRY(turn_query(t, &t->args, &r, err));
    for (size_t i = 0; i < r.n; i++)
        idmap_put(&due, rows_int(&r, i, 0), &r.cells[i * r.ncols + 1]);
    for (size_t i = 0; i < n; i++) {
        const struct val *v = idmap_get(&due, list[i].execution);

        due_at[i] = v ? v->i : 0;
    }
    return 0;
}
