/* critical_path.h - the critical path of a tree: the chain of executions that determined when it
 * ended, from the last one to end back to the start, including the chain inside each workflow and
 * fan-out on the path. Each moment of the run belongs to exactly one execution. Pure. */
#ifndef CORE_HISTORY_CRITICAL_PATH_H
#define CORE_HISTORY_CRITICAL_PATH_H

#include "core/history/timeline.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The reason why a node waited before its gate (see struct timeline). */
enum critical_after {
    AFTER_NEEDS, /* for its needs, of which the last to end counts */
    /* For the sibling that ended last before this node was created (an item, on_exit …). */
    AFTER_OTHERS,
    AFTER_STARTER /* for the task that started it */
};

struct critical_node {
    const struct timeline *timeline;
    int64_t end; /* if the node has not ended, the time at which the tree is viewed */
    bool ended;
    bool is_parent; /* a workflow or fan-out, whose time belongs to its children */
    size_t parent;  /* index of the enclosing workflow or fan-out; the root is its own parent */
    enum critical_after after; /* ignored for the root */
    const size_t *needs;
    size_t nneeds;
    size_t starter;
};

struct critical_step {
    size_t node;
    int64_t from, to;              /* when the node is on the path, including its children */
    int64_t parts[TIMELINE_COUNT]; /* excludes the children's time: they have their own steps */
};

/* Computes the critical path of nodes[0], the root of all other nodes. `steps` has room for n
 * steps. A workflow or fan-out comes before its children, siblings are in chronological order.
 * Steps whose parts are all 0 are left out, except the first. Returns the number of steps. The sum
 * of all parts is nodes[0].end - nodes[0].timeline->begin. */
size_t critical_path(const struct critical_node *nodes, size_t n, struct critical_step *steps);

#endif
