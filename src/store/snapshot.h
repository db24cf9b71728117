/* snapshot.h - read-only transactions outside turns. Every read of the store uses one: it sees one
 * consistent state of the database and takes no lock. */
#ifndef STORE_SNAPSHOT_H
#define STORE_SNAPSHOT_H

#include "store/ask.h"
#include "store/store.h"

/* Runs the body in a TX_READ transaction. If the connection is lost or the transaction must be
 * redone (E_REDO), runs it once more; a second failure is E_UNAVAILABLE. */
MUST_USE int query_read(struct store *s, int (*body)(struct db *, void *, struct err *), void *arg,
                        struct err *err);
/* Runs one statement in a separate transaction. */
MUST_USE int query_run(struct store *s, const struct args *a, struct rows *out, struct err *err);

#endif
