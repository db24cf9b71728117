/* attempts.h - the worker's one table of attempts: a map from execution to struct attempt.
 *
 * The engine owns the table. It adds an attempt before dispatch_start or dispatch_reattach and
 * removes it after dispatch_settled or dispatch_forget; its own part of an entry follows struct
 * attempt (struct leased_job in engine_internal.h). The dispatcher finds an attempt here, and keeps
 * in the entry which executor runs the attempt and that executor's handle. An executor gets its
 * handle with each operation, so it needs no table to find its attempts. */
#ifndef DISPATCH_ATTEMPTS_H
#define DISPATCH_ATTEMPTS_H

#include "base/idmap.h"

#include <stdbool.h>

struct attempt {
    int64_t execution, root;
    int attempt, epoch;
    bool ended; /* the outcome of the attempt is known, but not committed yet */

    /* The dispatcher's part of the entry; zeroed by the engine. */
    struct executor_entry *executor; /* the executor that runs the attempt; NULL if none does */
    void *handle;                    /* that executor's handle; NULL once the attempt has ended */
    bool reattached;                 /* adopted: this worker did not start the attempt */
};

/* NULL if the table has no such attempt. */
static inline struct attempt *attempts_get(const struct idmap *table, int64_t execution,
                                           int attempt)
{
    struct attempt *a = idmap_get(table, execution);

    return a && a->attempt == attempt ? a : NULL;
}

#endif
