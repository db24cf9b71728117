/* cmd_ls.c - pawl ls: lists executions, newest first. */
#include "cli/filter_options.h"
#include "cli/list.h"

#include <string.h>

#define DEFAULT_COUNT 20
#define PAGE          1000

struct ls {
    struct filter_options filter;
    const char *tasks;
    int64_t limit;
    bool count;
};

/* Adds why the execution waits or failed, shortened to fit the line. */
static void cell_note(struct table *t, const json_t *o)
{
    const char *error = field(o, "error"), *waiting = field(o, "waiting");

    table_addf(t, "%.100s", *error ? error : waiting);
}

/* Adds the attempt of a job. Workflows and fan-outs have no attempts. */
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
    bool roots = !l->filter.q.all && !l->filter.parent && !l->tasks;

    fprintf(stderr, "pawl: no executions%s\n",
            roots && filter_is_given(&l->filter)
                ? " without a parent match; --all searches at any depth"
                : "");
}

static int print_pages(struct cli *c, struct ls *l, struct list *list)
{
    struct pawl_list_query *q = &l->filter.q;
    int64_t before;

    do {
        before = list->n;
        q->limit = l->limit && (l->tasks || l->limit - list->n < PAGE) ? l->limit - list->n
                   : l->tasks                                          ? 0
                                                                       : PAGE;
        TRY(list_end(list, pawl_list(c->p, q, list_line, list, &q->before, &c->err)));
        if (l->limit && q->before && list->n - before < q->limit) {
            fprintf(stderr, "pawl: examined 100,000 executions; continue with `--before %lld`\n",
                    (long long)q->before);
            break;
        }
    } while (q->before && list->n != l->limit);
    return 0;
}

/* ---- counts ---- */

static void print_counts(const json_t *o)
{
    static const char *const statuses[] = {"pending", "ready",     "running",   "succeeded",
                                           "failed",  "timed_out", "cancelled", "skipped"};
    long long total = (long long)field_int(o, "total");
    const char *separator = ": ";

    printf("%s%lld execution%s", json_is_true(json_object_get(o, "more")) ? "at least " : "", total,
           total == 1 ? "" : "s");
    for (size_t i = 0; i < sizeof(statuses) / sizeof(*statuses); i++)
        if (field_int(o, statuses[i])) {
            printf("%s%lld %s", separator, (long long)field_int(o, statuses[i]), statuses[i]);
            separator = ", ";
        }
    putchar('\n');
}

static int count(struct cli *c, struct ls *l)
{
    json_auto_t *o = NULL;
    char *json;

    if (l->tasks)
        return cli_wrong("--count can't be combined with --tasks; use --parent");
    l->filter.q.limit = l->limit > 0 ? l->limit : 0;
    TRY(pawl_counts(c->p, &l->filter.q, &json, &c->err));
    if (c->json)
        return print_answer(json);
    o = take_object(json);
    print_counts(o);
    return 0;
}

static int ls(struct cli *c)
{
    struct ls *l = c->values;
    struct pawl_list_query *q = &l->filter.q;
    struct list list = {.columns = LIST_COLUMNS(columns), .json = c->json};

    if ((l->filter.parent != NULL) + (l->tasks != NULL) + q->all > 1)
        return cli_wrong("--parent, --tasks and --all exclude each other");
    if (l->tasks && (q->workflow || q->before))
        return cli_wrong("--tasks can't be combined with --workflow or --before");
    TRY(cli_open(c));
    TRY(filter_resolve(c, &l->filter));
    if (l->count)
        return count(c, l);
    if (l->tasks)
        TRY(cli_id(c, l->tasks, &q->tasks));
    if (l->limit < 0)
        l->limit = l->tasks ? 0 : DEFAULT_COUNT;
    TRY(print_pages(c, l, &list));
    if (!list.n && !c->json)
        print_empty_hint(l);
    return 0;
}

static const struct option options[] = {
    FILTER_OPTIONS(struct ls, filter),
    {"tasks", OPTION_TEXT, offsetof(struct ls, tasks), "ID",
     "list the tasks of this workflow execution"},
    {"limit", OPTION_NUMBER, offsetof(struct ls, limit), "N",
     "list at most N executions; default: 20, with --tasks all"},
    {"before", OPTION_NUMBER, offsetof(struct ls, filter.q.before), "ID",
     "only executions with a smaller id, for the next page"},
    {"count", OPTION_FLAG, offsetof(struct ls, count), NULL,
     "print how many executions have each status instead; counts the newest 10,000"},
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
                 {"pawl ls --workflow nightly --param day=2026-01-31 --since 7d",
                  "the runs for one day that were requested in the last week"},
                 {"pawl ls --since 1d --count", "how many of the last day succeeded, failed, …"},
                 {"pawl ls --tasks @last", "the tasks of the newest workflow"},
                 {"pawl ls --all --name 'nightly::*' --json", "for programs"}},
    .run = ls,
    .reads = true,
};
