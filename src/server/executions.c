/* executions.c - endpoints that read executions: lists, one execution, its tree, history and
 * explanation. logs.c reads output. */
#include "base/env.h"
#include "base/text.h"
#include "server/server.h"
#include "server/watch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define PAGE_DEFAULT 100
#define WAIT_MAX_S   300
#define STATUSES     "pending|ready|running|succeeded|failed|timed_out|cancelled|skipped"
#define KINDS        "workflow|task|foreach|exec"

#define ARG_CURSOR                                                                      \
    RULE("cursor", TEXT, "the cursor of the page, as `next` of the page before has it", \
         .max = 100, .pattern = "^[1-9][0-9]{0,17}$")
#define ARG_LIMIT \
    RULE("limit", INT, "the size of a page; 100 if not given", .min = 1, .max = LIST_MAX)
#define ARG_AT RULE("at", TIME, "the state at this time instead of now")
#define ARG_EVENT                                                                         \
    RULE("at_event", INT,                                                                 \
         "the state after the event of this number instead of now; `at` is ignored then", \
         .min = 1)

static int64_t page_limit(const struct request *r)
{
    int64_t n = value_int(&r->args, "limit");

    return n ? n : PAGE_DEFAULT;
}

/* Reads the moment that the arguments `at` or `at_event` name; false if neither is given. */
static bool moment(const struct request *r, struct pawl_moment *at)
{
    *at = (struct pawl_moment){.time = value_int(&r->args, "at"),
                               .event = value_int(&r->args, "at_event")};
    if (at->event)
        at->time = 0;
    return at->time || at->event;
}

/* ---- lists ---- */

static bool cursor_id(struct request *r, int64_t *id)
{
    const char *cursor = value_text(&r->args, "cursor");

    *id = 0;
    if (!cursor || (!text_parse_i64(cursor, id) && *id > 0))
        return true;
    answer_problem(r, 400, "invalid", "'%.60s' is not a cursor: use `next` of the page before",
                   cursor);
    return false;
}

struct pawl_list_query filter_query(const struct values *v)
{
    return (struct pawl_list_query){.parent = value_int(v, "parent"),
                                    .all = value_bool(v, "all"),
                                    .status = value_text(v, "status"),
                                    .kind = value_text(v, "kind"),
                                    .name = value_text(v, "name"),
                                    .workflow = value_text(v, "workflow"),
                                    .queue = value_text(v, "queue"),
                                    .since = value_int(v, "since"),
                                    .until = value_int(v, "until"),
                                    .worker = value_text(v, "worker"),
                                    .host = value_text(v, "host"),
                                    .by = value_text(v, "by"),
                                    .before = value_int(v, "before"),
                                    .params = value_of(v, "param")->list};
}

static void counts(struct request *r)
{
    struct pawl_list_query q = filter_query(&r->args);
    struct pawl_error err = {0};
    char *json = NULL;
    int rc;

    q.limit = value_int(&r->args, "limit");
    rc = pawl_counts(r->p, &q, &json, &err);
    answer_document(r, rc, json, &err);
}

static void list(struct request *r)
{
    struct pawl_list_query q = filter_query(&r->args);
    struct pawl_error err = {0};
    struct page page = {0};
    int64_t next = 0;
    char cursor[24];

    q.tasks = value_int(&r->args, "tasks");
    q.limit = q.tasks ? value_int(&r->args, "limit") : page_limit(r);
    if (!cursor_id(r, &q.before))
        return;
    if (pawl_list(r->p, &q, page_line, &page, &next, &err)) {
        buf_release(&page.out);
        answer_error(r, &err);
        return;
    }
    snprintf(cursor, sizeof(cursor), "%lld", (long long)next);
    answer_page(r, &page, next ? cursor : NULL);
}

