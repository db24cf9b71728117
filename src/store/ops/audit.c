/* audit.c - see audit.h. */
#include "store/ops/audit.h"

#include "base/buf.h"

int audit_write(struct turn *t, const struct audit_entry *o, struct err *err)
{
    return db_queue(t->db, NULL, 1, err, Q_AUDIT_INSERT,
                    arena_printf(&t->arena, "%s:%s", o->kind, o->name), t->now, (int)o->action,
                    o->by, o->reason, o->data);
}
