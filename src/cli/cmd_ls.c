/* cmd_ls.c - pawl ls: lists executions, newest first. */
#include "cli/table.h"

#include <string.h>

#define DEFAULT_COUNT 20
#define PAGE          1000

struct ls {
    const char *parent, *tasks;
    int64_t limit;
    bool json;
    struct pawl_list_query q;

    struct table table;
    int64_t shown;
};

/* Why it waits or failed, shortened to fit the line. */
static void add_note(struct table *t, const json_t *o)
{
    const char *error = field(o, "error"), *waiting = field(o, "waiting");

    table_addf(t, "%.100s", *error ? error : waiting);
}

/* Only jobs have attempts; workflows and fan-outs have none. */
static void add_attempt(struct table *t, const json_t *o)
{
    const char *kind = field(o, "kind");

    if (strcmp(kind, "workflow") != 0 && strcmp(kind, "foreach") != 0)
        table_addf(t, "%lld/%lld", (long long)field_int(o, "attempt"),
                   (long long)field_int(o, "max_attempts"));
    else
        table_add(t, "");
}

static void add_time(struct table *t, const json_t *o)
{
    const char *at = field(o, "requested_at");

    table_addf(t, "%.10s %.8s", at, at + 11);
}

static void add_ran(struct table *t, const json_t *o)
{
    int64_t from = field_time(o, "started_at"), to = field_time(o, "finished_at");

    if (from && to)
        table_add_span(t, to - from);
    else
        table_add(t, "");
}

static int add_row(void *arg, const char *json)
{
    struct ls *l = arg;
    json_t *o;

    l->shown++;
    if (l->json)
        return print_line(NULL, json);
    o = parse_object(json);
    table_addf(&l->table, "%lld", (long long)field_int(o, "id"));
    table_add_tinted(&l->table, status_tint(field(o, "status")), field(o, "status"));
    table_add(&l->table, field(o, "kind"));
    table_add(&l->table, field(o, "name"));
    add_attempt(&l->table, o);
    add_time(&l->table, o);
    add_ran(&l->table, o);
    add_note(&l->table, o);
    json_decref(o);
    return 0;
}

/* ---- pages ---- */

static void begin_table(struct ls *l)
{
    static const char *const heads[] = {"ID",         "<STATUS",          "~~~<KIND", "<NAME",
                                        "~~~ATTEMPT", "~REQUESTED (UTC)", "~~RAN",    "~<"};

    if (!l->json)
        table_heads(&l->table, heads, sizeof(heads) / sizeof(*heads));
}

static int end_table(struct ls *l, int rc, const struct pawl_error *err)
{
    if (rc) {
        table_release(&l->table);
        return cli_fail(err);
    }
    if (!l->json)
        table_print(&l->table);
    return 0;
}

/* An empty table may be due to the filter: print a hint. */
static void print_empty_hint(const struct ls *l)
{
    bool filtered = l->q.status || l->q.kind || l->q.name || l->q.workflow || l->q.queue;

    if (l->shown || l->json)
        return;
    fprintf(stderr, "pawl: no executions%s\n",
            filtered && !l->q.all && !l->parent && !l->tasks
                ? " without a parent match; --all searches at any depth"
                : "");
}

static int list(struct pawl *p, struct ls *l)
{
    struct pawl_error err;
    int64_t before;
    int rc;

    do {
        before = l->shown;
        l->q.limit = l->limit && l->limit - l->shown < PAGE ? l->limit - l->shown : PAGE;
        begin_table(l);
        rc = pawl_list(p, &l->q, add_row, l, &l->q.before, &err);
        if ((rc = end_table(l, rc, &err)))
            return rc;
        if (l->limit && l->q.before && l->shown - before < l->q.limit) {
            fprintf(stderr, "pawl: examined 100,000 executions; continue with `--before %lld`\n",
                    (long long)l->q.before);
            break;
        }
    } while (l->q.before && l->shown != l->limit);
    return 0;
}

static int tasks(struct pawl *p, struct ls *l, int64_t workflow)
{
    struct pawl_error err;

    begin_table(l);
    return end_table(l, pawl_tasks(p, workflow, add_row, l, &err), &err);
}

static int ls(struct pawl *p, struct ls *l)
{
    int64_t workflow;
    int code;

    if (l->tasks)
        code = cli_id(p, l->tasks, &workflow);
    else
        code = l->parent ? cli_id(p, l->parent, &l->q.parent) : 0;
    if (!code && !(code = l->tasks ? tasks(p, l, workflow) : list(p, l)))
        print_empty_hint(l);
    return code;
}

static const struct option options[] = {
    {"status", OPTION_TEXT, offsetof(struct ls, q.status),
     "pending|ready|running|succeeded|failed|timed_out|cancelled|skipped,",
     "only executions with one of these statuses"},
    {"kind", OPTION_TEXT, offsetof(struct ls, q.kind), "workflow|task|foreach|exec",
     "only executions of this kind"},
    {"name", OPTION_TEXT, offsetof(struct ls, q.name), "GLOB",
     "only executions whose full name matches: * is any text, ? is one character"},
    {"workflow", OPTION_TEXT, offsetof(struct ls, q.workflow), "WORKFLOW",
     "only executions of workflows of this name"},
    {"queue", OPTION_TEXT, offsetof(struct ls, q.queue), "QUEUE", "only executions of this queue"},
    {"parent", OPTION_TEXT, offsetof(struct ls, parent), "ID", "children of this execution"},
    {"all", OPTION_FLAG, offsetof(struct ls, q.all), NULL, "executions at any depth"},
    {"tasks", OPTION_TEXT, offsetof(struct ls, tasks), "ID", "tasks of this workflow execution"},
    {"limit", OPTION_NUMBER, offsetof(struct ls, limit), "N", "at most N executions"},
    {"before", OPTION_NUMBER, offsetof(struct ls, q.before), "ID",
     "only executions with a smaller id, for the next page"},
    {0},
};

static int cmd_ls(int argc, char **argv)
{
    struct ls l = {.limit = DEFAULT_COUNT};
    struct cli c;
    struct pawl *p;
    int code = cli_begin(&c, &command_ls, argc, argv, &l);

    if (code >= 0)
        return code;
    l.json = c.json;
    if ((l.parent != NULL) + (l.tasks != NULL) + l.q.all > 1)
        code = cli_wrong("--parent, --tasks and --all exclude each other");
    else if (!(code = cli_open(&c, &p))) {
        code = ls(p, &l);
        pawl_close(p);
    }
    cli_end(&c);
    return cli_done(code);
}

const struct command command_ls = {
    .name = "ls",
    .forms = "",
    .text = "list executions, newest first: those without a parent (default), children of one, "
            "all, or the tasks of a workflow",
    .options = options,
    .examples = {{"pawl ls --status failed,timed_out", "recent failures"},
                 {"pawl ls --tasks @last", "the tasks of the newest workflow"},
                 {"pawl ls --all --name 'nightly::*' --json", "for programs"}},
    .run = cmd_ls,
};