#define FILTERS                                                                                   \
    RULE("status", WORDS, "only with one of these statuses", .words = STATUSES),                  \
        RULE("kind", WORD, "only of this kind", .words = KINDS),                                  \
        RULE("workflow", TEXT, "only of this workflow", .max = 1000),                             \
        RULE("name", TEXT, "only with a full name that this glob matches", .max = 1000),          \
        RULE("queue", TEXT, "only in this queue", .max = 1000),                                   \
        RULE("since", TIME, "only requested at this time or later"),                              \
        RULE("until", TIME, "only requested before this time"),                                   \
        RULE("worker", TEXT, "only run last by this worker: 16 hexadecimal digits", .max = 16),   \
        RULE("host", TEXT, "only run last on this host", .max = 1000),                            \
        RULE("by", TEXT, "only requested by somebody whose name this glob matches", .max = 1000), \
        RULE("param", TEXTS, "only with this value in its input: NAME=VALUE"),                    \
        RULE("parent", INT, "only children of this execution", .min = 1),                         \
        RULE("all", BOOL, "at any depth, not only executions without a parent")
#define BEFORE RULE("before", INT, "only with an id smaller than this", .min = 1)
const struct value_rule filter_rules[] = {FILTERS, BEFORE, {0}};
static const struct value_rule count_args[] = {
    FILTERS,
    BEFORE,
    RULE("limit", INT, "count at most this many; 10000 if not given", .min = 1, .max = 10000),
    {0}};
static const struct value_rule list_args[] = {
    FILTERS,
    ARG_CURSOR,
    ARG_LIMIT,
    RULE("tasks", INT,
         "instead: the tasks of this workflow execution and the items of its fan-outs, in their "
         "order, on one page of any size",
         .min = 1),
    {0}};

/* ---- one execution ---- */

/* Returns N of the header "Prefer: wait=N", in seconds; 0 if the request has no such header. */
static int preferred_wait(struct request *r)
{
    const char *prefer = MHD_lookup_connection_value(r->connection, MHD_HEADER_KIND, "Prefer");
    const char *wait = prefer ? strcasestr(prefer, "wait=") : NULL;
    long n = wait ? strtol(wait + 5, NULL, 10) : 0;

    return n <= 0 ? 0 : n > WAIT_MAX_S ? WAIT_MAX_S : (int)n;
}

static void show(struct request *r)
{
    struct pawl_error err = {0};
    struct pawl_moment at;
    char *json = NULL;
    int64_t id;
    int rc, wait = preferred_wait(r);

    if (!path_id(r, &id))
        return;
    if (moment(r, &at)) {
        rc = pawl_show_at(r->p, id, &at, &json, &err);
        answer_document(r, rc, json, &err);
    } else if (wait) {
        answer_header(r, "Preference-Applied", "wait=%d", wait);
        r->deadline = clock_boot_us() + wait * 1000000LL;
        r->waits_for = id;
    } else {
        rc = pawl_show(r->p, id, &json, &err);
        answer_document(r, rc, json, &err);
    }
}

/* Whether the tree of an execution fits into one answer; else answers with a problem. */
static bool check_tree(struct request *r, int64_t id)
{
    struct pawl_error err = {0};
    int64_t n;

    if (pawl_tree_size(r->p, id, TREE_MAX + 1, &n, &err)) {
        answer_error(r, &err);
        return false;
    }
    if (n <= TREE_MAX)
        return true;
    answer_problem(r, 422, "not-processable",
                   "the tree of execution %lld has more than %d executions: read it by pages of "
                   "/v1/executions/%lld/children",
                   (long long)id, TREE_MAX, (long long)id);
    return false;
}

static void tree(struct request *r)
{
    struct pawl_error err = {0};
    struct pawl_moment at;
    char *json = NULL;
    int64_t id;
    int rc;

    if (!path_id(r, &id) || !check_tree(r, id))
        return;
    rc = moment(r, &at) ? pawl_tree_at(r->p, id, &at, &json, &err)
                        : pawl_tree(r->p, id, &json, &err);
    answer_document(r, rc, json, &err);
}

