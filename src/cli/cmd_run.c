/* cmd_run.c - pawl run and pawl submit: a workflow file. `run` works on it here and now, and tells
 * what happens; if it dies, a worker of the same state folder goes on. `submit` puts it into its
 * queue. */
#include "cli/run.h"

#include "base/mem.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#define LOOK_MS 500

enum progress { PROGRESS_PLAIN, PROGRESS_JSON, PROGRESS_NONE };

struct flow_run {
    const char *queue, *priority, *key, *config, *state, *progress_name, *slots;
    struct texts params;
    enum progress progress;
    const struct cli *cli;
    struct pawl *p;
    struct pawl_engine *e;
    struct pawl_follower *follower;
    struct pawl_job job;
    struct pawl_error err;
    int64_t id;
    bool answered, cancelled;
    int rc;
};

static int read_options(struct flow_run *r)
{
    int64_t n = 0;

    if (r->priority && (text_parse_i64(r->priority, &n) || n < -1000000 || n > 1000000))
        return cli_wrong("--priority wants a number, not '%.60s'", r->priority);
    if (r->progress_name) {
        if (!strcmp(r->progress_name, "json"))
            r->progress = PROGRESS_JSON;
        else if (!strcmp(r->progress_name, "none"))
            r->progress = PROGRESS_NONE;
        else if (strcmp(r->progress_name, "plain"))
            return cli_wrong("--progress is plain, json or none, not '%.60s'", r->progress_name);
    }
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

/* ---- what happens, as lines ---- */

/* What people want to read of: not how each came to its worker. */
static bool is_told(const char *type)
{
    static const char *const told[] = {"started",   "completed", "failed",          "timed_out",
                                       "cancelled", "skipped",   "retry_scheduled", "abandoned",
                                       "adopted",   "deferred"};
    const char *what = strchr(type, '.') ? strchr(type, '.') + 1 : type;
    size_t i;

    for (i = 0; i < sizeof(told) / sizeof(*told); i++)
        if (!strcmp(what, told[i]))
            return true;
    return false;
}

static const char *name_of(struct flow_run *r, int64_t id, char **json)
{
    json_t *v;
    const char *name;
    static char kept[256];

    if (pawl_show(r->p, id, json, NULL))
        return "?";
    v = json_loads(*json, 0, NULL);
    name = field(v, "name");
    snprintf(kept, sizeof(kept), "%s", name);
    json_decref(v);
    free(*json);
    return kept;
}

static int tell(void *arg, const char *json)
{
    struct flow_run *r = arg;
    json_t *v = json_loads(json, 0, NULL);
    const char *type = field(v, "type"), *at = field(v, "created_at"), *error;
    struct buf line = BUF_INIT;
    char *shown;

    if (r->progress == PROGRESS_JSON) {
        puts(json);
    } else if (r->progress == PROGRESS_PLAIN && is_told(type)) {
        error = field(json_object_get(v, "data"), "error");
        buf_addf(&line, "%.8s  %-16s %s", strlen(at) > 19 ? at + 11 : at, strchr(type, '.') + 1,
                 name_of(r, json_integer_value(json_object_get(v, "execution")), &shown));
        if (*error)
            buf_addf(&line, ": %s", error);
        printf("%s\n", buf_cstr(&line));
    }
    fflush(stdout);
    buf_release(&line);
    json_decref(v);
    return 0;
}

static int tell_new(struct flow_run *r)
{
    size_t n;

    do
        if (pawl_follower_next(r->follower, tell, r, &n, &r->err))
            return cli_fail(&r->err);
    while (n);
    return -1;
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

static int on_signal(struct flow_run *r, int signal)
{
    struct pawl_error err;

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
    fprintf(stderr, "pawl: execution %lld is asked to end; Ctrl-C again leaves it behind\n",
            (long long)r->id);
    return -1;
}

/* Its exit code once it has ended; -1: not yet. */
static int look(struct flow_run *r)
{
    static const struct {
        const char *status;
        int code;
    } codes[] = {{"succeeded", 0}, {"failed", 1}, {"cancelled", 3}, {"timed_out", 4}};
    struct buf line = BUF_INIT;
    char *json;
    json_t *v;
    size_t i;
    int code = -1;

    if (pawl_show(r->p, r->id, &json, &r->err))
        return cli_fail(&r->err);
    v = json_loads(json, 0, NULL);
    for (i = 0; i < 4 && code < 0; i++)
        if (!strcmp(field(v, "status"), codes[i].status))
            code = codes[i].code;
    if (code >= 0) {
        tell_new(r);
        if (r->cli->json)
            puts(json);
        if (code) {
            out_clean(&line, field(v, "error"));
            fprintf(stderr, "pawl: execution %lld %s: %s\n", (long long)r->id, field(v, "status"),
                    buf_cstr(&line));
        }
    }
    buf_release(&line);
    json_decref(v);
    free(json);
    return code;
}

static int step(struct flow_run *r, int signals)
{
    int signal, code;

    if (run_step(r->e, signals, LOOK_MS, &signal, &r->err) || r->rc)
        return cli_fail(&r->err);
    if (!r->answered)
        return signal ? 128 + signal : -1;
    if (!r->follower) {
        struct pawl_event_query q = {.execution = r->id};

        if (pawl_follow(r->p, &q, &r->follower, &r->err))
            return cli_fail(&r->err);
    }
    if (signal && (code = on_signal(r, signal)) >= 0)
        return code;
    if ((code = tell_new(r)) >= 0)
        return code;
    return look(r);
}

static int run_here(struct flow_run *r)
{
    struct pawl_engine_options eo = {.here = true, .state = r->state};
    int signals = signals_open(), code = -1;

    if (signals < 0)
        return 1;
    if ((code = open_database(r)))
        return code;
    if (pawl_engine_open(r->p, &eo, &r->e, &r->err) ||
        pawl_engine_submit(r->e, &r->job, submitted, r, &r->err))
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
        r.progress = c.json ? PROGRESS_NONE : PROGRESS_PLAIN;
        if (!(code = read_options(&r)))
            code = run_here(&r);
        if (r.follower)
            pawl_follower_close(r.follower);
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
