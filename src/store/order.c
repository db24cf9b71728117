/* order.c - see order.h. */
#include "store/order.h"

#include "base/buf.h"

int order_note(struct turn *t, const struct order *o, struct err *err)
{
    struct buf subject = BUF_INIT;
    int rc;

    buf_addf(&subject, "%s:%s", o->kind, o->name);
    args_begin(&t->args, Q_ORDER_INSERT);
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

void order_read(struct last_order *out, const struct rows *r, size_t row, size_t col,
                struct arena *arena)
{
    *out = (struct last_order){.at = rows_int(r, row, col),
                               .action = (enum order_action)rows_int(r, row, col + 1),
                               .by = arena_strdup(arena, rows_text(r, row, col + 2)),
                               .reason = arena_strdup(arena, rows_text(r, row, col + 3)),
                               .data = arena_strdup(arena, rows_text(r, row, col + 4))};
}
