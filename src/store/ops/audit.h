/* audit.h - what a person asks of a queue or a schedule as a whole is kept, as what is asked of an
 * execution is kept in its events. Inside the store only. */
#ifndef STORE_OPS_AUDIT_H
#define STORE_OPS_AUDIT_H

#include "store/operator.h"
#include "store/turn.h"

struct audit_entry {
    const char *kind, *name; /* "queue" or "schedule", and which */
    enum audit_action action;
    const char *by, *reason, *data; /* NULL: nothing */
};
/* Writes it down. The lock of the queue's limit or the schedule's row is the caller's. */
MUST_USE int audit_write(struct turn *t, const struct audit_entry *o, struct err *err);

/* Reads the columns of @last_audit@. */
void audit_read_last(struct last_audit *out, const struct rows *r, size_t row, size_t col,
                     struct arena *arena);

#endif
