/* route.h - chooses the executor of a task by rules on its full name. Pure. */
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

/* The rules in the order in which they are tried, and the defaults if none matches. */
struct routes {
    struct route *at; /* globs escaped for fnmatch */
    char **globs;     /* globs as given */
    size_t n;
    char *command, *container; /* keys of the default executors */
    bool command_given, container_given;
};

/* The properties of a ready task that decide its lane. */
struct route_query {
    const char *name;     /* full name: workflow::task, workflow::task[3], exec::NAME */
    const char *executor; /* the executor that the task names; NULL if none */
    const char *function; /* NULL for a command */
    bool container;
};

/* Copies everything. If NULL, `command` is "process" and `container` is "container". */
void routes_init(struct routes *r, const struct route *rules, size_t n, const char *command,
                 const char *container);
void routes_release(struct routes *r);

/* The lane: function:NAME for a function; otherwise the executor that the task names, that of the
 * first matching rule, or the default. Valid as long as the query's texts, the rules and the
 * arena. */
const char *routes_lane(const struct routes *r, const struct route_query *q, struct arena *arena);

/* Fails unless every executor named by the rules and the given defaults is among `keys`. */
MUST_USE int routes_check(const struct routes *r, const char *const *keys, size_t nkeys,
                          struct err *err);

#endif
