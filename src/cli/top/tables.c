/* tables.c - tables of queues, workers and running jobs, from an overview. */
#include "cli/top/top.h"

#include <string.h>

#define SHORT_ID 8 /* digits shown of a worker's id */

/* ---- queues ---- */

static bool is_idle(const json_t *q)
{
    return !field_int(q, "ready") && !field_int(q, "held") && !field_int(q, "running") &&
           !json_is_object(json_object_get(q, "paused"));
}

static void add_rate(struct table *t, const json_t *q, const char *key)
{
    int64_t rate = top_rate(t->arg, field(q, "queue"), key);
    bool bad = rate > 0 && !strcmp(key, "failed");
    char text[32];

    snprintf(text, sizeof(text), "%lld", (long long)rate);
    table_add_tinted(t, bad ? TINT_BAD : TINT_PLAIN, rate < 0 ? "-" : text);
}

static void cell_done(struct table *t, const json_t *q)
{
    add_rate(t, q, "done");
}

static void cell_failed(struct table *t, const json_t *q)
{
    add_rate(t, q, "failed");
}

static void cell_limit(struct table *t, const json_t *q)
{
    add_limit(t, q, TINT_BUSY, "/");
}

static const struct list_column queue_columns[] = {
    {"<QUEUE", "queue", NULL},      {"READY", "ready", NULL},
    {"~~HELD", "held", NULL},       {"RUNNING", "running", NULL},
    {"LIMIT", "limit", cell_limit}, {"~OLDEST", "oldest_wait_us", cell_oldest_wait},
    {"~~DONE/M", NULL, cell_done},  {"~~FAILED/M", NULL, cell_failed},
};

/* Makes the table of queues. Idle queues come last, so that they are the first to be left out. */
void top_queues(const struct top_model *m, struct table *t)
{
    struct list_columns columns = LIST_COLUMNS(queue_columns);
    const json_t *list = json_object_get(m->o, "queues");

    t->arg = m;
    list_heads(t, columns);
    for (int idle = 0; idle < 2; idle++)
        for (size_t i = 0; i < json_array_size(list); i++)
            if (is_idle(json_array_get(list, i)) == idle)
                list_row(t, columns, json_array_get(list, i));
}

/* ---- workers ---- */

/* Adds the executors that a worker has, such as "process, 3 functions". */
static void cell_executors(struct table *t, const json_t *w)
{
    AUTO_BUF b = BUF_INIT;
    const char *lane;
    json_t *queues;
    size_t functions = 0;

    json_object_foreach(json_object_get(w, "serves"), lane, queues)
    {
        if (!strncmp(lane, "function:", 9))
            functions++;
        else
            buf_addf(&b, "%s%s", b.len ? ", " : "", lane);
    }
    if (functions)
        buf_addf(&b, "%s%zu function%s", b.len ? ", " : "", functions, functions == 1 ? "" : "s");
    table_add(t, b.len ? b.ptr : "-");
}

static void cell_id(struct table *t, const json_t *w)
{
    table_addf(t, "%.*s", SHORT_ID, field(w, "id"));
}

static void cell_holds(struct table *t, const json_t *w)
{
    table_addf(t, "%lld/%lld", (long long)field_int(w, "leases"), (long long)field_int(w, "room"));
}

static void cell_state(struct table *t, const json_t *w)
{
    const char *state = field(w, "state");

    table_add_tinted(t,
                     !strcmp(state, "silent")     ? TINT_BAD
                     : !strcmp(state, "draining") ? TINT_BUSY
                                                  : TINT_PLAIN,
                     state);
}

static const struct list_column worker_columns[] = {
    {"<WORKER", "id", cell_id},      {"~<HOST", "host", NULL},
    {"HOLDS", "leases", cell_holds}, {"~SEEN", "silent_us", NULL},
    {"<STATE", "state", cell_state}, {"~~<EXECUTORS", "serves", cell_executors},
};

static void add_list(struct table *t, struct list_columns columns, const json_t *list)
{
    list_heads(t, columns);
    for (size_t i = 0; i < json_array_size(list); i++)
        list_row(t, columns, json_array_get(list, i));
}

void top_workers(const struct top_model *m, struct table *t)
{
    add_list(t, LIST_COLUMNS(worker_columns), json_object_get(m->o, "workers"));
}

/* ---- running jobs ---- */

static void cell_worker(struct table *t, const json_t *r)
{
    if (*field(r, "worker"))
        table_addf(t, "%.*s", SHORT_ID, field(r, "worker"));
    else
        table_add_tinted(t, TINT_BAD, "gone");
}

/* Adds the job's last line of output as a terminal would show it: without escape sequences and
 * overwritten text. */
static void cell_last_line(struct table *t, const json_t *r)
{
    const char *line = field(r, "last_line");
    AUTO(tail_release) struct tail tail = {0};

    tail_add(&tail, line, strlen(line));
    table_add_tinted(t, TINT_FAINT, tail_last(&tail));
}

static const struct list_column running_columns[] = {
    {"<RUNNING", "name", NULL},           {"ID", "id", NULL},
    {"~~TRY", "attempt", cell_attempt},   {"~ELAPSED", "elapsed_us", NULL},
    {"~~<WORKER", "worker", cell_worker}, {"~~~<LAST LINE", "last_line", cell_last_line},
};

void top_running(const struct top_model *m, struct table *t)
{
    add_list(t, LIST_COLUMNS(running_columns), json_object_get(m->o, "running"));
}
