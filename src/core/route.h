/* route.h - chooses the executor of a task by rules on its full name. Pure: the rules are a value
 * that the configuration holds and that everyone else borrows. */
#ifndef CORE_ROUTE_H
#define CORE_ROUTE_H

#include "base/err.h"
#include "base/mem.h"

#include <stdbool.h>
#include <stddef.h>

/* In a glob, * matches any text and ? one character; everything else is literal, brackets too. */
struct route {
    const char *glob, *executor;
};

/* The rules in the order in which they are tried, and the executors for tasks that match none. */
struct routes {
    const struct route *at;
    size_t n;
    const char *command, *container; /* NULL for "process", "container" */
};

/* The properties of a task that decide its lane. */
struct route_query {
    const char *name;     /* full name: workflow::task, workflow::task[3], exec::NAME */
    const char *executor; /* the executor that the task names; NULL if none */
    const char *function; /* NULL for a command */
    bool container;
};

/* The lane of a task: for a function, function:NAME, allocated in the arena; otherwise the executor
 * that the task names, else that of the first matching rule, else the default. The lane is valid as
 * long as the query's strings, the routes and the arena. Never fails: a lane that this worker does
 * not serve may be served by another. */
const char *route_find(const struct routes *r, const struct route_query *q, struct arena *arena);

/* Fails unless every executor that the rules and the given defaults name is among `keys`. */
MUST_USE int routes_check(const struct routes *r, const char *const *keys, size_t nkeys,
                          struct err *err);

#endif
