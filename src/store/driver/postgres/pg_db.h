/* pg_db.h - the internals of the PostgreSQL driver: its connection and its pipeline. Only files in
 * this folder include it.
 *
 *   pg_driver.c  open, begin, commit, rollback, script; the driver's table of functions
 *   pipeline.c   sends statements in pipeline mode and reads the results in order
 *   codec.c      encodes parameters and decodes results in the binary format
 *   batch.c      variants of a statement for rows that share values
 *   conn.c       one connection: connect, wait for results, detect its loss
 *   pg_errors.c  translates PostgreSQL's errors
 *   notify.c     sends wake-ups, in a separate thread
 *   listen.c     receives wake-ups, on a connection that also runs transactions
 *   libpq.c      loads libpq when it is needed */
#ifndef STORE_DRIVER_POSTGRES_PG_DB_H
#define STORE_DRIVER_POSTGRES_PG_DB_H

#include "base/buf.h"
#include "store/driver/db.h"
#include "store/driver/postgres/batch.h"
#include "store/driver/postgres/conn.h"

/* The statements of the driver itself. */
enum pg_driver_stmt {
    OWN_START, /* BEGIN; OWN_SET_ENGINE or OWN_SET_LONG follows */
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

/* The state of the current transaction's COMMIT.
 *
 *   UNSENT --commit--> SENT --result of COMMIT--> DONE | REFUSED
 *                      SENT --error of an earlier statement--> REFUSED
 *
 * If the connection breaks in the state SENT, it is unknown whether the transaction is stored. */
enum pg_commit { COMMIT_UNSENT, COMMIT_SENT, COMMIT_DONE, COMMIT_REFUSED };

/* A message that was sent and whose result has not been read yet. */
struct pg_entry {
    enum { ENTRY_PREPARE, ENTRY_RUN, ENTRY_SYNC } kind;
    const struct stmt *stmt;
    /* The variant that was sent; NULL if the statement was sent unchanged. */
    struct pg_shape *shape;
    struct rows *out; /* receives the rows; NULL if they are not needed */
    int64_t *now;     /* receives the time, for OWN_NOW; otherwise NULL */
    long expect;
};

struct pg_waker;
struct pg_hub;

struct pg_db {
    struct db db;
    struct db_url *url;
    /* The connection, in pipeline mode; NULL after a loss, until `begin` reconnects. */
    PGconn *conn;
    struct pg_session session;
    bool unnamed; /* whether prepared statements don't work on this server; never reset */

    enum tx_kind kind; /* kind of the current transaction */
    enum pg_commit commit;
    /* The transaction's first error; once it is set, the transaction can only be rolled back. */
    struct err failed;

    VEC(struct pg_entry) queue;
    /* By name_index: whether the statement is prepared; set as soon as the PREPARE is sent. */
    bool prepared[PG_NAMED_COUNT];
    struct pg_shapes shapes;
    struct buf scratch;
    struct args own;        /* arguments for the driver's own statements */
    struct pg_waker *waker; /* sends wake-ups; NULL until the first one is sent */
    /* Wake-ups to send before the next transaction; see env.one_connection. */
    unsigned deferred;
    /* After a failure, deferred wake-ups are not sent before this time (clock_boot_us). */
    int64_t deferred_until;
    struct pg_hub *hub; /* the listeners on this connection; NULL if none */
};

static inline struct pg_db *pg_from_db(struct db *db)
{
    return (struct pg_db *)db;
}

/* ---- pipeline.c ---- */

/* Sends a statement without waiting, and appends a copy of *e to the queue. */
MUST_USE int pg_queue_stmt(struct pg_db *p, const struct args *a, const struct pg_entry *e,
                           struct err *err);
/* Sends a sync and reads the results of everything that is queued. The connection counts as lost if
 * the server sends nothing for limit_us; 0 for no limit. */
MUST_USE int pg_run_queued(struct pg_db *p, int64_t limit_us, struct err *err);
/* Whether the queue contains a statement whose result must be checked before COMMIT is sent. */
bool pg_queue_has_checks(const struct pg_db *p);
/* Closes the connection and empties its queue of expected results. */
void pg_drop_connection(struct pg_db *p);
/* Calls pg_drop_connection and sets the error: E_CONN_LOST with libpq's message, or the
 * transaction's first error if it already had one. */
int pg_lose_connection(struct pg_db *p, const char *what, struct err *err);
/* Stores err as the transaction's first error if there was none before. Returns -code of the first
 * error and copies it to err. */
int pg_keep_first_error(struct pg_db *p, struct err *err);
void pg_trace(const struct pg_db *p, const char *what, int64_t *since, long rows);

/* Runs an SQL string in the simple query protocol, outside a transaction. -E_CONN_LOST closes the
 * connection. */
MUST_USE int pg_run_simple(struct pg_db *p, const char *what, const char *sql, int64_t limit_us,
                           struct err *err);
/* Called after a statement outside pipeline mode that returned rc: passes the notifications that
 * came with its result to the listeners, and returns to pipeline mode. -E_CONN_LOST closes the
 * connection. */
void pg_resume_pipeline(struct pg_db *p, int rc);
/* Does nothing if the connection is open. */
MUST_USE int pg_reconnect(struct pg_db *p, struct err *err);

/* ---- notify.c, listen.c ---- */

void pg_wake(struct db *db, unsigned what);
MUST_USE int pg_notify(struct db *db, unsigned what, int64_t lock_us, struct err *err);
/* Sends the deferred wake-ups, if there are any and the connection is open. If that fails, keeps
 * them, and does nothing for a second; a later call tries again. */
void pg_send_deferred(struct pg_db *p);
/* The channel on which ends of executions are announced is the schema's name with this suffix. */
#define PG_ENDS_CHANNEL "_ends"
/* Ends the thread that sends wake-ups. Takes some seconds at most, to send those that are
 * pending. */
void pg_waker_close(struct pg_waker **waker);
int pg_listen(const struct db_url *url, struct env *env, unsigned what, struct listener **out,
              struct err *err);
int pg_listen_on(struct db *db, unsigned what, struct listener **out, struct err *err);
/* Runs LISTEN if the connection has listeners. Called when the connection was just opened and is
 * not in pipeline mode yet. */
MUST_USE int pg_hub_connected(struct pg_db *p, struct err *err);
void pg_hub_lost(struct pg_db *p);
/* Ends a reconnection that draining has started, because the caller connects itself or wants no
 * connection. */
void pg_hub_stop_connecting(struct pg_db *p);
/* Passes notifications that arrived together with results to the listeners. */
void pg_hub_collect(struct pg_db *p);

#endif
