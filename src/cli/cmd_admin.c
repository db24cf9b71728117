/* cmd_admin.c - pawl admin: operations on a whole database. */
#include "cli/admin_hook.h"
#include "cli/admin_settings.h"
#include "cli/admin_token.h"

#include "base/mem.h"

#include <limits.h>
#include <string.h>

#define PLURAL(n) ((n) == 1 ? "" : "s")

static int migrate(struct cli *c)
{
    struct pawl_options o = cli_options(c, false);
    int version;

    TRY(pawl_migrate(&o, &version, &c->err));
    printf(c->json ? "{\"version\":%d}\n" : "schema version %d\n", version);
    return 0;
}

/* ---- tenants ---- */

/* Prints the name of a tenant, which needs no quoting: see tenants in pawl.h. */
static void print_tenant(void *arg, const char *name)
{
    printf(*(const bool *)arg ? "{\"tenant\":\"%s\"}\n" : "%s\n", name);
}

static int tenant(struct cli *c)
{
    const char *verb = c->nwords > 1 ? c->words[1] : "", *name = c->nwords > 2 ? c->words[2] : NULL;
    struct pawl_options o = cli_options(c, false);
    bool creating = !strcmp(verb, "create");

    if (!strcmp(verb, "list") && !name)
        return pawl_tenant_list(&o, print_tenant, &c->json, &c->err);
    if ((!creating && strcmp(verb, "drop")) || !name || c->nwords > 3)
        return cli_wrong("write `pawl admin tenant create NAME`, `drop NAME` or `list`");
    TRY((creating ? pawl_tenant_create : pawl_tenant_drop)(&o, name, &c->err));
    if (c->json)
        print_tenant(&c->json, name);
    else
        printf("tenant %s %s\n", name, creating ? "created" : "dropped");
    return 0;
}

/* ---- retention ---- */

static int cleanup(struct cli *c, int64_t older_than, bool dry_run)
{
    struct pawl_cleanup_result r;
    char age[DURATION_TEXT_SIZE];

    if (older_than < 0)
        return cli_wrong("missing age: write `pawl admin cleanup-events --older-than 90d`");
    TRY(cli_open(c));
    TRY(pawl_cleanup(c->p, older_than, dry_run, &r, &c->err));
    if (c->json)
        printf("{\"trees\":%lld,\"executions\":%lld,\"events\":%lld}\n", (long long)r.trees,
               (long long)r.executions, (long long)r.events);
    else
        printf("%s %lld tree%s (%lld execution%s, %lld event%s) that ended more than %s ago\n",
               dry_run ? "would remove" : "removed", (long long)r.trees, PLURAL(r.trees),
               (long long)r.executions, PLURAL(r.executions), (long long)r.events, PLURAL(r.events),
               text_duration(older_than, age));
    return 0;
}

/* ---- fence ---- */

static int accept_timeline(struct cli *c)
{
    char timeline[PAWL_TIMELINE_SIZE];

    TRY(cli_open(c));
    TRY(pawl_accept_timeline(c->p, timeline, &c->err));
    printf(c->json ? "{\"timeline\":\"%s\"}\n"
                   : "timeline %s is accepted; running jobs stay with their workers\n",
           timeline);
    return 0;
}

static int fence(struct cli *c, bool yes, bool nothing_lost)
{
    struct pawl_fenced f;

    if (yes == nothing_lost)
        return cli_wrong("a fence takes every running job away from its worker: after restoring "
                         "a backup, or promoting a replica that lacks commits, write `pawl "
                         "admin fence --yes`; after promoting a replica that lacks none, write "
                         "`pawl admin fence --nothing-lost`");
    if (nothing_lost)
        return accept_timeline(c);
    TRY(cli_open(c));
    TRY(pawl_fence(c->p, &f, &c->err));
    if (c->json)
        printf("{\"generation\":%lld,\"jobs\":%lld}\n", (long long)f.generation, (long long)f.jobs);
    else
        printf("generation %lld; %lld running job%s taken from %s\n", (long long)f.generation,
               (long long)f.jobs, f.jobs == 1 ? " was" : "s were",
               f.jobs == 1 ? "its worker" : "their workers");
    return 0;
}

struct command_options {
    int64_t older_than;
    bool dry_run, yes, nothing_lost;
    struct admin_settings settings;
    struct admin_token token;
    struct admin_hook hook;
};

