/* settings.c - settings that the database stores for all of its processes. A configuration file
 * provides the value only as long as the database has none. */
#include "api/api.h"
#include "api/known_executors.h"
#include "base/suggest.h"
#include "store/operator.h"

#include <stdlib.h>
#include <string.h>

TURN_BODY(change_body, op_change_setting)

static int change_setting(struct pawl *p, void *arg, struct err *err)
{
    const struct setting_change *c = arg;

    if (p->remote)
        return remote_setting(p->remote, c->name, c->value, c->reason, err);
    return store_turn(p->store, change_body, arg, err);
}

/* The value that applies: the database's, else the file's. *source is set to a word that says which
 * of them it is. */
static const char *effective(const struct setting *s, const char *file, bool given,
                             const char **source)
{
    *source = s->value ? "database" : given ? "file" : "default";
    return s->value ? s->value : file;
}

#define A_SOURCE            \
    "source", TEXT(source), \
        "`database`; as long as that has no value, `file` (the caller's `pawl.yaml`) or `default`"
#define A_LAST "last_order", OPT_OBJECT(last, last_audit_noun), "the last change"

/* ---- retention ---- */

struct retention_answer {
    int execution_days, log_days; /* -1 if none */
    const char *source;
    const struct last_audit *last;
};

#define ROW struct retention_answer
static const struct column retention_columns[] = {
    {"execution_days", OPT_INT(execution_days),
     "how long an execution is kept after its end; null: forever"},
    {"log_days", OPT_INT(log_days), "how long its logs are kept; null: as long as the execution"},
    {A_SOURCE},
    {A_LAST},
};
const struct noun retention_noun = {"## Retention", NOUN_COLUMNS(retention_columns)};
#undef ROW

struct retention_policy api_file_retention(const struct config *c)
{
    struct retention_policy p = {c->execution_events.retention_days, c->logs.retention_days};

    if (!c->execution_events.cleanup)
        return (struct retention_policy){0};
    if (p.log_days == p.execution_days)
        p.log_days = 0;
    return p;
}

int pawl_retention_get(struct pawl *p, char **json, struct pawl_error *e)
{
    AUTO(setting_release) struct setting s = {0};
    struct retention_policy now = api_file_retention(p->config);
    AUTO_FREE char *file = retention_write(&now);
    struct retention_answer a = {0};
    API_ERR(e);

    if (p->remote)
        return remote_get(p->remote, "/v1/retention", json, err);
    TRY(query_setting(p->store, SETTING_RETENTION, &s, err));
    TRY(retention_read(effective(&s, file, p->config->retention_given, &a.source), &now, err));
    a.execution_days = now.execution_days ? now.execution_days : -1;
    a.log_days = now.log_days ? now.log_days : -1;
    a.last = audit_or_null(&s.last);
    *json = noun_text(&retention_noun, &a);
    return 0;
}

int pawl_retention_set(struct pawl *p, const struct pawl_retention *wanted, const char *by,
                       const char *reason, struct pawl_error *e)
{
    struct retention_policy policy = {wanted->execution_days, wanted->log_days};
    struct setting_change c = {.name = SETTING_RETENTION, .by = by, .reason = reason};
    AUTO_FREE char *value = NULL;
    API_ERR(e);

    TRY(retention_check(&policy, err));
    c.value = value = retention_write(&policy);
    return api_request(p, &c.by, reason, change_setting, &c, e);
}

/* ---- routes ---- */

struct routes_answer {
    struct noun_rows routes;
    const char *default_executor, *unknown, *source;
    const struct last_audit *last;
};

#define ROW struct route
static const struct column route_columns[] = {
    {"task", TEXT(glob), "a glob: `*` matches any text, `?` one character"},
    {"executor", TEXT(executor), NULL},
};
const struct noun route_noun = {"### A route", NOUN_COLUMNS(route_columns)};
#undef ROW

