/* audit.h - the record of operator actions on queues and schedules. (Actions on executions are
 * recorded in their events.) For use inside the store only. */
#ifndef STORE_OPS_AUDIT_H
#define STORE_OPS_AUDIT_H

#include "store/operator.h"
#include "store/turn.h"

struct audit_entry {
    const char *kind, *name; /* "queue" or "schedule", and its name */
    enum audit_action action;
    const char *by, *reason, *data; /* NULL if none */
};
/* Writes one entry. The caller holds the lock of the queue's limit or of the schedule's row. */
MUST_USE int audit_write(struct turn *t, const struct audit_entry *o, struct err *err);

/* Reads the columns of @last_audit@ (sql/audit.sql). */
void audit_read_last(struct last_audit *out, const struct rows *r, size_t row, size_t col,
                     struct arena *arena);

#endif
