/* tx.c - transactions on SQLite, and the driver's table of functions.
 *
 * A writer takes the lock file, runs BEGIN IMMEDIATE, commits, checkpoints if the log is long, and
 * only then releases the lock file. A reader takes no lock: in WAL mode it has its own snapshot.
 * Statements run when they are sent, so there is nothing to flush. */
#include "store/driver/sqlite/sqlite_db.h"

static const struct stmt begin_read = {.name = "begin", .sql = {[DIALECT_SQLITE] = "BEGIN"}};
static const struct stmt begin_write = {.name = "begin",
                                        .sql = {[DIALECT_SQLITE] = "BEGIN IMMEDIATE"}};
static const struct stmt commit_stmt = {.name = "commit", .sql = {[DIALECT_SQLITE] = "COMMIT"}};
static const struct stmt rollback_stmt = {.name = "rollback",
                                          .sql = {[DIALECT_SQLITE] = "ROLLBACK"}};

static int run_stmt(struct sqlite_db *l, const struct stmt *s, struct err *err)
{
    struct args a = {.stmt = s};

    return sqlite_run_stmt(l, &a, NULL, ANY_ROWS, err);
}

static int acquire_lock(struct sqlite_db *l, struct err *err)
{
    int64_t start = sqlite_trace_start(l);
    int rc = sqlite_lock_acquire(&l->lock, LOCK_TIMEOUT_MS, err);

    sqlite_trace(l, "lock", start, 0);
    return rc;
}

static int begin_writing(struct sqlite_db *l, struct err *err)
{
    int rc = 0;

    TRY(acquire_lock(l, err));
    if ((rc = sqlite_wal_enable(l, err)) || (rc = sqlite_wal_renew(l, err)) ||
        (rc = run_stmt(l, &begin_write, err)))
        sqlite_lock_drop(&l->lock);
    return rc;
}

static int sqlite_begin(struct db *db, enum tx_kind kind, struct err *err)
{
    struct sqlite_db *l = sqlite_from_db(db);

    if (db->in_tx)
        return err_set(err, E_INTERNAL, "a transaction was started inside another one");
    TRY(sqlite_reopen_if_broken(l, err));
    l->kind = kind;
    l->failed = false;
    TRY(reads_only(kind) ? run_stmt(l, &begin_read, err) : begin_writing(l, err));
    db->in_tx = true;
    return 0;
}

static void sqlite_rollback(struct db *db)
{
    struct sqlite_db *l = sqlite_from_db(db);
    struct err err;

    if (!db->in_tx)
        return;
    /* Skip the ROLLBACK if SQLite has already rolled back, which it does after some errors. */
    if (!sqlite3_get_autocommit(l->sq) && run_stmt(l, &rollback_stmt, &err))
        l->broken = true;
    sqlite_clock_ended(l, false);
    db->in_tx = false;
    sqlite_lock_drop(&l->lock);
}

/* Decides whether the outcome of a failed COMMIT is known. SQLite reports that the transaction was
 * rolled back, and other open connections do not see its changes, because the log's index was not
 * updated. But if only the fsync failed, the log may contain all frames, and the next process that
 * recovers the log finds them committed. So the outcome is unknown until the database is reopened
 * and checked. */
static int judge_failed_commit(struct sqlite_db *l, int rc, struct err *err)
{
    switch (sqlite3_extended_errcode(l->sq) & 0xff) {
    case SQLITE_FULL: /* the last frame of the log, which marks the commit, was not written */
    case SQLITE_BUSY:
    case SQLITE_CONSTRAINT: /* a deferred foreign key failed */
        return rc;
    }
    if (reads_only(l->kind))
        return rc;
    l->broken = l->needs_wal_renewal = true;
    err->code = E_COMMIT_UNKNOWN;
    return err_prefix(err, "COMMIT failed, and the change may or may not be stored");
}

static int sqlite_commit(struct db *db, struct err *err)
{
    struct sqlite_db *l = sqlite_from_db(db);
    int rc;

    if (!db->in_tx)
        return err_set(err, E_INTERNAL, "commit was called outside a transaction");
    if (l->failed)
        rc = err_set(err, E_INTERNAL, "commit was called after a statement had failed");
    else if ((rc = run_stmt(l, &commit_stmt, err)))
        rc = judge_failed_commit(l, rc, err);
    if (rc) {
        sqlite_rollback(db);
        return rc;
    }
    sqlite_clock_ended(l, true);
    db->in_tx = false;
    if (!reads_only(l->kind))
        sqlite_wal_after_commit(l);
    sqlite_lock_drop(&l->lock);
    return 0;
}

static int sqlite_flush(struct db *db, struct err *err)
{
    (void)db, (void)err;
    return 0;
}

static int sqlite_send_now(struct db *db, int64_t *us, struct err *err)
{
    struct sqlite_db *l = sqlite_from_db(db);
    int rc;

    if (!db->in_tx)
        return err_set(err, E_INTERNAL, "the time was requested outside a transaction");
    if ((rc = sqlite_clock_now(l, us, err)))
        l->failed = true;
    return rc;
}

static int sqlite_script(struct db *db, const char *sql, struct err *err)
{
    struct sqlite_db *l = sqlite_from_db(db);
    int64_t start = sqlite_trace_start(l);
    int rc = 0;

    if (!db->in_tx || reads_only(l->kind))
        return err_set(err, E_INTERNAL, "a script was sent outside a write transaction");
    if (sqlite3_exec(l->sq, sql, NULL, NULL, NULL))
        rc = sqlite_set_error(l, "script", err);
    else if (sqlite3_get_autocommit(l->sq))
        rc = err_set(err, E_INTERNAL, "a script ended the transaction in which it ran");
    if (rc)
        l->failed = true;
    sqlite_trace(l, "script", start, 0);
    return rc;
}

const struct db_driver db_sqlite = {
    .name = "sqlite",
    .dialect = DIALECT_SQLITE,
    .one_writer = true,
    .open = sqlite_open,
    .close = sqlite_close,
    .check_present = sqlite_check_present,
    .begin = sqlite_begin,
    .send = sqlite_send,
    .flush = sqlite_flush,
    .commit = sqlite_commit,
    .rollback = sqlite_rollback,
    .send_now = sqlite_send_now,
    .script = sqlite_script,
    .embedder_stmt = sqlite_embedder_stmt,
    .wake = sqlite_wake,
    .listen = sqlite_listen,
};