#define ROW struct routes_answer
static const struct column routes_columns[] = {
    {"routes", LIST(routes, route_noun), "the first one whose glob matches the full name is used"},
    {"default_executor", TEXT(default_executor), "runs the commands that no route matches"},
    {"unknown_executors", JSON(unknown, "array"),
     "executors named above that neither the caller's `pawl.yaml` nor a worker has"},
    {A_SOURCE},
    {A_LAST},
};
const struct noun routes_noun = {"## Routes", NOUN_COLUMNS(routes_columns)};
#undef ROW

/* The executors that the routes name, but that neither the configuration file nor a worker has. */
struct unknown_executors {
    struct known_executors known;
    VEC(const char *) keys; /* without duplicates */
};

static void unknown_executors_release(struct unknown_executors *u)
{
    known_executors_release(&u->known);
    vec_release(&u->keys);
}

static void note_unknown(struct unknown_executors *u, const char *key)
{
    for (size_t i = 0; i < u->keys.n; i++)
        if (!strcmp(u->keys.at[i], key))
            return;
    if (!known_executors_have(&u->known, key))
        *vec_add(&u->keys) = key;
}

static int find_unknown(struct pawl *p, const struct routes *r, struct unknown_executors *u,
                        struct err *err)
{
    TRY(known_executors_read(p, &u->known, err));
    for (size_t i = 0; i < r->n; i++)
        note_unknown(u, r->at[i].executor);
    if (r->command)
        note_unknown(u, r->command);
    return 0;
}

static const char *texts_to_json(const char *const *at, size_t n, struct arena *arena)
{
    AUTO_BUF out = BUF_INIT;
    struct json_writer w = JSON_WRITER(&out);

    json_write_begin(&w, '[');
    for (size_t i = 0; i < n; i++)
        json_write_text(&w, at[i]);
    json_write_end(&w, ']');
    return arena_strdup(arena, buf_cstr(&out));
}

int pawl_routes_get(struct pawl *p, char **json, struct pawl_error *e)
{
    AUTO(setting_release) struct setting s = {0};
    AUTO(unknown_executors_release) struct unknown_executors unknown = {0};
    AUTO_FREE char *file = routes_write(&p->config->dispatch.routes);
    struct routes_answer a = {0};
    struct routes now;
    const char *value;
    API_ERR(e);

    if (p->remote)
        return remote_get(p->remote, "/v1/routes", json, err);
    TRY(query_setting(p->store, SETTING_ROUTES, &s, err));
    value = effective(&s, file, p->config->routes_given, &a.source);
    TRY(routes_read(value, &s.arena, &now, err));
    TRY(find_unknown(p, &now, &unknown, err));
    a.routes = (struct noun_rows){now.at, now.n, sizeof(*now.at)};
    a.default_executor = now.command;
    a.unknown = texts_to_json(unknown.keys.at, unknown.keys.n, &s.arena);
    a.last = audit_or_null(&s.last);
    *json = noun_text(&routes_noun, &a);
    return 0;
}

static int set_routes(struct pawl *p, const struct routes *r, const char *by, const char *reason,
                      struct pawl_error *e)
{
    struct setting_change c = {.name = SETTING_ROUTES, .by = by, .reason = reason};
    AUTO_FREE char *value = NULL;
    API_ERR(e);

    TRY(routes_check(r, err));
    c.value = value = routes_write(r);
    return api_request(p, &c.by, reason, change_setting, &c, e);
}

static int routes_of_file(const char *path, struct config **out, struct err *err)
{
    TRY(api_config(path, out, err));
    return (*out)->routes_given
               ? 0
               : err_set(err, E_INVALID,
                         "%s has neither dispatch.routes nor dispatch.default_executor", path);
}

int pawl_routes_set(struct pawl *p, const struct pawl_routes *wanted, const char *by,
                    const char *reason, struct pawl_error *e)
{
    AUTO(config_free) struct config *file = NULL;
    AUTO_ARENA arena = ARENA_INIT;
    struct route *list = arena_zalloc(&arena, (wanted->n + 1) * sizeof(*list));
    struct routes r = {.at = list, .n = wanted->n, .command = wanted->default_executor};
    API_ERR(e);

    for (size_t i = 0; i < wanted->n; i++)
        list[i] = (struct route){wanted->routes[i].task, wanted->routes[i].executor};
    if (wanted->file)
        TRY(routes_of_file(wanted->file, &file, err));
    return set_routes(p, file ? &file->dispatch.routes : &r, by, reason, e);
}

