/* cmd_node.c - pawl pause, resume, skip, approve and reject: operator actions on executions. */
#include "cli/bulk.h"

#include <limits.h>

struct decision {
    struct bulk_options bulk;
    const char *reason;
};

#define REASON                                                            \
    {                                                                     \
        "reason", OPTION_TEXT, offsetof(struct decision, reason), "TEXT", \
            "record why; stored with the user's name"                     \
    }
static const struct option options[] = {REASON, {0}};
static const struct option bulk_options[] = {
    REASON,
    BULK_DRY_RUN(struct decision, bulk.dry_run),
    BULK_OPTIONS(struct decision, bulk),
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

static const struct verb *verb_of(const struct cli *c)
{
    const struct verb *v = verbs;

    while (v->command != c->command)
        v++;
    return v;
}

static int apply_verb(struct cli *c, int64_t id)
{
    const struct decision *d = c->values;
    const struct verb *v = verb_of(c);

    TRY(v->run(c->p, id, NULL, d->reason, &c->err));
    if (c->json)
        return print_execution(c, id);
    printf("execution %lld: %s\n", (long long)id, v->done);
    return 0;
}

static int apply_verb_to_many(struct cli *c)
{
    struct decision *d = c->values;
    struct bulk_action a = {.name = c->command->name,
                            .done = verb_of(c)->done,
                            .reason = d->reason,
                            .run_id = apply_verb};

    if (c->nwords && d->bulk.dry_run)
        return cli_wrong("--dry-run belongs to filters: see `pawl help %s`", c->command->name);
    return bulk_run(c, &d->bulk, &a);
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
#define BULK_VERB(which, sentence, ...)                                      \
    const struct command command_##which = {.name = #which,                  \
                                            .forms = BULK_FORMS("ID…"),      \
                                            .text = sentence,                \
                                            .about = BULK_ABOUT,             \
                                            .options = bulk_options,         \
                                            .size = sizeof(struct decision), \
                                            .examples = {__VA_ARGS__},       \
                                            .most = INT_MAX,                 \
                                            .run = apply_verb_to_many}

BULK_VERB(pause, "prevent executions and their descendants from starting further jobs",
          {"pawl pause 17 --reason 'the disk is full'",
           "running jobs continue, no further jobs start"},
          {"pawl pause --workflow nightly --since 1d", "all open runs of the last day"});
BULK_VERB(resume, "end the pause of executions", {"pawl resume 17", "its jobs may start again"},
          {"pawl resume --workflow nightly --yes", "all paused runs, without a question"});
BULK_VERB(skip, "skip tasks that have not started; their followers treat them as done",
          {"pawl skip 19 --reason 'done by hand'", "its followers may start"},
          {"pawl skip --all --name 'nightly::mail' --dry-run", "tasks that would be skipped"});
VERB(approve, "approve tasks that wait for an approval",
     {"pawl approve 19 --reason 'checked the figures'", "the task may run now"});
VERB(reject, "reject tasks that wait for an approval; they fail",
     {"pawl reject 19 --reason 'the figures are wrong'", "the task fails"});