static void outline(struct request *r)
{
    struct pawl_error err = {0};
    struct pawl_moment at;
    struct page page = {0};
    int64_t id, now = 0;
    int rc;

    if (!path_id(r, &id))
        return;
    rc = moment(r, &at) ? pawl_outline_at(r->p, id, &at, page_line, &page, &now, &err)
                        : pawl_outline(r->p, id, page_line, &page, &now, &err);
    answer_header(r, "Pawl-Time", "%lld", (long long)now);
    answer_lines(r, rc, &page, &err);
}

static void children(struct request *r)
{
    struct pawl_list_query q = {.limit = page_limit(r)};
    struct pawl_error err = {0};
    struct page page = {0};
    int64_t next = 0;
    char cursor[24], *json = NULL;

    if (!path_id(r, &q.parent) || !cursor_id(r, &q.before))
        return;
    if (value_bool(&r->args, "oldest_first")) {
        int rc = pawl_children(r->p, q.parent, page_line, &page, &err);

        answer_lines(r, rc, &page, &err);
        return;
    }
    if (pawl_show(r->p, q.parent, &json, &err) ||
        pawl_list(r->p, &q, page_line, &page, &next, &err)) {
        free(json);
        buf_release(&page.out);
        answer_error(r, &err);
        return;
    }
    free(json);
    snprintf(cursor, sizeof(cursor), "%lld", (long long)next);
    answer_page(r, &page, next ? cursor : NULL);
}

/* A document that depends on nothing but the id. */
static void answer_of(struct request *r,
                      int (*ask)(struct pawl *, int64_t, char **, struct pawl_error *))
{
    struct pawl_error err = {0};
    char *json = NULL;
    int64_t id;

    if (path_id(r, &id)) {
        int rc = ask(r->p, id, &json, &err);

        answer_document(r, rc, json, &err);
    }
}

static void parent(struct request *r)
{
    answer_of(r, pawl_parent);
}

static void workflow(struct request *r)
{
    answer_of(r, pawl_workflow);
}

static void nodes(struct request *r)
{
    struct pawl_error err = {0};
    struct page page = {0};
    int64_t id;

    if (path_id(r, &id) && check_tree(r, id)) {
        int rc = pawl_tree_lines(r->p, id, page_line, &page, &err);

        answer_lines(r, rc, &page, &err);
    }
}

static void why(struct request *r)
{
    answer_of(r, pawl_why);
}

static void definition(struct request *r)
{
    answer_of(r, pawl_definition_of);
}

static void critical(struct request *r)
{
    struct pawl_error err = {0};
    struct pawl_moment at;
    char *json = NULL;
    int64_t id;

    if (path_id(r, &id)) {
        int rc = pawl_critical(r->p, id, moment(r, &at) ? &at : NULL, &json, &err);

        answer_document(r, rc, json, &err);
    }
}

static void diff(struct request *r)
{
    struct pawl_error err = {0};
    char *json = NULL;
    int64_t id, with;

    if (!path_id(r, &id))
        return;
    if (text_parse_i64(r->path_args[1], &with) || with <= 0) {
        answer_problem(r, 404, "not-found",
                       "there is no execution '%.60s': ids are whole numbers from 1",
                       r->path_args[1]);
        return;
    }
    {
        int rc = pawl_diff(r->p, id, with, &json, NULL, &err);

        answer_document(r, rc, json, &err);
    }
}

/* The media type of a graph format; that of plain text for a format that is not listed. */
static const char *graph_type(const char *format)
{
    if (!strcmp(format, "json"))
        return "application/json";
    return strcmp(format, "svg") ? "text/plain; charset=utf-8" : "image/svg+xml";
}

static void graph(struct request *r)
{
    const char *format = value_text(&r->args, "format");
    struct pawl_error err = {0};
    struct buf b = BUF_INIT;
    char *text = NULL;
    int64_t id;

    if (!path_id(r, &id))
        return;
    if (pawl_graph_of(r->p, id, format, (int)value_int(&r->args, "width"), &text, &err)) {
        answer_error(r, &err);
        return;
    }
    buf_addstr(&b, text);
    free(text);
    answer_buf(r, 200, graph_type(format ? format : ""), &b);
}

