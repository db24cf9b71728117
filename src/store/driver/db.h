/* db.h - what a database driver is. Everything above this line of the code speaks of statements by
 * name, of transactions, and of rows; only the two drivers (lite_*.c, pg_*.c) know a database's own
 * API.
 *
 * A connection (`struct db`) belongs to one thread. It runs one transaction at a time. Inside it,
 * statements may be queued: PostgreSQL sends them in pipeline mode and learns of errors at the next
 * flush; SQLite runs them at once. Code above must be right with either. */
#ifndef STORE_DRIVER_DB_H
#define STORE_DRIVER_DB_H

#include "base/env.h"
#include "base/err.h"
#include "base/mem.h"

#include <stdbool.h>
#include <stdint.h>

enum dialect { DIALECT_SQLITE, DIALECT_POSTGRES, DIALECT_COUNT };

/* i64, i32 and i16 differ only in what PostgreSQL is told; time is µs since 1970 everywhere in C
 * and timestamptz on PostgreSQL, converted by the driver. */
enum db_type { T_I64 = 1, T_I32, T_I16, T_TEXT, T_TIME, T_BYTES, T_TID };

#define STMT_MAX_PARAMS 40

/* A named statement of the .sql files. Scalar parameters come first ($1 … $nscalars); the others
 * are given once per row: on PostgreSQL as arrays, in one execution; on SQLite the statement is run
 * once per row, and the rows it returns are put together in order. nrows = 0: no row parameters. */
struct stmt {
    const char *name;
    const char *sql[DIALECT_COUNT];
    unsigned char nscalars, nrows;
    unsigned char types[STMT_MAX_PARAMS]; /* enum db_type of scalars, then of row parameters */
};
#include "statements.h" /* enum stmt_id, generated */
extern const struct stmt statements[Q_COUNT];

struct migration {
    int version;
    const char *name;
    const char *sql[DIALECT_COUNT];
};
extern const struct migration migrations[]; /* ascending, without gaps, from 1 */
extern const int migration_count;
/* Whether one of those from version `after` + 1 up to `last` makes something of this name. */
bool schema_creates(enum dialect dialect, int after, int last, const char *name);

/* One value, of a parameter or of a result. Text is borrowed and NUL-terminated in results. */
struct val {
    int64_t i;     /* numbers and times */
    const char *s; /* text and bytes; NULL otherwise */
    uint32_t len;  /* of s */
    bool null;
};

/* The arguments of one execution of a statement, pushed in order: scalars, then row by row.
 * Texts are borrowed until the statement was flushed. */
struct args {
    const struct stmt *stmt;
    VEC(struct val) vals;
};
#define ARGS_INIT \
    {             \
        0         \
    }

void args_begin(struct args *a, enum stmt_id q); /* may be reused: forgets what was there */
void args_int(struct args *a, int64_t n);
void args_int_or_null(struct args *a, int64_t n); /* 0 is null: ids, times */
void args_text(struct args *a, const char *s);    /* NULL is null */
void args_bytes(struct args *a, const void *p, size_t len);
void args_null(struct args *a);
size_t args_rows(
    const struct args *a); /* whole rows pushed so far; asserts that none is half done */
void args_release(struct args *a);

/* A materialised result. Texts live until rows_release. */
struct rows {
    size_t n, ncols;
    struct val *cells; /* n * ncols, row by row */
    struct arena arena;
    void *own; /* the driver's: what the texts point into, if not the arena */
    void (*free_own)(void *own);
};
#define ROWS_INIT \
    {             \
        0         \
    }

int64_t rows_int(const struct rows *r, size_t row, size_t col);      /* null is 0 */
const char *rows_text(const struct rows *r, size_t row, size_t col); /* NULL if null */
bool rows_null(const struct rows *r, size_t row, size_t col);
void rows_release(struct rows *r);

enum tx_kind {
    TX_WRITE,  /* a turn: the limits of an engine transaction; SQLite: the write lock */
    TX_READ,   /* a snapshot for readers (PostgreSQL: read only, repeatable read) */
    TX_LONG,   /* retention: as TX_WRITE with long time limits, planned as usual */
    TX_VERIFY, /* as TX_READ, but reads everything: long time limits, planned as usual */
    /* As TX_LONG, for the schema itself. PostgreSQL: as the role of the URL, which owns it, not as
     * the tenant's, and by the names of the system catalogs alone. */
    TX_CATALOG,
};

/* Where a database is; see url.h. */
struct db_url;
struct listener;
struct embedder_stmt; /* embedder_sql.h */

struct db {
    const struct db_driver *driver;
    struct env *env; /* never NULL; outlives the db */
    bool in_tx;      /* the driver's to set */
    /* the driver's own structure embeds this one at its beginning */
};

#define ANY_ROWS (-1L)

