/* sqlite_lock.h - the lock file beside a database: whoever writes or checkpoints holds it, in
 * whatever process or thread. Knows nothing of SQLite. */
#ifndef STORE_DRIVER_SQLITE_LOCK_H
#define STORE_DRIVER_SQLITE_LOCK_H

#include "base/err.h"

#include <stdbool.h>

struct sqlite_lock {
    char *path;
    int fd; /* -1 until first used: who only reads never makes the file */
    bool held;
};

void sqlite_lock_init(struct sqlite_lock *k, const char *database);
void sqlite_lock_release(struct sqlite_lock *k);

/* Waits its turn, in order of arrival, at most limit_ms: then E_UNAVAILABLE, naming the holder. */
MUST_USE int sqlite_lock_acquire(struct sqlite_lock *k, int limit_ms, struct err *err);
bool sqlite_lock_try(struct sqlite_lock *k);  /* never waits */
void sqlite_lock_drop(struct sqlite_lock *k); /* harmless if not held */

#endif
