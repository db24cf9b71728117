/* graph.h - what follows when a task ends: pure decisions about one task and its needs. Who is
 * asked is decided by the caller; the cost of an answer is the number of needs, never the graph.
 *
 *   graph_join     may it be decided yet?      then   its `if`      run, or skip
 *   graph_facts    what success(), failure(), cancelled() and always() say of its needs
 *   graph_end      how a workflow or fan-out ends, from what its children left in its bits */
#ifndef CORE_GRAPH_H
#define CORE_GRAPH_H

#include "core/vocab.h"

#include <stdbool.h>
#include <stddef.h>

/* A need of a task, as its row tells. */
struct graph_need {
    int status;
    bool allow_failure;
    bool skipped_by_failure; /* skipped, with a failure behind it */
    bool by_operator;        /* skipped by a person */
};

/* A need that counts as done: it succeeded, failed but was allowed to, or a person skipped it. */
bool graph_is_success(const struct graph_need *n);
/* A failure that counts: failed or timed out without being allowed to, or skipped because of one.
 */
bool graph_is_failure(const struct graph_need *n);

struct graph_facts {
    bool success, failure, cancelled;
};
/* Of no needs at all: success, and nothing else. */
struct graph_facts graph_facts(const struct graph_need *needs, size_t n);

enum graph_decision {
    GRAPH_WAIT,
    GRAPH_DECIDE, /* by its `if` */
    GRAPH_SKIP,   /* it can't come to it any more */
};
/* join 0: when all needs are terminal. Otherwise when so many of them are a success, and never once
 * that is impossible. */
enum graph_decision graph_join(int join, size_t left, size_t succeeded);

/* What children leave in the bits of their workflow or fan-out (executions.skipped_by_failure). */
enum execution_flag {
    FLAG_FAILED = 1,      /* one failed that was not allowed to */
    FLAG_CANCELLED = 2,   /* one was cancelled */
    FLAG_BY_OPERATOR = 4, /* of a skipped task: a person skipped it */
    FLAG_HANDLED = 8,     /* on_failure was run */
    FLAG_EXITED = 16,     /* on_exit was run */
    FLAG_STOPPED = 32,    /* of a fan-out: fail_fast ended it */
    FLAG_TIMED_OUT = 64,  /* its own timeout ended it */

    /* What people did to it; these are of any execution. */
    FLAG_PAUSED = 128,       /* nothing of it and below it starts */
    FLAG_RELEASING = 256,    /* the end of a pause is still being carried down */
    FLAG_APPROVED = 512,     /* its approval was given */
    FLAG_LET_FINISH = 1024,  /* it was cancelled, but what runs below it may finish */
    FLAG_RERUN = 2048,       /* it has run before: what is below it has rows already */
    FLAG_ONLY_FAILED = 4096, /* of a fan-out that runs again: items that succeeded do not */
    FLAG_NOT_STARTED = 8192, /* it is to run again: what is below it is of an earlier run */
    FLAG_NOTIFYING = 16384   /* it has ended, and not all that need it have counted that yet */
};
int graph_flags_of(const struct graph_need *n); /* what this child adds */
int graph_end(int bits, bool cancel_requested); /* the status that it ends with */

#endif
