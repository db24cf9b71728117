/* schedule_rows.h - what the files of schedules share: rows on their way in and out. */
#ifndef STORE_SCHEDULE_SCHEDULE_ROWS_H
#define STORE_SCHEDULE_SCHEDULE_ROWS_H

#include "store/schedule/schedule.h"
#include "store/turn.h"

void schedule_read_row(struct schedule_row *out, const struct rows *r, size_t row,
                       struct arena *arena);
/* Locks and reads those of a name; a name of NULL: all of the workflow. */
MUST_USE int schedule_load(struct turn *t, const struct schedule_name *n, struct schedule_row **out,
                           size_t *count, struct err *err);

/* Pushes what changes while it is there: the last columns of schedule_insert and schedule_write. */
void schedule_push_state(struct args *a, const struct schedule_row *r);
/* Pushes what schedule_write takes. */
void schedule_push_row(struct args *a, const struct schedule_row *r);
/* Writes one that was changed. */
MUST_USE int schedule_write_row(struct turn *t, const struct schedule_row *r, struct err *err);

/* The submission of a run, by the definition that the workflow's name means: of a due time, or (0)
 * by hand. */
struct submission schedule_build_submission(struct turn *t, const struct schedule_row *r,
                                            const char *hash, int64_t due,
                                            const struct schedule_action *by);

/* Somebody must look at the schedules again. */
static inline void schedule_wake(struct turn *t)
{
    t->wake |= WAKE_JOBS | WAKE_TIMERS;
}

#endif
