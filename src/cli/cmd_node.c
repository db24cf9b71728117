/* cmd_node.c - pawl pause, resume, skip, approve and reject: operator actions on executions. */
#include "cli/cli.h"

#include <limits.h>

struct decision {
    const char *reason;
};

static const struct option options[] = {
    {"reason", OPTION_TEXT, offsetof(struct decision, reason), "TEXT",
     "record why; stored with the user's name"},
    {0},
};

static const struct verb {
    const struct command *command;
    const char *done;
    int (*run)(struct pawl *p, int64_t id, const char *by, const char *reason,
               struct pawl_error *err);
} verbs[] = {{&command_pause, "paused", pawl_pause},
             {&command_resume, "resumed", pawl_resume},
             {&command_skip, "skipped", pawl_skip},
             {&command_approve, "approved", pawl_approve},
             {&command_reject, "rejected", pawl_reject}};

static int apply_verb(struct cli *c, int64_t id)
{
    const struct decision *d = c->values;
    const struct verb *v = verbs;

    while (v->command != c->command)
        v++;
    TRY(v->run(c->p, id, NULL, d->reason, &c->err));
    if (c->json)
        return print_execution(c, id);
    printf("execution %lld: %s\n", (long long)id, v->done);
    return 0;
}

#define VERB(which, sentence, ...)                                           \
    const struct command command_##which = {.name = #which,                  \
                                            .forms = "ID…",                  \
                                            .text = sentence,                \
                                            .options = options,              \
                                            .size = sizeof(struct decision), \
                                            .examples = {__VA_ARGS__},       \
                                            .least = 1,                      \
                                            .most = INT_MAX,                 \
                                            .run_id = apply_verb}

VERB(pause, "prevent executions and their descendants from starting further jobs",
     {"pawl pause 17 --reason 'the disk is full'", "running jobs continue, no further jobs start"});
VERB(resume, "end the pause of executions", {"pawl resume 17", "its jobs may start again"});
VERB(skip, "skip tasks that have not started; their followers treat them as done",
     {"pawl skip 19 --reason 'done by hand'", "its followers may start"});
VERB(approve, "approve tasks that wait for an approval",
     {"pawl approve 19 --reason 'checked the figures'", "the task may run now"});
VERB(reject, "reject tasks that wait for an approval; they fail",
     {"pawl reject 19 --reason 'the figures are wrong'", "the task fails"});
