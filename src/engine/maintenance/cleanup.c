/* cleanup.c - removes the attempt folders left by a worker that was killed between a commit and its
 * cleanup: those whose execution has ended or no longer exists. Attempts that run, or whose locks
 * are held, are never touched. */
#include "engine/engine_internal.h"

#include <stdlib.h>

#define CLEANUP_EVERY 3600000000LL /* µs */

struct leftover {
    int64_t execution;
    int attempt;
};

struct leftovers {
    VEC(struct leftover) list;
};

static void add_leftover(void *arg, int64_t execution, int attempt)
{
    *vec_add(&((struct leftovers *)arg)->list) = (struct leftover){execution, attempt};
}

int cleanup_if_due(struct engine *e, struct err *err)
{
    struct leftovers found = {0};
    int64_t now = engine_now(e);
    int rc = 0;

    if (e->cleanup_at > now || e->o.foreground)
        return 0;
    dispatch_leftovers(e->dispatch, add_leftover, &found);
    for (size_t i = 0; !rc && i < found.list.n; i++) {
        const struct leftover *l = &found.list.at[i];
        int status;

        if (leased_job_get(e, l->execution))
            continue;
        rc = read_status(e, l->execution, &status, err);
        if (!rc && (!status || status_is_terminal(status)))
            dispatch_cleanup(e->dispatch, l->execution, l->attempt);
    }
    if (!rc)
        e->cleanup_at = now + CLEANUP_EVERY;
    vec_release(&found.list);
    return rc;
}
