/* admission.h - decides whether a ready job, or a workflow that could start, is held. It is held
 * for the first of these reasons that applies: an approval, a pause, a delay, a limit. When one
 * hold ends, the others are checked again.
 *
 * A pause is a flag (FLAG_PAUSED) of the execution that an operator paused. It holds all ready
 * jobs, and all workflows and fan-outs that could start, in the subtree of that execution. */
#ifndef STORE_OPS_ADMISSION_H
#define STORE_OPS_ADMISSION_H

#include "store/operator.h"
#include "store/turn.h"

struct hold_reasons {
    bool approval;
    const char *message;         /* text of the approval for the approver; NULL if none */
    int64_t approval_timeout_at; /* when the approval times out; 0 if never */
    int64_t due;                 /* when the delay of the execution ends; 0 if it has no delay */
    /* If true, the execution stays pending: the caller ends it in this turn. */
    bool only_create;
};

/* Whether the row or one of its ancestors is paused. */
MUST_USE int row_is_paused(struct turn *t, const struct row *row, bool *out, struct err *err);
/* Whether an ancestor of the row is being cancelled. If so, no new attempt is started, except in
 * on_exit, which also runs when its workflow is cancelled, and in on_failure after a timeout. */
MUST_USE int row_is_cancelled_above(struct turn *t, const struct row *row, bool *out,
                                    struct err *err);
/* Holds the row for the first reason that applies. Does not check limits. */
MUST_USE int row_hold_if_needed(struct turn *t, struct row *row, const struct hold_reasons *h,
                                bool *held, struct err *err);
/* Like row_hold_if_needed, but if no reason applies, admits a job (whose limits must have been
 * fetched) or starts a workflow or fan-out. */
MUST_USE int admit_or_hold(struct turn *t, struct row *row, const struct hold_reasons *h,
                           struct err *err);

/* requests_load loads the executions of the requests, requests_load_limits also their limits. Both
 * set the rc of each request. */
MUST_USE int requests_load(struct turn *t, struct request *list, size_t n, struct err *err);
MUST_USE int requests_load_limits(struct turn *t, struct request *list, size_t n, struct err *err);
/* Sets due_at[i] to the end of the delay of request i, or to 0 if no delay runs. */
MUST_USE int requests_find_delays(struct turn *t, const struct request *list, size_t n,
                                  int64_t *due_at, struct err *err);

#endif
