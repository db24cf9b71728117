/* rerun.h - decides which tasks of a workflow a rerun includes. Pure. */
#ifndef CORE_RERUN_H
#define CORE_RERUN_H

#include "core/graph.h"
#include "core/workflow/model.h"

enum rerun_mark {
    RERUN_KEPT = 0,
    RERUN_FIRST,    /* a task to start with: none of its needs runs again */
    RERUN_FOLLOWER, /* a task that needs another marked task, directly or through others */
};

/* Marks the tasks that were cancelled or that failed without allow_failure, and all their
 * followers. `ended` holds how each task ended, by its index. Returns false if there is nothing to
 * mark. */
bool rerun_failed(const struct workflow *w, const struct graph_need *ended, enum rerun_mark *marks);
/* Marks all followers of the task, direct and indirect, and if `with` is true the task itself. */
void rerun_from(const struct workflow *w, uint32_t task, bool with, enum rerun_mark *marks);

#endif
