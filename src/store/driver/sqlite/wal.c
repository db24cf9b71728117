/* wal.c - checkpoints of the write-ahead log, and preallocation of its file.
 *
 * SQLite's automatic checkpoints (by any connection that commits or closes) are switched off: two
 * checkpoints at once, one of them by a writer, can corrupt the file in versions before 2026
 * (Debian 12 has 3.40). Pawl checkpoints only while it holds the lock file.
 *
 * An fsync of a file that has grown must also store the location of its new blocks, which makes it
 * two to three times as slow. So zeros are written ahead of the log. SQLite ignores them, like the
 * rest of an earlier, longer log. */
#include "store/driver/sqlite/sqlite_db.h"

#include <string.h>

#define CHECKPOINT_PAGES 4000 /* 16 MB, written every few thousand commits in a few ms */
/* 160 MB; the log gets this long only if readers keep it from restarting. */
#define LARGE_PAGES      40000
#define CLOSE_PAGES      250 /* 1 MB: a longer log is checkpointed at close */
/* Ms that a checkpoint may wait for readers and block writers. */
#define READERS_MS       200
#define AHEAD_PAGES      256 /* 1 MB; at most this many pages of zeros are written ahead */
#define COMMIT_PAGES     16  /* most commits write fewer pages */
#define ZEROS_PAGES      16  /* zeros are written in pieces of this size */

#define WAL_HEADER       32
#define WAL_FRAME        (24 + DB_PAGE_SIZE)

static int on_commit(void *arg, sqlite3 *sq, const char *database, int pages)
{
    struct sqlite_db *l = arg;

    (void)sq, (void)database;
    if (pages < l->wal_pages) { /* the log has restarted, perhaps in a truncated file */
        l->checkpoint_at = CHECKPOINT_PAGES;
        l->wal_capacity = 0;
    } else if (l->wal_pages) {
        l->wal_written += pages - l->wal_pages;
    }
    l->wal_pages = pages;
    return SQLITE_OK;
}

static int read_journal_mode(void *arg, int n, char **values, char **names)
{
    (void)n, (void)names;
    *(bool *)arg = values[0] && strcmp(values[0], "wal") == 0;
    return 0;
}

int sqlite_wal_watch(struct sqlite_db *l, struct err *err)
{
    l->wal_pages = l->wal_capacity = l->wal_written = 0;
    l->checkpoint_at = CHECKPOINT_PAGES;
    sqlite3_wal_autocheckpoint(l->sq, 0);
    sqlite3_wal_hook(l->sq, on_commit, l);
    if (sqlite3_exec(l->sq, "PRAGMA journal_mode", read_journal_mode, &l->has_wal, NULL))
        return sqlite_set_error(l, NULL, err);
    return 0;
}

int sqlite_wal_enable(struct sqlite_db *l, struct err *err)
{
    if (l->has_wal)
        return 0;
    if (sqlite3_exec(l->sq, "PRAGMA journal_mode = WAL", read_journal_mode, &l->has_wal, NULL))
        return sqlite_set_error(l, "write-ahead logging", err);
    if (!l->has_wal)
        return err_set(err, E_UNAVAILABLE,
                       "the database %s can't use write-ahead logging, which needs shared memory: "
                       "keep it on a local file system",
                       l->path);
    return 0;
}

static int run_checkpoint(struct sqlite_db *l, int mode, int wait_ms)
{
    int64_t start = sqlite_trace_start(l);
    int rc;

    sqlite3_busy_timeout(l->sq, wait_ms);
    rc = sqlite3_wal_checkpoint_v2(l->sq, "main", mode, NULL, NULL);
    sqlite3_busy_timeout(l->sq, BUSY_TIMEOUT_MS);
    sqlite_trace(l, "checkpoint", start, l->wal_pages);
    return rc;
}

/* Checkpoints if that is possible. A failure is only reported as a note: it is harmless, because
 * everything is in the log. */
static void checkpoint_if_possible(struct sqlite_db *l, int mode, int wait_ms)
{
    int rc = run_checkpoint(l, mode, wait_ms);
    struct err err;

    /* SQLITE_BUSY means that readers still need the log. */
    if (rc == SQLITE_OK || rc == SQLITE_BUSY)
        return;
    sqlite_set_error(l, "checkpoint", &err);
    sqlite_note(l, "%s", err.msg);
}

/* Writes zeros ahead of the log: as many pages as this connection has written so far, so that a
 * connection that commits once adds few. If the disk has no space for zeros, the log grows without
 * them. */
static void extend_log(struct sqlite_db *l)
{
    static char zeros[ZEROS_PAGES * WAL_FRAME];
    int ahead = l->wal_written < AHEAD_PAGES ? l->wal_written : AHEAD_PAGES;
    sqlite3_int64 size, upto;
    sqlite3_file *wal = NULL;

    if (l->sync_normal || l->wal_pages + COMMIT_PAGES < l->wal_capacity ||
        sqlite3_file_control(l->sq, "main", SQLITE_FCNTL_JOURNAL_POINTER, &wal) || !wal ||
        !wal->pMethods || wal->pMethods->xFileSize(wal, &size))
        return;
    l->wal_capacity = l->wal_pages + COMMIT_PAGES + ahead;
    upto = WAL_HEADER + (sqlite3_int64)l->wal_capacity * WAL_FRAME;
    for (; size < upto; size += (sqlite3_int64)sizeof(zeros))
        if (wal->pMethods->xWrite(wal, zeros, sizeof(zeros), size))
            return;
    l->wal_capacity = (int)((size - WAL_HEADER) / WAL_FRAME);
}

void sqlite_wal_after_commit(struct sqlite_db *l)
{
    if (l->wal_pages < l->checkpoint_at) {
        extend_log(l);
        return;
    }
    if (l->wal_pages < LARGE_PAGES)
        checkpoint_if_possible(l, SQLITE_CHECKPOINT_PASSIVE, 0);
    else
        checkpoint_if_possible(l, SQLITE_CHECKPOINT_TRUNCATE, READERS_MS);
    /* While a reader keeps its snapshot, the log keeps growing. Each checkpoint costs fsyncs, so do
     * not retry at every commit. */
    l->checkpoint_at = l->wal_pages + CHECKPOINT_PAGES;
}

/* Repairs the log after a failed fsync. Linux then marks the pages as clean: the log looks complete
 * and a later fsync succeeds, but a power failure would leave a hole in the log and lose all
 * commits after the hole. So the log is checkpointed into the database, which writes its pages
 * again, and then restarted. */
int sqlite_wal_renew(struct sqlite_db *l, struct err *err)
{
    if (!l->needs_wal_renewal)
        return 0;
    switch (run_checkpoint(l, SQLITE_CHECKPOINT_TRUNCATE, READERS_MS)) {
    case SQLITE_OK:
        l->needs_wal_renewal = false;
        return 0;
    case SQLITE_BUSY: /* readers still need the log: try again at the next transaction */
        return 0;
    default:
        return sqlite_set_error(l, "checkpoint", err);
    }
}

/* Checkpoints a long log before the database is closed. A failure is ignored: a long log only makes
 * the next open a little slower. */
void sqlite_wal_before_close(struct sqlite_db *l)
{
    if (l->wal_pages < CLOSE_PAGES || l->broken || !sqlite_lock_try(&l->lock))
        return;
    checkpoint_if_possible(l, SQLITE_CHECKPOINT_TRUNCATE, 0);
    sqlite_lock_drop(&l->lock);
}
