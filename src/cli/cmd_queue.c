/* cmd_queue.c - pawl queue: shows what waits and runs in each queue; limits, pauses and resumes
 * a queue. */
#include "cli/list.h"

#include <limits.h>
#include <string.h>

/* ---- the list ---- */

static void cell_limit(struct table *t, const json_t *o)
{
    add_limit(t, o, TINT_PLAIN, " of ");
}

static const struct list_column columns[] = {
    {"<QUEUE", "queue", NULL},      {"READY", "ready", NULL},
    {"~~HELD", "held", NULL},       {"RUNNING", "running", NULL},
    {"LIMIT", "limit", cell_limit}, {"~OLDEST WAITS", "oldest_wait_us", cell_oldest_wait},
};

struct queues {
    struct list list;
    int64_t submitted; /* SQL submissions in all queues that no worker has taken yet */
};

static int add_queue(void *arg, const char *json)
{
    struct queues *q = arg;
    json_auto_t *o = parse_object(json);

    q->submitted += field_int(o, "submitted");
    return list_line(&q->list, json);
}

static int print_queues(struct cli *c)
{
    struct queues q = {.list = {.columns = LIST_COLUMNS(columns), .json = c->json}};

    TRY(list_end(&q.list, pawl_queues(c->p, add_queue, &q, &c->err)));
    if (q.submitted && !c->json)
        printf(
            "SQL submissions that wait for a worker to take them: %lld (`pawl submissions --status "
            "waiting`)\n",
            (long long)q.submitted);
    return 0;
}

/* ---- one queue ---- */

static int print_if_named(void *arg, const char *json)
{
    json_auto_t *q = parse_object(json);

    if (!strcmp(field(q, "queue"), arg))
        puts(json);
    return 0;
}

struct command_options {
    const char *verb, *queue, *limit, *reason;
};

static int set_limit(struct cli *c, const struct command_options *w)
{
    int64_t max = -1;
    bool paused;

    if (strcmp(w->limit, "none") && (text_parse_i64(w->limit, &max) || max < 0 || max >= INT_MAX))
        return cli_wrong("--limit needs a whole number of at least 0, or none, but got '%.60s'",
                         w->limit);
    TRY(pawl_queue_limit(c->p, w->queue, (int)max, NULL, w->reason, &paused, &c->err));
    if (c->json)
        return 0;
    if (max < 0)
        printf("queue %s: no limit", w->queue);
    else
        printf("queue %s: at most %lld at once", w->queue, (long long)max);
    puts(paused ? ", once it is resumed" : "");
    return 0;
}

static int pause_or_resume(struct cli *c, const struct command_options *w)
{
    bool pausing = !strcmp(w->verb, "pause");

    TRY((pausing ? pawl_queue_pause : pawl_queue_resume)(c->p, w->queue, NULL, w->reason, &c->err));
    if (!c->json)
        printf("queue %s: %s\n", w->queue, pausing ? "paused; running jobs continue" : "resumed");
    return 0;
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

    w->verb = c->nwords > 0 ? c->words[0] : NULL;
    w->queue = c->nwords > 1 ? c->words[1] : NULL;
    TRY(check_arguments(w));
    TRY(cli_open(c));
    if (!w->verb)
        return print_queues(c);
    TRY((strcmp(w->verb, "set") ? pause_or_resume : set_limit)(c, w));
    return c->json ? pawl_queues(c->p, print_if_named, (void *)w->queue, &c->err) : 0;
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
