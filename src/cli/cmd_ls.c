/* cmd_ls.c - pawl ls: lists executions, newest first. */
#include "cli/list.h"

#include <string.h>

#define DEFAULT_COUNT 20
#define PAGE          1000

struct ls {
    const char *parent, *tasks;
    int64_t limit;
    struct pawl_list_query q;
};

/* Adds why the execution waits or failed, shortened to fit the line. */
static void cell_note(struct table *t, const json_t *o)
{
    const char *error = field(o, "error"), *waiting = field(o, "waiting");

    table_addf(t, "%.100s", *error ? error : waiting);
}

/* Only jobs have attempts; workflows and fan-outs have none. */
static void cell_attempt_of_job(struct table *t, const json_t *o)
{
    const char *kind = field(o, "kind");

    if (strcmp(kind, "workflow") != 0 && strcmp(kind, "foreach") != 0)
        cell_attempt(t, o);
    else
        table_add(t, "");
}

static void cell_ran(struct table *t, const json_t *o)
{
    if (json_is_integer(json_object_get(o, "duration_us")))
        table_add_span(t, field_int(o, "duration_us"));
    else
        table_add(t, "");
}

static const struct list_column columns[] = {
    {"ID", "id", NULL},
    {"<STATUS", "status", cell_status},
    {"~~~<KIND", "kind", NULL},
    {"<NAME", "name", NULL},
    {"~~~ATTEMPT", "attempt", cell_attempt_of_job},
    {"~REQUESTED (UTC)", "requested_at", NULL},
    {"~~RAN", "finished_at", cell_ran},
    {"~<", "waiting", cell_note},
};

/* ---- pages ---- */

/* Prints a hint, because an empty table may be due to the filter. */
static void print_empty_hint(const struct ls *l)
{
    bool filtered = l->q.status || l->q.kind || l->q.name || l->q.workflow || l->q.queue;

    fprintf(stderr, "pawl: no executions%s\n",
            filtered && !l->q.all && !l->parent && !l->tasks
                ? " without a parent match; --all searches at any depth"
                : "");
}

static int print_pages(struct cli *c, struct ls *l, struct list *list)
{
    int64_t before;

    do {
        before = list->n;
        l->q.limit = l->limit && (l->tasks || l->limit - list->n < PAGE) ? l->limit - list->n
                     : l->tasks                                          ? 0
                                                                         : PAGE;
        TRY(list_end(list, pawl_list(c->p, &l->q, list_line, list, &l->q.before, &c->err)));
        if (l->limit && l->q.before && list->n - before < l->q.limit) {
            fprintf(stderr, "pawl: examined 100,000 executions; continue with `--before %lld`\n",
                    (long long)l->q.before);
            break;
        }
    } while (l->q.before && list->n != l->limit);
    return 0;
}

static int ls(struct cli *c)
{
    struct ls *l = c->values;
    struct list list = {.columns = LIST_COLUMNS(columns), .json = c->json};
    const char *which = l->tasks ? l->tasks : l->parent;
    int64_t id = 0;

    if ((l->parent != NULL) + (l->tasks != NULL) + l->q.all > 1)
        return cli_wrong("--parent, --tasks and --all exclude each other");
    if (l->tasks && (l->q.workflow || l->q.before))
        return cli_wrong("--tasks can't be combined with --workflow or --before");
    TRY(cli_open(c));
    if (which)
        TRY(cli_id(c, which, &id));
    l->q.parent = l->parent ? id : 0;
    l->q.tasks = l->tasks ? id : 0;
    if (l->limit < 0)
        l->limit = l->tasks ? 0 : DEFAULT_COUNT;
    TRY(print_pages(c, l, &list));
    if (!list.n && !c->json)
        print_empty_hint(l);
    return 0;
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
     "only executions of workflows with this name"},
    {"queue", OPTION_TEXT, offsetof(struct ls, q.queue), "QUEUE", "only executions in this queue"},
    {"parent", OPTION_TEXT, offsetof(struct ls, parent), "ID",
     "list the children of this execution"},
    {"all", OPTION_FLAG, offsetof(struct ls, q.all), NULL, "list executions at any depth"},
    {"tasks", OPTION_TEXT, offsetof(struct ls, tasks), "ID",
     "list the tasks of this workflow execution"},
    {"limit", OPTION_NUMBER, offsetof(struct ls, limit), "N",
     "list at most N executions; default: 20, with --tasks all"},
    {"before", OPTION_NUMBER, offsetof(struct ls, q.before), "ID",
     "only executions with a smaller id, for the next page"},
    {0},
};

static const struct ls defaults = {.limit = -1};

const struct command command_ls = {
    .name = "ls",
    .forms = "",
    .text = "list executions, newest first: those without a parent (default), children of one, "
            "all, or the tasks of a workflow",
    .options = options,
    .size = sizeof(defaults),
    .defaults = &defaults,
    .examples = {{"pawl ls --status failed,timed_out", "recent failures"},
                 {"pawl ls --tasks @last", "the tasks of the newest workflow"},
                 {"pawl ls --all --name 'nightly::*' --json", "for programs"}},
    .run = ls,
    .reads = true,
};
