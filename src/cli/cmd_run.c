/* cmd_run.c - pawl run and pawl submit: start a workflow. `run` runs it in the foreground and
 * shows its progress; if the process dies, a worker of the same state folder takes over.
 * `submit` queues it for workers, and also takes the name of an applied workflow. */
#include "base/mem.h"
#include "cli/definition.h"
#include "cli/foreground.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct run_command {
    const char *queue, *priority, *key, *config, *state, *progress_name, *slots;
    struct texts params;
    enum progress_kind kind;
    const struct cli *cli;
    struct pawl *p;
    struct pawl_job job;
    struct pawl_error err;
};

static int read_options(struct run_command *r)
{
    int64_t n = 0;

    if (r->priority && (text_parse_i64(r->priority, &n) || n < -1000000 || n > 1000000))
        return cli_wrong("--priority needs a number, but got '%.60s'", r->priority);
    if (r->progress_name && !progress_kind_of(r->progress_name, &r->kind))
        return cli_wrong("--progress must be auto, tty, plain, json or none, not '%.60s'",
                         r->progress_name);
    if (r->kind == PROGRESS_AUTO)
        r->kind = r->cli->json ? PROGRESS_NONE : progress_auto();
    r->job = (struct pawl_job){.workflow = r->cli->words[0],
                               .params = r->params.at,
                               .queue = r->queue,
                               .key = r->key,
                               .priority = (int)n};
    return 0;
}

static int open_database(struct run_command *r)
{
    struct pawl_options o = cli_options(r->cli, false);

    o.config = r->config;
    return pawl_open(&o, &r->p, &r->err) ? cli_fail(&r->err) : 0;
}

static int run_in_foreground(struct run_command *r)
{
    struct foreground h = {
        .job = &r->job, .state = r->state, .kind = r->kind, .json = r->cli->json};
    int code;

    if ((code = cli_validate(r->job.workflow, false, NULL)) || (code = open_database(r)))
        return code;
    return foreground_run(&h, r->p);
}

static const struct option run_options[] = {
    {"param", OPTION_TEXTS, offsetof(struct run_command, params), "NAME=VALUE",
     "set a parameter of the workflow"},
    {"progress", OPTION_TEXT, offsetof(struct run_command, progress_name),
     "auto|tty|plain|json|none",
     "how to show progress: as a live tree, as lines, or as JSON "
     "events"},
    {"priority", OPTION_TEXT, offsetof(struct run_command, priority), "N",
     "jobs with a higher number are claimed first; default: 0"},
    {"key", OPTION_TEXT, offsetof(struct run_command, key), "KEY",
     "idempotency key: submitting twice with the same key creates one execution"},
    {"state", OPTION_TEXT, offsetof(struct run_command, state), "DIR",
     "folder where running attempts keep their files"},
    {"config", OPTION_TEXT, offsetof(struct run_command, config), "FILE",
     "configuration file; default: ./pawl.yaml, else your own"},
    {0},
};

static int cmd_run(int argc, char **argv)
{
    struct run_command r = {0};
    struct cli c;
    int code = cli_begin(&c, &command_run, argc, argv, &r);

    if (code < 0) {
        r.cli = &c;
        if (!(code = read_options(&r)))
            code = run_in_foreground(&r);
        pawl_close(r.p);
        cli_end(&c);
    }
    vec_release(&r.params);
    return cli_done(code);
}

const struct command command_run = {
    .name = "run",
    .forms = "FILE",
    .text = "run a workflow in the foreground, and wait for its end",
    .about = "Ctrl-C cancels the workflow; pressing it again leaves the workflow to the workers of "
             "the state folder.",
    .options = run_options,
    .examples = {{"pawl run nightly.flow.yaml --param day=2026-01-31",
                  "run it with a value for a parameter"},
                 {"pawl run nightly.flow.yaml --progress json",
                  "print events as they happen, for programs"}},
    .least = 1,
    .most = 1,
    .run = cmd_run,
};

/* A file has a dot or a slash in its name, or exists. */
static bool is_applied_name(const char *word)
{
    struct stat st;

    return !strpbrk(word, "./") && (stat(word, &st) || !S_ISREG(st.st_mode));
}

static int submit(struct run_command *r)
{
    char *json;
    int code;

    if (is_applied_name(r->job.workflow)) {
        r->job.applied = r->job.workflow;
        r->job.workflow = NULL;
    }
    if (r->job.workflow && (code = cli_validate(r->job.workflow, false, NULL)))
        return code;
    if ((code = open_database(r)))
        return code;
    if (!pawl_has_queue(r->p))
        return cli_wrong("queue.enabled is false in pawl.yaml, so there is no queue to wait in: "
                         "use `pawl run FILE` to run it in the foreground");
    if (pawl_submit(r->p, &r->job, 1, &r->err))
        return cli_fail_param(&r->err, "--param");
    if (!r->cli->json) {
        printf("%lld\n", (long long)r->job.id);
        return 0;
    }
    if (pawl_show(r->p, r->job.id, &json, &r->err))
        return cli_fail(&r->err);
    puts(json);
    free(json);
    return 0;
}

static const struct option submit_options[] = {
    {"param", OPTION_TEXTS, offsetof(struct run_command, params), "NAME=VALUE",
     "set a parameter of the workflow"},
    {"queue", OPTION_TEXT, offsetof(struct run_command, queue), "QUEUE",
     "queue for its tasks, unless they name one"},
    {"priority", OPTION_TEXT, offsetof(struct run_command, priority), "N",
     "jobs with a higher number are claimed first; default: 0"},
    {"key", OPTION_TEXT, offsetof(struct run_command, key), "KEY",
     "idempotency key: submitting twice with the same key creates one execution"},
    {"config", OPTION_TEXT, offsetof(struct run_command, config), "FILE",
     "configuration file; default: ./pawl.yaml, else your own"},
    {0},
};

static int cmd_submit(int argc, char **argv)
{
    struct run_command r = {0};
    struct cli c;
    int code = cli_begin(&c, &command_submit, argc, argv, &r);

    if (code < 0) {
        r.cli = &c;
        if (!(code = read_options(&r)))
            code = submit(&r);
        pawl_close(r.p);
        cli_end(&c);
    }
    vec_release(&r.params);
    return cli_done(code);
}

const struct command command_submit = {
    .name = "submit",
    .forms = "FILE|WORKFLOW",
    .text = "queue a workflow for workers: a file, or the name of an applied workflow",
    .options = submit_options,
    .examples = {{"pawl submit nightly.flow.yaml --key nightly-2026-01-31",
                  "creates one execution, however often it is submitted"},
                 {"pawl submit nightly", "the workflow applied under this name"}},
    .least = 1,
    .most = 1,
    .run = cmd_submit,
};
