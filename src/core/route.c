/* route.c - chooses the lane of a job by the routes; see route.h. */
#include "core/route.h"

#include "base/json.h"
#include "base/json_read.h"
#include "base/text.h"

#include <string.h>

#define MAX_GLOB  1000 /* bytes */
#define MAX_KEY   100
#define MAX_BYTES (16 * 1024 * 1024) /* of the routes as JSON */

/* Returns the position of the character after the UTF-8 character at p. */
static const char *next_character(const char *p)
{
    for (p++; ((unsigned char)*p & 0xC0) == 0x80;)
        p++;
    return p;
}

/* Does not use fnmatch, because names of jobs such as load[3] contain characters that are special
 * to it. */
bool glob_matches(const char *glob, const char *name)
{
    const char *star = NULL, *retry = NULL; /* after the last * in glob; where to retry in name */

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

bool executor_is_built_in(const char *key)
{
    return !strcmp(key, "process") || !strcmp(key, "container") || !strcmp(key, "function") ||
           strchr(key, ':');
}

static const char *default_executor(const struct routes *r)
{
    return r->command ? r->command : "process";
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
        if (glob_matches(r->at[i].glob, q->name))
            return r->at[i].executor;
    return q->container ? "container" : default_executor(r);
}

/* ---- check ---- */

static int check_text(const char *what, const char *text, size_t max, struct err *err)
{
    size_t len = strlen(text);

    if (!len)
        return err_set(err, E_INVALID, "the %s is empty", what);
    if (len > max)
        return err_set(err, E_INVALID, "the %s is %zu bytes long; at most %zu are allowed", what,
                       len, max);
    return text_is_utf8(text, len) ? 0 : err_set(err, E_INVALID, "the %s is not valid UTF-8", what);
}

static int check_executor(const char *key, struct err *err)
{
    TRY(check_text("executor's key", key, MAX_KEY, err));
    if (!strcmp(key, "function") || !strncmp(key, "function:", 9))
        return err_set(err, E_INVALID, "the executor \"%.60s\" runs functions, not commands", key);
    if (strchr(key, ':'))
        return err_set(err, E_INVALID, "the executor's key \"%.60s\" can't contain a colon", key);
    return 0;
}

int routes_check(const struct routes *r, struct err *err)
{
    if (r->n > ROUTES_MAX)
        return err_set(err, E_INVALID, "there are %zu routes; at most %d are allowed", r->n,
                       ROUTES_MAX);
    for (size_t i = 0; i < r->n; i++) {
        if (check_text("glob", r->at[i].glob, MAX_GLOB, err))
            return err_prefix(err, "route %zu", i + 1);
        if (check_executor(r->at[i].executor, err))
            return err_prefix(err, "route %zu (%.100s)", i + 1, r->at[i].glob);
    }
    if (r->command && check_executor(r->command, err))
        return err_prefix(err, "the default executor for commands");
    return 0;
}

/* ---- JSON ---- */

static int read_route(const struct json_node *node, struct arena *arena, struct route *out,
                      struct err *err)
{
    struct json_node task, executor;

    if (!json_read_member(node, "task", &task) || !json_read_member(node, "executor", &executor))
        return json_read_fail(node, err, "needs both task and executor");
    TRY(json_read_text(&task, 1, MAX_GLOB, arena, &out->glob, err));
    return json_read_text(&executor, 1, MAX_KEY, arena, &out->executor, err);
}

int routes_read(const char *json, struct arena *arena, struct routes *out, struct err *err)
{
    AUTO_JSON_NODE doc = {0};
    struct json_node list, node;
    struct route *at;

    *out = (struct routes){0};
    TRY(json_read_open(json, strlen(json), MAX_BYTES, "the stored routes", &doc, err));
    if (json_read_member(&doc, "default_executor", &node))
        TRY(json_read_text(&node, 1, MAX_KEY, arena, &out->command, err));
    if (!json_read_member(&doc, "routes", &list))
        return 0;
    TRY(json_read_array(&list, ROUTES_MAX, &out->n, err));
    out->at = at = arena_zalloc(arena, (out->n + 1) * sizeof(*at));
    for (size_t i = 0; i < out->n; i++) {
        json_read_item(&list, i, &node);
        TRY(read_route(&node, arena, &at[i], err));
    }
    return 0;
}

char *routes_write(const struct routes *r)
{
    AUTO_BUF out = BUF_INIT;
    struct json_writer w = JSON_WRITER(&out);

    json_write_begin(&w, '{');
    json_field_text(&w, "default_executor", default_executor(r));
    json_write_key(&w, "routes");
    json_write_begin(&w, '[');
    for (size_t i = 0; i < r->n; i++) {
        json_write_begin(&w, '{');
        json_field_text(&w, "task", r->at[i].glob);
        json_field_text(&w, "executor", r->at[i].executor);
        json_write_end(&w, '}');
    }
    json_write_end(&w, ']');
    json_write_end(&w, '}');
    return mem_strdup(buf_cstr(&out));
}
