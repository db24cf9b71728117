/* cmd_queue.c - pawl queue: shows what waits and runs in each queue; limits, pauses and resumes
 * a queue. */
#include "cli/table.h"

#include <limits.h>
#include <string.h>

/* ---- the list ---- */

static int add_queue(void *arg, const char *json)
{
    struct table *t = arg;
    json_t *q = parse_object(json), *limit = json_object_get(q, "limit");

    table_add(t, field(q, "queue"));
    table_addf(t, "%lld", (long long)field_int(q, "ready"));
    table_addf(t, "%lld", (long long)field_int(q, "held"));
    table_addf(t, "%lld", (long long)field_int(q, "running"));
    if (json_is_object(json_object_get(q, "paused")))
        table_add(t, "paused");
    else if (json_is_object(limit))
        table_addf(t, "%lld of %lld", (long long)field_int(limit, "used"),
                   (long long)field_int(limit, "max"));
    else
        table_add(t, "-");
    if (field_time(q, "oldest_ready_at"))
        table_add_span(t, field_int(q, "oldest_wait_us"));
    else
        table_add(t, "-");
    json_decref(q);
    return 0;
}

static int print_queues(struct pawl *p, bool json)
{
    static const char *const heads[] = {"<QUEUE",  "READY", "~~HELD",
                                        "RUNNING", "LIMIT", "~OLDEST WAITS"};
    struct table t = {0};
    struct pawl_error err;

    if (json)
        return pawl_queues(p, print_line, NULL, &err) ? cli_fail(&err) : 0;
    table_heads(&t, heads, sizeof(heads) / sizeof(*heads));
    if (pawl_queues(p, add_queue, &t, &err)) {
        table_release(&t);
        return cli_fail(&err);
    }
    table_print(&t);
    return 0;
}

/* ---- one queue ---- */

static int print_if_named(void *arg, const char *json)
{
    json_t *q = parse_object(json);

    if (!strcmp(field(q, "queue"), arg))
        puts(json);
    json_decref(q);
    return 0;
}

struct command_options {
    const char *verb, *queue, *limit, *reason;
};

static int set_limit(struct pawl *p, const struct command_options *w, struct pawl_error *err,
                     struct buf *done)
{
    int64_t max = -1;
    bool paused;
    int rc;

    if (strcmp(w->limit, "none") && (text_parse_i64(w->limit, &max) || max < 0 || max >= INT_MAX)) {
        *err = (struct pawl_error){.code = PAWL_E_INVALID};
        snprintf(err->message, sizeof(err->message),
                 "--limit needs a number or none, but got "
                 "'%.60s'",
                 w->limit);
        return -PAWL_E_INVALID;
    }
    if ((rc = pawl_queue_limit(p, w->queue, (int)max, NULL, w->reason, &paused, err)))
        return rc;
    if (max < 0)
        buf_addf(done, "queue %s: no limit", w->queue);
    else
        buf_addf(done, "queue %s: at most %lld at once", w->queue, (long long)max);
    buf_addstr(done, paused ? ", once it is resumed" : "");
    return 0;
}

/* Carries out the action, and prints the result. */
static int change_queue(struct pawl *p, const struct command_options *w, bool json)
{
    struct buf done = BUF_INIT;
    struct pawl_error err;
    int rc, code = 0;

    if (!strcmp(w->verb, "set")) {
        rc = set_limit(p, w, &err, &done);
    } else if (!strcmp(w->verb, "pause")) {
        rc = pawl_queue_pause(p, w->queue, NULL, w->reason, &err);
        buf_addf(&done, "queue %s: paused; running jobs continue", w->queue);
    } else {
        rc = pawl_queue_resume(p, w->queue, NULL, w->reason, &err);
        buf_addf(&done, "queue %s: resumed", w->queue);
    }
    if (!rc && json)
        rc = pawl_queues(p, print_if_named, (void *)w->queue, &err);
    if (rc)
        code = cli_fail(&err);
    else if (!json)
        puts(done.ptr);
    buf_release(&done);
    return code;
}

/* Checks the arguments before the database is opened; returns 0 if they are valid. */
static int check_arguments(const struct command_options *w)
{
    bool setting = w->verb && !strcmp(w->verb, "set");

    if (w->verb && !setting && strcmp(w->verb, "pause") && strcmp(w->verb, "resume"))
        return cli_wrong("pawl queue has no subcommand '%.60s': write set, pause or resume",
                         w->verb);
    if (w->verb && !w->queue)
        return cli_wrong("missing queue: write `pawl queue %s QUEUE`", w->verb);
    if (setting != (w->limit != NULL))
        return cli_wrong(setting ? "missing limit: write `pawl queue set QUEUE --limit N`, or "
                                   "`--limit none`"
                                 : "--limit belongs to `pawl queue set`");
    if (w->reason && !w->verb)
        return cli_wrong("--reason belongs to `pawl queue set`, `pause` and `resume`");
    return 0;
}

static const struct option options[] = {
    {"limit", OPTION_TEXT, offsetof(struct command_options, limit), "N|none",
     "with set: how many jobs may run at once"},
    {"reason", OPTION_TEXT, offsetof(struct command_options, reason), "TEXT",
     "why; stored with the user's name"},
    {0},
};

static int cmd_queue(int argc, char **argv)
{
    struct command_options w = {0};
    struct cli c;
    struct pawl *p;
    int code = cli_begin(&c, &command_queue, argc, argv, &w);

    if (code >= 0)
        return code;
    w.verb = c.nwords > 0 ? c.words[0] : NULL;
    w.queue = c.nwords > 1 ? c.words[1] : NULL;
    if (!(code = check_arguments(&w)) && !(code = cli_open(&c, &p))) {
        code = w.verb ? change_queue(p, &w, c.json) : print_queues(p, c.json);
        pawl_close(p);
    }
    cli_end(&c);
    return cli_done(code);
}

const struct command command_queue = {
    .name = "queue",
    .forms = "\n"
             "set QUEUE --limit N|none [--reason TEXT]\n"
             "pause QUEUE [--reason TEXT]\n"
             "resume QUEUE [--reason TEXT]",
    .text = "show the queues: what waits, for how long, what runs; limit, pause or resume a queue",
    .options = options,
    .examples = {{"pawl queue", "all queues"},
                 {"pawl queue set reports --limit 2", "at most two jobs at once, over all workers"},
                 {"pawl queue pause reports --reason 'disk full'",
                  "none of its jobs starts until it is resumed"}},
    .most = 2,
    .run = cmd_queue,
};
