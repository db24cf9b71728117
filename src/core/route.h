/* route.h - chooses the executor of a job by rules on its full name. The rules are a setting that
 * all processes of a database share, stored as JSON. */
#ifndef CORE_ROUTE_H
#define CORE_ROUTE_H

#include "base/err.h"
#include "base/mem.h"

#include <stdbool.h>
#include <stddef.h>

/* A rule: the jobs whose full name matches the glob use the executor. In a glob, * matches any text
 * and ? one character; everything else is literal, including brackets. */
struct route {
    const char *glob, *executor;
};

bool glob_matches(const char *glob, const char *name);

/* The rules in the order in which they are tried, and the executor of commands that match none. */
struct routes {
    const struct route *at;
    size_t n;
    const char *command; /* key of the default executor; NULL for "process" */
};
#define ROUTES_MAX 10000

/* Whether the key belongs to an executor that is part of Pawl, or to a lane that no executor can
 * have. */
bool executor_is_built_in(const char *key);

/* The properties of a job that decide its lane. */
struct route_query {
    const char *name;     /* full name, such as workflow::task, workflow::task[3] or exec::NAME */
    const char *executor; /* the executor that the job itself names; NULL if none */
    const char *function; /* the function's name; NULL for a command */
    bool container;
};

/* The lane of a job: for a function, function:NAME, allocated in the arena; otherwise the executor
 * that the job names, else that of the first matching rule, else the default. The lane is valid as
 * long as the query's strings, the routes and the arena. Never fails: a lane that this worker does
 * not serve may be served by another. */
const char *route_find(const struct routes *r, const struct route_query *q, struct arena *arena);

/* Checks the number of rules, their globs and the keys of their executors. Keys of unknown
 * executors are accepted, because a worker that has the executor may start later. */
MUST_USE int routes_check(const struct routes *r, struct err *err);
MUST_USE int routes_read(const char *json, struct arena *arena, struct routes *out,
                         struct err *err);
/* Writes the routes as JSON; equal routes give equal strings. The caller frees the string. */
char *routes_write(const struct routes *r);

#endif