static const struct value_rule at_args[] = {ARG_AT, ARG_EVENT, {0}};
static const struct value_rule page_args[] = {
    ARG_CURSOR,
    ARG_LIMIT,
    RULE("oldest_first", BOOL, "all of them on one page, oldest first; without cursor and limit"),
    {0}};
static const struct value_rule graph_args[] = {
    RULE("format", WORD, "ascii if not given", .words = "ascii|dot|mermaid|svg|json"),
    RULE("width", INT, "the longest line of ascii; 80 if not given", .min = 1, .max = 10000),
    {0}};
static const char *const graph_texts[] = {"text/plain", "image/svg+xml", NULL};
#define READ PAWL_SCOPE_READ, PLANE_READ
const struct endpoint execution_endpoints[] = {
    {"GET", "/v1/executions", "listExecutions", "Lists executions, newest first.", READ, list_args,
     .answer = "Execution", .page = true, .status = 200, .run = list},
    {"GET", "/v1/executions/counts", "countExecutions",
     "Counts executions by status: the newest 10,000 that match; `more` says that older ones may match, too.",
     READ, count_args, .answer = "Counts", .status = 200, .run = counts},
    {"GET", "/v1/executions/{id}", "getExecution",
     "Shows an execution. With `Prefer: wait=N` it answers when the execution has ended, after N seconds at the latest.",
     READ, at_args, .answer = "Execution", .status = 200, .run = show},
    {"GET", "/v1/executions/{id}/tree", "getTree",
     "Shows an execution and its descendants, nested: at most 100,000 of them.", READ, at_args,
     .answer = "Execution", .status = 200, .run = tree},
    {"GET", "/v1/executions/{id}/outline", "getOutline",
     "Lists an execution and its descendants as lines for display; items of fan-outs are counted. The header Pawl-Time is "
     "the time that they show, in microseconds since 1970.",
     READ, at_args, .answer = "LineOfAnOutline", .page = true, .status = 200, .run = outline},
    {"GET", "/v1/executions/{id}/children", "listChildren",
     "Lists the children of an execution, newest first.", READ, page_args, .answer = "Execution",
     .page = true, .status = 200, .run = children},
    {"GET", "/v1/executions/{id}/nodes", "listNodes",
     "Lists an execution and its descendants, each parent before its children: at most 100,000 of them.",
     READ, .answer = "Execution", .page = true, .status = 200, .run = nodes},
    {"GET", "/v1/executions/{id}/parent", "getParent", "Shows the parent of an execution.", READ,
     .answer = "Execution", .status = 200, .run = parent},
    {"GET", "/v1/executions/{id}/workflow", "getWorkflowExecution",
     "Shows the workflow execution that an execution is a task of.", READ, .answer = "Execution",
     .status = 200, .run = workflow},
    {"GET", "/v1/executions/{id}/why", "getWhy", "Explains why an execution has its status.", READ,
     .answer = "Why", .status = 200, .run = why},
    {"GET", "/v1/executions/{id}/critical", "getCriticalPath",
     "Shows the chain of executions that determined when this one ended.", READ, at_args,
     .answer = "CriticalPath", .status = 200, .run = critical},
    {"GET", "/v1/executions/{id}/diff/{other}", "getDiff", "Compares two executions.", READ,
     .answer = "Difference", .status = 200, .run = diff},
    {"GET", "/v1/executions/{id}/definition", "getDefinition",
     "Shows the definition that a workflow execution runs, whatever the name refers to by now.",
     READ, .answer = "Definition", .status = 200, .run = definition},
    {"GET", "/v1/executions/{id}/graph", "getGraph",
     "Draws the graph of a workflow execution: as text, as a picture (svg), or as its coordinates (json).",
     READ, graph_args, .answer = "Graph", .texts = graph_texts, .status = 200, .run = graph},
    {0},
};
