/* idempotency.h - idempotency keys, which make a submission safe to repeat; for submit.c only. */
#ifndef STORE_OPS_IDEMPOTENCY_H
#define STORE_OPS_IDEMPOTENCY_H

#include "store/turn.h"

/* Finds the executions of repeated submissions that have a parent, even if the parent can no longer
 * have new children. */
MUST_USE int keys_find_repeated(struct turn *t, struct submission *list, size_t n, struct err *err);

/* Stores the keys of new submissions. If a key was stored before or occurs twice, the first
 * submission wins; the others get its id and `existed`, or rc = -E_CONFLICT if the bodies differ.
 */
MUST_USE int keys_insert(struct turn *t, struct submission *list, size_t n, struct err *err);

#endif