/* ---- the configuration file ---- */

/* A setting as the configuration file states it. */
struct file_setting {
    const char *name, *value; /* value is NULL if the file does not set it */
    const char *keys;         /* the keys of the file that the setting consists of, for messages */
};

static int store_initial(struct pawl *p, struct setting_change *c, struct err *err)
{
    struct pawl_error e = {0};
    int rc = api_request(p, &c->by, c->reason, change_setting, c, &e);

    return rc ? err_set(err, (enum error_code)e.code, "%s", e.message) : 0;
}

/* Stores the value of the file if the database has none, else reports a difference, if `report` is
 * set. */
static int follow_setting(struct pawl *p, const struct file_setting *f, bool report,
                          struct err *err)
{
    AUTO(setting_release) struct setting s = {0};
    AUTO_FREE char *reason = NULL, *sentence = NULL;
    struct setting_change c = {.name = f->name, .value = f->value, .initial = true};

    if (!f->value)
        return 0;
    TRY(query_setting(p->store, f->name, &s, err));
    if (!s.value) {
        c.reason = reason = mem_printf("the initial value, from %.900s", p->config->file);
        TRY(store_initial(p, &c, err));
        s.value = c.found;
    }
    if (!s.value || !strcmp(s.value, f->value) || !report || !p->env.note)
        return 0;
    sentence =
        mem_printf("%s: %s differ from the database's setting, which applies: see `pawl admin %s`",
                   p->config->file, f->keys, f->name);
    p->env.note(p->env.arg, sentence);
    return 0;
}

/* Reports the executors that the routes name but no worker has: tasks that are routed to them would
 * wait. */
static int report_unknown(struct pawl *p, struct err *err)
{
    AUTO(setting_release) struct setting s = {0};
    AUTO(unknown_executors_release) struct unknown_executors unknown = {0};
    struct routes routes;

    TRY(query_setting(p->store, SETTING_ROUTES, &s, err));
    if (!s.value || !p->env.note)
        return 0;
    TRY(routes_read(s.value, &s.arena, &routes, err));
    TRY(find_unknown(p, &routes, &unknown, err));
    for (size_t i = 0; i < unknown.keys.n; i++) {
        const char *key = unknown.keys.at[i], *best = known_executors_suggest(&unknown.known, key);
        AUTO_FREE char *sentence = mem_printf(
            "the routes of the database name the executor \"%s\", which no worker has: tasks that "
            "are routed to it wait; see `pawl admin routes`%s%s%s",
            key, DID_YOU_MEAN(best));

        p->env.note(p->env.arg, sentence);
    }
    return 0;
}

int api_follow_routes(struct pawl *p, bool report, struct err *err)
{
    AUTO_FREE char *routes = NULL;

    if (p->routes_followed)
        return 0;
    if (p->config->routes_given) {
        TRY(routes_check(&p->config->dispatch.routes, err));
        routes = routes_write(&p->config->dispatch.routes);
    }
    TRY(follow_setting(p,
                       &(struct file_setting){SETTING_ROUTES, routes,
                                              "the keys dispatch.routes and "
                                              "dispatch.default_executor"},
                       report, err));
    p->routes_followed = true;
    return 0;
}

int api_follow_settings(struct pawl *p, bool foreground, struct err *err)
{
    struct retention_policy policy = api_file_retention(p->config);
    AUTO_FREE char *retention = p->config->retention_given ? retention_write(&policy) : NULL;

    p->routes_followed = false;
    TRY(api_follow_routes(p, true, err));
    if (foreground)
        return 0;
    TRY(report_unknown(p, err));
    return follow_setting(
        p,
        &(struct file_setting){SETTING_RETENTION, retention,
                               "the keys execution_events.cleanup, "
                               "execution_events.retention_days and logs.retention_days"},
        true, err);
}
