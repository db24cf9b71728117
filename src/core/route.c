/* route.c - chooses the lane of a task; see route.h. */
#include "core/route.h"

#include "base/buf.h"

#include <string.h>

/* The character after the one at p, in UTF-8. */
static const char *next_character(const char *p)
{
    for (p++; ((unsigned char)*p & 0xC0) == 0x80;)
        p++;
    return p;
}

/* Not fnmatch: names such as load[3] contain characters that are special to it. */
static bool matches(const char *glob, const char *name)
{
    const char *star = NULL, *retry = NULL; /* where to continue if the text after a * differs */

    while (*name) {
        if (*glob == '*') {
            star = ++glob;
            retry = name;
        } else if (*glob == '?') {
            glob++;
            name = next_character(name);
        } else if (*glob == *name) {
            glob++;
            name++;
        } else if (star) {
            glob = star;
            name = retry = next_character(retry);
        } else {
            return false;
        }
    }
    return !glob[strspn(glob, "*")];
}

const char *route_find(const struct routes *r, const struct route_query *q, struct arena *arena)
{
    if (q->function) {
        char *lane = arena_alloc(arena, sizeof("function:") + strlen(q->function));

        stpcpy(stpcpy(lane, "function:"), q->function);
        return lane;
    }
    if (q->executor)
        return q->executor;
    for (size_t i = 0; i < r->n; i++)
        if (matches(r->at[i].glob, q->name))
            return r->at[i].executor;
    if (q->container)
        return r->container ? r->container : "container";
    return r->command ? r->command : "process";
}

/* ---- check ---- */

static int check_key(const char *key, const char *const *keys, size_t nkeys, struct err *err)
{
    AUTO_BUF known = BUF_INIT;

    for (size_t i = 0; i < nkeys; i++)
        if (!strcmp(keys[i], key))
            return 0;
    for (size_t i = 0; i < nkeys; i++)
        buf_addf(&known, "%s%s", i ? ", " : "", keys[i]);
    return err_set(err, E_INVALID, "there is no executor \"%.60s\" for commands; %s%s", key,
                   nkeys ? "available: " : "none is available", buf_cstr(&known));
}

int routes_check(const struct routes *r, const char *const *keys, size_t nkeys, struct err *err)
{
    for (size_t i = 0; i < r->n; i++) {
        if (!*r->at[i].glob)
            return err_set(err, E_INVALID, "route %zu has no glob: use * to match every task",
                           i + 1);
        if (check_key(r->at[i].executor, keys, nkeys, err))
            return err_prefix(err, "route %zu (%.100s)", i + 1, r->at[i].glob);
    }
    if (r->command && check_key(r->command, keys, nkeys, err))
        return err_prefix(err, "the default for commands");
    if (r->container && check_key(r->container, keys, nkeys, err))
        return err_prefix(err, "the default for containers");
    return 0;
}
