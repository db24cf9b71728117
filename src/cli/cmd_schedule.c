/* cmd_schedule.c - pawl schedule: what runs by the clock, and when; pausing, resuming and running
 * it by hand. */
#include "cli/table.h"

#include <stdlib.h>
#include <string.h>

#define DEFAULT_NEXT 10

struct command_options {
    const char *verb, *name, *reason;
    int64_t n; /* < 0: not said */
    const struct cli *cli;
};

/* 2026-01-31 02:00:00, as long as the time is one. */
static void add_time(struct table *t, const char *time)
{
    if (strlen(time) < 19)
        table_add(t, "-");
    else
        table_addf(t, "%.10s %.8s", time, time + 11);
}

/* ---- the list ---- */

static void add_state(struct table *t, const json_t *s)
{
    const json_t *paused = json_object_get(s, "paused");
    const char *reason = field(paused, "reason");

    if (*field(s, "problem"))
        table_addf(t, "can't be fired: %s", field(s, "problem"));
    else if (json_is_object(paused))
        table_addf(t, "paused by %s%s%s", field(paused, "by"), *reason ? ": " : "", reason);
    else if (*field(s, "waiting_at"))
        table_addf(t, "%s; one waits", field(s, "last_status"));
    else
        table_add(t, *field(s, "last_status") ? field(s, "last_status") : "-");
}

static int add_schedule(void *arg, const char *json)
{
    struct table *t = arg;
    json_t *s = parse_object(json);

    table_add(t, field(s, "schedule"));
    table_add(t, field(s, "cron"));
    table_add(t, field(s, "tz"));
    add_time(t, field(s, "next_at"));
    if (field_int(s, "last_run"))
        table_addf(t, "%lld", (long long)field_int(s, "last_run"));
    else
        table_add(t, "-");
    add_state(t, s);
    json_decref(s);
    return 0;
}

static int list(struct pawl *p, const struct command_options *w)
{
    static const char *const heads[] = {"<SCHEDULE",   "~<CRON",     "~~<ZONE",
                                        "<NEXT (UTC)", "~~LAST RUN", "<STATE"};
    struct table t = {0};
    struct pawl_error err;

    if (w->cli->json)
        return pawl_schedules(p, w->name, print_line, NULL, &err) ? cli_fail(&err) : 0;
    table_heads(&t, heads, sizeof(heads) / sizeof(*heads));
    if (pawl_schedules(p, w->name, add_schedule, &t, &err)) {
        table_release(&t);
        return cli_fail(&err);
    }
    table_print(&t);
    return 0;
}

/* ---- what comes next ---- */

static int add_due(void *arg, const char *json)
{
    struct table *t = arg;
    json_t *due = parse_object(json);

    add_time(t, field(due, "due_at"));
    add_time(t, field(due, "fires_at"));
    table_add(t, field(due, "schedule"));
    json_decref(due);
    return 0;
}

static int next(struct pawl *p, const struct command_options *w)
{
    static const char *const heads[] = {"<DUE (UTC)", "~<FIRES", "<SCHEDULE"};
    size_t n = w->n < 0 ? DEFAULT_NEXT : (size_t)w->n;
    struct table t = {0};
    struct pawl_error err;

    if (w->cli->json)
        return pawl_schedule_next(p, w->name, n, print_line, NULL, &err) ? cli_fail(&err) : 0;
    table_heads(&t, heads, sizeof(heads) / sizeof(*heads));
    if (pawl_schedule_next(p, w->name, n, add_due, &t, &err)) {
        table_release(&t);
        return cli_fail(&err);
    }
    table_print(&t);
    return 0;
}

/* ---- an operator's hand ---- */

static int run(struct pawl *p, const struct command_options *w)
{
    struct pawl_error err;
    int64_t id;
    char *json;

    if (pawl_schedule_run(p, w->name, NULL, w->reason, &id, &err))
        return cli_fail(&err);
    if (!w->cli->json) {
        printf("%lld\n", (long long)id);
        return 0;
    }
    if (pawl_show(p, id, &json, &err))
        return cli_fail(&err);
    puts(json);
    free(json);
    return 0;
}

