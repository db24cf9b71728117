/* sqlite_db.h - the internals of the SQLite driver: its connection, and the functions that its
 * files share. Only files in this folder include it.
 *
 *   open.c           finds, creates, opens and reopens the file
 *   tx.c             begin, commit, rollback; the driver's table of functions
 *   stmt.c           prepared statements: bind, step, read
 *   embedder.c       statements of the embedder
 *   lock.c           the lock file: one writer at a time among all processes
 *   wal.c            checkpoints of the write-ahead log
 *   clock.c          the database's time, which never runs backwards, even across boots
 *   wake.c           wake-ups between processes
 *   sqlite_errors.c  translates SQLite's error codes */
#ifndef STORE_DRIVER_SQLITE_SQLITE_DB_H
#define STORE_DRIVER_SQLITE_SQLITE_DB_H

#include "store/driver/db.h"
#include "store/driver/sqlite/lock.h"

#include <dirent.h>
#include <sqlite3.h>
#include <sys/types.h>

/* Whether a transaction of this kind only reads, and so takes no lock. */
static inline bool reads_only(enum tx_kind kind)
{
    return kind == TX_READ || kind == TX_VERIFY;
}

/* How long SQLite itself waits for a lock. Pawl's writers queue for the lock file, and readers do
 * not block in WAL mode, so this matters only for recovery after a crash and for other programs. */
#define BUSY_TIMEOUT_MS 10000

/* How long a writer waits for the lock file. It is longer than any transaction that makes
 * progress. */
#define LOCK_TIMEOUT_MS 60000

#define DB_PAGE_SIZE    4096 /* bytes; SQLite's default size, used by all of Pawl's files */

/* Whether this connection has the stored clock offset.
 *
 *   UNKNOWN --sqlite_clock_now--> STORED     the row was written during this boot
 *   UNKNOWN --sqlite_clock_now--> WRITTEN    this transaction writes the row
 *   WRITTEN --sqlite_clock_ended--> STORED   it was committed
 *   WRITTEN --sqlite_clock_ended--> UNKNOWN  rolled back: no other connection can see that offset
 */
enum sqlite_clock_state { CLOCK_UNKNOWN, CLOCK_WRITTEN, CLOCK_STORED };

struct sqlite_clock {
    enum sqlite_clock_state state;
    int64_t offset; /* µs; boot clock + offset = the database's time */
};

/* A prepared statement that is not in a .sql file. */
struct sqlite_extra_stmt {
    const struct stmt *stmt;
    sqlite3_stmt *prepared;
};

struct sqlite_db {
    struct db db;
    sqlite3 *sq;
    char *path; /* absolute path without links: every process must use the same lock file */
    dev_t dev;  /* identifies, with `ino`, the file that was opened first */
    ino_t ino;
    bool sync_normal; /* ?synchronous=normal */

    enum tx_kind kind; /* kind of the current transaction */
    /* Whether a statement of the transaction failed, so that it must not be committed. */
    bool failed;
    /* Whether the connection must be reopened before the next transaction. */
    bool broken;
    /* Whether the log may be missing on the disk, so that it must be renewed before the next
     * write. */
    bool needs_wal_renewal;

    bool has_wal;    /* whether the database was in WAL mode when last checked */
    int wal_pages;   /* length of the log after this connection's last commit */
    int wal_written; /* pages by which the log has grown since this connection was opened */
    /* Number of pages for which the log's file has room without growing; 0 if unknown. */
    int wal_capacity;
    int checkpoint_at; /* length of the log, in pages, at which to checkpoint it */

    sqlite3_stmt **named;         /* prepared statements by enum stmt_id; NULL until first used */
    sqlite3_stmt **named_inserts; /* the same for an INSERT of several rows at a time */
    VEC(struct sqlite_extra_stmt) extra;
    struct sqlite_lock lock;
    struct sqlite_clock clock;
    DIR *wake_dir; /* the folder of wake-up sockets; NULL until it is opened */
};

static inline struct sqlite_db *sqlite_from_db(struct db *db)
{
    return (struct sqlite_db *)db;
}

/* open.c */
int sqlite_open(const struct db_url *url, struct env *env, struct db **out, struct err *err);
void sqlite_close(struct db *db);
/* Sets *out to the absolute path without symbolic links; the caller frees it. */
MUST_USE int sqlite_resolve_path(const char *file, char **out, struct err *err);
/* Reopens the connection if it is broken. -E_UNAVAILABLE if the path now names another file. */
MUST_USE int sqlite_reopen_if_broken(struct sqlite_db *l, struct err *err);
int sqlite_check_present(struct db *db, struct err *err);

/* stmt.c */
int sqlite_send(struct db *db, const struct args *a, struct rows *out, long expect,
                struct err *err);
/* Like sqlite_send, but allowed outside a transaction, and a failure does not mark the transaction
 * as failed. */
MUST_USE int sqlite_run_stmt(struct sqlite_db *l, const struct args *a, struct rows *out,
                             long expect, struct err *err);
void sqlite_finalize_all(struct sqlite_db *l);

/* embedder.c */
int sqlite_embedder_stmt(struct db *db, struct embedder_stmt *g, struct err *err);

/* wal.c. sqlite_wal_watch is called after the database is opened, sqlite_wal_before_close before it
 * is closed; the others are called with the lock file held, outside a transaction. */
MUST_USE int sqlite_wal_watch(struct sqlite_db *l, struct err *err);
/* Switches the database to WAL mode. Called before the first write, not earlier, because a file
 * that Pawl reads and then refuses must stay unchanged. */
MUST_USE int sqlite_wal_enable(struct sqlite_db *l, struct err *err);
void sqlite_wal_after_commit(struct sqlite_db *l);
/* If needs_wal_renewal is set, moves the content of the log to the database and restarts the
 * log. */
MUST_USE int sqlite_wal_renew(struct sqlite_db *l, struct err *err);
void sqlite_wal_before_close(struct sqlite_db *l); /* locks the lock file itself, if it is free */

/* clock.c */
MUST_USE int sqlite_clock_now(struct sqlite_db *l, int64_t *us, struct err *err);
void sqlite_clock_ended(struct sqlite_db *l, bool committed);

/* wake.c */
void sqlite_wake(struct db *db, unsigned what);
int sqlite_listen(const struct db_url *url, struct env *env, unsigned what, struct listener **out,
                  struct err *err);
void sqlite_wake_release(struct sqlite_db *l);

/* sqlite_errors.c. Translates SQLite's last error; marks the connection as broken if the error may
 * have broken it. `what` names the statement, or is NULL while opening. */
int sqlite_set_error(struct sqlite_db *l, const char *what, struct err *err);
void sqlite_note(struct sqlite_db *l, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* The time at which a traced operation starts; 0 if statements are not traced. */
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
