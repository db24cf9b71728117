/* cmd_workflow.c - pawl workflow: lists and shows applied workflows and their versions, and deletes
 * them. */
#include "cli/list.h"

#include "base/json.h"

#include <stdlib.h>
#include <string.h>

struct command_options {
    const char *verb, *workflow; /* words of the command line; workflow is NULL if not given */
    const char *name, *version, *reason;
    bool yaml;
};

/* ---- ls ---- */

static void cell_last_status(struct table *t, const json_t *o)
{
    const char *status = field(o, "last_status");

    table_add_tinted(t, status_tint(status), *status ? status : "-");
}

static const struct list_column columns[] = {
    {"<WORKFLOW", "name", NULL},
    {"~TASKS", "task_count", NULL},
    {"~SCHEDULES", "schedule_count", NULL},
    {"~LAST RUN", "last_run", NULL},
    {"<STATUS", "last_status", cell_last_status},
    {"~<APPLIED (UTC)", "applied_at", NULL},
    {"~~<BY", "applied_by", NULL},
    {"~<DESCRIPTION", "description", NULL},
};

/* A list that is read in pages: the next page starts after the last line. */
struct pages {
    struct list list;
    json_t *last;
};

static int add_page_line(void *arg, const char *json)
{
    struct pages *g = arg;

    json_decref(g->last);
    g->last = parse_object(json);
    return list_line(&g->list, json);
}

static int list_workflows(struct cli *c, const struct command_options *w)
{
    struct pages g = {.list = {.columns = LIST_COLUMNS(columns), .json = c->json}};
    struct pawl_applied_query q = {.name = w->name};
    bool more;
    int rc;

    do {
        rc = pawl_applied_list(c->p, &q, add_page_line, &g, &more, &c->err);
        q.after = field(g.last, "name");
    } while (!rc && more);
    rc = list_end(&g.list, rc);
    if (!rc && !g.list.n && !c->json)
        fprintf(stderr, "pawl: %s\n",
                w->name ? "no applied workflow has a name like that"
                        : "no workflow is applied: `pawl apply FILE` adds one");
    json_decref(g.last);
    return rc;
}

/* ---- versions ---- */

static void cell_current(struct table *t, const json_t *o)
{
    table_add(t, json_is_true(json_object_get(o, "current")) ? "current" : "");
}

static const struct list_column version_columns[] = {
    {"VERSION", "version", NULL},   {"<DEFINITION", "definition", NULL},
    {"~TASKS", "task_count", NULL}, {"<APPLIED (UTC)", "applied_at", NULL},
    {"~<BY", "applied_by", NULL},   {"<", "current", cell_current},
};

static int list_versions(struct cli *c, const struct command_options *w)
{
    struct pages g = {.list = {.columns = LIST_COLUMNS(version_columns), .json = c->json}};
    int64_t before = 0;
    bool more;
    int rc;

    do {
        rc = pawl_applied_versions(c->p, w->workflow, before, 0, add_page_line, &g, &more, &c->err);
        before = field_int(g.last, "version");
    } while (!rc && more);
    json_decref(g.last);
    return list_end(&g.list, rc);
}

/* ---- show ---- */

static void cell_default(struct table *t, const json_t *o)
{
    const json_t *value = json_object_get(o, "default");
    AUTO_FREE char *text = json_is_null(value) ? NULL : json_text(value);

    if (text)
        table_add(t, text);
    else
        table_add(t, json_is_true(json_object_get(o, "required")) ? "required" : "-");
}

static void cell_needs(struct table *t, const json_t *o)
{
    AUTO_BUF b = BUF_INIT;
    const json_t *name;
    size_t i;

    json_array_foreach(json_object_get(o, "needs"), i, name)
        buf_addf(&b, "%s%s", i ? ", " : "", json_string_value(name));
    table_add(t, b.len ? b.ptr : "-");
}

static const struct list_column param_columns[] = {
    {"<PARAM", "name", NULL},
    {"<TYPE", "type", NULL},
    {"<DEFAULT", "default", cell_default},
    {"~<DESCRIPTION", "description", NULL},
};
static const struct list_column task_columns[] = {
    {"<TASK", "name", NULL},
    {"<KIND", "kind", NULL},
    {"<NEEDS", "needs", cell_needs},
    {"~<DESCRIPTION", "description", NULL},
};
static const struct list_column schedule_columns[] = {
    {"<SCHEDULE", "schedule", NULL},
    {"<CRON", "cron", NULL},
    {"~<ZONE", "tz", NULL},
    {"<NEXT (UTC)", "next_at", NULL},
};

/* Prints a table of the objects in this field, after an empty line; nothing if there are none. */
static void print_objects(const json_t *o, const char *key, struct list_columns shown)
{
    const json_t *all = json_object_get(o, key), *one;
    struct table t = {.ncols = 0};
    size_t i;

    if (!json_array_size(all))
        return;
    list_heads(&t, shown);
    json_array_foreach(all, i, one) list_row(&t, shown, one);
    putchar('\n');
    table_print(&t);
    table_release(&t);
}

static void print_workflow(const json_t *o)
{
    const char *at = field(o, "applied_at");

    print_field("workflow", "%s", field(o, "name"));
    print_field("about", "%s", field(o, "description"));
    print_field("definition", "%s%s", field(o, "definition"),
                json_is_true(json_object_get(o, "current")) ? "" : ", not the current one");
    print_field("applied", "%.10s %.8s UTC%s%s", at, text_time_of_day(at),
                *field(o, "applied_by") ? " by " : "", field(o, "applied_by"));
    if (field_int(o, "last_run"))
        print_field("last run", "%lld, %s", (long long)field_int(o, "last_run"),
                    field(o, "last_status"));
    print_objects(o, "params", LIST_COLUMNS(param_columns));
    print_objects(o, "tasks", LIST_COLUMNS(task_columns));
    print_objects(o, "schedules", LIST_COLUMNS(schedule_columns));
}

