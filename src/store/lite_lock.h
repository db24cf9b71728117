/* lite_lock.h - the lock file beside a database: whoever writes or checkpoints holds it, in
 * whatever process or thread. Knows nothing of SQLite. */
#ifndef STORE_LITE_LOCK_H
#define STORE_LITE_LOCK_H

#include "base/err.h"

#include <stdbool.h>

struct lite_lock {
    char *path;
    int fd; /* -1 until first used: who only reads never makes the file */
    bool held;
};

void lite_lock_init(struct lite_lock *k, const char *database);
void lite_lock_release(struct lite_lock *k);

/* Waits its turn, in order of arrival, at most limit_ms: then E_UNAVAILABLE, naming the holder. */
MUST_USE int lite_lock_take(struct lite_lock *k, int limit_ms, struct err *err);
bool lite_lock_try(struct lite_lock *k);  /* never waits */
void lite_lock_drop(struct lite_lock *k); /* harmless if not held */

#endif
