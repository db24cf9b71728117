/* sqlite_db.h - the inside of the SQLite driver: its connection, and what its files need of each
 * other. Nobody else includes this.
 *
 *   sqlite_open.c   finding, creating, opening and reopening the file
 *   tx.c     begin, commit, rollback; the driver's table of functions
 *   stmt.c   prepared statements: bind, step, read
 *   sqlite_embedder_stmt.c  statements of the program that embeds us
 *   sqlite_lock.c   the lock file, one writer at a time among all processes
 *   wal.c    when the write-ahead log goes back into the database
 *   sqlite_clock.c  time that never goes back, also across boots
 *   sqlite_wake.c   wake-ups between processes
 *   sqlite_errors.c    SQLite's error codes in our words */
#ifndef STORE_DRIVER_SQLITE_SQLITE_DB_H
#define STORE_DRIVER_SQLITE_SQLITE_DB_H

#include "store/driver/db.h"
#include "store/driver/sqlite/lock.h"

#include <dirent.h>
#include <sqlite3.h>
#include <sys/types.h>

/* Such a transaction takes no lock. */
static inline bool reads_only(enum tx_kind kind)
{
    return kind == TX_READ || kind == TX_VERIFY;
}

/* How long SQLite itself waits for a lock. Only a net: among us the lock file decides, and readers
 * do not block in WAL mode; left are recovery after a crash, and programs that are not Pawl. */
#define BUSY_TIMEOUT_MS 10000

/* How long a writer waits for the lock file: beyond any transaction that makes progress. */
#define LOCK_TIMEOUT_MS 60000

#define DB_PAGE_SIZE    4096 /* bytes: SQLite's own default, and that of all our files */

/* What this connection knows of the stored clock.
 *
 *   UNKNOWN --sqlite_clock_now--> STORED                  the row is there and of this boot
 *   UNKNOWN --sqlite_clock_now--> WRITTEN                 this transaction writes the row
 *   WRITTEN --sqlite_clock_committed--> STORED
 *   WRITTEN --sqlite_clock_rolled_back--> UNKNOWN         nobody else would know that offset */
enum sqlite_clock_state { CLOCK_UNKNOWN, CLOCK_WRITTEN, CLOCK_STORED };

struct sqlite_clock {
    enum sqlite_clock_state state;
    int64_t offset; /* µs; boot clock + offset = the database's time */
};

/* A prepared statement that is not in the generated table. */
struct sqlite_extra_stmt {
    const struct stmt *stmt;
    sqlite3_stmt *prepared;
};

struct sqlite_db {
    struct db db;
    sqlite3 *sq;
    char *path; /* absolute, links resolved: every process must come to the same lock file */
    dev_t dev;  /* which file it was when first opened */
    ino_t ino;
    bool sync_normal; /* ?synchronous=normal */

    enum tx_kind kind;      /* of the current transaction */
    bool failed;            /* something in it failed: it must not be committed */
    bool broken;            /* reopen before the next transaction */
    bool needs_wal_renewal; /* renew the log before the next write: it may not be on the disk */

    bool has_wal;      /* the database is in WAL mode, as far as is known */
    int wal_pages;     /* of the log, after this connection's last commit */
    int wal_written;   /* how far it grew while this connection is open */
    int wal_capacity;  /* so many fit into its file, as far as is known */
    int checkpoint_at; /* pages */

    sqlite3_stmt **named; /* by enum stmt_id; NULL until first used */
    VEC(struct sqlite_extra_stmt) extra;
    struct sqlite_lock lock;
    struct sqlite_clock clock;
    DIR *wake_dir; /* NULL until there is one */
};

static inline struct sqlite_db *sqlite_from_db(struct db *db)
{
    return (struct sqlite_db *)db;
}

/* sqlite_open.c */
int sqlite_open(const struct db_url *url, struct env *env, struct db **out, struct err *err);
void sqlite_close(struct db *db);
MUST_USE int sqlite_resolve_path(const char *file, char **out,
                                 struct err *err); /* the caller frees *out */
/* Makes a broken connection good again. E_UNAVAILABLE if the file is not the same any more. */
MUST_USE int sqlite_reopen_if_broken(struct sqlite_db *l, struct err *err);
int sqlite_check_present(struct db *db, struct err *err);

/* stmt.c */
int sqlite_send(struct db *db, const struct args *a, struct rows *out, long expect,
                struct err *err);
/* As sqlite_send, but also outside a transaction, and a failure does not doom it. */
MUST_USE int sqlite_run_stmt(struct sqlite_db *l, const struct args *a, struct rows *out,
                             long expect, struct err *err);
void sqlite_finalize_all(struct sqlite_db *l);

/* sqlite_embedder_stmt.c */
int sqlite_embedder_stmt(struct db *db, struct embedder_stmt *g, struct err *err);

/* wal.c; under the lock file, outside a transaction */
MUST_USE int sqlite_wal_watch(struct sqlite_db *l, struct err *err); /* after opening */
/* Before the first write, not sooner: a file that Pawl only looks at, and then refuses, stays as it
 * was. */
MUST_USE int sqlite_wal_enable(struct sqlite_db *l, struct err *err);
void sqlite_wal_after_commit(struct sqlite_db *l);
MUST_USE int sqlite_wal_renew(struct sqlite_db *l, struct err *err); /* if it is doubtful */
void sqlite_wal_before_close(struct sqlite_db *l); /* takes the lock file itself, if it is free */

/* sqlite_clock.c */
MUST_USE int sqlite_clock_now(struct sqlite_db *l, int64_t *us, struct err *err);
void sqlite_clock_committed(struct sqlite_db *l);
void sqlite_clock_rolled_back(struct sqlite_db *l);

/* sqlite_wake.c */
void sqlite_wake(struct db *db, unsigned what);
int sqlite_listen(const struct db_url *url, struct env *env, unsigned what, struct listener **out,
                  struct err *err);
void sqlite_wake_release(struct sqlite_db *l);

/* sqlite_errors.c: turns SQLite's last error into ours; marks the connection broken where it may
 * be. `what` is the statement, or NULL while opening. */
int sqlite_set_error(struct sqlite_db *l, const char *what, struct err *err);
void sqlite_note(struct sqlite_db *l, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* The start of a traced piece of work, 0 without a trace. */
static inline int64_t sqlite_trace_start(const struct sqlite_db *l)
{
    return l->db.env->trace ? clock_boot_us() : 0;
}

static inline void sqlite_trace(const struct sqlite_db *l, const char *what, int64_t start,
                                long rows)
{
    if (start)
        l->db.env->trace(l->db.env->arg, what, clock_boot_us() - start, rows);
}

#endif
