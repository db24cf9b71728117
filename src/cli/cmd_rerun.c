/* cmd_rerun.c - pawl rerun: runs ended executions again. */
#include "base/mem.h"
#include "cli/bulk.h"
#include "cli/foreground.h"

#include <string.h>

static void print_rerun(const json_t *report, bool dry)
{
    json_t *nodes = json_object_get(report, "nodes"), *n;
    long long of = (long long)field_int(report, "rerun_of");
    size_t i;

    if (of && dry)
        printf("would create a new execution as a rerun of %lld\n", of);
    else if (of)
        printf("execution %lld is a rerun of %lld\n", (long long)field_int(report, "id"), of);
    else
        json_array_foreach(nodes, i, n)
            print_clean(stdout, "%s %lld %s (was %s)",
                        dry ? "would run again:" : "runs again:", (long long)field_int(n, "id"),
                        field(n, "name"), field(n, "status"));
}

static int keep_time(void *arg, const char *json)
{
    json_auto_t *v = parse_object(json);
    int64_t at = field_time(v, "created_at");

    if (at)
        *(int64_t *)arg = at;
    return 0;
}

/* Returns when the execution was rerun, by the database's clock. */
static int64_t rerun_at(struct pawl *p, int64_t id)
{
    struct pawl_event_query q = {.execution = id, .self = true, .types = "rerun"};
    int64_t at = 0;

    return pawl_events(p, &q, keep_time, &at, NULL) ? 0 : at;
}

struct rerun {
    struct bulk_options bulk;
    struct pawl_rerun how;
    struct texts params;
    const char *state;
};

#define FOREGROUND "here:" /* how the queues of foreground runs begin */

/* The rerun of a foreground run happens in the foreground, too, where the database is. */
static int check_place(struct cli *c, int64_t id, const struct rerun *r)
{
    json_auto_t *v = NULL;

    if (!cli_server(c) || r->how.dry_run)
        return 0;
    TRY(show_object(c->p, id, &v, &c->err));
    if (strncmp(field(v, "queue"), FOREGROUND, strlen(FOREGROUND)))
        return 0;
    return cli_wrong("execution %lld ran in the foreground of pawl, and so would its rerun: name "
                     "the database with --db",
                     (long long)id);
}

/* Continues a foreground run in the foreground, because no worker serves its queue. */
static int continue_in_foreground(struct cli *c, int64_t id)
{
    const struct rerun *r = c->values;
    struct foreground h = {.state = r->state};
    json_auto_t *v = NULL;

    TRY(progress_kind_read(c, NULL, &h.kind));
    TRY(show_object(c->p, id, &v, &c->err));
    if (strncmp(field(v, "queue"), FOREGROUND, strlen(FOREGROUND)))
        return 0;
    h.tree = field_int(v, "root");
    h.since = rerun_at(c->p, h.tree);
    return foreground_run(&h, c->p);
}

static int rerun_one(struct cli *c, int64_t id)
{
    struct rerun *r = c->values;
    json_auto_t *report = NULL;
    char *json;

    r->how.params = r->params.at;
    TRY(check_place(c, id, r));
    if (pawl_rerun(c->p, id, &r->how, &json, &c->err))
        return cli_fail_param(&c->err, "--set");
    if (c->json)
        puts(json);
    report = take_object(json);
    if (!c->json)
        print_rerun(report, r->how.dry_run);
    fflush(stdout);
    return r->how.dry_run ? 0 : continue_in_foreground(c, field_int(report, "id"));
}

static int rerun(struct cli *c)
{
    struct rerun *r = c->values;
    struct bulk_action a = {.name = r->how.failed ? "rerun_failed" : "rerun",
                            .done = "runs again",
                            .reason = r->how.reason,
                            .run_id = rerun_one};

    if (r->how.failed && r->how.from)
        return cli_wrong("--failed and --from exclude each other");
    if (!c->nwords && (r->how.from || r->how.file || r->params.n || r->state))
        return cli_wrong("--from, --set, --file and --state belong to the id of one execution: see "
                         "`pawl help rerun`");
    r->bulk.dry_run = r->how.dry_run;
    return bulk_run(c, &r->bulk, &a);
}

static const struct option options[] = {
    {"failed", OPTION_FLAG, offsetof(struct rerun, how.failed), NULL,
     "rerun only tasks that did not succeed, and their followers"},
    {"from", OPTION_TEXT, offsetof(struct rerun, how.from), "TASK",
     "rerun only this task and its followers"},
    {"set", OPTION_TEXTS, offsetof(struct rerun, params), "NAME=VALUE",
     "create a new execution, with this value for a parameter"},
    {"file", OPTION_TEXT, offsetof(struct rerun, how.file), "FILE",
     "create a new execution that runs this definition"},
    {"dry-run", OPTION_FLAG, offsetof(struct rerun, how.dry_run), NULL,
     "print what would run again, change nothing"},
    {"reason", OPTION_TEXT, offsetof(struct rerun, how.reason), "TEXT",
     "record why; stored with the user's name"},
    {"state", OPTION_TEXT, offsetof(struct rerun, state), "DIR",
     "state folder, where running attempts keep their files; default: ~/.local/state/pawl"},
    BULK_OPTIONS(struct rerun, bulk),
    {0},
};

static const struct rerun defaults = {.how = {.here = true}};

const struct command command_rerun = {
    .name = "rerun",
    .forms = BULK_FORMS("ID"),
    .text = "run ended executions again, in place; one, with --set or --file, as a new execution",
    .about = BULK_ABOUT,
    .options = options,
    .size = sizeof(defaults),
    .defaults = &defaults,
    .examples = {{"pawl rerun 17 --failed", "continue where it failed"},
                 {"pawl rerun 17 --from report --dry-run", "what would run again"},
                 {"pawl rerun --workflow nightly --status failed --since 1d --failed",
                  "continue all runs that failed since yesterday"}},
    .most = 1,
    .run = rerun,
};
