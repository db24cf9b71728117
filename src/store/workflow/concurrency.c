/* concurrency.c - concurrency: so many of the same key at once, across all trees and engines. A
 * job's permit is the outbox's affair; a workflow takes its own when it begins and keeps it to its
 * end.
 */
#include "base/buf.h"
#include "base/text.h"
#include "core/resolve.h"
#include "store/door/door.h"
#include "store/workflow/workflow.h"

int concurrency_set_key(struct turn *t, struct row *row, const struct workflow_concurrency *c,
                        const struct resolve_scope *scope, struct err *err)
{
    struct buf key = BUF_INIT;
    struct limit *l;
    int rc = resolve_text(c->key, scope, &key, err);

    if (!rc && (!key.len || key.len > STORE_MAX_KEY || !text_is_utf8(key.ptr, key.len)))
        rc =
            err_set(err, E_INVALID, "the concurrency key is %s; it may have 1 to %d bytes of UTF-8",
                    key.len ? "too long, or no text" : "empty", STORE_MAX_KEY);
    if (!rc)
        row->now.concurrency = arena_strdup(&t->arena, buf_cstr(&key));
    buf_release(&key);
    if (rc)
        return rc;
    if (!row->is_new) {
        args_begin(&t->args, Q_EXECUTION_KEY);
        args_int(&t->args, row->now.id);
        args_text(&t->args, row->now.concurrency);
        if ((rc = db_send(t->db, &t->args, NULL, 1, err)))
            return rc;
    }
    l = limit_get(t, 'k', row->now.concurrency);
    l->known &= l->max >= 0; /* it may come into being now: look again */
    args_begin(&t->args, Q_LIMIT_CREATE);
    args_text(&t->args, l->key);
    args_int(&t->args, c->max > 0 ? c->max : 1);
    if ((rc = db_send(t->db, &t->args, NULL, ANY_ROWS, err)))
        return rc;
    limits_note(t, &row->now);
    return limits_fetch(t, err);
}

/* Its tree is not locked by this turn, so its tasks are made by the next that has it. */
int workflow_start_permitted(struct turn *t, struct row *row, struct err *err)
{
    int rc;

    if (row->now.held || !row->has_permits)
        return 0;
    if ((rc = door_move(t, row, EV_STARTED, S_RUNNING, NULL, err)))
        return rc;
    return execution_continue_later(t, row, err);
}
