/* settings.c - settings that all processes of the database share: rows `setting:NAME` of the table
 * settings. Every change raises the version of the settings, so that processes notice the
 * change. */
#include "store/ops/audit.h"
#include "store/store_internal.h"

static int read_setting(struct turn *t, const char *name, const char **out, struct err *err)
{
    AUTO_ROWS r = ROWS_INIT;

    TRY(ask(t, &r, err, Q_SETTING_READ, arena_printf(&t->arena, "setting:%s", name)));
    *out = r.n ? arena_strdup(&t->arena, rows_text(&r, 0, 0)) : NULL;
    return 0;
}

int op_change_setting(struct turn *t, struct setting_change *c, struct err *err)
{
    int64_t version;

    /* Also locks all settings. */
    TRY(ask_one(t->db, INTO(&version), err, Q_SETTINGS_RAISE_VERSION));
    TRY(read_setting(t, c->name, &c->found, err));
    if (c->found && c->initial)
        return 0;
    TRY(db_queue(t->db, NULL, 1, err, Q_SETTING_WRITE,
                 arena_printf(&t->arena, "setting:%s", c->name), c->value));
    return audit_write(t,
                       &(struct audit_entry){.kind = "setting",
                                             .name = c->name,
                                             .action = AUDIT_CHANGED,
                                             .by = c->by,
                                             .reason = c->reason,
                                             .data = c->value},
                       err);
}

int op_retention_policy(struct turn *t, struct retention_policy *out, struct err *err)
{
    const char *value;

    TRY(read_setting(t, SETTING_RETENTION, &value, err));
    return value ? retention_read(value, out, err) : 0;
}

/* ---- routes ---- */

int settings_find_version(struct turn *t, int64_t *out, struct err *err)
{
    if (!t->settings_version.n)
        TRY(db_flush(t->db, err));
    if (!t->settings_version.n)
        return ask_one(t->db, INTO(out), err, Q_SETTINGS_READ_VERSION);
    *out = rows_int(&t->settings_version, 0, 0);
    return 0;
}

/* Reads the routes again if a setting has changed since they were read. */
static int refresh_routes(struct turn *t, struct err *err)
{
    struct store *s = t->store;
    const char *value = NULL;
    int64_t version = 0;

    TRY(settings_find_version(t, &version, err));
    if (version == s->routes.version)
        return 0;
    if (version > SETTINGS_FIRST_VERSION)
        TRY(read_setting(t, SETTING_ROUTES, &value, err));
    s->routes.version = 0;
    s->routes.routes = (struct routes){0};
    arena_reset(&s->routes.arena);
    if (value)
        TRY(routes_read(value, &s->routes.arena, &s->routes.routes, err));
    s->routes.version = version;
    return 0;
}

int turn_route(struct turn *t, const struct route_query *q, const char **lane, struct err *err)
{
    if (!q->function && !q->executor)
        TRY(refresh_routes(t, err));
    *lane = arena_strdup(&t->arena, route_find(&t->store->routes.routes, q, &t->arena));
    return 0;
}
