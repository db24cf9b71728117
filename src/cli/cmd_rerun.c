/* cmd_rerun.c - pawl rerun: runs ended executions again. */
#include "base/mem.h"
#include "cli/foreground.h"

#include <stdlib.h>
#include <string.h>

static void print_rerun(const json_t *report, bool dry)
{
    int64_t id = json_integer_value(json_object_get(report, "id"));
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
        out_clean(&name, json_string_value(json_object_get(n, "name")));
        printf("%s %lld %s (was %s)\n", dry ? "would run again:" : "runs again:",
               (long long)json_integer_value(json_object_get(n, "id")), buf_cstr(&name),
               json_string_value(json_object_get(n, "status")));
    }
    buf_release(&name);
}

static int keep_time(void *arg, const char *json)
{
    json_t *v = parse_object(json);
    struct err err;
    int64_t at;

    if (!text_parse_time(field(v, "created_at"), &at, &err))
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

/* A foreground run has a queue that no worker serves: run it in the foreground again. */
static int continue_in_foreground(const struct cli *c, struct pawl *p, int64_t id,
                                  const char *state)
{
    struct foreground h = {.state = state, .kind = c->json ? PROGRESS_NONE : progress_auto()};
    struct pawl_error err;
    json_t *v;
    char *json;
    bool here;

    if (pawl_show(p, id, &json, &err))
        return cli_fail(&err);
    v = parse_object(json);
    h.tree = field_int(v, "root");
    here = !strncmp(field(v, "queue"), "here:", strlen("here:"));
    json_decref(v);
    free(json);
    h.since = rerun_at(p, h.tree);
    return here ? foreground_run(&h, p) : 0;
}

static int rerun(struct cli *c, struct pawl *p, const struct pawl_rerun *how, const char *state)
{
    struct pawl_error err;
    int64_t id;
    char *json;
    json_t *report;
    int code = cli_id(p, c->words[0], &id);

    if (code)
        return code;
    if (pawl_rerun(p, id, how, &json, &err))
        return cli_fail_param(&err, "--set");
    report = json_loads(json, 0, NULL);
    if (c->json)
        puts(json);
    else
        print_rerun(report, how->dry_run);
    fflush(stdout);
    if (!how->dry_run)
        code =
            continue_in_foreground(c, p, json_integer_value(json_object_get(report, "id")), state);
    json_decref(report);
    free(json);
    return code;
}

struct rerun {
    struct pawl_rerun how;
    struct texts params;
    const char *state;
};

static const struct option options[] = {
    {"failed", OPTION_FLAG, offsetof(struct rerun, how.failed), NULL,
     "only tasks that did not succeed, and their followers"},
    {"from", OPTION_TEXT, offsetof(struct rerun, how.from), "TASK", "this task and its followers"},
    {"set", OPTION_TEXTS, offsetof(struct rerun, params), "NAME=VALUE",
     "create a new execution, with this value of a parameter"},
    {"file", OPTION_TEXT, offsetof(struct rerun, how.file), "FILE",
     "create a new execution of this definition"},
    {"dry-run", OPTION_FLAG, offsetof(struct rerun, how.dry_run), NULL,
     "print what would run again, change nothing"},
    {"reason", OPTION_TEXT, offsetof(struct rerun, how.reason), "TEXT",
     "why; stored in the history"},
    {"state", OPTION_TEXT, offsetof(struct rerun, state), "DIR",
     "folder where running attempts keep their files"},
    {0},
};

static int cmd_rerun(int argc, char **argv)
{
    struct rerun r = {.how = {.here = true}};
    struct cli c;
    struct pawl *p;
    int code = cli_begin(&c, &command_rerun, argc, argv, &r);

    if (code < 0) {
        r.how.params = r.params.at;
        if (!(code = cli_open(&c, &p))) {
            code = rerun(&c, p, &r.how, r.state);
            pawl_close(p);
        }
        cli_end(&c);
    }
    vec_release(&r.params);
    return cli_done(code);
}

const struct command command_rerun = {
    .name = "rerun",
    .forms = "ID",
    .text = "run an ended execution again, in place; with --set or --file as a new execution",
    .options = options,
    .examples = {{"pawl rerun 17 --failed", "continue where it failed"},
                 {"pawl rerun 17 --from report --dry-run", "what would run again"}},
    .least = 1,
    .most = 1,
    .run = cmd_rerun,
};
