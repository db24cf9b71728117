/* cmd_queue.c - pawl queue: shows what waits and runs in each queue; limits, pauses and resumes
 * a queue. */
#include "cli/list.h"

#include <limits.h>
#include <string.h>

/* ---- the list ---- */

static void cell_limit(struct table *t, const json_t *o, const void *arg)
{
    const json_t *limit = json_object_get(o, "limit");

    (void)arg;
    if (json_is_object(json_object_get(o, "paused")))
        table_add(t, "paused");
    else if (json_is_object(limit))
        table_addf(t, "%lld of %lld", (long long)field_int(limit, "used"),
                   (long long)field_int(limit, "max"));
    else
        table_add(t, "-");
}

static const struct list_column columns[] = {
    {"<QUEUE", "queue", NULL},      {"READY", "ready", NULL},
    {"~~HELD", "held", NULL},       {"RUNNING", "running", NULL},
    {"LIMIT", "limit", cell_limit}, {"~OLDEST WAITS", "oldest_wait_us", cell_oldest_wait},
};

static int print_queues(struct cli *c)
{
    struct list l = {.columns = LIST_COLUMNS(columns), .json = c->json};
    struct pawl_error err;

    return list_end(&l, pawl_queues(c->p, list_line, &l, &err), &err);
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
     "record why; stored with the user's name"},
    {0},
};

static int queue(struct cli *c)
{
    struct command_options *w = c->values;
    int code;

    w->verb = c->nwords > 0 ? c->words[0] : NULL;
    w->queue = c->nwords > 1 ? c->words[1] : NULL;
    if ((code = check_arguments(w)) || (code = cli_open(c)))
        return code;
    return w->verb ? change_queue(c->p, w, c->json) : print_queues(c);
}

const struct command command_queue = {
    .name = "queue",
    .forms = "\n"
             "set QUEUE --limit N|none [--reason TEXT]\n"
             "pause QUEUE [--reason TEXT]\n"
             "resume QUEUE [--reason TEXT]",
    .text = "show the queues: what waits, for how long, what runs; limit, pause or resume a queue",
    .options = options,
    .size = sizeof(struct command_options),
    .examples = {{"pawl queue", "all queues"},
                 {"pawl queue set reports --limit 2", "at most two jobs at once, over all workers"},
                 {"pawl queue pause reports --reason 'disk full'",
                  "none of its jobs starts until it is resumed"}},
    .most = 2,
    .run = queue,
};
