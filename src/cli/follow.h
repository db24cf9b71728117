/* follow.h - waits between the reads of a command that follows the database. */
#ifndef CLI_FOLLOW_H
#define CLI_FOLLOW_H

#include "pawl.h"

/* Waits for a wake-up, at most ms; l may be NULL. Gives up the connection, and waits longer, while
 * the server has few left: a reader must not keep workers and submitters from connecting. */
void follow_wait(struct pawl *p, struct pawl_listener *l, int ms);

#endif
