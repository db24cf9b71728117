/* cmd_exec.c - pawl exec: one command as an execution. Here and now: this process submits it, works
 * on it alone and shows its output; if it dies, a worker of the same state folder goes on. Or, with
 * --detach, by whichever worker serves its queue. */
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

#define CHECK_MS 1000    /* another may have taken it over */
#define LEAVE_US 2000000 /* for what is to be written before it is left */

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
    bool answered, news; /* the submission; something new is stored */
    int64_t looked;      /* when its output was copied last */
    int cancelled;       /* the signal that did it */
    struct pawl_error err;
    int rc; /* of the submission */
};

/* ---- the job ---- */

static char *name_of(const struct exec *x)
{
    const char *name = x->name, *slash;

    if (!name) {
        name = x->cli->words[0];
        if ((slash = strrchr(name, '/')) && slash[1])
            name = slash + 1;
    }
    return mem_printf("%s%s", strncmp(name, "exec::", 6) ? "exec::" : "", name);
}

/* The folder of whoever calls, unless another one is named; absolute either way. */
static int find_folder(struct exec *x)
{
    char *here;

    if (x->cwd && *x->cwd == '/') {
        x->folder = mem_strdup(x->cwd);
        return 0;
    }
    if (!(here = getcwd(NULL, 0)))
        return cli_wrong("the current folder can't be told: %s; name one with --cwd",
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

/* What a task starts belongs below it, unless it is in another database. */
static int find_parent(struct exec *x)
{
    const char *id = getenv("PAWL_EXECUTION_ID");

    if (x->no_parent || !id || !*id || !is_same(x->cli->db, "PAWL_DB") ||
        !is_same(x->cli->tenant, "PAWL_TENANT"))
        return 0;
    if (text_parse_i64(id, &x->job.parent) || x->job.parent <= 0)
        return cli_wrong(
            "PAWL_EXECUTION_ID is '%.60s', which is no id: clear it, or use --no-parent", id);
    return 0;
}

static int read_options(struct exec *x)
{
    int64_t n = 0;

    if (x->priority && (text_parse_i64(x->priority, &n) || n < INT_MIN || n > INT_MAX))
        return cli_wrong("--priority wants a number, not '%.60s'", x->priority);
    if (x->retry >= INT_MAX)
        return cli_wrong("--retry is at most 999999");
    x->full_name = name_of(x);
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

/* ---- here and now ---- */

static void submitted(void *arg, const struct pawl_job *job, const struct pawl_error *err)
{
    struct exec *x = arg;

    x->answered = x->news = true;
    x->output.execution = job->id;
    if (err) {
        x->rc = -err->code;
        x->err = *err;
    } else if (job->existed) {
        fprintf(stderr, "pawl: the key names execution %lld: waiting for that\n",
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
        err.code != PAWL_E_INVALID) /* else it has ended by itself */
        cli_fail(&err);
    else if (by_signal == SIGINT)
        fprintf(stderr, "pawl: execution %lld is asked to end; Ctrl-C again leaves it behind\n",
                (long long)x->output.execution);
}

/* Leaves it to the workers of this state folder. */
static int leave(struct exec *x, int signals, int signal)
{
    int64_t until = clock_boot_us() + LEAVE_US;
    int more;

    pawl_engine_stop(x->e, false);
    while (!pawl_engine_idle(x->e) && clock_boot_us() < until &&
           !run_step(x->e, signals, 100, &more, &x->err))
        ;
    fprintf(stderr, "pawl: execution %lld is left to the workers of this state folder\n",
            (long long)x->output.execution);
    return 128 + signal;
}

/* One step and what follows from it. Returns -1 to go on, else what to exit with. */
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
        cancel(x, signal, signal == SIGINT ? "Ctrl-C" : "pawl exec was told to end");
    if (x->news || clock_boot_us() - x->looked >= CHECK_MS * 1000LL) {
        x->news = false;
        x->looked = clock_boot_us();
        if (output_copy(x->p, &x->output, &x->err))
            return run_later(&x->err);
        if (x->output.to && ferror(x->output.to))
            cancel(x, SIGPIPE, "nobody reads its output any more");
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

/* `report` gets the id once it is accepted; -1: nobody waits for it. */
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
            dup2(STDOUT_FILENO,
                 STDERR_FILENO); /* whoever reads our caller's must not wait for us */
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

/* Without a queue there is no worker to leave it to: a process of its own stays with it. */
static int run_detached(struct exec *x)
{
    char text[32] = "";
    int64_t id;
    int ends[2], null, status = 0;
    pid_t child;

    pawl_close(x->p); /* no handle may be open across a fork */
    x->p = NULL;
    if (pipe2(ends, O_CLOEXEC) || (child = fork()) < 0)
        return cli_wrong("no process can be started: %s", strerror(errno));
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
     "leave it to a worker, and print its id"},
    {"queue", OPTION_TEXT, offsetof(struct exec, queue), "QUEUE", "the queue that it waits in"},
    {"priority", OPTION_TEXT, offsetof(struct exec, priority), "N",
     "what is higher is claimed first; 0 is usual"},
    {"delay", OPTION_DURATION, offsetof(struct exec, delay), "DURATION",
     "not before so long from now"},
    {"retry", OPTION_NUMBER, offsetof(struct exec, retry), "N", "try it again up to so many times"},
    {"timeout", OPTION_DURATION, offsetof(struct exec, timeout), "DURATION",
     "how long an attempt may take"},
    {"name", OPTION_TEXT, offsetof(struct exec, name), "NAME",
     "what it is called: exec::NAME; else after the command"},
    {"executor", OPTION_TEXT, offsetof(struct exec, executor), "KEY",
     "the executor that runs it, whatever the routes say"},
    {"key", OPTION_TEXT, offsetof(struct exec, key), "KEY",
     "an idempotency key: the same submission twice is one execution"},
    {"env", OPTION_TEXTS, offsetof(struct exec, env), "NAME=VALUE",
     "a variable of its environment"},
    {"cwd", OPTION_TEXT, offsetof(struct exec, cwd), "DIR",
     "the folder that it runs in; else this one"},
    {"no-parent", OPTION_FLAG, offsetof(struct exec, no_parent), NULL,
     "inside a task: not below it, but a tree of its own"},
    {"state", OPTION_TEXT, offsetof(struct exec, state), "DIR",
     "the folder in which running attempts keep their files"},
    {"config", OPTION_TEXT, offsetof(struct exec, config), "FILE",
     "the configuration, instead of pawl.yaml in this folder or your own"},
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
    .text = "run a command here and now and wait for it, or (--detach) leave it to a worker",
    .about = "Ctrl-C cancels it; a second one leaves it to the workers of the state folder.",
    .options = options,
    .examples = {{"pawl exec -- make -C /srv/site", "run it and wait, with its output"},
                 {"pawl exec --detach --retry 3 --timeout 10m -- ./import.sh day.csv",
                  "leave it to a worker"}},
    .least = 1,
    .most = INT_MAX,
    .run = cmd_exec,
};
