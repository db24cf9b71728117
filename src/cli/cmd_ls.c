/* cmd_ls.c - pawl ls: executions, newest first. */
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

/* Why it waits or failed, as far as a line has room. */
static void add_note(struct table *t, const json_t *o)
{
    const char *error = field(o, "error"), *waiting = field(o, "waiting");

    table_addf(t, "%.100s", *error ? error : waiting);
}

/* What no worker runs, a workflow or a fan-out, has none. */
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

/* A table without a line does not tell that it would have some. */
static void print_empty_hint(const struct ls *l)
{
    bool picky = l->q.status || l->q.kind || l->q.name || l->q.workflow || l->q.queue;

    if (l->shown || l->json)
        return;
    fprintf(stderr, "pawl: there is none%s\n",
            picky && !l->q.all && !l->parent && !l->tasks
                ? " like that without a parent; --all looks at any depth"
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
            fprintf(stderr, "pawl: 100,000 executions were looked at; `--before %lld` goes on\n",
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
     "only with one of these statuses"},
    {"kind", OPTION_TEXT, offsetof(struct ls, q.kind), "workflow|task|foreach|exec",
     "only of this kind"},
    {"name", OPTION_TEXT, offsetof(struct ls, q.name), "GLOB",
     "only with such a full name: * is any text, ? one character"},
    {"workflow", OPTION_TEXT, offsetof(struct ls, q.workflow), "WORKFLOW",
     "only of workflows of this name"},
    {"queue", OPTION_TEXT, offsetof(struct ls, q.queue), "QUEUE", "only of this queue"},
    {"parent", OPTION_TEXT, offsetof(struct ls, parent), "ID", "those right below this one"},
    {"all", OPTION_FLAG, offsetof(struct ls, q.all), NULL, "at any depth"},
    {"tasks", OPTION_TEXT, offsetof(struct ls, tasks), "ID", "the tasks of this workflow"},
    {"limit", OPTION_NUMBER, offsetof(struct ls, limit), "N", "at most so many"},
    {"before", OPTION_NUMBER, offsetof(struct ls, q.before), "ID",
     "only those with a smaller id: the next page"},
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
        code = cli_wrong("--parent, --tasks or --all: one of them");
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
    .text = "list executions, newest first: those without a parent, right below one, all, or "
            "the tasks of a workflow",
    .options = options,
    .examples = {{"pawl ls --status failed,timed_out", "what went wrong lately"},
                 {"pawl ls --tasks @last", "the tasks of the newest workflow"},
                 {"pawl ls --all --name 'nightly::*' --json", "for programs"}},
    .run = cmd_ls,
};
