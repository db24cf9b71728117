/* cmd_run.c - pawl run and pawl submit: a workflow file. `run` works on it here and now, and tells
 * what happens; if it dies, a worker of the same state folder goes on. `submit` puts it into its
 * queue. */
#include "base/env.h"
#include "base/mem.h"
#include "cli/progress.h"
#include "cli/run.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#define LOOK_US 20000  /* between two looks at its status */
#define LAST_US 500000 /* without news one looks all the same */

struct flow_run {
    const char *queue, *priority, *key, *config, *state, *progress_name, *slots;
    struct texts params;
    enum progress_kind kind;
    const struct cli *cli;
    struct pawl *p;
    struct pawl_engine *e;
    struct progress *progress;
    struct pawl_job job;
    struct pawl_error err;
    int64_t id;
    bool answered, cancelled, news;
    int64_t looked; /* at its status */
    int rc;
};

static int read_options(struct flow_run *r)
{
    int64_t n = 0;

    if (r->priority && (text_parse_i64(r->priority, &n) || n < -1000000 || n > 1000000))
        return cli_wrong("--priority wants a number, not '%.60s'", r->priority);
    if (r->progress_name && !progress_kind_of(r->progress_name, &r->kind))
        return cli_wrong("--progress is auto, tty, plain, json or none, not '%.60s'",
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

static int open_database(struct flow_run *r)
{
    struct pawl_options o = cli_options(r->cli, false);

    o.config = r->config;
    return pawl_open(&o, &r->p, &r->err) ? cli_fail(&r->err) : 0;
}

/* ---- here and now ---- */

static void submitted(void *arg, const struct pawl_job *job, const struct pawl_error *err)
{
    struct flow_run *r = arg;

    r->answered = true;
    r->id = job->id;
    if (err) {
        r->rc = -err->code;
        r->err = *err;
    }
}

/* The engine has stored something. */
static void told(void *arg, int64_t execution, const char *status)
{
    struct flow_run *r = arg;

    (void)execution;
    (void)status;
    r->news = true;
}

static int on_signal(struct flow_run *r, int signal)
{
    struct pawl_error err;
    char text[120];

    if (signal == SIGWINCH) {
        progress_resized(r->progress);
        return -1;
    }
    if (r->cancelled || signal == SIGHUP) {
        pawl_engine_stop(r->e, false);
        fprintf(stderr, "pawl: execution %lld is left to the workers of this state folder\n",
                (long long)r->id);
        return 128 + signal;
    }
    r->cancelled = true;
    if (pawl_cancel(r->p, r->id, NULL, signal == SIGINT ? "Ctrl-C" : "pawl run was told to end",
                    NULL, &err) &&
        err.code != PAWL_E_INVALID)
        return cli_fail(&err);
    snprintf(text, sizeof(text), "execution %lld is asked to end; Ctrl-C again leaves it behind",
             (long long)r->id);
    progress_note(r->progress, text);
    return -1;
}

/* ---- its end ---- */

static int say_end(struct flow_run *r, int code)
{
    struct buf line = BUF_INIT;
    char *json;
    json_t *v;

    if (progress_end(r->progress, &r->err) || pawl_show(r->p, r->id, &json, &r->err))
        return cli_fail(&r->err);
    v = parse_object(json);
    if (r->cli->json)
        puts(json);
    fflush(stdout);
    if (code) {
        out_clean(&line, field(v, "error"));
        fprintf(stderr, "pawl: execution %lld %s: %s\n", (long long)r->id, field(v, "status"),
                buf_cstr(&line));
    }
    buf_release(&line);
    json_decref(v);
    free(json);
    return code;
}

/* Its exit code once it has ended; -1: not yet. */
static int look(struct flow_run *r)
{
    static const struct {
        const char *status;
        int code;
    } codes[] = {{"succeeded", 0}, {"failed", 1}, {"cancelled", 3}, {"timed_out", 4}};
    const char *status;
    size_t i;

    r->looked = clock_boot_us();
    r->news = false;
    if (pawl_status(r->p, r->id, &status, &r->err))
        return cli_fail(&r->err);
    for (i = 0; i < sizeof(codes) / sizeof(*codes); i++)
        if (!strcmp(status, codes[i].status))
            return say_end(r, codes[i].code);
    return -1;
}

/* ---- step by step ---- */

static int64_t look_due(const struct flow_run *r)
{
    return r->looked + (r->news ? LOOK_US : LAST_US);
}

static int wait_ms(const struct flow_run *r)
{
    int64_t left = (look_due(r) - clock_boot_us()) / 1000 + 1;
    int tell = r->progress ? progress_wait(r->progress) : (int)left;

    return left < 0 ? 0 : left < tell ? (int)left : tell;
}

static int step(struct flow_run *r, int signals)
{
    int signal, code;

    if (run_step(r->e, signals, wait_ms(r), &signal, &r->err) || r->rc)
        return cli_fail(&r->err);
    if (!r->answered)
        return signal && signal != SIGWINCH ? 128 + signal : -1;
    if (!r->progress && progress_open(r->p, r->id, r->kind, &r->progress, &r->err))
        return cli_fail(&r->err);
    if (signal && (code = on_signal(r, signal)) >= 0)
        return code;
    if (progress_tell(r->progress, r->news, false, &r->err))
        return cli_fail(&r->err);
    return clock_boot_us() < look_due(r) ? -1 : look(r);
}

static int run_here(struct flow_run *r)
{
    struct pawl_engine_options eo = {.here = true, .state = r->state};
    int signals = signals_open(), code = -1;

    if (signals < 0)
        return 1;
    if (r->kind == PROGRESS_TTY)
        signals_add(signals, SIGWINCH);
    if ((code = open_database(r)))
        return code;
    if (pawl_engine_open(r->p, &eo, &r->e, &r->err))
        return cli_fail(&r->err);
    pawl_engine_watch(r->e, told, r);
    if (pawl_engine_submit(r->e, &r->job, submitted, r, &r->err))
        return cli_fail(&r->err);
    for (code = -1; code < 0;)
        code = step(r, signals);
    return code;
}

int cmd_run(int argc, char **argv)
{
    struct flow_run r = {0};
    const struct option options[] = {
        {"param", OPTION_TEXTS, &r.params}, {"priority", OPTION_TEXT, &r.priority},
        {"key", OPTION_TEXT, &r.key},       {"progress", OPTION_TEXT, &r.progress_name},
        {"state", OPTION_TEXT, &r.state},   {"config", OPTION_TEXT, &r.config},
        {NULL, OPTION_FLAG, NULL}};
    struct cli c;
    int code = cli_begin(&c, "run", argc, argv, options, 1, 1);

    if (code < 0) {
        r.cli = &c;
        if (!(code = read_options(&r)))
            code = run_here(&r);
        progress_close(r.progress);
        pawl_engine_close(r.e);
        pawl_close(r.p);
        cli_end(&c);
    }
    vec_release(&r.params);
    return cli_done(code);
}

static int submit(struct flow_run *r)
{
    char *json;
    int code;

    if ((code = open_database(r)))
        return code;
    if (pawl_submit(r->p, &r->job, 1, &r->err))
        return cli_fail(&r->err);
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

int cmd_submit(int argc, char **argv)
{
    struct flow_run r = {0};
    const struct option options[] = {
        {"param", OPTION_TEXTS, &r.params},     {"queue", OPTION_TEXT, &r.queue},
        {"priority", OPTION_TEXT, &r.priority}, {"key", OPTION_TEXT, &r.key},
        {"config", OPTION_TEXT, &r.config},     {NULL, OPTION_FLAG, NULL}};
    struct cli c;
    int code = cli_begin(&c, "submit", argc, argv, options, 1, 1);

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
