/* cmd_schedule.c - pawl schedule: shows schedules and when they fire; pauses, resumes and runs
 * them. */
#include "cli/list.h"

#include <string.h>

#define DEFAULT_NEXT 10

struct command_options {
    const char *verb, *name, *reason;
    int64_t n; /* < 0 if not given */
};

/* ---- lists ---- */

static void cell_state(struct table *t, const json_t *o)
{
    const json_t *paused = json_object_get(o, "paused");
    const char *reason = field(paused, "reason");

    if (*field(o, "problem"))
        table_addf(t, "can't fire: %s", field(o, "problem"));
    else if (json_is_object(paused))
        table_addf(t, "paused by %s%s%s", field(paused, "by"), *reason ? ": " : "", reason);
    else if (*field(o, "waiting_at"))
        table_addf(t, "%s; one run is waiting", field(o, "last_status"));
    else
        table_add(t, *field(o, "last_status") ? field(o, "last_status") : "-");
}

static const struct list_column columns[] = {
    {"<SCHEDULE", "schedule", NULL},  {"~<CRON", "cron", NULL},
    {"~~<ZONE", "tz", NULL},          {"<NEXT (UTC)", "next_at", NULL},
    {"~~LAST RUN", "last_run", NULL}, {"<STATE", "last_status", cell_state},
};

static int print_schedules(struct cli *c, const struct command_options *w)
{
    struct list l = {.columns = LIST_COLUMNS(columns), .json = c->json};

    return list_end(&l, pawl_schedules(c->p, w->name, list_line, &l, &c->err));
}

static const struct list_column due_columns[] = {
    {"<DUE (UTC)", "due_at", NULL},
    {"~<FIRES", "fires_at", NULL},
    {"<SCHEDULE", "schedule", NULL},
};

static int print_next(struct cli *c, const struct command_options *w)
{
    struct list l = {.columns = LIST_COLUMNS(due_columns), .json = c->json};
    size_t n = w->n < 0 ? DEFAULT_NEXT : (size_t)w->n;

    return list_end(&l, pawl_schedule_next(c->p, w->name, n, list_line, &l, &c->err));
}

/* ---- operator actions ---- */

static int run_now(struct cli *c, const struct command_options *w)
{
    int64_t id;

    TRY(pawl_schedule_run(c->p, w->name, NULL, w->reason, &id, &c->err));
    return print_execution(c, id);
}

static int pause_or_resume(struct cli *c, const struct command_options *w)
{
    bool pausing = !strcmp(w->verb, "pause");

    TRY((pausing ? pawl_schedule_pause : pawl_schedule_resume)(c->p, w->name, NULL, w->reason,
                                                               &c->err));
    if (c->json)
        return pawl_schedules(c->p, w->name, print_line, NULL, &c->err);
    printf("schedule %s: %s\n", w->name,
           pausing ? "paused; running executions continue" : "resumed");
    return 0;
}

/* ---- subcommands ---- */

static const struct verb {
    const char *name;
    int (*run)(struct cli *c, const struct command_options *w);
    bool named, reason, number; /* whether the subcommand needs a name, takes --reason, takes -n */
} verbs[] = {{"ls", print_schedules, false, false, false},
             {"next", print_next, false, false, true},
             {"pause", pause_or_resume, true, true, false},
             {"resume", pause_or_resume, true, true, false},
             {"run", run_now, true, true, false}};

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
     "with pause, resume and run: record why; stored with the user's name"},
    {0},
};

static int schedule(struct cli *c)
{
    struct command_options *w = c->values;
    const struct verb *v;

    w->verb = c->nwords > 0 ? c->words[0] : "ls";
    w->name = c->nwords > 1 ? c->words[1] : NULL;
    v = FIND_NAMED(verbs, w->verb);
    TRY(check_arguments(w, v));
    TRY(cli_open(c));
    return v->run(c, w);
}

static const struct command_options defaults = {.n = -1};

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
    .size = sizeof(defaults),
    .defaults = &defaults,
    .examples = {{"pawl schedule",
                  "all schedules, the outcome of their last run and their next due time"},
                 {"pawl schedule next nightly -n 3", "its next three due times"},
                 {"pawl schedule pause nightly/1 --reason 'the source is down'",
                  "it does not fire until it is resumed"}},
    .most = 2,
    .run = schedule,
};
