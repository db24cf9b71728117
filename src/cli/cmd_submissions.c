/* cmd_submissions.c - pawl submissions: lists SQL submissions of other programs and their
 * outcome. */
#include "cli/cli.h"
#include "cli/table.h"

#define DEFAULT_COUNT 100

struct command_options {
    const char *status;
    int64_t limit;
};

static int add_submission(void *arg, const char *json)
{
    struct table *t = arg;
    json_t *s = parse_object(json);
    const char *at = field(s, "requested_at");

    table_addf(t, "%lld", (long long)field_int(s, "id"));
    table_add(t, field(s, "status"));
    table_add(t, field(s, "workflow"));
    table_addf(t, "%.10s %.8s", at, at + 11); /* all times have the same length */
    table_add(t, *field(s, "requested_by") ? field(s, "requested_by") : "-");
    table_add(t, *field(s, "key") ? field(s, "key") : "-");
    if (field_int(s, "execution") && field_int(s, "execution") != field_int(s, "id"))
        table_addf(t, "same key as execution %lld", (long long)field_int(s, "execution"));
    else
        table_add(t, field(s, "error"));
    json_decref(s);
    return 0;
}

static int print_submissions(struct pawl *p, const struct command_options *w, bool json)
{
    static const char *const heads[] = {"ID",   "<STATUS", "<WORKFLOW", "~<REQUESTED (UTC)",
                                        "~<BY", "~<KEY",   "<"};
    struct table t = {0};
    struct pawl_error err;
    size_t limit = (size_t)w->limit;

    if (json)
        return pawl_submissions(p, w->status, limit, print_line, NULL, &err) ? cli_fail(&err) : 0;
    table_heads(&t, heads, sizeof(heads) / sizeof(*heads));
    if (pawl_submissions(p, w->status, limit, add_submission, &t, &err)) {
        table_release(&t);
        return cli_fail(&err);
    }
    table_print(&t);
    return 0;
}

static const struct option options[] = {
    {"status", OPTION_TEXT, offsetof(struct command_options, status), "waiting|taken|refused",
     "only submissions that wait for a worker, became an execution, or were refused"},
    {"limit", OPTION_NUMBER, offsetof(struct command_options, limit), "N",
     "at most N submissions; default: 100"},
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
        code = print_submissions(p, &w, c.json);
        pawl_close(p);
    }
    cli_end(&c);
    return cli_done(code);
}

const struct command command_submissions = {
    .name = "submissions",
    .forms = "",
    .text = "list SQL submissions of other programs, newest first, and their outcome",
    .about =
        "On PostgreSQL any program can submit an applied workflow within its own transaction: "
        "SELECT pawl.pawl_submit('nightly', '{\"day\": \"2026-01-31\"}'). A worker creates the "
        "execution, with the id that the function returned. A submission that is refused is kept "
        "with the reason.",
    .options = options,
    .examples = {{"pawl submissions --status refused", "refused submissions, and why"},
                 {"pawl submissions --status waiting", "submissions that no worker has taken yet"}},
    .run = cmd_submissions,
};
