/* rerun.h - running again what has ended, in place: the same executions, with their history. Inside
 * the store only; what others see is op_rerun. */
#ifndef STORE_RERUN_H
#define STORE_RERUN_H

#include "store/flow.h"

/* Moves what has ended to `to` (pending; a flow also running) as if nothing had happened yet, but
 * for its history. `tries`: attempts that a job gets anew. r may be NULL: a later slice. */
MUST_USE int rerun_reset(struct turn *t, struct row *row, enum status to, int tries,
                         struct rerun *r, struct err *err);
/* Whether a workflow or fan-out began in its last run; else all below it is older than that. */
bool rerun_has_begun(const struct row *row);
/* Of a nested workflow: what failed in it, and all behind that; the whole if that is nothing. */
MUST_USE int rerun_nested(struct turn *t, struct row *row, struct rerun *r, bool *whole,
                          struct err *err);

#endif
