/* rerun_node.c - rerun in place: resets a single execution, and takes a new permit for a
 * workflow. */
#include "store/workflow/rerun.h"

#include "store/door/door.h"
#include "store/door/event_data.h"

/* Reads the result and error of the ended run, which are only in the history after the reset. */
static int read_old_outcome(struct turn *t, const struct row *row, const char **result,
                            const char **error, struct err *err)
{
    AUTO_ROWS r = ROWS_INIT;

    *result = row->now.result;
    *error = row->now.error;
    if (row->has_outcome)
        return 0;
    TRY(ask(t->db, &r, err, Q_OUTCOME_OF, row->now.id));
    if (r.n)
        rows_read(&r, 0, 0, &t->arena, result, error);
    return 0;
}

static void note_rerun_row(struct rerun *r, const struct row *row)
{
    struct rerun_row *n;

    if (!r)
        return;
    n = vec_add(&r->reruns);
    *n = (struct rerun_row){.id = row->now.id, .status = row->now.status};
    n->name = mem_strdup(row->now.name);
}

/* Finds who requested the rerun. If r is NULL, that is who requested the parent's rerun. */
static int find_requester(struct turn *t, const struct row *row, const struct rerun *r,
                          const struct request **out, struct err *err)
{
    struct row *parent = r ? NULL : turn_row(t, row->now.parent);
    struct request *q;

    if (parent && !parent->rerun_request) {
        q = arena_zalloc(&t->arena, sizeof(*q));
        TRY(data_requested_by(t, parent, EV_RERUN, q, err));
        parent->rerun_request = q;
    }
    *out = r ? &r->request : parent->rerun_request;
    return 0;
}

int rerun_reset(struct turn *t, struct row *row, enum status to, int attempts, struct rerun *r,
                struct err *err)
{
    const char *result = NULL, *error = NULL;
    const struct request *q;
    struct move_note move = {.attempts = attempts};

    TRY(read_old_outcome(t, row, &result, &error, err));
    TRY(find_requester(t, row, r, &q, err));
    note_rerun_row(r, row);
    /* The event keeps the previous outcome, which the rerun removes from the execution. */
    move.data =
        data_build(t, "tttj", "by", q->by, "reason", q->reason, "error", error, "result", result);
    door_set_outcome(row, NULL, NULL);
    execution_reset_counters(&row->now);
    TRY(door_move(t, row, EV_RERUN, to, &move, err));
    if (!kind_is_job(row->now.kind) && to == S_PENDING && row->now.started_at)
        row->now.flags |= FLAG_NOT_STARTED;
    return 0;
}

bool rerun_has_started(const struct row *row)
{
    return row->now.started_at && !(row->now.flags & FLAG_NOT_STARTED);
}

static int refuse_without_permit(const struct row *row, const struct limit *l, struct err *err)
{
    if (l->stored_used < l->max) /* other executions of this rerun took the permits */
        return err_set(
            err, E_REFUSED,
            "execution %lld can't run again together with the other executions of this rerun: "
            "the limit %s lets %d run at once; rerun them one after the other, by their ids",
            (long long)row->now.id, l->key, l->max);
    return err_set(err, E_REFUSED,
                   "execution %lld can't run again now: the limit %s is full (%d of %d in use)",
                   (long long)row->now.id, l->key, l->used, l->max);
}

int rerun_restart(struct turn *t, struct row *row, struct rerun *r, struct err *err)
{
    struct limit *limits[LIMITS_MAX];

    if (!row->now.concurrency)
        return rerun_reset(t, row, S_RUNNING, 0, r, err);
    limits_note(t, &row->now);
    TRY(limits_fetch(t, err));
    if (limits_find(t, &row->now, limits) && limits[0]->used >= limits[0]->max)
        return refuse_without_permit(row, limits[0], err);
    TRY(rerun_reset(t, row, S_PENDING, 0, r, err));
    TRY(door_admit(t, row, err));
    return door_move(t, row, EV_STARTED, S_RUNNING, NULL, err);
}
