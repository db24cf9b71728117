/* schedule_rows.h - reads and writes rows of schedules and triggers; internal to this folder. */
#ifndef STORE_SCHEDULE_SCHEDULE_ROWS_H
#define STORE_SCHEDULE_SCHEDULE_ROWS_H

#include "store/schedule/schedule.h"
#include "store/turn.h"

void schedule_read_row(struct schedule_row *out, const struct rows *r, size_t row,
                       struct arena *arena);
/* Locks and reads the schedule of this name; if n->name is NULL, all schedules of the workflow. */
MUST_USE int schedule_load(struct turn *t, const struct schedule_name *n, struct schedule_row **out,
                           size_t *count, struct err *err);

/* Pushes those values of a schedule that may change: the last columns of the statements
 * schedule_insert and schedule_write. */
void schedule_push_state(struct args *a, const struct schedule_row *r);
/* Pushes all parameters of the statement schedule_write. */
void schedule_push_row(struct args *a, const struct schedule_row *r);
/* Writes those values of one schedule that may change. */
MUST_USE int schedule_write_row(struct turn *t, const struct schedule_row *r, struct err *err);

/* Builds the submission of a run. `hash` is the definition that the workflow's name is bound to;
 * `due` is the due time, or 0 for a manual run; `by` is the operator's action of a manual run,
 * otherwise NULL. */
struct submission schedule_build_submission(struct turn *t, const struct schedule_row *r,
                                            const char *hash, int64_t due,
                                            const struct schedule_action *by);

/* Replaces, or deletes, the rows of the workflows that this one follows. Called with the lock of
 * its name. */
MUST_USE int triggers_replace(struct turn *t, const struct workflow *w, struct err *err);
MUST_USE int triggers_delete(struct turn *t, const char *workflow, struct err *err);

/* Makes the turn wake engines after its commit, to check the schedules. */
static inline void schedule_wake(struct turn *t)
{
    t->wake |= WAKE_JOBS | WAKE_TIMERS;
}

#endif
