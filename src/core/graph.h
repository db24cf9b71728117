/* graph.h - pure decisions about one task and its needs. The caller chooses the tasks to decide on;
 * the cost of a decision grows with the number of needs, never with the size of the graph.
 *
 *   graph_join     whether a task waits, is skipped, or its `if` decides about it
 *   graph_facts    what success(), failure() and cancelled() return for its needs
 *   graph_end      how a workflow or fan-out ends, from the flags that its children set */
#ifndef CORE_GRAPH_H
#define CORE_GRAPH_H

#include "core/vocab.h"

#include <stdbool.h>
#include <stddef.h>

/* The state of one need of a task, as stored in the row of the need. */
struct graph_need {
    int status;
    bool allow_failure;
    bool skipped_by_failure; /* the need was skipped because a task before it failed */
    bool by_operator;        /* an operator skipped the need */
};

/* Whether a need counts as a success: it succeeded, it failed or timed out with allow_failure, or
 * an operator skipped it. */
bool graph_is_success(const struct graph_need *n);
/* Whether a need counts as a failure: it failed or timed out without allow_failure, or was skipped
 * because of a failure. */
bool graph_is_failure(const struct graph_need *n);

struct graph_facts {
    bool success, failure, cancelled;
};
/* Computes the results of success(), failure() and cancelled() for these needs. Without needs, only
 * success() is true. */
struct graph_facts graph_facts(const struct graph_need *needs, size_t n);

enum graph_decision {
    GRAPH_WAIT,
    GRAPH_DECIDE, /* the `if` of the task decides whether it runs */
    GRAPH_SKIP,   /* the task can't run: its join can no longer be met */
};
/* With join 0, a task is decided when all its needs have ended; `left` counts the needs that have
 * not ended. Otherwise a task is decided when `join` needs have succeeded, and is skipped when that
 * many can no longer succeed. */
enum graph_decision graph_join(int join, size_t left, size_t succeeded);

/* Flags of an execution. FLAG_FAILED and FLAG_CANCELLED are set by the children of a workflow or
 * fan-out. */
enum execution_flag {
    FLAG_FAILED = 1,      /* a child failed without allow_failure */
    FLAG_CANCELLED = 2,   /* a child was cancelled */
    FLAG_BY_OPERATOR = 4, /* for a skipped task: an operator skipped it */
    FLAG_HANDLED = 8,     /* the on_failure of the workflow was run */
    FLAG_EXITED = 16,     /* the on_exit of the workflow was run */
    FLAG_STOPPED = 32,    /* for a fan-out: fail_fast ended it */
    FLAG_TIMED_OUT = 64,  /* the execution's own timeout ended it */

    /* A job outside of a workflow, whose executor is chosen by the routes. This flag shares its bit
     * with FLAG_EXITED, which only workflows have, because all other bits are in use. */
    FLAG_ROUTED = 16,

    /* Flags of any execution, most of them set by operator actions. */
    /* It is paused: neither it nor its descendants start; cleared when it ends. */
    FLAG_PAUSED = 128,
    FLAG_RELEASING = 256,   /* the end of a pause is still being propagated to descendants */
    FLAG_APPROVED = 512,    /* its approval was given */
    FLAG_LET_FINISH = 1024, /* it was cancelled, but its running descendants may finish */
    FLAG_RERUN = 2048,      /* it is rerun, so its children already have rows */
    /* A fan-out, or a workflow that waits for its permit, that is rerun: children that succeeded do
     * not run again. */
    FLAG_ONLY_FAILED = 4096,
    /* Its rerun has not started, so its children still belong to the earlier run. */
    FLAG_NOT_STARTED = 8192,
    /* It was submitted by a process that does not use queues (queue.enabled: false), so its jobs
     * count against queue.cap. (Up to version 12 of the schema this bit was FLAG_NOTIFYING = 16384;
     * a migration uses that name, which tools/sqlgen.awk reads here.) */
    FLAG_CAPPED = 16384
};
/* The flags that a child in this state sets on its parent. */
int graph_flags_of(const struct graph_need *n);
/* The status with which a parent with these flags ends. */
int graph_end(int bits, bool cancel_requested);

#endif
