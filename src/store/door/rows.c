/* rows.c - writes the dirty rows of the table executions: inserts, updates, updates with an
 * outcome, and the resolved input and spec of tasks. See write.h. */
#include "store/door/write.h"

static int write_inserts(struct turn *t, struct err *err)
{
    struct args *a = &t->args;
    struct row *r;

    args_begin(a, Q_EXECUTION_INSERT);
    EACH_DIRTY (t, r)
        if (r->is_new) {
            execution_write_all(&r->now, a);
            args_row(a, r->now.input, r->now.result, r->now.error, r->now.spec);
        }
    return send_exact(t, err);
}

static int write_updates(struct turn *t, bool outcome, struct err *err)
{
    struct args *a = &t->args;
    struct row *r;

    args_begin(a, outcome ? Q_EXECUTION_OUTCOME : Q_EXECUTION_UPDATE);
    EACH_DIRTY (t, r) {
        if (r->is_new || r->outcome_changed != outcome)
            continue;
        args_row(a, r->now.id, r->stored.seq);
        execution_write_changes(&r->now, a);
        if (outcome)
            args_row(a, r->now.result, r->now.error);
    }
    return send_exact(t, err);
}

/* The input and spec of a task are computed only when it becomes ready. */
static int write_resolved(struct turn *t, struct err *err)
{
    struct row *r;

    args_begin(&t->args, Q_EXECUTION_RESOLVE);
    EACH_DIRTY (t, r)
        if (!r->is_new && r->input_changed)
            args_row(&t->args, r->now.id, r->now.input, r->now.spec);
    return send_exact(t, err);
}

int door_write_executions(struct turn *t, struct err *err)
{
    TRY(write_inserts(t, err));
    TRY(write_updates(t, false, err));
    TRY(write_updates(t, true, err));
    return write_resolved(t, err);
}
