/* cmd_submissions.c - pawl submissions: lists SQL submissions from other programs and their
 * outcome. */
#include "cli/list.h"

#define DEFAULT_COUNT 100

struct command_options {
    const char *status;
    int64_t limit;
};

static void cell_note(struct table *t, const json_t *o)
{
    if (field_int(o, "execution") && field_int(o, "execution") != field_int(o, "id"))
        table_addf(t, "same key as execution %lld", (long long)field_int(o, "execution"));
    else
        table_add(t, field(o, "error"));
}

static const struct list_column columns[] = {
    {"ID", "id", NULL},
    {"<STATUS", "status", NULL},
    {"<WORKFLOW", "workflow", NULL},
    {"~<REQUESTED (UTC)", "requested_at", NULL},
    {"~<BY", "requested_by", NULL},
    {"~<KEY", "key", NULL},
    {"<", "error", cell_note},
};

static int submissions(struct cli *c)
{
    const struct command_options *w = c->values;
    struct list l = {.columns = LIST_COLUMNS(columns), .json = c->json};

    return list_end(&l,
                    pawl_submissions(c->p, w->status, (size_t)w->limit, list_line, &l, &c->err));
}

static const struct option options[] = {
    {"status", OPTION_TEXT, offsetof(struct command_options, status), "waiting|taken|refused",
     "only submissions that wait for a worker, became an execution, or were refused"},
    {"limit", OPTION_NUMBER, offsetof(struct command_options, limit), "N",
     "at most N submissions; default: 100"},
    {0},
};

static const struct command_options defaults = {.limit = DEFAULT_COUNT};

const struct command command_submissions = {
    .name = "submissions",
    .forms = "",
    .text = "list submissions by SQL and by triggers, newest first, with their outcome",
    .about =
        "On PostgreSQL any program can submit an applied workflow within its own transaction: "
        "SELECT pawl.pawl_submit('nightly', '{\"day\": \"2026-01-31\"}'). A worker creates the "
        "execution, with the id that the function returned. The end of a run submits "
        "the workflows that follow it (`on: workflow`) in the same way. A submission that is refused "
        "is kept with the reason.",
    .options = options,
    .size = sizeof(defaults),
    .defaults = &defaults,
    .examples = {{"pawl submissions --status refused", "refused submissions, and why"},
                 {"pawl submissions --status waiting", "submissions that no worker has taken yet"}},
    .run = submissions,
    .opens = true,
    .reads = true,
};
