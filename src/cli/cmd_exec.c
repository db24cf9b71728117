/* cmd_exec.c - pawl exec: runs one command as an execution. In the foreground this process
 * submits it, runs it alone and copies its output; if the process dies, a worker of the same
 * state folder takes the job over. With --detach any worker that serves its queue runs it. */
#include "cli/end.h"
#include "cli/foreground.h"

#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

struct exec {
    const char *queue, *priority, *name, *executor, *key, *cwd, *config, *state;
    struct texts env;
    int64_t delay, retry, timeout;
    bool detach, no_parent;
    struct cli *cli;

    char *full_name, *folder, *spec;
    struct pawl_job job;
    struct output output;
    int report; /* descriptor to which the id is written once the job is accepted; -1 for none */
};

/* ---- the job ---- */

static char *full_name_of(const struct exec *x)
{
    const char *name = x->name, *slash;

    if (!name) {
        name = x->cli->words[0];
        if ((slash = strrchr(name, '/')) && slash[1])
            name = slash + 1;
    }
    return mem_printf("%s%s", strncmp(name, "exec::", 6) ? "exec::" : "", name);
}

/* Determines the folder to run in: the caller's, or the one given with --cwd; always absolute. */
static int find_folder(struct exec *x)
{
    AUTO_FREE char *here = NULL;

    if (x->cwd && *x->cwd == '/') {
        x->folder = mem_strdup(x->cwd);
        return 0;
    }
    if (!(here = getcwd(NULL, 0)))
        return cli_wrong("can't determine the current folder: %s; name one with --cwd",
                         strerror(errno));
    x->folder = x->cwd ? mem_printf("%s/%s", here, x->cwd) : mem_strdup(here);
    return 0;
}

/* If a task called this program, the new job becomes a child of that task. Unless it is detached,
 * the task waits for it and lends it its slot. */
static int find_parent(struct exec *x)
{
    const char *id = foreground_task(x->cli);

    if (x->no_parent || !id)
        return 0;
    x->job.shares_slot = !x->detach;
    if (text_parse_i64(id, &x->job.parent) || x->job.parent <= 0)
        return cli_wrong(
            "PAWL_EXECUTION_ID is '%.60s', which is not an id: clear it, or use --no-parent", id);
    return 0;
}

static int read_options(struct exec *x)
{
    int64_t n = 0;

    if (x->priority && (text_parse_i64(x->priority, &n) || n < INT_MIN || n > INT_MAX))
        return cli_wrong(
            "--priority needs a whole number from -1000000 to 1000000, but got '%.60s'",
            x->priority);
    if (x->retry >= INT_MAX)
        return cli_wrong("--retry must be at most 999999");
    x->full_name = full_name_of(x);
    x->job = (struct pawl_job){.name = x->full_name,
                               .queue = x->queue,
                               .lane = x->executor,
                               .key = x->key,
                               .priority = (int)n,
                               .max_attempts = (int)x->retry + 1,
                               .delay = x->delay};
    return find_folder(x) ? 2 : find_parent(x);
}

static int open_all(struct exec *x)
{
    struct cli *c = x->cli;
    struct pawl_command command = {
        .argv = c->words, .cwd = x->folder, .env = x->env.at, .timeout = x->timeout};

    if (cli_open_or_create(c, x->config) ||
        pawl_command_spec(c->p, &command, NULL, &x->spec, &c->err))
        return cli_fail(&c->err);
    x->job.spec = x->spec;
    if (x->retry < 0)
        x->job.max_attempts = pawl_default_attempts(c->p);
    return 0;
}

/* ---- foreground ---- */

static void accepted(void *arg, int64_t id, bool existed)
{
    struct exec *x = arg;

    if (existed)
        fprintf(stderr, "pawl: execution %lld was submitted with this key before: waiting for it\n",
                (long long)id);
    if (x->report < 0)
        return;
    dprintf(x->report, "%lld\n", (long long)id);
    close(x->report);
    dup2(STDOUT_FILENO, STDERR_FILENO); /* a reader of the caller's standard error must not wait for
                                           this process */
}

static int print_end(const struct exec *x)
{
    const char *status = field(x->output.ended, "status"), *error = field(x->output.ended, "error");
    int code = end_exit_code(status);

    if (code)
        print_clean(stderr, "pawl: execution %lld: %s", (long long)x->output.execution,
                    *error ? error : status);
    return code;
}

static int run_in_foreground(struct exec *x)
{
    struct foreground h = {.job = &x->job,
                           .state = x->state,
                           .kind = PROGRESS_NONE,
                           .slots = 1,
                           .output = &x->output,
                           .accepted = accepted,
                           .arg = x};

    signal(SIGPIPE, SIG_IGN);
    TRY(foreground_run(&h, x->cli->p));
    if (x->cli->json && x->output.to)
        TRY(print_execution(x->cli, x->output.execution));
    return print_end(x);
}

/* ---- detached ---- */

/* Submits the job for a worker. If queues are disabled, no worker would claim it: a separate
 * process runs it. */
