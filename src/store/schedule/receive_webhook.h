/* receive_webhook.h - starts the workflow that a webhook triggers. */
#ifndef STORE_SCHEDULE_RECEIVE_WEBHOOK_H
#define STORE_SCHEDULE_RECEIVE_WEBHOOK_H

#include "store/store.h"

struct json_t;
struct webhook_delivery {
    const char *hook;
    const char *key;        /* idempotency key, from the id of the message */
    struct json_t *trigger; /* what expressions see of the message */

    /* out */
    int64_t id; /* the execution */
    bool existed;
};
/* -E_NOT_FOUND: no applied workflow names the webhook; -E_INVALID: its params can't be computed
 * from the message, or do not fit; -E_REFUSED: a limit is full. */
MUST_USE int op_receive_webhook(struct turn *t, struct webhook_delivery *d, struct err *err);

#endif
