/* tables.c - tables of queues, workers and running jobs, from an overview. */
#include "cli/top/top.h"

#include <string.h>

#define SHORT_ID 8 /* digits of a worker's id */

/* ---- queues ---- */

static bool is_idle(const json_t *q)
{
    return !field_int(q, "ready") && !field_int(q, "held") && !field_int(q, "running") &&
           !json_is_object(json_object_get(q, "paused"));
}

static void add_rate(struct table *t, int64_t rate, bool bad)
{
    char text[32];

    snprintf(text, sizeof(text), "%lld", (long long)rate);
    table_add_tinted(t, bad && rate > 0 ? TINT_BAD : TINT_PLAIN, rate < 0 ? "-" : text);
}

static void add_queue(struct table *t, const struct top_model *m, const json_t *q)
{
    const json_t *limit = json_object_get(q, "limit");
    const char *name = field(q, "queue");

    table_add(t, name);
    table_addf(t, "%lld", (long long)field_int(q, "ready"));
    table_addf(t, "%lld", (long long)field_int(q, "held"));
    table_addf(t, "%lld", (long long)field_int(q, "running"));
    if (json_is_object(json_object_get(q, "paused")))
        table_add_tinted(t, TINT_BUSY, "paused");
    else if (json_is_object(limit))
        table_addf(t, "%lld/%lld", (long long)field_int(limit, "used"),
                   (long long)field_int(limit, "max"));
    else
        table_add(t, "-");
    if (*field(q, "oldest_ready_at"))
        table_add_span(t, field_int(q, "oldest_wait_us"));
    else
        table_add(t, "-");
    add_rate(t, top_rate(m, name, "done"), false);
    add_rate(t, top_rate(m, name, "failed"), true);
}

/* Idle queues come last, so that they are the first to be left out. */
void top_queues(const struct top_model *m, struct table *t)
{
    static const char *const heads[] = {"<QUEUE", "READY",   "~~HELD",   "RUNNING",
                                        "LIMIT",  "~OLDEST", "~~DONE/M", "~~FAILED/M"};
    const json_t *list = json_object_get(m->o, "queues");
    size_t i;
    int idle;

    table_heads(t, heads, sizeof(heads) / sizeof(*heads));
    for (idle = 0; idle < 2; idle++)
        for (i = 0; i < json_array_size(list); i++)
            if (is_idle(json_array_get(list, i)) == idle)
                add_queue(t, m, json_array_get(list, i));
}

/* ---- workers ---- */

/* "process, 3 functions" */
static void add_executors(struct table *t, const json_t *serves)
{
    struct buf b = BUF_INIT;
    const char *lane;
    json_t *queues;
    size_t functions = 0;

    json_object_foreach((json_t *)serves, lane, queues)
    {
        if (!strncmp(lane, "function:", 9))
            functions++;
        else
            buf_addf(&b, "%s%s", b.len ? ", " : "", lane);
    }
    if (functions)
        buf_addf(&b, "%s%zu function%s", b.len ? ", " : "", functions, functions == 1 ? "" : "s");
    table_add(t, b.len ? b.ptr : "-");
    buf_release(&b);
}

static void add_worker(struct table *t, const json_t *w)
{
    const char *state = field(w, "state");

    table_addf(t, "%.*s", SHORT_ID, field(w, "id"));
    table_add(t, field(w, "host"));
    table_addf(t, "%lld/%lld", (long long)field_int(w, "leases"), (long long)field_int(w, "room"));
    table_add_span(t, field_int(w, "silent_us"));
    table_add_tinted(t,
                     !strcmp(state, "silent")     ? TINT_BAD
                     : !strcmp(state, "draining") ? TINT_BUSY
                                                  : TINT_PLAIN,
                     state);
    add_executors(t, json_object_get(w, "serves"));
}

void top_workers(const struct top_model *m, struct table *t)
{
    static const char *const heads[] = {"<WORKER", "~<HOST", "RUNS",
                                        "~SEEN",   "<STATE", "~~<EXECUTORS"};
    const json_t *list = json_object_get(m->o, "workers");
    size_t i;

    table_heads(t, heads, sizeof(heads) / sizeof(*heads));
    for (i = 0; i < json_array_size(list); i++)
        add_worker(t, json_array_get(list, i));
}

/* ---- running jobs ---- */

/* The last line as a terminal would show it: without escape sequences and overwritten text. */
static void add_last_line(struct table *t, const char *line)
{
    struct tail tail = {0};

    tail_take(&tail, line, strlen(line));
    table_add_tinted(t, TINT_FAINT, tail_last(&tail));
    tail_release(&tail);
}

void top_running(const struct top_model *m, struct table *t)
{
    static const char *const heads[] = {"<RUNNING", "ID",        "~~TRY",
                                        "~ELAPSED", "~~<WORKER", "~~~<LAST LINE"};
    const json_t *list = json_object_get(m->o, "running");
    size_t i;

    table_heads(t, heads, sizeof(heads) / sizeof(*heads));
    for (i = 0; i < json_array_size(list); i++) {
        const json_t *r = json_array_get(list, i);

        table_add(t, field(r, "name"));
        table_addf(t, "%lld", (long long)field_int(r, "id"));
        table_addf(t, "%lld/%lld", (long long)field_int(r, "attempt"),
                   (long long)field_int(r, "max_attempts"));
        table_add_span(t, field_int(r, "elapsed_us"));
        if (*field(r, "worker"))
            table_addf(t, "%.*s", SHORT_ID, field(r, "worker"));
        else
            table_add_tinted(t, TINT_BAD, "gone");
        add_last_line(t, field(r, "last_line"));
    }
}
