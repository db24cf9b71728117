/* flow.c - from one end to the next: what ended in a turn moves what is above and beside it, which
 * may end in turn. One transaction, a list instead of recursion. */
#include "store/flow.h"

#include "core/graph.h"
#include "store/door.h"

/* What a task itself started counts for the nearest workflow above: that ends after it. */
static int spawned_ended(struct turn *t, struct row *row, struct err *err)
{
    struct flow *f;
    int rc;

    if (!row->now.workflow)
        return 0;
    if ((rc = flow_of(t, row->now.workflow, row->now.root, &f, err)) || !f)
        return rc;
    f->row->now.needs_left--;
    door_touch(t, f->row);
    return flow_end_if_done(t, f, err);
}

static int ended(struct turn *t, struct row *row, struct err *err)
{
    struct want want = {.id = row->now.parent, .root = row->now.root};
    struct row *parent;
    struct flow *f;
    int rc;

    if (!want.id)
        return 0;
    if ((rc = turn_load(t, &want, 1, err)))
        return rc;
    if (want.rc == -E_BUSY)
        return err_set(err, E_REDO, "the tree of execution %lld is locked by another turn",
                       (long long)row->now.id);
    if (want.rc)
        return err_set(err, E_INTERNAL, "the parent of execution %lld is not there",
                       (long long)row->now.id);
    parent = turn_row(t, want.id);
    if (kind_is_job(parent->now.kind) || !row->now.task_name)
        return spawned_ended(t, row, err);
    if (parent->now.kind == KIND_FOREACH)
        return items_ended(t, parent, row, err);
    if ((rc = flow_of(t, want.id, row->now.root, &f, err)) || !f)
        return rc;
    return flow_task_ended(t, f, row, err);
}

/* A workflow or fan-out that was asked to end, and below which nothing may be open any more. */
static int look(struct turn *t, struct row *row, struct err *err)
{
    struct flow *f;
    bool items = row->now.kind == KIND_FOREACH;
    int rc;

    if ((rc = flow_of(t, items ? row->now.workflow : row->now.id, row->now.root, &f, err)) || !f)
        return rc;
    return items ? items_end_if_done(t, row, NULL, err) : flow_end_if_done(t, f, err);
}

int flow_advance(struct turn *t, struct err *err)
{
    int rc = 0;

    while (!rc && (t->ended.n || t->looks.n)) {
        if (t->ended.n)
            rc = ended(t, t->ended.at[--t->ended.n], err);
        else
            rc = look(t, t->looks.at[--t->looks.n], err);
    }
    return rc;
}

int op_advance(struct turn *t, struct err *err)
{
    return flow_advance(t, err);
}
