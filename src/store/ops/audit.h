/* audit.h - the record of operator actions on queues, schedules, settings, access tokens,
 * webhooks and applied workflows. (Actions on executions are recorded in their events.) For use
 * inside the store only. */
#ifndef STORE_OPS_AUDIT_H
#define STORE_OPS_AUDIT_H

#include "store/operator.h"
#include "store/turn.h"

struct audit_entry {
    /* The kind of the changed object: "queue", "schedule", "setting", "token", "hook" or
     * "workflow"; and its name. */
    const char *kind, *name;
    enum audit_action action;
    const char *by, *reason, *data; /* user, reason, and details as JSON; NULL if none */
};
/* Writes one entry. The caller holds the lock of the queue's limit, of the schedule's row, of all
 * settings, or of the token's or workflow's name. */
MUST_USE static inline int audit_write(struct turn *t, const struct audit_entry *o, struct err *err)
{
    return db_queue(t->db, NULL, 1, err, Q_AUDIT_INSERT,
                    arena_printf(&t->arena, "%s:%s", o->kind, o->name), t->now, (int)o->action,
                    o->by, o->reason, o->data);
}

#endif
