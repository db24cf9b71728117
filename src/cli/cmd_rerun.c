/* cmd_rerun.c - pawl rerun: runs ended executions again. */
#include "base/mem.h"
#include "cli/foreground.h"

#include <string.h>

static void print_rerun(const json_t *report, bool dry)
{
    int64_t id = field_int(report, "id");
    json_t *nodes = json_object_get(report, "nodes"), *n;
    json_t *of = json_object_get(report, "rerun_of");
    struct buf name = BUF_INIT;
    size_t i;

    if (json_is_integer(of)) {
        if (dry)
            printf("would create a new execution as a rerun of %lld\n",
                   (long long)json_integer_value(of));
        else
            printf("execution %lld is a rerun of %lld\n", (long long)id,
                   (long long)json_integer_value(of));
        return;
    }
    json_array_foreach(nodes, i, n)
    {
        buf_reset(&name);
        out_clean(&name, field(n, "name"));
        printf("%s %lld %s (was %s)\n",
               dry ? "would run again:" : "runs again:", (long long)field_int(n, "id"),
               buf_cstr(&name), field(n, "status"));
    }
    buf_release(&name);
}

static int keep_time(void *arg, const char *json)
{
    json_t *v = parse_object(json);
    int64_t at = field_time(v, "created_at");

    if (at)
        *(int64_t *)arg = at;
    json_decref(v);
    return 0;
}

/* When it was rerun, by the clock of the database. */
static int64_t rerun_at(struct pawl *p, int64_t id)
{
    struct pawl_event_query q = {.execution = id, .self = true, .types = "rerun"};
    int64_t at = 0;

    return pawl_events(p, &q, keep_time, &at, NULL) ? 0 : at;
}

struct rerun {
    struct pawl_rerun how;
    struct texts params;
    const char *state;
};

/* A foreground run has a queue that no worker serves: run it in the foreground again. */
static int continue_in_foreground(const struct cli *c, int64_t id)
{
    const struct rerun *r = c->values;
    struct foreground h = {.state = r->state, .kind = c->json ? PROGRESS_NONE : progress_auto()};
    struct pawl_error err;
    json_t *v;
    bool here;

    if (show_object(c->p, id, &v, &err))
        return cli_fail(&err);
    h.tree = field_int(v, "root");
    here = !strncmp(field(v, "queue"), "here:", strlen("here:"));
    json_decref(v);
    h.since = rerun_at(c->p, h.tree);
    return here ? foreground_run(&h, c->p) : 0;
}

static int rerun(struct cli *c)
{
    struct rerun *r = c->values;
    struct pawl_error err;
    int64_t id;
    char *json;
    json_t *report;
    int code = cli_id(c->p, c->words[0], &id);

    if (code)
        return code;
    if (r->how.failed && r->how.from)
        return cli_wrong("--failed and --from exclude each other");
    r->how.params = r->params.at;
    if (pawl_rerun(c->p, id, &r->how, &json, &err))
        return cli_fail_param(&err, "--set");
    if (c->json)
        puts(json);
    report = take_object(json);
    if (!c->json)
        print_rerun(report, r->how.dry_run);
    fflush(stdout);
    if (!r->how.dry_run)
        code = continue_in_foreground(c, field_int(report, "id"));
    json_decref(report);
    return code;
}

static const struct option options[] = {
    {"failed", OPTION_FLAG, offsetof(struct rerun, how.failed), NULL,
     "rerun only tasks that did not succeed, and their followers"},
    {"from", OPTION_TEXT, offsetof(struct rerun, how.from), "TASK",
     "rerun only this task and its followers"},
    {"set", OPTION_TEXTS, offsetof(struct rerun, params), "NAME=VALUE",
     "create a new execution, with this value of a parameter"},
    {"file", OPTION_TEXT, offsetof(struct rerun, how.file), "FILE",
     "create a new execution of this definition"},
    {"dry-run", OPTION_FLAG, offsetof(struct rerun, how.dry_run), NULL,
     "print what would run again, change nothing"},
    {"reason", OPTION_TEXT, offsetof(struct rerun, how.reason), "TEXT",
     "record why; stored with the user's name"},
    {"state", OPTION_TEXT, offsetof(struct rerun, state), "DIR",
     "state folder, where running attempts keep their files; default: ~/.local/state/pawl"},
    {0},
};

static const struct rerun defaults = {.how = {.here = true}};

const struct command command_rerun = {
    .name = "rerun",
    .forms = "ID",
    .text = "run an ended execution again, in place; with --set or --file as a new execution",
    .options = options,
    .size = sizeof(defaults),
    .defaults = &defaults,
    .examples = {{"pawl rerun 17 --failed", "continue where it failed"},
                 {"pawl rerun 17 --from report --dry-run", "what would run again"}},
    .least = 1,
    .most = 1,
    .run = rerun,
    .opens = true,
};
