/* event_data.h - the `data` of events: small JSON documents that live as long as the turn.
 * docs/STATES.md lists their fields. */
#ifndef STORE_DOOR_EVENT_DATA_H
#define STORE_DOOR_EVENT_DATA_H

#include "store/operator.h"
#include "store/turn.h"

const char *data_hold(struct turn *t, enum hold why, const char *key, int64_t due_at);
const char *data_approval(struct turn *t, const char *message, int64_t until);
const char *data_pause(struct turn *t, const struct request *r); /* a job paused by an operator */
const char *data_started(struct turn *t, int64_t ago);
const char *data_outcome(struct turn *t, const struct outcome *o, int64_t retry_at);
const char *data_expired(struct turn *t, int64_t until);
const char *data_fenced(struct turn *t, int64_t until, int64_t generation);
/* An outcome that an operator decided. */
const char *data_operator_decision(struct turn *t, const struct outcome *o,
                                   const struct request *r);
const char *data_reused(struct turn *t, int64_t of);
/* The previous outcome, which a rerun removes from the execution. */
const char *data_rerun(struct turn *t, const struct request *r, const char *result,
                       const char *error);
const char *data_limit(struct turn *t, int max); /* of a queue; max < 0: no limit */
const char *data_reason(struct turn *t, const char *reason);
/* The origin of a run that a schedule started; due is 0 if an operator triggered it. */
const char *data_schedule(struct turn *t, const char *name, int64_t due, const char *by,
                          const char *reason);
const char *data_request(struct turn *t, const struct request *r); /* NULL if r has no data */

/* Reads from the last event of this action who requested it and why; by and reason are NULL if the
 * event does not contain them. */
MUST_USE int data_requested_by(struct turn *t, const struct row *row, enum event_action action,
                               struct request *out, struct err *err);

#endif
