/* snapshot.h - read-only transactions outside of turns. Every read of the store uses one: it sees
 * one state of the database and takes no lock. */
#ifndef STORE_SNAPSHOT_H
#define STORE_SNAPSHOT_H

#include "store/store.h"

/* Runs the body in a TX_READ transaction; once more from its start if the connection was lost. */
MUST_USE int query_read(struct store *s, int (*body)(struct db *, void *, struct err *), void *arg,
                        struct err *err);
/* Runs one statement in a transaction of its own. */
MUST_USE int query_run(struct store *s, const struct args *a, struct rows *out, struct err *err);
/* Inside a body: queues a statement without arguments. Its rows arrive with the next flush. */
MUST_USE int query_send(struct db *db, enum stmt_id q, struct rows *out, struct err *err);

#endif
