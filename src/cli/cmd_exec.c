/* cmd_exec.c - pawl exec: runs one command as an execution. In the foreground this process
 * submits it, runs it alone and copies its output; if the process dies, a worker of the same
 * state folder takes the job over. With --detach any worker that serves its queue runs it. */
#include "cli/run_workflow.h"

#include "base/env.h"
#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHECK_MS 1000    /* another worker may have taken it over */
#define LEAVE_US 2000000 /* time for pending writes before the process leaves the job */

struct exec {
    const char *queue, *priority, *name, *executor, *key, *cwd, *config, *state;
    struct texts env;
    int64_t delay, retry, timeout;
    bool detach, no_parent;
    const struct cli *cli;

    char *full_name, *folder, *spec;
    struct pawl *p;
    struct pawl_engine *e;
    struct pawl_job job;
    struct output output;
    bool answered, news; /* the submission was answered; something new is stored */
    int64_t copied_at;   /* when its output was last copied */
    int cancelled;       /* the signal that cancelled it; 0 if none */
    struct pawl_error err;
    int rc; /* result of the submission */
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

/* The caller's folder, or the one given with --cwd; always absolute. */
static int find_folder(struct exec *x)
{
    char *here;

    if (x->cwd && *x->cwd == '/') {
        x->folder = mem_strdup(x->cwd);
        return 0;
    }
    if (!(here = getcwd(NULL, 0)))
        return cli_wrong("can't determine the current folder: %s; name one with --cwd",
                         strerror(errno));
    x->folder = x->cwd ? mem_printf("%s/%s", here, x->cwd) : mem_strdup(here);
    free(here);
    return 0;
}

static bool is_same(const char *option, const char *variable)
{
    const char *value = getenv(variable);

    return !option || (value && !strcmp(option, value));
}

/* A command started by a task becomes its child, unless it goes to another database. */
static int find_parent(struct exec *x)
{
    const char *id = getenv("PAWL_EXECUTION_ID");

    if (x->no_parent || !id || !*id || !is_same(x->cli->db, "PAWL_DB") ||
        !is_same(x->cli->tenant, "PAWL_TENANT"))
        return 0;
    if (text_parse_i64(id, &x->job.parent) || x->job.parent <= 0)
        return cli_wrong(
            "PAWL_EXECUTION_ID is '%.60s', which is not an id: clear it, or use --no-parent", id);
    return 0;
}

static int read_options(struct exec *x)
{
    int64_t n = 0;

    if (x->priority && (text_parse_i64(x->priority, &n) || n < INT_MIN || n > INT_MAX))
        return cli_wrong("--priority needs a number, but got '%.60s'", x->priority);
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
    struct pawl_options o = cli_options(x->cli, false);
    struct pawl_command command = {
        .argv = x->cli->words, .cwd = x->folder, .env = x->env.at, .timeout = x->timeout};
    int rc;

    o.config = x->config;
    if ((rc = pawl_open(&o, &x->p, &x->err)) ||
        (rc = pawl_command_spec(x->p, &command, NULL, &x->spec, &x->err)))
        return cli_fail(&x->err);
    x->job.spec = x->spec;
    if (x->retry < 0)
        x->job.max_attempts = pawl_default_attempts(x->p);
    return 0;
}

static int print_execution(struct exec *x, int64_t id)
{
    char *json;

    if (!x->cli->json) {
        printf("%lld\n", (long long)id);
        return 0;
    }
    if (pawl_show(x->p, id, &json, &x->err))
        return cli_fail(&x->err);
    puts(json);
    free(json);
    return 0;
}

/* ---- foreground ---- */

static void submitted(void *arg, const struct pawl_job *job, const struct pawl_error *err)
{
    struct exec *x = arg;

    x->answered = x->news = true;
    x->output.execution = job->id;
    if (err) {
        x->rc = -err->code;
        x->err = *err;
    } else if (job->existed) {
        fprintf(stderr, "pawl: execution %lld already has this key: waiting for it\n",
                (long long)job->id);
    }
}

static void on_status(void *arg, int64_t execution, const char *status)
{
    struct exec *x = arg;

    (void)status;
    x->news |= execution == x->output.execution;
}

static void cancel(struct exec *x, int by_signal, const char *reason)
{
    struct pawl_error err;

    if (x->cancelled)
        return;
    x->cancelled = by_signal;
    if (pawl_cancel(x->p, x->output.execution, NULL, reason, NULL, &err) &&
        err.code != PAWL_E_INVALID) /* otherwise it has ended already */
        cli_fail(&err);
    else if (by_signal == SIGINT)
        fprintf(stderr, "pawl: cancelling execution %lld; press Ctrl-C again to leave it running\n",
                (long long)x->output.execution);
}

/* Leaves the job to the workers of this state folder. */
static int leave(struct exec *x, int signals, int signal)
{
    int64_t until = clock_boot_us() + LEAVE_US;
    int more;

    pawl_engine_stop(x->e, false);
    while (!pawl_engine_idle(x->e) && clock_boot_us() < until &&
           !run_step(x->e, signals, 100, &more, &x->err))
        ;
    fprintf(stderr, "pawl: execution %lld was left to the workers of this state folder\n",
            (long long)x->output.execution);
    return 128 + signal;
}

/* One step of the engine, and its consequences. Returns -1 to continue, else the exit code. */
static int follow(struct exec *x, int signals)
{
    int signal;

    if (run_step(x->e, signals, CHECK_MS, &signal, &x->err))
        return signals_pending(NULL) ? -1 : cli_fail(&x->err);
    if (x->rc)
        return cli_fail(&x->err);
    if (!x->answered)
        return signal ? 128 + signal : -1;
    if (signal == SIGHUP || (signal && x->cancelled))
        return leave(x, signals, signal);
    if (signal)
        cancel(x, signal, signal == SIGINT ? "Ctrl-C" : "pawl exec was terminated");
    if (x->news || clock_boot_us() - x->copied_at >= CHECK_MS * 1000LL) {
        x->news = false;
        x->copied_at = clock_boot_us();
        if (output_copy(x->p, &x->output, &x->err))
            return run_later(&x->err);
        if (x->output.to && ferror(x->output.to))
            cancel(x, SIGPIPE, "the reader of its output is gone");
    }
    return x->output.ended ? 0 : -1;
}

static int status_code(const struct exec *x)
{
    static const struct {
        const char *status;
        int code;
    } codes[] = {{"succeeded", 0}, {"cancelled", 3}, {"timed_out", 4}};
    const char *status = field(x->output.ended, "status"), *error = field(x->output.ended, "error");
    struct buf line = BUF_INIT;
    size_t i;

    for (i = 0; i < 3; i++)
        if (!strcmp(codes[i].status, status))
            break;
    if (i) {
        out_clean(&line, *error ? error : status);
        fprintf(stderr, "pawl: execution %lld: %s\n", (long long)x->output.execution,
                buf_cstr(&line));
        buf_release(&line);
    }
    return i < 3 ? codes[i].code : 1;
}

/* Writes the id to `report` once the job is accepted; -1: do not report it. */
static int run_in_foreground(struct exec *x, int signals, int report)
{
    struct pawl_engine_options eo = {
        .here = true, .slots = 1, .state = x->state, .give_up = signals_pending};
    int code = -1;

    signal(SIGPIPE, SIG_IGN);
    if (pawl_engine_open(x->p, &eo, &x->e, &x->err))
        return cli_fail(&x->err);
    pawl_engine_watch(x->e, on_status, x);
    if (pawl_engine_submit(x->e, &x->job, submitted, x, &x->err))
        return cli_fail(&x->err);
    while (code < 0) {
        code = follow(x, signals);
        if (report >= 0 && code <= 0 && x->answered) {
            dprintf(report, "%lld\n", (long long)x->output.execution);
            close(report);
            dup2(STDOUT_FILENO, STDERR_FILENO); /* a reader of the caller's standard error must not
                                                   wait for this process */
            report = -1;
        }
    }
    if (code || !x->output.ended)
        return code;
    if (x->cli->json && x->output.to)
        code = print_execution(x, x->output.execution);
    return code ? code : status_code(x);
}

/* ---- detached ---- */

/* Without a queue no worker would claim the job: a separate process stays with it. */
static int run_detached(struct exec *x)
{
    char text[32] = "";
    int64_t id;
    int ends[2], null, status = 0;
    pid_t child;

    pawl_close(x->p); /* handles must not be open across a fork */
    x->p = NULL;
    if (pipe2(ends, O_CLOEXEC) || (child = fork()) < 0)
        return cli_wrong("can't start a process: %s", strerror(errno));
    if (!child) {
        close(ends[0]);
        setsid();
        free(x->spec);
        x->spec = NULL;
        if (open_all(x) || (null = open("/dev/null", O_RDWR | O_CLOEXEC)) < 0)
            return 2;
        dup2(null, STDIN_FILENO);
        dup2(null, STDOUT_FILENO);
        return run_in_foreground(x, signals_open(), ends[1]);
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
    free(x->spec);
    x->spec = NULL;
    return text_parse_i64(text, &id) || (x->cli->json && open_all(x)) ? 1 : print_execution(x, id);
}

static int submit(struct exec *x)
{
    if (!pawl_has_queue(x->p))
        return run_detached(x);
    if (pawl_submit(x->p, &x->job, 1, &x->err))
        return cli_fail(&x->err);
    return print_execution(x, x->job.id);
}

static int exec(struct exec *x)
{
    int code, signals = -1;

    if ((code = read_options(x)))
        return code;
    if (!x->detach && (signals = signals_open()) < 0)
        return 1;
    if ((code = open_all(x)))
        return code;
    if (x->detach)
        return submit(x);
    x->output.to = x->cli->json ? stderr : stdout;
    return run_in_foreground(x, signals, -1);
}

static const struct option options[] = {
    {"detach", OPTION_FLAG, offsetof(struct exec, detach), NULL,
     "leave the job to a worker, and print its id"},
    {"queue", OPTION_TEXT, offsetof(struct exec, queue), "QUEUE", "queue it waits in"},
    {"priority", OPTION_TEXT, offsetof(struct exec, priority), "N",
     "jobs with a higher number are claimed first; default: 0"},
    {"delay", OPTION_DURATION, offsetof(struct exec, delay), "DURATION",
     "wait at least this long before starting"},
    {"retry", OPTION_NUMBER, offsetof(struct exec, retry), "N", "retry up to N times"},
    {"timeout", OPTION_DURATION, offsetof(struct exec, timeout), "DURATION",
     "time limit of each attempt"},
    {"name", OPTION_TEXT, offsetof(struct exec, name), "NAME",
     "name it exec::NAME; default: after the command"},
    {"executor", OPTION_TEXT, offsetof(struct exec, executor), "KEY",
     "executor that runs it, regardless of the configured routes"},
    {"key", OPTION_TEXT, offsetof(struct exec, key), "KEY",
     "idempotency key: submitting twice with the same key creates one execution"},
    {"env", OPTION_TEXTS, offsetof(struct exec, env), "NAME=VALUE", "set an environment variable"},
    {"cwd", OPTION_TEXT, offsetof(struct exec, cwd), "DIR",
     "folder it runs in; default: the current one"},
    {"no-parent", OPTION_FLAG, offsetof(struct exec, no_parent), NULL,
     "inside a task: do not make the execution a child of that task"},
    {"state", OPTION_TEXT, offsetof(struct exec, state), "DIR",
     "folder where running attempts keep their files"},
    {"config", OPTION_TEXT, offsetof(struct exec, config), "FILE",
     "configuration file; default: ./pawl.yaml, else your own"},
    {0},
};

static int cmd_exec(int argc, char **argv)
{
    struct exec x = {.retry = -1};
    struct cli c;
    int code = cli_begin(&c, &command_exec, argc, argv, &x);

    if (code < 0) {
        x.cli = &c;
        code = exec(&x);
        pawl_engine_close(x.e);
        pawl_close(x.p);
        output_release(&x.output);
        cli_end(&c);
    }
    free(x.full_name);
    free(x.folder);
    free(x.spec);
    vec_release(&x.env);
    return cli_done(code);
}

const struct command command_exec = {
    .name = "exec",
    .forms = "[OPTION]… -- CMD ARG…",
    .text = "run a command and wait for it, or (--detach) leave it to a worker",
    .about = "Ctrl-C cancels the command; pressing it again leaves the command to the workers of "
             "the state folder.",
    .options = options,
    .examples = {{"pawl exec -- make -C /srv/site", "run it and wait, showing its output"},
                 {"pawl exec --detach --retry 3 --timeout 10m -- ./import.sh day.csv",
                  "leave it to a worker"}},
    .least = 1,
    .most = INT_MAX,
    .run = cmd_exec,
};
