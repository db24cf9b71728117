/* cmd_run.c - pawl run and pawl submit: start a workflow. `run` runs it in the foreground and
 * shows its progress; if the process dies, a worker of the same state folder takes over.
 * `submit` queues it for workers, and also takes the name of an applied workflow. */
#include "cli/foreground.h"
#include "cli/wait.h"

#include <string.h>
#include <sys/stat.h>

struct run_command {
    const char *queue, *priority, *key, *config, *state, *progress_name, *slots;
    bool wait;
    int64_t timeout; /* of --wait; negative: no limit */
    struct texts params;
    enum progress_kind kind;
    struct pawl_job job;
};

static int read_options(const struct cli *c, struct run_command *r)
{
    int64_t n = 0;

    if (r->priority && (text_parse_i64(r->priority, &n) || n < -1000000 || n > 1000000))
        return cli_wrong(
            "--priority needs a whole number from -1000000 to 1000000, but got '%.60s'",
            r->priority);
    TRY(progress_kind_read(c, r->progress_name, &r->kind));
    r->job = (struct pawl_job){
        .params = r->params.at, .queue = r->queue, .key = r->key, .priority = (int)n};
    return 0;
}

static int run(struct cli *c)
{
    struct run_command *r = c->values;
    struct foreground h = {.job = &r->job, .file = c->words[0], .state = r->state, .json = c->json};
    AUTO_WORKFLOW built = NULL;

    TRY(read_options(c, r));
    TRY(cli_load(h.file, &built));
    r->job.built = built;
    TRY(cli_open_or_create(c, r->config));
    h.kind = r->kind;
    /* If queues are disabled, a run that a task waits for uses the slot of that task and no
     * other. */
    if ((r->job.shares_slot = foreground_task(c) != NULL) && !pawl_has_queue(c->p))
        h.slots = 1;
    return foreground_run(&h, c->p);
}

static const struct option run_options[] = {
    {"param", OPTION_TEXTS, offsetof(struct run_command, params), "NAME=VALUE",
     "set a parameter of the workflow"},
    PROGRESS_OPTION(struct run_command, progress_name),
    {"priority", OPTION_TEXT, offsetof(struct run_command, priority), "N",
     "jobs with a higher number are claimed first; default: 0"},
    {"key", OPTION_TEXT, offsetof(struct run_command, key), "KEY",
     "idempotency key: submitting twice with the same key creates one execution"},
    {"state", OPTION_TEXT, offsetof(struct run_command, state), "DIR",
     "state folder, where running attempts keep their files; default: ~/.local/state/pawl"},
    {"config", OPTION_TEXT, offsetof(struct run_command, config), "FILE",
     "configuration file; default: ./pawl.yaml, else ~/.config/pawl/pawl.yaml"},
    {0},
};

const struct command command_run = {
    .name = "run",
    .forms = "FILE",
    .text = "run a workflow in the foreground, and wait for its end",
    .about = "Ctrl-C cancels the workflow; pressing it again leaves the workflow to the workers of "
             "the state folder.",
    .options = run_options,
    .size = sizeof(struct run_command),
    .examples = {{"pawl run nightly.flow.yaml --param day=2026-01-31",
                  "run it with a value for a parameter"},
                 {"pawl run nightly.flow.yaml --progress json",
                  "print events as they happen, for programs"}},
    .least = 1,
    .most = 1,
    .run = run,
    .local = true,
};

/* Whether the word names an applied workflow. A word with a dot or a slash, or one that names an
 * existing file, is a file. */
static bool is_applied_name(const char *word)
{
    struct stat st;

    return !strpbrk(word, "./") && (stat(word, &st) || !S_ISREG(st.st_mode));
}

static int submit(struct cli *c)
{
    struct run_command *r = c->values;
    AUTO_WORKFLOW built = NULL;

    TRY(read_options(c, r));
    if (r->timeout >= 0 && !r->wait)
        return cli_wrong("--timeout limits how long --wait waits: give both");
    if (is_applied_name(c->words[0]))
        r->job.applied = c->words[0];
    else
        TRY(cli_load(c->words[0], &built));
    r->job.built = built;
    TRY(cli_open_or_create(c, r->config));
    if (!pawl_has_queue(c->p))
        return cli_wrong("queue.enabled is false in pawl.yaml, so there is no queue to wait in: "
                         "use `pawl run FILE` to run it in the foreground");
    cli_warn_executors(c->p, NULL, &r->job, NULL);
    if (pawl_submit(c->p, &r->job, 1, &c->err))
        return cli_fail_param(&c->err, "--param");
    TRY(print_execution(c, r->job.id));
    fflush(stdout); /* a program that reads the id need not wait for the end */
    return r->wait ? wait_for_ends(c, &r->job.id, 1, r->timeout) : 0;
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
    {"wait", OPTION_FLAG, offsetof(struct run_command, wait), NULL,
     "then wait for its end, as `pawl wait` does"},
    {"timeout", OPTION_DURATION, offsetof(struct run_command, timeout), "DURATION",
     "with --wait: wait at most this long; default: no limit"},
    {"config", OPTION_TEXT, offsetof(struct run_command, config), "FILE",
     "configuration file; default: ./pawl.yaml, else ~/.config/pawl/pawl.yaml"},
    {0},
};

static const struct run_command submit_defaults = {.timeout = -1};

const struct command command_submit = {
    .name = "submit",
    .forms = "FILE|WORKFLOW",
    .text = "queue a workflow for workers: a file, or the name of an applied workflow",
    .options = submit_options,
    .size = sizeof(submit_defaults),
    .defaults = &submit_defaults,
    .examples = {{"pawl submit nightly.flow.yaml --key nightly-2026-01-31",
                  "creates one execution, however often it is submitted"},
                 {"pawl submit nightly", "the workflow applied under this name"},
                 {"pawl submit nightly --wait", "print its id, and wait for its end"}},
    .least = 1,
    .most = 1,
    .run = submit,
};
