/* event_data.h - the `data` of events: small JSON documents that live as long as the turn.
 * docs/STATES.md lists their fields. */
#ifndef STORE_DOOR_EVENT_DATA_H
#define STORE_DOOR_EVENT_DATA_H

#include "store/operator.h"
#include "store/turn.h"

#define OMITTED INT64_MIN /* a number that stands for a missing one */

/* Builds an object from a key and a value for each letter of `types`: t text, j raw JSON, u time in
 * µs, n number (int64_t), b flag. A field is left out if its value is missing: a text or raw JSON
 * that is NULL, a time that is 0, a number that is OMITTED, a flag that is false. */
const char *data_build(struct turn *t, const char *types, ...);

const char *data_hold(struct turn *t, enum hold why, const char *key, int64_t due_at);
const char *data_outcome(struct turn *t, const struct outcome *o, int64_t retry_at);
/* Builds event data from a request; NULL if its by, reason and let_finish are not set. */
const char *data_request(struct turn *t, const struct request *r);
#define data_reason(t, why) data_request(t, &(struct request){.reason = (why)})

/* Reads from the execution's last event of this action who requested it and why. `by` and `reason`
 * are NULL if the event does not contain them. */
MUST_USE int data_requested_by(struct turn *t, const struct row *row, enum event_action action,
                               struct request *out, struct err *err);

#endif
