/* settings.c - the settings that all workers share: retention and routes. */
#include "server/server.h"

typedef int read_setting(struct pawl *p, char **json, struct pawl_error *err);

static void answer_setting(struct request *r, read_setting *read)
{
    struct pawl_error err = {0};
    char *json = NULL;
    int rc = read(r->p, &json, &err);

    answer_document(r, rc, json, &err);
}

static void retention(struct request *r)
{
    answer_setting(r, pawl_retention_get);
}

static void routes(struct request *r)
{
    answer_setting(r, pawl_routes_get);
}

static void set_retention(struct request *r)
{
    struct pawl_retention wanted;
    struct pawl_error err = {0};
    struct values *v;
    size_t n;

    if (!body_read(r, &v, &n))
        return;
    wanted =
        (struct pawl_retention){(int)value_int(v, "execution_days"), (int)value_int(v, "log_days")};
    if (pawl_retention_set(r->p, &wanted, r->by, value_text(v, "reason"), &err))
        answer_error(r, &err);
    else
        retention(r);
}

static void set_routes(struct request *r)
{
    struct pawl_routes wanted = {0};
    struct pawl_error err = {0};
    const struct value *list;
    struct pawl_route *at;
    struct values *v;
    size_t n;

    if (!body_read(r, &v, &n))
        return;
    list = value_of(v, "routes");
    at = arena_zalloc(&r->arena, ((size_t)list->n + 1) * sizeof(*at));
    for (int64_t i = 0; i < list->n; i++)
        at[i] = (struct pawl_route){value_text(&list->objects[i], "task"),
                                    value_text(&list->objects[i], "executor")};
    wanted = (struct pawl_routes){
        .routes = at, .n = (size_t)list->n, .default_executor = value_text(v, "default_executor")};
    if (pawl_routes_set(r->p, &wanted, r->by, value_text(v, "reason"), &err))
        answer_error(r, &err);
    else
        routes(r);
}

#define DAYS_MAX      100000 /* the library has a lower limit, and a sentence for it */
#define MEMBER_REASON RULE("reason", TEXT, "recorded with the change", .min = 1, .max = 1000)
static const struct value_rule retention_members[] = {
    RULE("execution_days", INT,
         "how long executions are kept after their end; 0 or not given: forever", .min = 0,
         .max = DAYS_MAX),
    RULE("log_days", INT, "how long their logs are kept; 0 or not given: as long as the executions",
         .min = 0, .max = DAYS_MAX),
    MEMBER_REASON,
    {0}};
static const struct value_rule route_members[] = {
    RULE("task", TEXT, "a glob on a full name", .required = true),
    RULE("executor", TEXT, "the key of an executor", .required = true),
    {0}};
static const struct value_rule routes_members[] = {
    RULE("routes", LIST, "the first that matches is used", .of = route_members, .required = true),
    RULE("default_executor", TEXT, "runs commands that no route matches; process if not given",
         .min = 1, .max = 1000),
    MEMBER_REASON,
    {0}};

#define READ  PAWL_SCOPE_READ, PLANE_READ
#define ADMIN PAWL_SCOPE_ADMIN, PLANE_CONTROL
const struct endpoint setting_endpoints[] = {
    {"GET", "/v1/retention", "getRetention", "Shows how long executions and logs are kept.", READ,
     .answer = "Retention", .status = 200, .run = retention},
    {"PUT", "/v1/retention", "setRetention", "Sets how long executions and logs are kept.", ADMIN,
     .body = retention_members, .answer = "Retention", .status = 200, .run = set_retention},
    {"GET", "/v1/routes", "getRoutes", "Shows which executors run which commands.", READ,
     .answer = "Routes", .status = 200, .run = routes},
    {"PUT", "/v1/routes", "setRoutes",
     "Replaces all routes; they apply to each job that becomes ready from now on.", ADMIN,
     .body = routes_members, .answer = "Routes", .status = 200, .run = set_routes},
    {0},
};
