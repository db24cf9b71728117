/* cmd_submissions.c - pawl submissions: what other programs submitted by SQL, and what became of
 * it. */
#include "cli/cli.h"
#include "cli/table.h"

#define DEFAULT_COUNT 100

struct command_options {
    const char *status;
    int64_t limit;
};

static int add(void *arg, const char *json)
{
    struct table *t = arg;
    json_t *s = parse_object(json);
    const char *at = field(s, "requested_at");

    table_addf(t, "%lld", (long long)field_int(s, "id"));
    table_add(t, field(s, "status"));
    table_add(t, field(s, "workflow"));
    table_addf(t, "%.10s %.8s", at, at + 11); /* times are all of one length */
    table_add(t, *field(s, "requested_by") ? field(s, "requested_by") : "-");
    table_add(t, *field(s, "key") ? field(s, "key") : "-");
    if (field_int(s, "execution") && field_int(s, "execution") != field_int(s, "id"))
        table_addf(t, "by its key execution %lld", (long long)field_int(s, "execution"));
    else
        table_add(t, field(s, "error"));
    json_decref(s);
    return 0;
}

static int list(struct pawl *p, const struct command_options *w, bool json)
{
    static const char *const heads[] = {"ID",   "<STATUS", "<WORKFLOW", "~<REQUESTED (UTC)",
                                        "~<BY", "~<KEY",   "<"};
    struct table t = {0};
    struct pawl_error err;
    size_t limit = (size_t)w->limit;

    if (json)
        return pawl_submissions(p, w->status, limit, print_line, NULL, &err) ? cli_fail(&err) : 0;
    table_heads(&t, heads, sizeof(heads) / sizeof(*heads));
    if (pawl_submissions(p, w->status, limit, add, &t, &err)) {
        table_release(&t);
        return cli_fail(&err);
    }
    table_print(&t);
    return 0;
}

static const struct option options[] = {
    {"status", OPTION_TEXT, offsetof(struct command_options, status), "waiting|taken|refused",
     "only those that wait for a worker, that became an execution, or that were refused"},
    {"limit", OPTION_NUMBER, offsetof(struct command_options, limit), "N",
     "at most so many; else 100"},
    {0},
};

static int cmd_submissions(int argc, char **argv)
{
    struct command_options w = {.limit = DEFAULT_COUNT};
    struct cli c;
    struct pawl *p;
    int code = cli_begin(&c, &command_submissions, argc, argv, &w);

    if (code >= 0)
        return code;
    if (!(code = cli_open(&c, &p))) {
        code = list(p, &w, c.json);
        pawl_close(p);
    }
    cli_end(&c);
    return cli_done(code);
}

const struct command command_submissions = {
    .name = "submissions",
    .forms = "",
    .text = "list what other programs submitted by SQL, newest first, and what became of it",
    .about =
        "On PostgreSQL any program submits a workflow that was applied within a transaction of "
        "its own: SELECT pawl.pawl_submit('nightly', '{\"day\": \"2026-01-31\"}'). A worker "
        "makes an execution of it, with the id that this returned. What it can't take is kept "
        "with the reason.",
    .options = options,
    .examples = {{"pawl submissions --status refused", "what could not be taken, and why"},
                 {"pawl submissions --status waiting", "what no worker has taken yet"}},
    .run = cmd_submissions,
};
