/* order.h - what a person asks of a queue or a schedule as a whole is kept, as what is asked of an
 * execution is kept in its events. Inside the store only. */
#ifndef STORE_ORDER_H
#define STORE_ORDER_H

#include "store/operator.h"
#include "store/turn.h"

struct order {
    const char *kind, *name; /* "queue" or "schedule", and which */
    enum order_action action;
    const char *by, *reason, *data; /* NULL: nothing */
};
/* Writes it down. The lock of the queue's limit or the schedule's row is the caller's. */
MUST_USE int order_note(struct turn *t, const struct order *o, struct err *err);

/* Reads the columns of @last_order@. */
void order_read(struct last_order *out, const struct rows *r, size_t row, size_t col,
                struct arena *arena);

#endif
