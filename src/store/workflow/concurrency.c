/* concurrency.c - concurrency keys: at most N executions with the same key run at once, across all
 * trees and engines. Jobs get their permits when they enter the outbox; a workflow takes its permit
 * when it starts and keeps it until it ends. */
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
    int rc = resolve_text(scope->task ? resolve_template(scope, TASK_KEY) : scope->templates->key,
                          scope, &key, err);

    if (rc)
        err_prefix(err, "concurrency.key");
    else if (!key.len || key.len > STORE_MAX_KEY || !text_is_utf8(key.ptr, key.len))
        rc = err_set(err, E_INVALID, "the concurrency key is %s; it must be 1 to %d bytes of UTF-8",
                     key.len ? "too long or not valid UTF-8" : "empty", STORE_MAX_KEY);
    if (!rc)
        row->now.concurrency = arena_strdup(&t->arena, buf_cstr(&key));
    buf_release(&key);
    if (rc)
        return rc;
    if (!row->is_new)
        TRY(db_queue(t->db, NULL, 1, err, Q_EXECUTION_KEY, row->now.id, row->now.concurrency));
    l = limit_get(t, 'k', row->now.concurrency);
    /* The statement below may create the limit, so it must be read again. */
    l->known &= l->max >= 0;
    TRY(db_queue(t->db, NULL, ANY_ROWS, err, Q_LIMIT_CREATE, l->key, c->max > 0 ? c->max : 1));
    limits_note(t, &row->now);
    return limits_fetch(t, err);
}

/* Starts a workflow that got its permit. This turn does not hold the root lock, so a later turn
 * creates the tasks. */
int workflow_start_permitted(struct turn *t, struct row *row, struct err *err)
{
    if (row->now.held || !row->has_permits)
        return 0;
    TRY(door_move(t, row, EV_STARTED, S_RUNNING, NULL, err));
    return execution_continue_later(t, row, err);
}
