/* write.h - declarations shared by the files that write what the door has changed. Only these files
 * include it:
 *
 *   flush.c         the order of writes; executions, events, limits, counters
 *   side_tables.c   the rows derived from their state: outbox, leases, timers, limit_waits */
#ifndef STORE_DOOR_WRITE_H
#define STORE_DOOR_WRITE_H

#include "store/door/door.h"

#define EACH_DIRTY(t, r) for (size_t i_ = 0; i_ < (t)->dirty.n && ((r) = (t)->dirty.at[i_]); i_++)

/* Sends the statement in t->args unless it has no rows. The statement must change exactly as many
 * rows as t->args has. */
static inline int send_exact(struct turn *t, struct err *err)
{
    size_t n = args_rows(&t->args);

    return n ? db_send(t->db, &t->args, NULL, (long)n, err) : 0;
}

/* Like send_exact, but the statement may change any number of rows. */
static inline int send_any(struct turn *t, struct err *err)
{
    return args_rows(&t->args) ? db_send(t->db, &t->args, NULL, ANY_ROWS, err) : 0;
}

/* Sends the statements that write the derived rows of all dirty executions, in the order of
 * t->dirty. */
MUST_USE int door_write_side(struct turn *t, struct err *err);

#endif
