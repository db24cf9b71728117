/* ask.h - runs one statement in one call, on a turn, a store, or a connection:
 *
 *     if ((rc = ask(t, &rows, err, Q_OLD_ROOTS, after, max)))
 *         return rc;
 *
 * On a turn, the database's time is read in the same round trip (turn_query). On a store, the
 * statement runs in its own read-only transaction (query_read). On a connection, it runs in the
 * current transaction (db_query). The values after the statement's name are its scalar parameters.
 * A statement with row parameters is built with args_begin and args_row, or run with ask_ids if its
 * only parameters are ids. */
#ifndef STORE_ASK_H
#define STORE_ASK_H

#include "store/driver/db.h"

struct store;
struct turn;

/* Where a statement runs; `at` is the connection, the turn or the store. */
struct ask_on {
    enum { ON_DB, ON_TURN, ON_STORE } kind;
    void *at;
};
#define ASK_ON(on)                                      \
    ((struct ask_on){_Generic((on), struct db *         \
                              : ON_DB, struct turn *    \
                              : ON_TURN, struct store * \
                              : ON_STORE),              \
                     on})

#define ask(on, out, err, q, ...) ask_rows(ASK_ON(on), out, err, q, VALS(__VA_ARGS__))
MUST_USE int ask_rows(struct ask_on on, struct rows *out, struct err *err, enum stmt_id q,
                      const struct val *vals);

/* Reads the first row into integer variables, which stay unchanged if there is no row: ask_one(t,
 * INTO(&used, &max), err, Q_X, name) */
#define ask_one(on, into, err, q, ...) ask_row(ASK_ON(on), into, err, q, VALS(__VA_ARGS__))
MUST_USE int ask_row(struct ask_on on, const struct val_out *into, struct err *err, enum stmt_id q,
                     const struct val *vals);

/* Whether the statement returns a row. */
#define ask_any(on, any, err, q, ...) ask_exists(ASK_ON(on), any, err, q, VALS(__VA_ARGS__))
MUST_USE int ask_exists(struct ask_on on, bool *any, struct err *err, enum stmt_id q,
                        const struct val *vals);

/* Runs the body in a read-only transaction (TX_READ), as every read outside a turn does: it sees
 * one consistent state of the database and takes no lock. If the connection is lost or the
 * transaction must be redone (-E_REDO), runs it once more; a second failure is -E_UNAVAILABLE. */
MUST_USE int query_read(struct store *s, int (*body)(struct db *, void *, struct err *), void *arg,
                        struct err *err);
/* Runs several statements in one snapshot of a store, and reads the database's time of that
 * snapshot: ask_all(s, &now, err, ASKED(&queues, Q_X, name), ASKED(&workers, Q_Y)) */
struct asked {
    struct rows *out;
    enum stmt_id q;
    const struct val *vals;
};
#define ASKED(out, q, ...)        \
    {                             \
        out, q, VALS(__VA_ARGS__) \
    }
#define ask_all(s, now, err, ...) \
    ask_snapshot(s, now, err, (const struct asked[]){__VA_ARGS__, {0}})
MUST_USE int ask_snapshot(struct store *s, int64_t *now, struct err *err, const struct asked *list);

/* Runs a statement whose only parameters are ids, one per row. */
#define ask_ids(on, out, err, q, ids, n) ask_rows_of(ASK_ON(on), out, err, q, ids, n)
MUST_USE int ask_rows_of(struct ask_on on, struct rows *out, struct err *err, enum stmt_id q,
                         const int64_t *ids, size_t n);

/* Like ask_ids; the ids are in the first column of `found`. */
#define ask_found(on, out, err, q, found) ask_rows_found(ASK_ON(on), out, err, q, found)
MUST_USE int ask_rows_found(struct ask_on on, struct rows *out, struct err *err, enum stmt_id q,
                            const struct rows *found);

/* Queues a statement with its scalar parameters; see db_send. */
#define db_queue(db, out, expect, err, q, ...) \
    db_send_vals(db, out, expect, err, q, VALS(__VA_ARGS__))
MUST_USE int db_send_vals(struct db *db, struct rows *out, long expect, struct err *err,
                          enum stmt_id q, const struct val *vals);
/* Queues a statement whose only parameters are ids, one per row. */
MUST_USE int db_queue_ids(struct db *db, struct err *err, enum stmt_id q, const int64_t *ids,
                          size_t n);

#endif
