/* lite_db.h - the inside of the SQLite driver: its connection, and what its files need of each
 * other. Nobody else includes this.
 *
 *   lite_open.c   finding, creating, opening and reopening the file
 *   lite_tx.c     begin, commit, rollback; the driver's table of functions
 *   lite_stmt.c   prepared statements: bind, step, read
 *   lite_guest.c  statements of the program that embeds us
 *   lite_lock.c   the lock file, one writer at a time among all processes
 *   lite_wal.c    when the write-ahead log goes back into the database
 *   lite_clock.c  time that never goes back, also across boots
 *   lite_wake.c   wake-ups between processes
 *   lite_err.c    SQLite's error codes in our words */
#ifndef STORE_LITE_DB_H
#define STORE_LITE_DB_H

#include "store/db.h"
#include "store/lite_lock.h"

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
#define LITE_BUSY_MS 10000

/* How long a writer waits for the lock file: beyond any transaction that makes progress. */
#define LITE_LOCK_MS 60000

#define LITE_PAGE    4096 /* bytes: SQLite's own default, and that of all our files */

/* What this connection knows of the stored clock.
 *
 *   UNKNOWN --lite_clock_now--> STORED                  the row is there and of this boot
 *   UNKNOWN --lite_clock_now--> WRITTEN                 this transaction writes the row
 *   WRITTEN --lite_clock_committed--> STORED
 *   WRITTEN --lite_clock_rolled_back--> UNKNOWN         nobody else would know that offset */
enum lite_clock_state { CLOCK_UNKNOWN, CLOCK_WRITTEN, CLOCK_STORED };

struct lite_clock {
    enum lite_clock_state state;
    int64_t offset; /* µs; boot clock + offset = the database's time */
};

/* A prepared statement that is not in the generated table. */
struct lite_extra {
    const struct stmt *stmt;
    sqlite3_stmt *prepared;
};

struct lite_db {
    struct db db;
    sqlite3 *sq;
    char *path; /* absolute, links resolved: every process must come to the same lock file */
    dev_t dev;  /* which file it was when first opened */
    ino_t ino;
    bool sync_normal; /* ?synchronous=normal */

    enum tx_kind kind; /* of the current transaction */
    bool failed;       /* something in it failed: it must not be committed */
    bool broken;       /* reopen before the next transaction */
    bool doubtful;     /* renew the log before the next write: it may not be on the disk */

    bool has_wal;      /* the database is in WAL mode, as far as is known */
    int wal_pages;     /* of the log, after this connection's last commit */
    int wal_written;   /* how far it grew while this connection is open */
    int wal_room;      /* so many fit into its file, as far as is known */
    int checkpoint_at; /* pages */

    sqlite3_stmt **named; /* by enum stmt_id; NULL until first used */
    VEC(struct lite_extra) extra;
    struct lite_lock lock;
    struct lite_clock clock;
    DIR *wake_dir; /* NULL until there is one */
};

static inline struct lite_db *lite_of(struct db *db)
{
    return (struct lite_db *)db;
}

/* lite_open.c */
int lite_open(const struct db_url *url, struct env *env, struct db **out, struct err *err);
void lite_close(struct db *db);
MUST_USE int lite_path(const char *file, char **out, struct err *err); /* the caller frees *out */
/* Makes a broken connection good again. E_UNAVAILABLE if the file is not the same any more. */
MUST_USE int lite_revive(struct lite_db *l, struct err *err);
int lite_gone(struct db *db, struct err *err);

/* lite_stmt.c */
int lite_send(struct db *db, const struct args *a, struct rows *out, long expect, struct err *err);
/* As lite_send, but also outside a transaction, and a failure does not doom it. */
MUST_USE int lite_run(struct lite_db *l, const struct args *a, struct rows *out, long expect,
                      struct err *err);
void lite_finalize_all(struct lite_db *l);

/* lite_guest.c */
int lite_guest(struct db *db, struct guest *g, struct err *err);

/* lite_wal.c; under the lock file, outside a transaction */
MUST_USE int lite_wal_watch(struct lite_db *l, struct err *err); /* after opening */
/* Before the first write, not sooner: a file that Pawl only looks at, and then refuses, stays as it
 * was. */
MUST_USE int lite_wal_enter(struct lite_db *l, struct err *err);
void lite_wal_after_commit(struct lite_db *l);
MUST_USE int lite_wal_renew(struct lite_db *l, struct err *err); /* if it is doubtful */
void lite_wal_before_close(struct lite_db *l); /* takes the lock file itself, if it is free */

/* lite_clock.c */
MUST_USE int lite_clock_now(struct lite_db *l, int64_t *us, struct err *err);
void lite_clock_committed(struct lite_db *l);
void lite_clock_rolled_back(struct lite_db *l);

/* lite_wake.c */
void lite_wake(struct db *db, unsigned what);
int lite_listen(const struct db_url *url, struct env *env, unsigned what, struct listener **out,
                struct err *err);
void lite_wake_release(struct lite_db *l);

/* lite_err.c: turns SQLite's last error into ours; marks the connection broken where it may be.
 * `what` is the statement, or NULL while opening. */
int lite_error(struct lite_db *l, const char *what, struct err *err);
void lite_note(struct lite_db *l, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* The start of a traced piece of work, 0 without a trace. */
static inline int64_t lite_trace_start(const struct lite_db *l)
{
    return l->db.env->trace ? clock_boot_us() : 0;
}

static inline void lite_trace(const struct lite_db *l, const char *what, int64_t start, long rows)
{
    if (start)
        l->db.env->trace(l->db.env->arg, what, clock_boot_us() - start, rows);
}

#endif
