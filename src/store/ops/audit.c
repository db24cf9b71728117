/* audit.c - see audit.h. */
#include "store/ops/audit.h"

#include "base/buf.h"

int audit_write(struct turn *t, const struct audit_entry *o, struct err *err)
{
    struct buf subject = BUF_INIT;
    int rc;

    buf_addf(&subject, "%s:%s", o->kind, o->name);
    args_begin(&t->args, Q_AUDIT_INSERT);
    args_text(&t->args, subject.ptr);
    args_int(&t->args, t->now);
    args_int(&t->args, (int)o->action);
    args_text(&t->args, o->by);
    args_text(&t->args, o->reason);
    args_text(&t->args, o->data);
    rc = db_send(t->db, &t->args, NULL, 1, err);
    buf_release(&subject);
    return rc;
}
