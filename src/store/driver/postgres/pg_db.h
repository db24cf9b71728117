/* pg_db.h - the inside of the PostgreSQL driver: its connection and its pipeline. Nobody but pg_*.c
 * includes this.
 *
 *   pg_driver.c  open, begin, commit, rollback, script; the driver's table of functions
 *   pipeline.c    statements on their way: send, and read the answers in order
 *   codec.c   values as the binary protocol wants them
 *   batch.c   statements for rows that have columns in common
 *   conn.c    one connection: making it, waiting for it, losing it
 *   pg_errors.c     PostgreSQL's refusals in our words
 *   notify.c    wake-ups sent, off the path of the transactions
 *   listen.c  wake-ups received
 *   libpq.c     libpq, loaded when needed */
#ifndef STORE_DRIVER_POSTGRES_PG_DB_H
#define STORE_DRIVER_POSTGRES_PG_DB_H

#include "base/buf.h"
#include "store/driver/db.h"
#include "store/driver/postgres/batch.h"
#include "store/driver/postgres/conn.h"

/* The statements of the driver itself. */
enum pg_driver_stmt {
    OWN_START, /* BEGIN, but for its settings */
    OWN_START_READ,
    OWN_SET_ENGINE,
    OWN_SET_LONG,
    OWN_COMMIT,
    OWN_ROLLBACK,
    OWN_NOW,
    OWN_COUNT
};
extern const struct stmt pg_driver_stmt[OWN_COUNT];

#define PG_NAMED_COUNT (Q_COUNT + OWN_COUNT)

/* What is known of the current transaction's COMMIT.
 *
 *   UNSENT --commit--> SENT --its answer--> DONE | REFUSED
 *                      SENT --an error of the server before it--> REFUSED
 *
 * A connection that breaks in SENT leaves it open whether the transaction is stored. */
enum pg_commit { COMMIT_UNSENT, COMMIT_SENT, COMMIT_DONE, COMMIT_REFUSED };

/* A message that will be answered. */
struct pg_entry {
    enum { ENTRY_PREPARE, ENTRY_RUN, ENTRY_SYNC } kind;
    const struct stmt *stmt;
    struct pg_shape *shape; /* NULL: the statement as it is */
    struct rows *out;       /* NULL: rows are not wanted */
    int64_t *now;           /* OWN_NOW: where to put it */
    long expect;
};

struct pg_waker;

struct pg_db {
    struct db db;
    struct db_url *url;
    PGconn *conn; /* in pipeline mode; NULL after a loss, until begin makes a new one */
    struct pg_session session;
    bool unnamed; /* named statements don't work here; stays so for good */

    enum tx_kind kind; /* of the current transaction */
    enum pg_commit commit;
    struct err failed; /* its first error; it is good for nothing but rollback then */

    VEC(struct pg_entry) queue;
    bool prepared[PG_NAMED_COUNT]; /* by this connection's session, or on the way to it */
    struct pg_shapes shapes;
    struct buf scratch;
    struct args own;        /* of the driver's own statements */
    struct pg_waker *waker; /* NULL until there was something to say */
};

static inline struct pg_db *pg_from_db(struct db *db)
{
    return (struct pg_db *)db;
}

/* ---- pipeline.c ---- */

/* Queues a statement. `now` is for OWN_NOW. */
MUST_USE int pg_queue_stmt(struct pg_db *p, const struct args *a, const struct pg_entry *e,
                           struct err *err);
/* Sends all that is queued and reads the answers. limit_us: how long the server may be silent. */
MUST_USE int pg_run_queued(struct pg_db *p, int64_t limit_us, struct err *err);
/* Whether something is queued whose answer must be looked at before a COMMIT may be sent. */
bool pg_queue_has_checks(const struct pg_db *p);
/* Drops the connection and what was queued on it. */
void pg_drop_connection(struct pg_db *p);
/* The same with the reason: what libpq says, unless there was an error before. E_CONN_LOST. */
int pg_lose_connection(struct pg_db *p, const char *what, struct err *err);
/* Remembers the transaction's first error; returns -code of that one, with it in err. */
int pg_keep_first_error(struct pg_db *p, struct err *err);
void pg_trace(const struct pg_db *p, const char *what, int64_t *since, long rows);

/* ---- notify.c, listen.c ---- */

void pg_wake(struct db *db, unsigned what);
void pg_waker_close(struct pg_waker **waker); /* says what is left, within seconds */
int pg_listen(const struct db_url *url, struct env *env, unsigned what, struct listener **out,
              struct err *err);

#endif
