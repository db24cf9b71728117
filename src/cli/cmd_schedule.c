/* cmd_schedule.c - pawl schedule: shows schedules and when they fire; pauses, resumes and runs
 * them. */
#include "cli/table.h"

#include <stdlib.h>
#include <string.h>

#define DEFAULT_NEXT 10

struct command_options {
    const char *verb, *name, *reason;
    int64_t n; /* < 0 if not given */
    const struct cli *cli;
};

/* "2026-01-31 02:00:00", or "-" if there is no time. */
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
        table_addf(t, "can't fire: %s", field(s, "problem"));
    else if (json_is_object(paused))
        table_addf(t, "paused by %s%s%s", field(paused, "by"), *reason ? ": " : "", reason);
    else if (*field(s, "waiting_at"))
        table_addf(t, "%s; one run is waiting", field(s, "last_status"));
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

static int print_schedules(struct pawl *p, const struct command_options *w)
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

/* ---- due times ---- */

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

static int print_next(struct pawl *p, const struct command_options *w)
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

/* ---- operator actions ---- */

static int run_now(struct pawl *p, const struct command_options *w)
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

static int pause_or_resume(struct pawl *p, const struct command_options *w)
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
        printf("schedule %s: %s\n", w->name,
               pausing ? "paused; running executions continue" : "resumed");
    return 0;
}

/* ---- subcommands ---- */

static const struct verb {
    const char *name;
    int (*run)(struct pawl *p, const struct command_options *w);
    bool named, reason, number; /* whether it needs a name, takes --reason, takes -n */
} verbs[] = {{"ls", print_schedules, false, false, false},
             {"next", print_next, false, false, true},
             {"pause", pause_or_resume, true, true, false},
             {"resume", pause_or_resume, true, true, false},
             {"run", run_now, true, true, false}};

static const struct verb *find_verb(const char *name)
{
    size_t i;

    for (i = 0; i < sizeof(verbs) / sizeof(*verbs); i++)
        if (!strcmp(verbs[i].name, name))
            return &verbs[i];
    return NULL;
}

/* Checks the arguments before the database is opened; returns 0 if they are valid. */
static int check_arguments(const struct command_options *w, const struct verb *v)
{
    if (!v)
        return cli_wrong("pawl schedule has no subcommand '%.60s': write ls, next, pause, resume "
                         "or run",
                         w->verb);
    if (v->named && !w->name)
        return cli_wrong("missing schedule: write `pawl schedule %s WORKFLOW/NAME`, or WORKFLOW "
                         "for all of its schedules",
                         v->name);
    if (w->reason && !v->reason)
        return cli_wrong("--reason belongs to `pawl schedule pause`, `resume` and `run`");
    if (w->n >= 0 && !v->number)
        return cli_wrong("-n belongs to `pawl schedule next`");
    return 0;
}

static const struct option options[] = {
    {"n", OPTION_NUMBER, offsetof(struct command_options, n), "N",
     "with next: show N due times; default: 10"},
    {"reason", OPTION_TEXT, offsetof(struct command_options, reason), "TEXT",
     "with pause, resume and run: why; stored with the user's name"},
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
    v = find_verb(w.verb);
    if (!(code = check_arguments(&w, v)) && !(code = cli_open(&c, &p))) {
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
    .text = "show schedules and when they fire; pause, resume and run them",
    .about = "SCHEDULE is WORKFLOW/NAME, or WORKFLOW for all of its schedules.",
    .options = options,
    .examples = {{"pawl schedule",
                  "all schedules, the outcome of their last run and their next due time"},
                 {"pawl schedule next nightly -n 3", "its next three due times"},
                 {"pawl schedule pause nightly/1 --reason 'the source is down'",
                  "it does not fire until it is resumed"}},
    .most = 2,
    .run = cmd_schedule,
};
