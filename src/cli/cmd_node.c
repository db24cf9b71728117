/* cmd_node.c - pawl pause, resume, skip, approve and reject: operator actions on executions. If
 * an action fails for one execution, the others are still done; the exit code is that of the
 * first error. */
#include "cli/cli.h"

#include <limits.h>
#include <stdlib.h>

typedef int verb_fn(struct pawl *p, int64_t id, const char *by, const char *reason,
                    struct pawl_error *err);

struct verb {
    const char *done;
    verb_fn *run;
};

static int act_on(struct pawl *p, const struct verb *v, const char *which, const char *reason,
                  bool json)
{
    struct pawl_error err;
    int64_t id;
    char *shown;
    int code = cli_id(p, which, &id);

    if (code)
        return code;
    if (v->run(p, id, NULL, reason, &err))
        return cli_fail(&err);
    if (!json) {
        printf("execution %lld: %s\n", (long long)id, v->done);
        return 0;
    }
    if (pawl_show(p, id, &shown, &err))
        return cli_fail(&err);
    puts(shown);
    free(shown);
    return 0;
}

struct decision {
    const char *reason;
};

static const struct option options[] = {
    {"reason", OPTION_TEXT, offsetof(struct decision, reason), "TEXT",
     "why; stored in the history"},
    {0},
};

static int decide(const struct command *command, const struct verb *v, int argc, char **argv)
{
    struct decision d = {0};
    struct cli c;
    struct pawl *p;
    int code = cli_begin(&c, command, argc, argv, &d), i;

    if (code >= 0)
        return code;
    if (!(code = cli_open(&c, &p))) {
        for (i = 0; i < c.nwords; i++) {
            int rc = act_on(p, v, c.words[i], d.reason, c.json);

            code = code ? code : rc;
        }
        pawl_close(p);
    }
    cli_end(&c);
    return cli_done(code);
}

#define VERB(which, done, sentence, ...)                               \
    static int cmd_##which(int argc, char **argv)                      \
    {                                                                  \
        static const struct verb v = {done, pawl_##which};             \
                                                                       \
        return decide(&command_##which, &v, argc, argv);               \
    }                                                                  \
    const struct command command_##which = {.name = #which,            \
                                            .forms = "ID…",            \
                                            .text = sentence,          \
                                            .options = options,        \
                                            .examples = {__VA_ARGS__}, \
                                            .least = 1,                \
                                            .most = INT_MAX,           \
                                            .run = cmd_##which}

VERB(pause, "paused", "stop executions and their descendants from starting further jobs",
     {"pawl pause 17 --reason 'the disk is full'", "running jobs continue, no further jobs start"});
VERB(resume, "resumed", "end the pause of executions",
     {"pawl resume 17", "its jobs may start again"});
VERB(skip, "skipped", "skip tasks that have not started; their followers treat them as done",
     {"pawl skip 19 --reason 'done by hand'", "its followers may start"});
VERB(approve, "approved", "approve tasks that wait for an approval",
     {"pawl approve 19 --reason 'checked the figures'", "the task may run now"});
VERB(reject, "rejected", "reject tasks that wait for an approval; they fail",
     {"pawl reject 19 --reason 'the figures are wrong'", "the task fails"});
