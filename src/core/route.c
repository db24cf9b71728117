/* route.c - chooses the lane of a task; see route.h. */
#include "core/route.h"

#include "base/buf.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

/* Escapes brackets and backslashes: they are special to fnmatch, but names such as load[3] contain
 * them. */
static char *escape_glob(const char *glob)
{
    struct buf b = BUF_INIT;

    for (; *glob; glob++) {
        if (*glob == '[' || *glob == '\\')
            buf_addch(&b, '\\');
        buf_addch(&b, *glob);
    }
    return b.ptr ? b.ptr : mem_strdup("");
}

void routes_init(struct routes *r, const struct route *rules, size_t n, const char *command,
                 const char *container)
{
    size_t i;

    *r = (struct routes){
        .at = mem_alloc(n * sizeof(*r->at)),
        .globs = mem_alloc(n * sizeof(*r->globs)),
        .n = n,
        .command = mem_strdup(command ? command : "process"),
        .container = mem_strdup(container ? container : "container"),
        .command_given = command != NULL,
        .container_given = container != NULL,
    };
    for (i = 0; i < n; i++) {
        r->globs[i] = mem_strdup(rules[i].glob);
        r->at[i].glob = escape_glob(rules[i].glob);
        r->at[i].executor = mem_strdup(rules[i].executor);
    }
}

void routes_release(struct routes *r)
{
    size_t i;

    for (i = 0; i < r->n; i++) {
        free(r->globs[i]);
        free((char *)r->at[i].glob);
        free((char *)r->at[i].executor);
    }
    free(r->globs);
    free(r->at);
    free(r->command);
    free(r->container);
    *r = (struct routes){0};
}

const char *routes_lane(const struct routes *r, const struct route_query *q, struct arena *arena)
{
    size_t i;

    if (q->function) {
        size_t len = strlen(q->function);
        char *lane = arena_alloc(arena, sizeof("function:") + len);

        memcpy(lane, "function:", sizeof("function:") - 1);
        memcpy(lane + sizeof("function:") - 1, q->function, len + 1);
        return lane;
    }
    if (q->executor)
        return q->executor;
    for (i = 0; i < r->n; i++)
        if (!fnmatch(r->at[i].glob, q->name, 0))
            return r->at[i].executor;
    return q->container ? r->container : r->command;
}

/* ---- check ---- */

static int check_key(const char *key, const char *const *keys, size_t nkeys, struct err *err)
{
    struct buf known = BUF_INIT;
    size_t i;

    for (i = 0; i < nkeys; i++)
        if (!strcmp(keys[i], key))
            return 0;
    for (i = 0; i < nkeys; i++)
        buf_addf(&known, "%s%s", i ? ", " : "", keys[i]);
    err_set(err, E_INVALID, "there is no executor \"%.60s\" for commands; %s%s", key,
            nkeys ? "available: " : "none is available", buf_cstr(&known));
    buf_release(&known);
    return -E_INVALID;
}

int routes_check(const struct routes *r, const char *const *keys, size_t nkeys, struct err *err)
{
    size_t i;

    for (i = 0; i < r->n; i++) {
        if (!*r->globs[i])
            return err_set(err, E_INVALID, "route %zu has no glob: use * to match every task",
                           i + 1);
        if (check_key(r->at[i].executor, keys, nkeys, err))
            return err_prefix(err, "route %zu (%.100s)", i + 1, r->globs[i]);
    }
    if (r->command_given && check_key(r->command, keys, nkeys, err))
        return err_prefix(err, "the default for commands");
    if (r->container_given && check_key(r->container, keys, nkeys, err))
        return err_prefix(err, "the default for containers");
    return 0;
}
