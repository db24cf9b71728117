/* lock.h - the lock file next to a SQLite database. A connection holds the lock while it writes or
 * checkpoints, which excludes all other processes and threads. This module does not use SQLite. */
#ifndef STORE_DRIVER_SQLITE_LOCK_H
#define STORE_DRIVER_SQLITE_LOCK_H

#include "base/err.h"

#include <stdbool.h>

struct sqlite_lock {
    char *path;
    /* Descriptor of the lock file; -1 until first used: a connection that only reads never
     * creates the file. */
    int fd;
    bool held;
};

void sqlite_lock_init(struct sqlite_lock *k, const char *database);
void sqlite_lock_release(struct sqlite_lock *k);

/* Waits for the lock file in order of arrival. After limit_ms: -E_UNAVAILABLE, and the message
 * names the holder's pid if it is known. */
MUST_USE int sqlite_lock_acquire(struct sqlite_lock *k, int limit_ms, struct err *err);
bool sqlite_lock_try(struct sqlite_lock *k);  /* never waits */
void sqlite_lock_drop(struct sqlite_lock *k); /* does nothing if the lock is not held */

#endif