static const struct option options[] = {
    {"older-than", OPTION_DURATION, offsetof(struct command_options, older_than), "DURATION",
     "with cleanup-events: remove executions that ended longer ago than this"},
    {"dry-run", OPTION_FLAG, offsetof(struct command_options, dry_run), NULL,
     "with cleanup-events: print what would be removed, remove nothing"},
    {"days", OPTION_TEXT, offsetof(struct command_options, settings.days), "N|forever",
     "with retention set: how long executions are kept after their end"},
    {"log-days", OPTION_TEXT, offsetof(struct command_options, settings.log_days), "N|forever",
     "with retention set: how long their logs are kept; `forever`: as long as the executions"},
    {"file", OPTION_TEXT, offsetof(struct command_options, settings.file), "FILE",
     "with routes set: take the routes from this configuration file"},
    {"default", OPTION_TEXT, offsetof(struct command_options, settings.default_executor),
     "EXECUTOR", "with routes set: the executor of commands that no route matches"},
    {"scope", OPTION_TEXT, offsetof(struct command_options, token.scope),
     "read|submit|operate|work|admin,",
     "with token create: what the token allows, as a list such as `read,submit`; `admin` implies "
     "the others"},
    {"queue", OPTION_TEXTS, offsetof(struct command_options, token.queues), "QUEUE",
     "with token create and the scope `work`: a queue whose jobs a worker may claim; with hook "
     "create --url: report only executions of this queue; default: any"},
    {"lane", OPTION_TEXTS, offsetof(struct command_options, token.lanes), "LANE",
     "with token create and the scope `work`: a lane whose jobs a worker may claim, such as "
     "`function:mail`; default: any"},
    {"expires", OPTION_DURATION, offsetof(struct command_options, token.expires), "DURATION",
     "with token create: how long the token is valid; default: until it is revoked"},
    {"signature", OPTION_TEXT, offsetof(struct command_options, hook.signature), "standard|github",
     "with hook create: how its messages are signed; default: standard (Standard Webhooks)"},
    {"url", OPTION_TEXT, offsetof(struct command_options, hook.url), "URL",
     "with hook create: report ends of executions to this URL, instead of starting a workflow"},
    {"status", OPTION_TEXT, offsetof(struct command_options, hook.statuses),
     "succeeded|failed|timed_out|cancelled|skipped,",
     "with hook create --url: report only these ends; default: all but skipped"},
    {"workflow", OPTION_TEXT, offsetof(struct command_options, hook.workflow), "WORKFLOW",
     "with hook create --url: report only runs of this workflow"},
    {"tasks", OPTION_FLAG, offsetof(struct command_options, hook.tasks), NULL,
     "with hook create --url: also report tasks, and all others that have a parent"},
    {"secret-file", OPTION_TEXT, offsetof(struct command_options, hook.secret_file), "FILE",
     "with hook create: the secret that the sender gave, in the first line of a file, `-` for "
     "standard input; default: a new secret"},
    {"reason", OPTION_TEXT, offsetof(struct command_options, settings.reason), "TEXT",
     "record why a setting is changed, or a token or webhook created or revoked; stored with the "
     "user's name"},
    {"yes", OPTION_FLAG, offsetof(struct command_options, yes), NULL, "with fence: confirm"},
    {"nothing-lost", OPTION_FLAG, offsetof(struct command_options, nothing_lost), NULL,
     "with fence: accept the timeline of a promoted server that has every commit; fence nothing"},
    {0},
};

static int admin(struct cli *c)
{
    static const char *const local[] = {"migrate", "tenant", "cleanup-events", "fence"};
    const struct command_options *w = c->values;

    if (FIND_NAMED(local, c->words[0])) {
        AUTO_FREE char *what = mem_printf("pawl admin %s", c->words[0]);

        TRY(cli_needs_database(c, what));
    }
    if (!strcmp(c->words[0], "migrate") && c->nwords == 1)
        return migrate(c);
    if (!strcmp(c->words[0], "tenant"))
        return tenant(c);
    if (!strcmp(c->words[0], "token"))
        return admin_token(c, &w->token, w->settings.reason);
    if (!strcmp(c->words[0], "hook"))
        return admin_hook(c, &w->hook, &w->token.queues, w->settings.reason);
    if (!strcmp(c->words[0], "cleanup-events") && c->nwords == 1)
        return cleanup(c, w->older_than, w->dry_run);
    if (!strcmp(c->words[0], "fence") && c->nwords == 1)
        return fence(c, w->yes, w->nothing_lost);
    if (!strcmp(c->words[0], "retention"))
        return admin_retention(c, &w->settings);
    if (!strcmp(c->words[0], "routes"))
        return admin_routes(c, &w->settings);
    return cli_wrong("pawl admin has no subcommand '%.60s': write migrate, tenant, "
                     "token, hook, retention, routes, cleanup-events or fence",
                     c->words[c->nwords - 1]);
}

static const struct command_options defaults = {.older_than = -1, .token.expires = NO_EXPIRY};

const struct command command_admin = {
    .name = "admin",
    .forms = "migrate\n"
             "tenant create TENANT\n"
             "tenant drop TENANT\n"
             "tenant list\n"
             "token create NAME --scope SCOPES [--expires DURATION]\n"
             "token create NAME --scope work [--queue QUEUE] [--lane LANE]\n"
             "token list\n"
             "token revoke TOKEN_NAME\n"
             "hook create NAME [--signature github] [--secret-file FILE]\n"
             "hook create NAME --url URL [--status STATUSES] [--tasks]\n"
             "hook list\n"
             "hook revoke HOOK_NAME\n"
             "retention [show]\n"
             "retention set [--days N|forever] [--log-days N|forever]\n"
             "routes [show]\n"
             "routes set [--default EXECUTOR] [GLOB=EXECUTOR]...\n"
             "routes set --file FILE\n"
             "routes clear\n"
             "cleanup-events --older-than DURATION [--dry-run]\n"
             "fence --yes | --nothing-lost",
    .text =
        "create or upgrade a database, manage its tenants, access tokens, webhooks and shared settings, "
        "remove old executions, fence a restored backup or a promoted replica",
    .options = options,
    .size = sizeof(defaults),
    .defaults = &defaults,
    .examples = {{"pawl admin migrate --db postgres://pawl@db.example/pawl",
                  "create or upgrade the schema"},
                 {"pawl admin token create ci --scope read,submit --expires 90d",
                  "print a new access token, once"},
                 {"pawl admin hook create push --signature github",
                  "let GitHub start a workflow; print the secret, once"},
                 {"pawl admin retention set --days 3650 --log-days 30",
                  "keep executions for ten years and their logs for a month"},
                 {"pawl admin routes set 'ml::*=gpu' '*::check=container'",
                  "replace all routes; they apply to each job that becomes ready"},
                 {"pawl admin cleanup-events --older-than 90d --dry-run",
                  "count what would be removed"},
                 {"pawl admin fence --yes",
                  "after restoring a backup: attempts from the lost time are refused"}},
    .least = 1,
    .most = INT_MAX, /* any number of routes */
    .run = admin,
};
