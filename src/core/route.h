/* route.h - which executor a task goes to, by rules on its full name. Pure. */
#ifndef CORE_ROUTE_H
#define CORE_ROUTE_H

#include "base/err.h"
#include "base/mem.h"

#include <stdbool.h>
#include <stddef.h>

/* In a glob * stands for any text and ? for one character; all else, brackets too, is literal. */
struct route {
    const char *glob, *executor;
};

/* The rules in the order in which they are tried, and what counts if none fits. */
struct routes {
    struct route *at; /* globs as fnmatch wants them */
    char **globs;     /* as they were given */
    size_t n;
    char *command, *container; /* the defaults' keys */
    bool command_given, container_given;
};

/* What is known of a task when it becomes ready. */
struct route_query {
    const char *name;     /* full name: workflow::task, workflow::task[3], exec::NAME */
    const char *executor; /* the task's own word; NULL: none */
    const char *function; /* NULL: it is a command */
    bool container;
};

/* Copies everything. A default that is NULL is "process", "container". */
void routes_init(struct routes *r, const struct route *rules, size_t n, const char *command,
                 const char *container);
void routes_release(struct routes *r);

/* The lane: function:NAME for a function; else the task's own executor, the first rule that fits,
 * or the default of its kind. Lives as long as the query's texts, the rules and the arena. */
const char *routes_lane(const struct routes *r, const struct route_query *q, struct arena *arena);

/* Every executor that the rules and the given defaults name must be one of these. */
MUST_USE int routes_check(const struct routes *r, const char *const *keys, size_t nkeys,
                          struct err *err);

#endif
