/* cmd_node.c - pawl pause, resume, skip, approve and reject: what a person decides about
 * executions. One that can't be done does not keep the others from it; the exit code is that of the
 * first. */
#include "cli/cli.h"

#include <limits.h>
#include <stdlib.h>

typedef int verb_fn(struct pawl *p, int64_t id, const char *by, const char *reason,
                    struct pawl_error *err);

struct verb {
    const char *done;
    verb_fn *run;
};

static int one(struct pawl *p, const struct verb *v, const char *which, const char *reason,
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
     "why; it is kept in the history"},
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
            int rc = one(p, v, c.words[i], d.reason, c.json);

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

VERB(pause, "paused", "let nothing of executions and below them start any more",
     {"pawl pause 17 --reason 'the disk is full'", "what runs goes on, nothing more starts"});
VERB(resume, "goes on", "end the pause of executions", {"pawl resume 17", "it goes on"});
VERB(skip, "skipped", "leave out tasks that have not begun; others take them for done",
     {"pawl skip 19 --reason 'done by hand'", "what needs it goes on"});
VERB(approve, "approved", "let tasks go on that wait for an approval",
     {"pawl approve 19 --reason 'checked the figures'", "it may run now"});
VERB(reject, "rejected", "fail tasks that wait for an approval",
     {"pawl reject 19 --reason 'the figures are wrong'", "it fails"});
