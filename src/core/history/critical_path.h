/* critical_path.h - the critical path of a tree: the chain of executions that its end waited for,
 * from the one that ended last back to its beginning, with the same inside each workflow and
 * fan-out on it. Each moment of the whole belongs to exactly one of them. Pure. */
#ifndef CORE_HISTORY_CRITICAL_PATH_H
#define CORE_HISTORY_CRITICAL_PATH_H

#include "core/history/timeline.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What an execution waited for before its gate. */
enum critical_after {
    AFTER_NEEDS,  /* of these, the one that ended last */
    AFTER_OTHERS, /* an item, on_exit …: the one beside it that had just ended when it was made */
    AFTER_STARTER /* a task started it: that task, up to then */
};

struct critical_node {
    const struct timeline *timeline;
    int64_t end; /* if it has not ended: the moment that is looked at */
    bool ended;
    bool flow;                 /* a workflow or fan-out: its time is that of what is in it */
    size_t workflow_state_get; /* the workflow or fan-out that it is in; of the top: itself */
    enum critical_after after; /* the top: of no matter */
    const size_t *needs;
    size_t nneeds;
    size_t starter;
};

struct critical_step {
    size_t node;
    int64_t from, to;              /* of its time on the path; of a flow: what is in it included */
    int64_t parts[TIMELINE_COUNT]; /* its own: what is in a flow is in other steps */
};

/* The path of nodes[0], which all others are in. `steps` has room for n; a flow comes before what
 * is in it, the others in the order of time. Steps without time of their own are left out, but for
 * the first. Returns their number. All parts together are nodes[0].end - nodes[0].trail->begin. */
size_t critical_path(const struct critical_node *nodes, size_t n, struct critical_step *steps);

#endif
