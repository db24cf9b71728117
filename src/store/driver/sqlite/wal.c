/* wal.c - when the write-ahead log goes back into the database. SQLite's own way (by whichever
 * connection commits or closes) is switched off: two that do it at once, one of them writing, can
 * corrupt the file in versions before 2026 (Debian 12 has 3.40). Ours holds the lock file.
 *
 * And room for it: an fsync of a file that has grown also has to store where its new blocks are,
 * which makes it two to three times as slow. So zeros are written ahead of the log. To SQLite they
 * are what an earlier, longer log left behind, and end this one. */
#include "store/driver/sqlite/sqlite_db.h"

#include <string.h>

#define CHECKPOINT_PAGES 4000  /* 16 MB: some ms of work, every few thousand commits */
#define LARGE_PAGES      40000 /* 160 MB: readers never all went, so the log could not start anew */
#define CLOSE_PAGES      250 /* 1 MB: whoever opens it next reads all of it first, some 5 µs each */
#define READERS_MS       200 /* for how long all writers may be kept waiting for readers to go */
#define AHEAD_PAGES      256 /* 1 MB of zeros at once, for who writes much */
#define COMMIT_PAGES     16  /* more than most commits have */
#define ZEROS_PAGES      16  /* in one write */

#define WAL_HEADER       32
#define WAL_FRAME        (24 + DB_PAGE_SIZE)

static int on_commit(void *arg, sqlite3 *sq, const char *database, int pages)
{
    struct sqlite_db *l = arg;

    (void)sq, (void)database;
    if (pages < l->wal_pages) { /* the log has started anew, perhaps in a file that was cut */
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
                       "the database %s can't have a log, which needs shared memory: keep it on a "
                       "local file system",
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

/* One that fails harms nobody, since all is in the log; but it should not go unseen. */
static void checkpoint_if_possible(struct sqlite_db *l, int mode, int wait_ms)
{
    int rc = run_checkpoint(l, mode, wait_ms);
    struct err err;

    if (rc == SQLITE_OK || rc == SQLITE_BUSY) /* a reader needs the rest of it: next time */
        return;
    sqlite_set_error(l, "checkpoint", &err);
    sqlite_note(l, "%s", err.msg);
}

/* As much again as this connection wrote until now: one that commits once leaves little behind.
 * Where there is no room for zeros the log grows without them. */
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
    /* Under a reader that stays the log grows on; each try costs fsyncs, so not at every commit. */
    l->checkpoint_at = l->wal_pages + CHECKPOINT_PAGES;
}

/* When an fsync has failed, Linux forgets that those pages were dirty: the log looks whole, a later
 * fsync succeeds, and yet a power cut would leave a hole in it, with all later commits behind the
 * hole. So it is brought into the database, where it is written anew, and then starts from its
 * beginning. */
int sqlite_wal_renew(struct sqlite_db *l, struct err *err)
{
    if (!l->needs_wal_renewal)
        return 0;
    switch (run_checkpoint(l, SQLITE_CHECKPOINT_TRUNCATE, READERS_MS)) {
    case SQLITE_OK:
        l->needs_wal_renewal = false;
        return 0;
    case SQLITE_BUSY: /* readers: at the next transaction, then */
        return 0;
    default:
        return sqlite_set_error(l, "checkpoint", err);
    }
}

/* Best effort: whoever finds a long log next time only reads it a little slower. */
void sqlite_wal_before_close(struct sqlite_db *l)
{
    if (l->wal_pages < CLOSE_PAGES || l->broken || !sqlite_lock_try(&l->lock))
        return;
    checkpoint_if_possible(l, SQLITE_CHECKPOINT_TRUNCATE, 0);
    sqlite_lock_drop(&l->lock);
}
