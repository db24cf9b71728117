/* cmd_cancel.c - pawl cancel: cancels executions and their descendants. */
#include "cli/bulk.h"

#include <limits.h>
#include <string.h>

static void print_cancelled(int64_t id, const struct pawl_cancelled *c, bool let_finish)
{
    const char *asked = let_finish ? "may finish" : "asked to end";
    bool runs = !strcmp(c->status, "running"), cancelled = !strcmp(c->status, "cancelled");

    printf("execution %lld: ", (long long)id);
    if (runs)
        printf("%s", asked);
    else if (cancelled)
        printf("cancelled");
    else
        printf("has ended: %s", c->status);
    if (c->left > runs)
        printf("; %lld of its descendants %s%s", (long long)(c->left - runs),
               let_finish ? "" : "were ", asked);
    putchar('\n');
}

struct cancel {
    struct bulk_options bulk;
    const char *reason;
    bool let_finish;
};

static int cancel_one(struct cli *c, int64_t id)
{
    const struct cancel *k = c->values;
    struct pawl_cancelled done;

    TRY((k->let_finish ? pawl_let_finish : pawl_cancel)(c->p, id, NULL, k->reason, &done, &c->err));
    if (c->json)
        printf("{\"id\":%lld,\"status\":\"%s\",\"left\":%lld}\n", (long long)id, done.status,
               (long long)done.left);
    else
        print_cancelled(id, &done, k->let_finish);
    return 0;
}

static int cancel(struct cli *c)
{
    struct cancel *k = c->values;
    struct bulk_action a = {.name = k->let_finish ? "let_finish" : "cancel",
                            .done = "cancelled",
                            .asked = k->let_finish ? "may finish" : "asked to end",
                            .reason = k->reason,
                            .run_id = cancel_one};

    if (c->nwords && k->bulk.dry_run)
        return cli_wrong("--dry-run belongs to filters: see `pawl help cancel`");
    return bulk_run(c, &k->bulk, &a);
}

static const struct option options[] = {
    {"let-finish", OPTION_FLAG, offsetof(struct cancel, let_finish), NULL,
     "let running jobs finish; start no further jobs"},
    {"reason", OPTION_TEXT, offsetof(struct cancel, reason), "TEXT",
     "record why; stored with the user's name"},
    BULK_DRY_RUN(struct cancel, bulk.dry_run),
    BULK_OPTIONS(struct cancel, bulk),
    {0},
};

const struct command command_cancel = {
    .name = "cancel",
    .forms = BULK_FORMS("ID…"),
    .text =
        "cancel executions and their descendants; running jobs are asked to end, or with --let-finish "
        "may finish",
    .about = BULK_ABOUT,
    .options = options,
    .size = sizeof(struct cancel),
    .examples = {{"pawl cancel 17 18 --reason 'wrong file'", "both, and their descendants"},
                 {"pawl cancel @last --let-finish", "running jobs may finish"},
                 {"pawl cancel --workflow nightly --status pending,ready --dry-run",
                  "what would be cancelled: runs that have not started"}},
    .most = INT_MAX,
    .run = cancel,
};
