/* lite_tx.c - transactions, and the driver's table of functions.
 *
 * A writer takes the lock file, then BEGIN IMMEDIATE, commits, checkpoints if the log is long, and
 * only then gives the lock file back. A reader takes no lock: in WAL mode it has its snapshot.
 * Statements run when they are sent, so there is nothing to flush. */
#include "store/lite_db.h"

static const struct stmt begin_read = {.name = "begin", .sql = {[DIALECT_SQLITE] = "BEGIN"}};
static const struct stmt begin_write = {.name = "begin",
                                        .sql = {[DIALECT_SQLITE] = "BEGIN IMMEDIATE"}};
static const struct stmt commit_stmt = {.name = "commit", .sql = {[DIALECT_SQLITE] = "COMMIT"}};
static const struct stmt rollback_stmt = {.name = "rollback",
                                          .sql = {[DIALECT_SQLITE] = "ROLLBACK"}};

static int run(struct lite_db *l, const struct stmt *s, struct err *err)
{
    struct args a = {.stmt = s};

    return lite_run(l, &a, NULL, ANY_ROWS, err);
}

static int take_lock(struct lite_db *l, struct err *err)
{
    int64_t start = lite_trace_start(l);
    int rc = lite_lock_take(&l->lock, LITE_LOCK_MS, err);

    lite_trace(l, "lock", start, 0);
    return rc;
}

static int begin_writing(struct lite_db *l, struct err *err)
{
    int rc;

    if ((rc = take_lock(l, err)))
        return rc;
    if ((rc = lite_wal_enter(l, err)) || (rc = lite_wal_renew(l, err)) ||
        (rc = run(l, &begin_write, err)))
        lite_lock_drop(&l->lock);
    return rc;
}

static int lite_begin(struct db *db, enum tx_kind kind, struct err *err)
{
    struct lite_db *l = lite_of(db);
    int rc;

    if (db->in_tx)
        return err_set(err, E_INTERNAL, "a transaction inside another");
    if ((rc = lite_revive(l, err)))
        return rc;
    l->kind = kind;
    l->failed = false;
    if ((rc = reads_only(kind) ? run(l, &begin_read, err) : begin_writing(l, err)))
        return rc;
    db->in_tx = true;
    return 0;
}

static void lite_rollback(struct db *db)
{
    struct lite_db *l = lite_of(db);
    struct err err;

    if (!db->in_tx)
        return;
    /* After some errors SQLite has rolled back by itself. */
    if (!sqlite3_get_autocommit(l->sq) && run(l, &rollback_stmt, &err))
        l->broken = true;
    lite_clock_rolled_back(l);
    db->in_tx = false;
    lite_lock_drop(&l->lock);
}

/* What a COMMIT that failed means. SQLite says that it rolled back, and to others who have the
 * database open that is so: the log's index was not moved on. But the frames may be in the log,
 * whole, if only the fsync failed; then whoever is first to open it next finds them committed. So
 * it is not known until we have opened it again and looked. */
static int commit_failed(struct lite_db *l, int rc, struct err *err)
{
    switch (sqlite3_extended_errcode(l->sq) & 0xff) {
    case SQLITE_FULL: /* the last frame, which makes it a commit, is not there */
    case SQLITE_BUSY:
    case SQLITE_CONSTRAINT: /* a deferred foreign key */
        return rc;
    }
    if (reads_only(l->kind))
        return rc;
    l->broken = l->doubtful = true;
    err->code = E_COMMIT_UNKNOWN;
    return err_prefix(err, "it is not known whether this was stored");
}

static int lite_commit(struct db *db, struct err *err)
{
    struct lite_db *l = lite_of(db);
    int rc;

    if (!db->in_tx)
        return err_set(err, E_INTERNAL, "a commit outside a transaction");
    if (l->failed)
        rc = err_set(err, E_INTERNAL, "a commit after a statement that failed");
    else if ((rc = run(l, &commit_stmt, err)))
        rc = commit_failed(l, rc, err);
    if (rc) {
        lite_rollback(db);
        return rc;
    }
    lite_clock_committed(l);
    db->in_tx = false;
    if (!reads_only(l->kind))
        lite_wal_after_commit(l);
    lite_lock_drop(&l->lock);
    return 0;
}

static int lite_flush(struct db *db, struct err *err)
{
    (void)db, (void)err;
    return 0;
}

static int lite_send_now(struct db *db, int64_t *us, struct err *err)
{
    struct lite_db *l = lite_of(db);
    int rc;

    if (!db->in_tx)
        return err_set(err, E_INTERNAL, "the time is asked for outside a transaction");
    if ((rc = lite_clock_now(l, us, err)))
        l->failed = true;
    return rc;
}

static int lite_script(struct db *db, const char *sql, struct err *err)
{
    struct lite_db *l = lite_of(db);
    int64_t start = lite_trace_start(l);
    int rc = 0;

    if (!db->in_tx || reads_only(l->kind))
        return err_set(err, E_INTERNAL, "a script outside a transaction that writes");
    if (sqlite3_exec(l->sq, sql, NULL, NULL, NULL))
        rc = lite_error(l, "script", err);
    else if (sqlite3_get_autocommit(l->sq))
        rc = err_set(err, E_INTERNAL, "a script ended the transaction that it runs in");
    if (rc)
        l->failed = true;
    lite_trace(l, "script", start, 0);
    return rc;
}

const struct db_driver db_sqlite = {
    .name = "sqlite",
    .dialect = DIALECT_SQLITE,
    .one_writer = true,
    .open = lite_open,
    .close = lite_close,
    .gone = lite_gone,
    .begin = lite_begin,
    .send = lite_send,
    .flush = lite_flush,
    .commit = lite_commit,
    .rollback = lite_rollback,
    .send_now = lite_send_now,
    .script = lite_script,
    .guest = lite_guest,
    .wake = lite_wake,
    .listen = lite_listen,
};
