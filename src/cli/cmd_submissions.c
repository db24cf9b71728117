/* cmd_submissions.c - pawl submissions: lists SQL submissions from other programs and their
 * outcome. */
#include "cli/list.h"

#include <stdlib.h>

#define NEWEST 100 /* number of submissions shown without --limit */

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

/* Sets *next if there are more than the limit. */
static int read_pages(struct cli *c, const struct command_options *w, struct list *l, char **next)
{
    int64_t most = w->limit < 0 ? NEWEST : w->limit;
    AUTO_FREE char *cursor = NULL;

    do {
        struct pawl_submission_query q = {
            .status = w->status, .limit = most ? most - l->n : 0, .cursor = *next};

        free(cursor);
        cursor = *next;
        TRY(pawl_submissions(c->p, &q, list_line, l, next, &c->err));
    } while (*next && l->n != most);
    return 0;
}

static int submissions(struct cli *c)
{
    const struct command_options *w = c->values;
    struct list l = {.columns = LIST_COLUMNS(columns), .json = c->json};
    char *next = NULL;
    int rc = list_end(&l, read_pages(c, w, &l, &next));

    if (!rc && next && w->limit < 0)
        fprintf(stderr,
                "pawl: only the first %d submissions are shown: use --limit N for more, --limit 0 "
                "for all\n",
                NEWEST);
    free(next);
    return rc;
}

static const struct option options[] = {
    {"status", OPTION_TEXT, offsetof(struct command_options, status), "waiting|taken|refused",
     "only submissions that wait for a worker, became an execution, or were refused"},
    {"limit", OPTION_NUMBER, offsetof(struct command_options, limit), "N",
     "at most N submissions, 0: all; default: 100"},
    {0},
};

static const struct command_options defaults = {.limit = -1};

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
