/* follow.h - waits between the reads of a command that follows the database. */
#ifndef CLI_FOLLOW_H
#define CLI_FOLLOW_H

#include "pawl.h"

/* Waits for a wake-up, at most ms, and returns whether there was one; l may be NULL. If the server
 * has few connections left, gives up the handle's connection and waits longer, 30 s at most: a
 * reader must not keep workers and submitters from connecting. */
bool follow_wait(struct pawl *p, struct pawl_listener *l, int ms);
/* Returns the ms to wait until the next read of new events: `busy_ms`, or longer if each event
 * wakes the listener and `news_at`, the last wake-up, is long ago. */
int follow_pause_ms(const struct pawl_listener *l, int64_t news_at, int busy_ms);
/* Whether a read, which returned rc, failed because the server accepts no connections at the
 * moment. If so, this function has already waited, and the caller should read again. */
bool follow_retries(struct pawl *p, int rc);

#endif