static int run_detached(struct exec *x)
{
    struct cli *c = x->cli;
    char text[32] = "";
    int64_t id;
    int ends[2], null, status = 0;
    pid_t child;

    pawl_close(c->p); /* handles must not be open across a fork */
    c->p = NULL;
    free(x->spec);
    x->spec = NULL;
    if (pipe2(ends, O_CLOEXEC) || (child = fork()) < 0)
        return cli_wrong("can't start a process: %s", strerror(errno));
    if (!child) {
        close(ends[0]);
        setsid();
        if (open_all(x) || (null = open("/dev/null", O_RDWR | O_CLOEXEC)) < 0)
            return 2;
        dup2(null, STDIN_FILENO);
        dup2(null, STDOUT_FILENO);
        x->report = ends[1];
        return run_in_foreground(x);
    }
    close(ends[1]);
    if (read(ends[0], text, sizeof(text) - 1) <= 0) {
        while (waitpid(child, &status, 0) < 0 && errno == EINTR)
            ;
        close(ends[0]);
        return WIFEXITED(status) && WEXITSTATUS(status) ? WEXITSTATUS(status) : 1;
    }
    close(ends[0]);
    text[strcspn(text, "\n")] = 0;
    if (text_parse_i64(text, &id) || (c->json && open_all(x)))
        return 1;
    return print_execution(c, id);
}

static int submit(struct exec *x)
{
    struct cli *c = x->cli;

    if (!pawl_has_queue(c->p))
        return run_detached(x);
    cli_warn_executors(c->p, NULL, &x->job, NULL);
    TRY(pawl_submit(c->p, &x->job, 1, &c->err));
    return print_execution(c, x->job.id);
}

static int run(struct exec *x)
{
    if (!x->detach)
        TRY(cli_needs_database(x->cli, "pawl exec without --detach"));
    TRY(read_options(x));
    TRY(open_all(x));
    if (x->detach)
        return submit(x);
    x->output.to = x->cli->json ? stderr : stdout;
    return run_in_foreground(x);
}

static const struct option options[] = {
    {"detach", OPTION_FLAG, offsetof(struct exec, detach), NULL,
     "leave the job to a worker, and print its id"},
    {"queue", OPTION_TEXT, offsetof(struct exec, queue), "QUEUE",
     "put the job into this queue; default: \"default\""},
    {"priority", OPTION_TEXT, offsetof(struct exec, priority), "N",
     "jobs with a higher number are claimed first; default: 0"},
    {"delay", OPTION_DURATION, offsetof(struct exec, delay), "DURATION",
     "wait at least this long before starting"},
    {"retry", OPTION_NUMBER, offsetof(struct exec, retry), "N", "retry up to N times; default: 0"},
    {"timeout", OPTION_DURATION, offsetof(struct exec, timeout), "DURATION",
     "end each attempt after this time; default: no limit"},
    {"name", OPTION_TEXT, offsetof(struct exec, name), "NAME",
     "name the execution exec::NAME; default: the name of the command"},
    {"executor", OPTION_TEXT, offsetof(struct exec, executor), "KEY",
     "run it with this executor, regardless of the routes"},
    {"key", OPTION_TEXT, offsetof(struct exec, key), "KEY",
     "idempotency key: submitting twice with the same key creates one execution"},
    {"env", OPTION_TEXTS, offsetof(struct exec, env), "NAME=VALUE", "set an environment variable"},
    {"cwd", OPTION_TEXT, offsetof(struct exec, cwd), "DIR",
     "run it in this folder; default: the current one"},
    {"no-parent", OPTION_FLAG, offsetof(struct exec, no_parent), NULL,
     "inside a task: do not make the execution a child of that task"},
    {"state", OPTION_TEXT, offsetof(struct exec, state), "DIR",
     "state folder, where running attempts keep their files; default: ~/.local/state/pawl"},
    {"config", OPTION_TEXT, offsetof(struct exec, config), "FILE",
     "configuration file; default: ./pawl.yaml, else ~/.config/pawl/pawl.yaml"},
    {0},
};

static int exec(struct cli *c)
{
    struct exec *x = c->values;
    int code;

    x->cli = c;
    code = run(x);
    output_release(&x->output);
    free(x->full_name);
    free(x->folder);
    free(x->spec);
    return code;
}

static const struct exec defaults = {.retry = -1, .report = -1};

const struct command command_exec = {
    .name = "exec",
    .forms = "[OPTION]… -- CMD ARG…",
    .text = "run a command and wait for it, or (--detach) leave it to a worker",
    .about = "Ctrl-C cancels the command; pressing it again leaves the command to the workers of "
             "the state folder.",
    .options = options,
    .size = sizeof(defaults),
    .defaults = &defaults,
    .examples = {{"pawl exec -- make -C /srv/site", "run it and wait, showing its output"},
                 {"pawl exec --detach --retry 3 --timeout 10m -- ./import.sh day.csv",
                  "leave it to a worker"}},
    .least = 1,
    .most = INT_MAX,
    .run = exec,
};