static int act(struct pawl *p, const struct command_options *w)
{
    bool pausing = !strcmp(w->verb, "pause");
    struct pawl_error err;
    int rc = pausing ? pawl_schedule_pause(p, w->name, NULL, w->reason, &err)
                     : pawl_schedule_resume(p, w->name, NULL, w->reason, &err);

    if (!rc && w->cli->json)
        rc = pawl_schedules(p, w->name, print_line, NULL, &err);
    if (rc)
        return cli_fail(&err);
    if (!w->cli->json)
        printf("schedule %s: %s\n", w->name, pausing ? "paused; what runs goes on" : "resumed");
    return 0;
}

/* ---- which of these ---- */

static const struct verb {
    const char *name;
    int (*run)(struct pawl *p, const struct command_options *w);
    bool named, reason, number; /* what it wants, or takes */
} verbs[] = {{"ls", list, false, false, false},
             {"next", next, false, false, true},
             {"pause", act, true, true, false},
             {"resume", act, true, true, false},
             {"run", run, true, true, false}};

static const struct verb *find(const char *name)
{
    size_t i;

    for (i = 0; i < sizeof(verbs) / sizeof(*verbs); i++)
        if (!strcmp(verbs[i].name, name))
            return &verbs[i];
    return NULL;
}

/* What is wrong with it before a database is asked; 0: nothing. */
static int check(const struct command_options *w, const struct verb *v)
{
    if (!v)
        return cli_wrong("pawl schedule knows ls, next, pause, resume and run, not '%.60s'",
                         w->verb);
    if (v->named && !w->name)
        return cli_wrong("which schedule? Write `pawl schedule %s WORKFLOW/NAME`, or WORKFLOW",
                         v->name);
    if (w->reason && !v->reason)
        return cli_wrong("--reason belongs to `pawl schedule pause`, `resume` and `run`");
    if (w->n >= 0 && !v->number)
        return cli_wrong("-n belongs to `pawl schedule next`");
    return 0;
}

static const struct option options[] = {
    {"n", OPTION_NUMBER, offsetof(struct command_options, n), "N",
     "with next: so many due times; else 10"},
    {"reason", OPTION_TEXT, offsetof(struct command_options, reason), "TEXT",
     "with pause, resume and run: why; it is kept, with who"},
    {0},
};

static int cmd_schedule(int argc, char **argv)
{
    struct command_options w = {.n = -1};
    const struct verb *v;
    struct cli c;
    struct pawl *p;
    int code = cli_begin(&c, &command_schedule, argc, argv, &w);

    if (code >= 0)
        return code;
    w.cli = &c;
    w.verb = c.nwords > 0 ? c.words[0] : "ls";
    w.name = c.nwords > 1 ? c.words[1] : NULL;
    v = find(w.verb);
    if (!(code = check(&w, v)) && !(code = cli_open(&c, &p))) {
        code = v->run(p, &w);
        pawl_close(p);
    }
    cli_end(&c);
    return cli_done(code);
}

const struct command command_schedule = {
    .name = "schedule",
    .forms = "[ls [SCHEDULE]]\n"
             "next [SCHEDULE] [-n N]\n"
             "pause SCHEDULE [--reason TEXT]\n"
             "resume SCHEDULE [--reason TEXT]\n"
             "run SCHEDULE [--reason TEXT]",
    .text = "show what runs by the clock, and when; pause, resume and run it",
    .about = "SCHEDULE is WORKFLOW/NAME, or WORKFLOW for all of its schedules.",
    .options = options,
    .examples = {{"pawl schedule",
                  "all schedules, how the last run ended and when the next one is due"},
                 {"pawl schedule next nightly -n 3", "when it will run"},
                 {"pawl schedule pause nightly/1 --reason 'the source is down'",
                  "not until it is resumed"}},
    .most = 2,
    .run = cmd_schedule,
};
