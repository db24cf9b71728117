/* rows.c - writes the dirty rows of the table executions: inserts, updates, updates with an
 * outcome, and the resolved input and spec of tasks. See write.h. */
#include "store/door/write.h"

static int write_inserts(struct turn *t, struct err *err)
{
    struct args *a = &t->args;
    struct row *r;

    args_begin(a, Q_EXECUTION_INSERT);
    EACH_DIRTY(t, r)
    {
        const struct execution *e = &r->now;

        if (!r->is_new)
            continue;
        args_int(a, e->id);
        args_int_or_null(a, e->parent);
        args_int(a, e->root);
        args_int_or_null(a, e->workflow);
        args_int_or_null(a, e->rerun_of);
        args_int(a, e->requested_at);
        args_int_or_null(a, e->started_at);
        args_int_or_null(a, e->finished_at);
        args_int(a, e->updated_at);
        args_int(a, e->priority);
        args_int(a, e->attempts);
        args_int(a, e->max_attempts);
        args_int(a, e->epoch);
        args_int(a, e->seq);
        args_int(a, e->needs_left);
        if (e->task_index < 0)
            args_null(a);
        else
            args_int(a, e->task_index);
        args_int(a, e->cursor);
        args_int(a, e->depth);
        args_int(a, e->kind);
        args_int(a, e->status);
        args_int(a, e->held);
        args_int(a, e->deferred);
        args_int(a, e->flags);
        args_int(a, e->cancel_requested);
        args_text(a, e->name);
        args_text(a, e->queue);
        args_text(a, e->lane);
        args_text(a, e->concurrency);
        args_text(a, e->held_key);
        args_text(a, e->task_name);
        args_text(a, e->input);
        args_text(a, e->result);
        args_text(a, e->error);
        args_text(a, e->spec);
    }
    return send_exact(t, err);
}

static int write_updates(struct turn *t, bool outcome, struct err *err)
{
    struct args *a = &t->args;
    struct row *r;

    args_begin(a, outcome ? Q_EXECUTION_OUTCOME : Q_EXECUTION_UPDATE);
    EACH_DIRTY(t, r)
    {
        const struct execution *e = &r->now;

        if (r->is_new || r->outcome != outcome)
            continue;
        args_int(a, e->id);
        args_int(a, r->stored.seq);
        args_int_or_null(a, e->started_at);
        args_int_or_null(a, e->finished_at);
        args_int(a, e->updated_at);
        args_int(a, e->attempts);
        args_int(a, e->max_attempts);
        args_int(a, e->epoch);
        args_int(a, e->seq);
        args_int(a, e->needs_left);
        args_int(a, e->cursor);
        args_int(a, e->status);
        args_int(a, e->held);
        args_int(a, e->deferred);
        args_int(a, e->flags);
        args_int(a, e->cancel_requested);
        args_text(a, e->held_key);
        if (outcome) {
            args_text(a, e->result);
            args_text(a, e->error);
        }
    }
    return send_exact(t, err);
}

/* The input and spec of a task are computed only when it becomes ready. */
static int write_resolved(struct turn *t, struct err *err)
{
    struct row *r;

    args_begin(&t->args, Q_EXECUTION_RESOLVE);
    EACH_DIRTY(t, r)
    {
        if (r->is_new || !r->resolved)
            continue;
        args_int(&t->args, r->now.id);
        args_text(&t->args, r->now.input);
        args_text(&t->args, r->now.spec);
    }
    return send_exact(t, err);
}

int door_write_executions(struct turn *t, struct err *err)
{
    int rc;

    if ((rc = write_inserts(t, err)) || (rc = write_updates(t, false, err)) ||
        (rc = write_updates(t, true, err)))
        return rc;
    return write_resolved(t, err);
}
