/* idempotency.h - what makes a submission safe to repeat; for submit.c alone. */
#ifndef STORE_OPS_IDEMPOTENCY_H
#define STORE_OPS_IDEMPOTENCY_H

#include "store/turn.h"

/* A submission below a parent that is repeated finds its execution: also if that parent can have no
 * new children by now. */
MUST_USE int keys_find_repeated(struct turn *t, struct submission *list, size_t n, struct err *err);

/* Writes the keys of those that have none yet; where one was there before, or comes twice, the
 * first wins, and the others have its id and `existed`, or rc = -E_CONFLICT. */
MUST_USE int keys_insert(struct turn *t, struct submission *list, size_t n, struct err *err);

#endif
