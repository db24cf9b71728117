/* admin_settings.c - the subcommands of `pawl admin` that show and change shared settings; see
 * admin_settings.h. */
#include "cli/admin_settings.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* Prints the last change of the setting. */
static void print_last_change(const json_t *setting)
{
    const json_t *last = json_object_get(setting, "last_order");

    if (json_is_null(last))
        return;
    print_clean(stdout, "changed %.19s by %s%s%s", field(last, "at"), field(last, "by"),
                *field(last, "reason") ? ": " : "", field(last, "reason"));
}

static void print_source(const json_t *setting)
{
    const char *source = field(setting, "source");

    if (strcmp(source, "database") != 0)
        printf("(%s; not set in the database)\n",
               strcmp(source, "file") ? "default" : "value of the configuration file");
}

/* ---- retention ---- */

static void print_days(const char *what, const json_t *setting, const char *key, const char *none)
{
    int64_t days = field_int(setting, key);

    if (days)
        printf("%-11s %lld day%s\n", what, (long long)days, days == 1 ? "" : "s");
    else
        printf("%-11s %s\n", what, none);
}

static int print_retention(struct cli *c)
{
    json_auto_t *now = NULL;
    char *json;

    TRY(pawl_retention_get(c->p, &json, &c->err));
    if (c->json)
        return print_answer(json);
    now = take_object(json);
    print_days("executions", now, "execution_days", "forever");
    print_days("logs", now, "log_days", "as long as their executions");
    print_source(now);
    print_last_change(now);
    return 0;
}

/* Parses a number of days, or `forever`, for which *out is 0. */
static int parse_days(const char *option, const char *text, int *out)
{
    int64_t n = 0;

    if (strcmp(text, "forever") && (text_parse_i64(text, &n) || n < 1 || n > INT_MAX))
        return cli_wrong("%s needs a number of days or forever, but got '%.60s'", option, text);
    *out = (int)n;
    return 0;
}

/* Keeps the part of the setting that the options do not change. */
static int set_retention(struct cli *c, const struct admin_settings *o, struct pawl_retention r)
{
    json_auto_t *now = NULL;
    char *json;

    TRY(pawl_retention_get(c->p, &json, &c->err));
    now = take_object(json);
    if (!o->days)
        r.execution_days = (int)field_int(now, "execution_days");
    if (!o->log_days)
        r.log_days = (int)field_int(now, "log_days");
    return pawl_retention_set(c->p, &r, NULL, o->reason, &c->err);
}

int admin_retention(struct cli *c, const struct admin_settings *o)
{
    const char *verb = c->nwords > 1 ? c->words[1] : "show";
    struct pawl_retention r = {0};
    bool setting = !strcmp(verb, "set");

    if (c->nwords > 2 || (!setting && strcmp(verb, "show") != 0))
        return cli_wrong("write `pawl admin retention`, or `pawl admin retention set --days N`");
    if (setting != (o->days || o->log_days))
        return cli_wrong(setting ? "missing value: write `pawl admin retention set --days N`, "
                                   "`--log-days N`, or both"
                                 : "--days and --log-days belong to `pawl admin retention set`");
    if (o->days)
        TRY(parse_days("--days", o->days, &r.execution_days));
    if (o->log_days)
        TRY(parse_days("--log-days", o->log_days, &r.log_days));
    TRY(cli_open(c));
    if (setting)
        TRY(set_retention(c, o, r));
    return print_retention(c);
}

/* ---- routes ---- */

static void print_unknown(const json_t *routes)
{
    const json_t *key;
    size_t i;

    json_array_foreach(json_object_get(routes, "unknown_executors"), i, key)
    {
        AUTO_BUF line = BUF_INIT;

        buf_addf(&line, "no worker has the executor \"%s\": tasks that are routed to it wait",
                 json_string_value(key));
        cli_note(NULL, buf_cstr(&line));
    }
}

static int print_routes(struct cli *c)
{
    json_auto_t *now = NULL;
    const json_t *route;
    size_t i;
    char *json;

    TRY(pawl_routes_get(c->p, &json, &c->err));
    if (c->json)
        return print_answer(json);
    now = take_object(json);
    json_array_foreach(json_object_get(now, "routes"), i, route)
        print_clean(stdout, "%s -> %s", field(route, "task"), field(route, "executor"));
    print_clean(stdout, "other commands -> %s", field(now, "default_executor"));
    print_source(now);
    print_last_change(now);
    print_unknown(now);
    return 0;
}

/* Splits GLOB=EXECUTOR in place; a glob may contain an equals sign. */
static int parse_route(char *text, struct pawl_route *out)
{
    char *equals = strrchr(text, '=');

    if (!equals || equals == text || !equals[1])
        return cli_wrong("'%.100s' is not a route: write GLOB=EXECUTOR", text);
    *equals = '\0';
    *out = (struct pawl_route){text, equals + 1};
    return 0;
}

static int set_routes(struct cli *c, const struct admin_settings *o, struct pawl_route *list,
                      char **texts)
{
    struct pawl_routes r = {.file = o->file,
                            .routes = list,
                            .n = (size_t)(c->nwords - 2),
                            .default_executor = o->default_executor};

    for (size_t i = 0; i < r.n; i++) {
        texts[i] = mem_strdup(c->words[i + 2]);
        TRY(parse_route(texts[i], &list[i]));
    }
    TRY(cli_open(c));
    return pawl_routes_set(c->p, &r, NULL, o->reason, &c->err);
}

static int change_routes(struct cli *c, const struct admin_settings *o)
{
    size_t n = (size_t)(c->nwords - 1);
    AUTO_FREE struct pawl_route *list = mem_zalloc(n * sizeof(*list));
    AUTO_FREE char **texts = mem_zalloc(n * sizeof(*texts));
    int rc = set_routes(c, o, list, texts);

    for (size_t i = 0; i < n; i++)
        free(texts[i]);
    return rc;
}

int admin_routes(struct cli *c, const struct admin_settings *o)
{
    const char *verb = c->nwords > 1 ? c->words[1] : "show";
    bool setting = !strcmp(verb, "set"), values = c->nwords > 2 || o->default_executor;

    if (!setting && strcmp(verb, "show") != 0 && strcmp(verb, "clear") != 0)
        return cli_wrong("pawl admin routes has no subcommand '%.60s': write show, set or clear",
                         verb);
    if (!setting && (values || o->file))
        return cli_wrong("routes, --default and --file belong to `pawl admin routes set`");
    if (setting && !o->file == !values)
        return cli_wrong("write `pawl admin routes set GLOB=EXECUTOR...`, or `--file FILE` alone");
    if (strcmp(verb, "show") != 0)
        TRY(change_routes(c, o));
    else
        TRY(cli_open(c));
    return print_routes(c);
}
