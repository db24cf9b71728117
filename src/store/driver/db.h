/* db.h - the interface of a database driver. The rest of the store uses named statements,
 * transactions and rows; only the two drivers (sqlite/, postgres/) call a database's own API.
 *
 * A connection (`struct db`) belongs to one thread and runs one transaction at a time. Statements
 * in a transaction may be queued: PostgreSQL sends them in pipeline mode and reports errors at the
 * next flush; SQLite runs them at once. Callers must work with both. */
#ifndef STORE_DRIVER_DB_H
#define STORE_DRIVER_DB_H

#include "base/env.h"
#include "base/err.h"
#include "store/driver/values.h"

struct migration {
    int version;
    const char *name;
    const char *sql[DIALECT_COUNT];
};
extern const struct migration migrations[]; /* all migrations, by version: 1, 2, 3 … */
extern const int migration_count;
/* Whether a migration after version `after`, up to version `last`, creates an object of this
 * name. */
bool schema_creates(enum dialect dialect, int after, int last, const char *name);

enum tx_kind {
    TX_WRITE, /* a turn: has short time limits on PostgreSQL, takes the write lock on SQLite */
    TX_READ,  /* a snapshot for readers (on PostgreSQL: read only, repeatable read) */
    /* For retention: like TX_WRITE, with long time limits and default planner settings. */
    TX_LONG,
    /* For reading everything: like TX_READ, with long time limits and default planner settings. */
    TX_VERIFY,
    /* For changes of the schema: like TX_LONG. On PostgreSQL the transaction runs as the role of
     * the URL, which owns the schema, not as the tenant's role, and its search path has only the
     * system catalogs. */
    TX_CATALOG,
};

struct db_url; /* url.h */
struct listener;
struct embedder_stmt; /* embedder_stmt.h */

struct db {
    const struct db_driver *driver;
    struct env *env; /* never NULL; outlives the db */
    bool in_tx;      /* whether a transaction is open; set by the driver */
    /* A driver's own structure for a connection has this one as its first member. */
};

#define ANY_ROWS (-1L)

/* The contract of a driver. Functions return 0, or a negative error_code with a message in err.
 * After any failure inside a transaction the caller calls rollback, and nothing of the transaction
 * is stored. Drivers trace what they run (env->trace): each statement by its name, and the start
 * and end of each transaction. */
struct db_driver {
    const char *name; /* "sqlite", "postgres" */
    enum dialect dialect;
    /* Whether write transactions exclude each other, so that a turn can number its events. */
    bool one_writer;

    /* Connects. Does not check the schema. Errors: -E_INVALID for a wrong URL; -E_UNAVAILABLE;
     * -E_NOT_FOUND if the tenant does not exist; -E_BUSY if the server is not accepting
     * connections, because all of them are in use or it is starting, so that waiting may help;
     * -E_CONN_LOST if the server can't be reached. */
    int (*open)(const struct db_url *url, struct env *env, struct db **out, struct err *err);
    void (*close)(struct db *db);
    /* Returns -E_UNAVAILABLE if the database that was opened is gone for good, so that waiting does
     * not help. NULL if the driver can't find that out. */
    int (*check_present)(struct db *db, struct err *err);

    /* Starts a transaction. Reopens a lost connection; -E_CONN_LOST if that is not possible yet,
     * and the caller must back off. TX_WRITE on SQLite waits for the lock file. */
    int (*begin)(struct db *db, enum tx_kind kind, struct err *err);

    /* Queues one execution of a statement. After the next flush its rows are in `out`, unless `out`
     * is NULL. `expect` is the number of rows that the statement must change or return; ANY_ROWS
     * accepts any number. Any other number makes the flush return -E_INTERNAL and means that a
     * condition in the statement refused the change. A statement with row parameters but no rows is
     * not sent, and `out` is empty. The caller may reuse `a` at once. */
    int (*send)(struct db *db, const struct args *a, struct rows *out, long expect,
                struct err *err);

    /* Runs the queued statements and reports the first error. -E_REDO: deadlock, serialisation
     * failure, lock timeout. -E_CONN_LOST: the connection is gone, and the transaction with it. */
    int (*flush)(struct db *db, struct err *err);

    /* Flushes and commits. No transaction is open afterwards, even after an error.
     * -E_COMMIT_UNKNOWN: the connection broke after COMMIT was sent. */
    int (*commit)(struct db *db, struct err *err);
    void (*rollback)(struct db *db); /* does nothing if no transaction is open */

