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

void audit_read_last(struct last_audit *out, const struct rows *r, size_t row, size_t col,
                     struct arena *arena)
{
    *out = (struct last_audit){.at = rows_int(r, row, col),
                               .action = (enum audit_action)rows_int(r, row, col + 1),
                               .by = arena_strdup(arena, rows_text(r, row, col + 2)),
                               .reason = arena_strdup(arena, rows_text(r, row, col + 3)),
                               .data = arena_strdup(arena, rows_text(r, row, col + 4))};
}
