/* rerun.h - which tasks of a workflow run again. Pure. */
#ifndef CORE_RERUN_H
#define CORE_RERUN_H

#include "core/graph.h"
#include "core/workflow/model.h"

enum rerun_mark {
    RERUN_KEPT = 0,
    RERUN_FIRST,    /* what was asked for: nothing before it runs again */
    RERUN_FOLLOWER, /* it needs, directly or through others, one of those */
};

/* Marks what failed, or was cancelled, and counts; and all behind it. How each task ended is in
 * `ended`, by index. False: there is no such task. */
bool rerun_failed(const struct workflow *w, const struct graph_need *ended, enum rerun_mark *marks);
/* Marks this task and all behind it; `with` false: only what is behind it. */
void rerun_from(const struct workflow *w, uint32_t task, bool with, enum rerun_mark *marks);

#endif