/* The contract of a driver. All return 0 or a negative error_code with the sentence in err. After
 * any failure inside a transaction the caller calls rollback, and nothing of it is stored. Drivers
 * trace what they run (env->trace): each statement by its name, and what frames them. */
struct db_driver {
    const char *name; /* "sqlite", "postgres" */
    enum dialect dialect;
    bool one_writer; /* a transaction excludes all others: the turn numbers its events itself */

    /* Connects. Does not look at the schema. E_INVALID, E_UNAVAILABLE, E_NOT_FOUND (tenant). */
    int (*open)(const struct db_url *url, struct env *env, struct db **out, struct err *err);
    void (*close)(struct db *db);
    /* -E_UNAVAILABLE: what was opened is not there any more, and waiting does not bring it back.
     * NULL: that is never known. */
    int (*check_present)(struct db *db, struct err *err);

    /* Starts a transaction. A connection found dead is reopened here (E_CONN_LOST if it can't be
     * yet: the caller backs off). TX_WRITE on SQLite waits for the file's lock. */
    int (*begin)(struct db *db, enum tx_kind kind, struct err *err);

    /* Queues one execution. With `out`, its rows are there after the next flush. `expect` is how
     * many rows it must change (or return), ANY_ROWS if that is no matter; a difference is
     * E_INTERNAL at the flush, and means that a guard in the statement refused. No rows in a
     * statement with row parameters: nothing is sent, and `out` is empty. Arguments may be reused
     * at once. */
    int (*send)(struct db *db, const struct args *a, struct rows *out, long expect,
                struct err *err);

    /* Runs what is queued; the first error wins. E_REDO: deadlock, serialisation, lock time-out.
     * E_CONN_LOST: the connection is gone, and the transaction with it. */
    int (*flush)(struct db *db, struct err *err);

    /* Flushes and commits; no transaction is open afterwards, whatever it returns.
     * E_COMMIT_UNKNOWN: the connection broke after COMMIT was sent. */
    int (*commit)(struct db *db, struct err *err);
    void (*rollback)(struct db *db); /* harmless without a transaction */

    /* The database's time in µs without env->clock_offset: PostgreSQL clock_timestamp() at that
     * moment of the queue, SQLite the boot clock plus the stored offset. Queued like a statement:
     * *us is set at the flush. */
    int (*send_now)(struct db *db, int64_t *us, struct err *err);

    /* Runs a text of several statements inside the current transaction: migrations. */
    int (*script)(struct db *db, const char *sql, struct err *err);

    /* Runs a statement of the program that embeds us in the current transaction (embedder_sql.h).
     * NULL: this database takes none. */
    int (*embedder_stmt)(struct db *db, struct embedder_stmt *g, struct err *err);

    /* Says, after a commit, that something changed (enum wake bits). Never waits, never fails:
     * whoever misses it has a slow poll as the net. */
    void (*wake)(struct db *db, unsigned what);

    /* Opens a listener on what others say with `wake`. */
    int (*listen)(const struct db_url *url, struct env *env, unsigned what, struct listener **out,
                  struct err *err);
};

/* What a wake-up is about. */
enum wake {
    WAKE_JOBS = 1,   /* something may be claimed, or adopted, or a timer came nearer */
    WAKE_CANCEL = 2, /* a running job got a cancel request */
    WAKE_EVENTS = 4, /* there are new events */
    /* These two come beside WAKE_JOBS, for those who want to know which it is. */
    WAKE_TIMERS = 8,   /* a timer came nearer */
    WAKE_ORPHANS = 16, /* something may be adopted */
    /* Said by pawl_submit() in SQL alone, which knows no bits: a NOTIFY without a payload. */
    WAKE_SUBMISSIONS = 32,
};

/* A listener: a descriptor to poll, and what came since. Belongs to one thread. */
struct listener {
    int fd; /* poll it for POLLIN; may change after listener_drain (a reconnect); -1: none now */
    int poll_ms; /* look by yourself at least this often: the net under lost wake-ups */
    unsigned (*drain)(struct listener *l); /* the wake bits since the last call; never waits */
    void (*close)(struct listener *l);
};

extern const struct db_driver db_sqlite, db_postgres;

/* Thin calls through the driver, with a trace where env wants one. */
MUST_USE int db_open(const struct db_url *url, struct env *env, struct db **out, struct err *err);
void db_close(struct db **db);
MUST_USE int db_begin(struct db *db, enum tx_kind kind, struct err *err);
MUST_USE int db_send(struct db *db, const struct args *a, struct rows *out, long expect,
                     struct err *err);
MUST_USE int db_flush(struct db *db, struct err *err);
MUST_USE int db_query(struct db *db, const struct args *a, struct rows *out,
                      struct err *err); /* send + flush */
MUST_USE int db_commit(struct db *db, struct err *err);
void db_rollback(struct db *db);

#endif
