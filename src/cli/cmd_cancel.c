/* cmd_cancel.c - pawl cancel: cancels executions and their descendants. If one can't be
 * cancelled, the others still are; the exit code is that of the first error. */
#include "cli/cli.h"

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
        printf("; %lld below it %s%s", (long long)(c->left - runs), let_finish ? "" : "were ",
               asked);
    putchar('\n');
}

static int cancel_one(struct pawl *p, const char *which, const char *reason, bool let_finish,
                      bool json)
{
    struct pawl_cancelled c;
    struct pawl_error err;
    int64_t id;
    int code = cli_id(p, which, &id);

    if (code)
        return code;
    if ((let_finish ? pawl_let_finish : pawl_cancel)(p, id, NULL, reason, &c, &err))
        return cli_fail(&err);
    if (json)
        printf("{\"id\":%lld,\"status\":\"%s\",\"left\":%lld}\n", (long long)id, c.status,
               (long long)c.left);
    else
        print_cancelled(id, &c, let_finish);
    return 0;
}

struct cancel {
    const char *reason;
    bool let_finish;
};

static const struct option options[] = {
    {"let-finish", OPTION_FLAG, offsetof(struct cancel, let_finish), NULL,
     "running jobs may finish; no further jobs start"},
    {"reason", OPTION_TEXT, offsetof(struct cancel, reason), "TEXT", "why; stored in the history"},
    {0},
};

static int cmd_cancel(int argc, char **argv)
{
    struct cancel k = {0};
    struct cli c;
    struct pawl *p;
    int code = cli_begin(&c, &command_cancel, argc, argv, &k), i;

    if (code >= 0)
        return code;
    if (!(code = cli_open(&c, &p))) {
        for (i = 0; i < c.nwords; i++) {
            int one = cancel_one(p, c.words[i], k.reason, k.let_finish, c.json);

            code = code ? code : one;
        }
        pawl_close(p);
    }
    cli_end(&c);
    return cli_done(code);
}

const struct command command_cancel = {
    .name = "cancel",
    .forms = "ID…",
    .text = "cancel executions and their descendants; running jobs are asked to end, or may finish",
    .options = options,
    .examples = {{"pawl cancel 17 18 --reason 'wrong file'", "both, and their descendants"},
                 {"pawl cancel @last --let-finish", "running jobs may finish"}},
    .least = 1,
    .most = INT_MAX,
    .run = cmd_cancel,
};
