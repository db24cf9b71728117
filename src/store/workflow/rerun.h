/* rerun.h - running again what has ended, in place: the same executions, with their history. Inside
 * the store only; what others see is op_rerun. */
#ifndef STORE_WORKFLOW_RERUN_H
#define STORE_WORKFLOW_RERUN_H

#include "core/rerun.h"
#include "store/operator.h"
#include "store/workflow/workflow.h"

/* Moves what has ended to `to` (pending; a flow also running) as if nothing had happened yet, but
 * for its history. `tries`: attempts that a job gets anew. r may be NULL: what is above it, which
 * the turn has loaded, runs again. */
MUST_USE int rerun_reset(struct turn *t, struct row *row, enum status to, int tries,
                         struct rerun *r, struct err *err);
/* Whether a workflow or fan-out began in its last run; else all below it is older than that. */
bool rerun_has_started(const struct row *row);
/* Of a nested workflow: what failed in it, and all behind that; the whole if that is nothing. */
MUST_USE int rerun_nested(struct turn *t, struct row *row, struct rerun *r, bool *whole,
                          struct err *err);

/* A workflow that runs again takes its permit anew, or none of this happens (-E_REFUSED). */
MUST_USE int rerun_restart(struct turn *t, struct row *row, struct rerun *r, struct err *err);

/* A workflow of which some tasks run again. */
struct partial_rerun {
    struct workflow_state *f;
    enum rerun_mark *marks;
    struct graph_need *states; /* as all its tasks are */
    bool *open;                /* of those that have not ended, or have yet to tell so */
    struct row **rows;         /* of those and of the marked ones; NULL: it stays as it is */
    bool only_failed_below;    /* of what failed, only that which failed below it */
};
/* Its tasks as they are; nothing is marked yet. */
MUST_USE int partial_rerun_load(struct turn *t, struct workflow_state *f, struct partial_rerun *p,
                                struct err *err);
/* The workflow goes on with its marked tasks, and `opened` more that others of us opened. */
MUST_USE int partial_rerun_reopen(struct turn *t, struct partial_rerun *p, int opened,
                                  struct rerun *r, struct err *err);

#endif
