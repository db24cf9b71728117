/* admission.h - what keeps a job, or a workflow that could begin, from going on: the first that
 * applies of an approval, a pause, a delay, a limit. When one ends, the others are looked at again.
 *
 * A pause is a bit (FLAG_PAUSED) of the node that a person paused; what is held for it are the
 * ready jobs, and the flows that could begin, at and below that node. */
#ifndef STORE_OPS_ADMISSION_H
#define STORE_OPS_ADMISSION_H

#include "store/operator.h"
#include "store/turn.h"

struct hold_reasons {
    bool approval;
    const char *message;         /* what the approval is asked with; NULL: nothing */
    int64_t approval_timeout_at; /* 0: there is no hurry */
    int64_t due;                 /* when its delay ends; 0: it has none */
};

/* Whether it, or something above it, is paused. */
MUST_USE int row_is_paused(struct turn *t, const struct row *row, bool *out, struct err *err);
/* Whether something above it is being cancelled: then no new attempt is begun, but for what runs at
 * the end of it all the same: on_exit. */
MUST_USE int row_is_cancelled_above(struct turn *t, const struct row *row, bool *out,
                                    struct err *err);
/* Holds it for the first that applies, but for limits. */
MUST_USE int row_hold_if_needed(struct turn *t, struct row *row, const struct hold_reasons *h,
                                bool *held, struct err *err);
/* The same; a job that nothing holds is admitted, a workflow or fan-out goes on to begin. Its
 * limits must have been fetched. */
MUST_USE int admit_or_hold(struct turn *t, struct row *row, const struct hold_reasons *h,
                           struct err *err);

/* Loads what requests name, and their limits; sets each request's rc. */
MUST_USE int requests_load(struct turn *t, struct request *list, size_t n, struct err *err);
MUST_USE int requests_load_limits(struct turn *t, struct request *list, size_t n, struct err *err);
/* When the delays of these requests end, 0 where none runs. */
MUST_USE int requests_find_delays(struct turn *t, const struct request *list, size_t n,
                                  int64_t *due_at, struct err *err);

#endif
