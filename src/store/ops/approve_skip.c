/* approve_skip.c - an operator's decision about one task: approve, reject or skip it. */
#include "core/graph.h"
#include "store/door/door.h"
#include "store/door/event_data.h"
#include "store/operator.h"
#include "store/ops/admission.h"
#include "store/workflow/workflow.h"

#include "base/buf.h"

/* ---- approvals ---- */

static int approve_task(struct turn *t, struct row *r, const struct request *q, int64_t due,
                        struct err *err)
{
    struct move_note note = {.data = data_request(t, q)};

    r->now.flags |= FLAG_APPROVED;
    TRY(door_move(t, r, EV_UNHELD, (enum status)r->now.status, &note, err));
    return admit_or_hold(t, r, &(struct hold_reasons){.due = due}, err);
}

static int reject_task(struct turn *t, struct row *r, const struct request *q, struct err *err)
{
    struct outcome o = {.kind = OUTCOME_FAILED, .duration = -1};
    struct move_note note = {0};

    o.error = arena_printf(&t->arena, "rejected by %s%s%s", q->by ? q->by : "an unknown user",
                           q->reason ? ": " : "", q->reason ? q->reason : "");
    note.data = data_build(t, "tttt", "outcome", outcome_text((int)o.kind), "error", o.error, "by",
                           q->by, "reason", q->reason);
    door_set_outcome(r, NULL, o.error);
    return door_move(t, r, EV_FAILED, S_FAILED, &note, err);
}

int op_approve(struct turn *t, struct request *list, size_t n, bool yes, struct err *err)
{
    int64_t *due_at = arena_zalloc(&t->arena, (n + 1) * sizeof(*due_at));
    int rc = 0;

    TRY(requests_load_limits(t, list, n, err));
    TRY(requests_find_delays(t, list, n, due_at, err));
    for (size_t i = 0; i < n; i++) {
        struct row *r = turn_row(t, list[i].execution);

        if (list[i].rc)
            continue;
        if (r->now.held != HELD_APPROVAL)
            list[i].rc = -E_INVALID;
        else if ((rc = yes ? approve_task(t, r, &list[i], due_at[i], err)
                           : reject_task(t, r, &list[i], err)))
            return rc;
        list[i].status = r->now.status;
    }
    return 0;
}

int approval_time_out(struct turn *t, struct row *r, struct err *err)
{
    struct outcome o = {
        .kind = OUTCOME_TIMED_OUT, .error = "nobody approved the task in time", .duration = -1};
    struct move_note note = {.data = data_outcome(t, &o, 0)};

    door_set_outcome(r, NULL, o.error);
    return door_move(t, r, EV_TIMED_OUT, S_TIMED_OUT, &note, err);
}

/* ---- skip ---- */

int op_skip(struct turn *t, struct request *list, size_t n, struct err *err)
{
    TRY(requests_load_limits(t, list, n, err));
    for (size_t i = 0; i < n; i++) {
        struct move_note note = {.data = data_request(t, &list[i])};
        struct row *r = turn_row(t, list[i].execution);

        if (list[i].rc)
            continue;
        list[i].status = r->now.status;
        if (r->now.status != S_PENDING && r->now.status != S_READY) {
            list[i].rc = -E_INVALID;
            continue;
        }
        r->now.flags |= FLAG_BY_OPERATOR;
        TRY(door_move(t, r, EV_SKIPPED, S_SKIPPED, &note, err));
        list[i].status = r->now.status;
    }
    return 0;
}