static int print_source(const json_t *o)
{
    const json_t *source = json_object_get(o, "source");

    if (json_is_null(source)) {
        fprintf(stderr,
                "pawl: the text of this version is not stored: it was applied by an earlier pawl; "
                "--json shows its definition, and the next `pawl apply` stores the text\n");
        return pawl_exit_code(PAWL_E_NOT_FOUND);
    }
    fputs(json_string_value(source), stdout);
    return 0;
}

static int show_workflow(struct cli *c, const struct command_options *w)
{
    json_auto_t *o = NULL;
    char *text;

    TRY(pawl_applied_show(c->p, w->workflow, w->version, &text, &c->err));
    if (c->json)
        return print_answer(text);
    o = take_object(text);
    if (w->yaml)
        return print_source(o);
    print_workflow(o);
    return 0;
}

/* ---- rm ---- */

static int delete_workflow(struct cli *c, const struct command_options *w)
{
    struct pawl_applied_deleted d;

    TRY(pawl_applied_delete(c->p, w->workflow, NULL, NULL, w->reason, &d, &c->err));
    if (c->json) {
        print_json_object(json_pack("{s:s, s:s, s:I, s:I}", "name", w->workflow, "definition",
                                    d.hash, "schedules", (json_int_t)d.schedules, "waiting",
                                    (json_int_t)d.waiting));
        return 0;
    }
    printf("%s: deleted, with %zu schedule%s", w->workflow, d.schedules,
           d.schedules == 1 ? "" : "s");
    if (d.waiting)
        printf(" and %zu waiting due time%s", d.waiting, d.waiting == 1 ? "" : "s");
    puts("; running executions continue");
    return 0;
}

/* ---- subcommands ---- */

static const struct verb {
    const char *name;
    int (*run)(struct cli *c, const struct command_options *w);
    bool names_workflow;
} verbs[] = {{"ls", list_workflows, false},
             {"show", show_workflow, true},
             {"versions", list_versions, true},
             {"rm", delete_workflow, true}};

/* Checks the arguments before the database is opened; returns 0 if they are valid. */
static int check_arguments(const struct cli *c, const struct command_options *w,
                           const struct verb *v)
{
    if (!v)
        return cli_wrong("pawl workflow has no subcommand '%.60s': write ls, show, versions or rm",
                         w->verb);
    if (v->names_workflow && !w->workflow)
        return cli_wrong("missing workflow: write `pawl workflow %s WORKFLOW`", v->name);
    if (!v->names_workflow && w->workflow)
        return cli_wrong(
            "`pawl workflow ls` has no argument: write `pawl workflow show %.100s`, or "
            "--name GLOB",
            w->workflow);
    if (w->name && v->run != list_workflows)
        return cli_wrong("--name belongs to `pawl workflow ls`");
    if ((w->version || w->yaml) && v->run != show_workflow)
        return cli_wrong("--version and --yaml belong to `pawl workflow show`");
    if (w->reason && v->run != delete_workflow)
        return cli_wrong("--reason belongs to `pawl workflow rm`");
    if (w->yaml && c->json)
        return cli_wrong("--yaml and --json exclude each other: the JSON has the text as `source`");
    return 0;
}

static const struct option options[] = {
    {"name", OPTION_TEXT, offsetof(struct command_options, name), "GLOB",
     "with ls: only workflows whose name matches: * is any text, ? is one character"},
    {"version", OPTION_TEXT, offsetof(struct command_options, version), "HASH",
     "with show: an earlier definition, as `pawl workflow versions` lists them"},
    {"yaml", OPTION_FLAG, offsetof(struct command_options, yaml), NULL,
     "with show: print the text that was applied, with its comments"},
    {"reason", OPTION_TEXT, offsetof(struct command_options, reason), "TEXT",
     "with rm: record why; stored with the user's name"},
    {0},
};

static int workflow(struct cli *c)
{
    struct command_options *w = c->values;
    const struct verb *v;

    w->verb = c->nwords > 0 ? c->words[0] : "ls";
    w->workflow = c->nwords > 1 ? c->words[1] : NULL;
    v = FIND_NAMED(verbs, w->verb);
    TRY(check_arguments(c, w, v));
    TRY(cli_open(c));
    return v->run(c, w);
}

const struct command command_workflow = {
    .name = "workflow",
    .forms = "[ls] [--name GLOB]\n"
             "show WORKFLOW [--version HASH] [--yaml]\n"
             "versions WORKFLOW\n"
             "rm WORKFLOW [--reason TEXT]",
    .text = "list and show applied workflows and their versions; delete them",
    .about = "WORKFLOW is the name of a workflow that `pawl apply` has stored. rm deletes the name "
             "and its schedules: running executions continue, and the history keeps the definition "
             "of each run. A version is listed, also after rm, until `admin retention` removes its "
             "definition. --yaml prints the file that was applied, without the files that it "
             "nests.",
    .options = options,
    .size = sizeof(struct command_options),
    .examples = {{"pawl workflow", "all applied workflows, each with its last run"},
                 {"pawl workflow show nightly", "its params, tasks and schedules"},
                 {"pawl workflow show nightly --yaml >nightly.flow.yaml",
                  "the file as it was applied"},
                 {"pawl workflow versions nightly", "the definitions that it has had"},
                 {"pawl workflow rm nightly --reason 'replaced by hourly'",
                  "it is not submitted or fired any more"}},
    .most = 2,
    .run = workflow,
};
