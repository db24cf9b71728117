/* cmd_workers.c - pawl workers: lists the workers and how many jobs they hold. */
#include "cli/table.h"

#include <string.h>

static int add_worker(void *arg, const char *json)
{
    struct table *t = arg;
    json_t *w = parse_object(json);
    const char *state = field(w, "state"), *since = field(w, "started_at");

    table_add(t, field(w, "id"));
    table_add(t, field(w, "host"));
    table_addf(t, "%lld", (long long)field_int(w, "pid"));
    table_addf(t, "%lld", (long long)field_int(w, "leases"));
    table_addf(t, "%lld", (long long)field_int(w, "room"));
    table_addf(t, "%.10s %.8s", since, since + strnlen(since, 11));
    table_add_span(t, field_int(w, "silent_us"));
    table_add_tinted(t, strcmp(state, "alive") ? TINT_BUSY : TINT_PLAIN, state);
    json_decref(w);
    return 0;
}

static int print_workers(struct pawl *p, bool json)
{
    static const char *const heads[] = {"<WORKER", "~<HOST",         "~~PID",     "HOLDS",
                                        "ROOM",    "~~<SINCE (UTC)", "~SEEN AGO", "<STATE"};
    struct table t = {0};
    struct pawl_error err;

    if (json)
        return pawl_workers(p, print_line, NULL, &err) ? cli_fail(&err) : 0;
    table_heads(&t, heads, sizeof(heads) / sizeof(*heads));
    if (pawl_workers(p, add_worker, &t, &err)) {
        table_release(&t);
        return cli_fail(&err);
    }
    table_print(&t);
    return 0;
}

static int cmd_workers(int argc, char **argv)
{
    struct cli c;
    struct pawl *p;
    int code = cli_begin(&c, &command_workers, argc, argv, NULL);

    if (code >= 0)
        return code;
    if (!(code = cli_open(&c, &p))) {
        code = print_workers(p, c.json);
        pawl_close(p);
    }
    cli_end(&c);
    return cli_done(code);
}

const struct command command_workers = {
    .name = "workers",
    .forms = "",
    .text = "show the workers and how many jobs they hold",
    .examples = {{"pawl workers", "all workers, with their state"}},
    .run = cmd_workers,
};