    /* The database's time in µs without env->clock_offset: on PostgreSQL clock_timestamp() at this
     * point of the queue of statements, on SQLite the boot clock plus the stored offset. The
     * request is queued like a statement: *us is set at the flush. */
    int (*send_now)(struct db *db, int64_t *us, struct err *err);

    /* Runs a string of several statements inside the current transaction; for migrations. */
    int (*script)(struct db *db, const char *sql, struct err *err);

    /* Runs a statement of the embedder in the current transaction (embedder_stmt.h). NULL if the
     * driver does not support such statements. */
    int (*embedder_stmt)(struct db *db, struct embedder_stmt *g, struct err *err);

    /* Notifies listeners, after a commit, that something changed (bits of enum wake). Never waits
     * and never fails, because a listener that misses the wake-up also polls slowly. */
    void (*wake)(struct db *db, unsigned what);

    /* Sends the wake-up on this connection, outside a transaction. Every commit that notifies takes
     * one lock of the server. This function waits at most lock_us for the lock (then -E_REDO), and
     * one second more for a silent server. It does not reconnect a lost connection (-E_CONN_LOST).
     * NULL if `wake` itself sends the wake-up on this connection. */
    int (*notify)(struct db *db, unsigned what, int64_t lock_us, struct err *err);

    /* Opens a listener for the wake-ups that other connections send. On PostgreSQL the listener has
     * a connection, listener.db, which its thread may also use for transactions. Errors are those
     * of `open`. */
    int (*listen)(const struct db_url *url, struct env *env, unsigned what, struct listener **out,
                  struct err *err);
    /* Opens a listener on this connection, which must stay open longer than the listener. If the
     * server can't be reached or is not accepting connections, the listener starts to work with the
     * next transaction or drain that connects. NULL if listeners need no connection; then use
     * `listen`. */
    int (*listen_on)(struct db *db, unsigned what, struct listener **out, struct err *err);

    /* Closes the connection; the next transaction opens it again. NULL if connections are not
     * scarce, as on SQLite. */
    void (*disconnect)(struct db *db);
    /* Sets *scarce if other clients could soon be refused a connection: less than one part in
     * `parts` of the server's connections is free, or fewer than 3 are. Opens the connection if
     * necessary. -E_BUSY as for `open`. NULL if connections are not scarce. */
    int (*check_scarcity)(struct db *db, int parts, bool *scarce, struct err *err);
};

/* The reasons for a wake-up. */
enum wake {
    WAKE_JOBS = 1,   /* a job may be claimed or adopted, or the next timer is due earlier */
    WAKE_CANCEL = 2, /* a running job got a cancel request, or a worker a request to drain */
    WAKE_EVENTS = 4, /* there are new events */
    /* WAKE_TIMERS and WAKE_ORPHANS accompany WAKE_JOBS, for listeners that need the exact
     * reason. */
    WAKE_TIMERS = 8,   /* the next timer is due earlier */
    WAKE_ORPHANS = 16, /* an orphan may be adopted */
    /* Sent only by pawl_submit() in SQL, as a NOTIFY without a payload instead of bits. */
    WAKE_SUBMISSIONS = 32,
    WAKE_ENDS = 64, /* an execution has ended */
};

/* A listener has a descriptor to poll, and collects the wake-ups received on it. Belongs to one
 * thread. */
struct listener {
    struct db *db; /* the connection on which it listens; NULL if it needs none */
    /* Poll this descriptor for POLLIN; a drain that reconnects may change it; -1 if none. */
    int fd;
    int poll_ms;      /* check the database at least this often, in case a wake-up is lost */
    bool is_complete; /* each event wakes it */
    /* Returns the wake bits since the last call; waits only briefly. */
    unsigned (*drain)(struct listener *l);
    void (*close)(struct listener *l);
};

extern const struct db_driver db_sqlite, db_postgres;

/* The functions below call those of the driver. db_send and db_commit also call env_point, for
 * tests. */
MUST_USE int db_open(const struct db_url *url, struct env *env, struct db **out, struct err *err);
void db_close(struct db **db);
MUST_USE static inline int db_begin(struct db *db, enum tx_kind kind, struct err *err)
{
    return db->driver->begin(db, kind, err);
}
MUST_USE int db_send(struct db *db, const struct args *a, struct rows *out, long expect,
                     struct err *err);
MUST_USE static inline int db_flush(struct db *db, struct err *err)
{
    return db->driver->flush(db, err);
}
/* Sends one statement and flushes. */
MUST_USE int db_query(struct db *db, const struct args *a, struct rows *out, struct err *err);
MUST_USE int db_commit(struct db *db, struct err *err);
static inline void db_rollback(struct db *db)
{
    db->driver->rollback(db);
}

#endif
