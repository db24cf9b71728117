/* cmd_queue.c - pawl queue: what waits, for how long, and what runs. */
#include "cli/cli.h"

static int add_queue(void *arg, const char *json)
{
    struct table *t = arg;
    json_t *q = parse_object(json), *limit = json_object_get(q, "limit");

    table_add(t, field(q, "queue"));
    table_addf(t, "%lld", (long long)field_int(q, "ready"));
    table_addf(t, "%lld", (long long)field_int(q, "held"));
    table_addf(t, "%lld", (long long)field_int(q, "running"));
    if (json_is_object(limit))
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
    static const char *const heads[] = {"<QUEUE",  "READY", "HELD",
                                        "RUNNING", "LIMIT", "OLDEST WAITS"};
    struct table t = {0};
    struct pawl_error err;

    if (json)
        return pawl_queues(p, print_line, NULL, &err) ? cli_fail(&err) : 0;
    table_heads(&t, heads, sizeof(heads) / sizeof(*heads));
    if (pawl_queues(p, add_queue, &t, &err)) {
        buf_release(&t.cells);
        return cli_fail(&err);
    }
    table_print(&t);
    return 0;
}

int cmd_queue(int argc, char **argv)
{
    struct cli c;
    struct pawl *p;
    int code = cli_begin(&c, "queue", argc, argv, NULL, 0, 0);

    if (code >= 0)
        return code;
    if (!(code = cli_open(&c, &p))) {
        code = print_queues(p, c.json);
        pawl_close(p);
    }
    cli_end(&c);
    return cli_done(code);
}
