/* bulk.c - the endpoint for one action on all executions that match a filter, in slices. */
#include "base/json.h"
#include "server/server.h"

#include <stdlib.h>

struct acting {
    struct request *r;
    struct page page;
    bool stopped;
};

/* Keeps the lines of the first executions; further lines are only counted. Ends the action when the
 * server stops. */
static int add_line(void *arg, const char *json)
{
    struct acting *a = arg;

    a->stopped = __atomic_load_n(&a->r->server->stopping, __ATOMIC_ACQUIRE);
    if (a->page.n < LIST_MAX)
        page_line(&a->page, json);
    return a->stopped;
}

static void answer_result(struct request *r, struct page *page,
                          const struct pawl_bulk_result *result)
{
    struct buf b = BUF_INIT;
    struct json_writer w = JSON_WRITER(&b);

    json_write_begin(&w, '{');
    json_field_i64(&w, "matched", result->matched);
    json_field_i64(&w, "done", result->done);
    json_field_i64(&w, "refused", result->refused);
    json_field_i64(&w, "changed", result->changed);
    json_field_i64(&w, "before", result->before);
    json_field_i64(&w, "code", result->code);
    buf_addf(&b, ",\"items\":[%s]}", buf_cstr(&page->out));
    answer_buf(r, 200, "application/json", &b);
}

static void act(struct request *r)
{
    struct pawl_bulk_result result = {0};
    struct acting a = {.r = r};
    struct pawl_error err = {0};
    struct pawl_list_query q;
    struct pawl_bulk bulk;
    struct values *v;
    size_t n;

    if (!body_read(r, &v, &n))
        return;
    q = filter_query(&(struct values){filter_rules, value_of(v, "filter")->of});
    q.limit = value_int(v, "limit");
    bulk = (struct pawl_bulk){.action = value_text(v, "action"),
                              .filter = &q,
                              .dry_run = value_bool(v, "dry_run"),
                              .by = r->by,
                              .reason = value_text(v, "reason")};
    if (pawl_bulk(r->p, &bulk, add_line, &a, &result, &err))
        answer_error(r, &err);
    else if (a.stopped)
        answer_problem(r, 503, "unavailable",
                       "the server is stopping: %lld executions were changed, and others may be "
                       "left; repeat the action to continue with them",
                       (long long)result.done);
    else
        answer_result(r, &a.page, &result);
    buf_release(&a.page.out);
}

static const struct value_rule members[] = {
    RULE("action", WORD, "what to do",
         .words = "cancel|let_finish|pause|resume|skip|rerun|rerun_failed", .required = true),
    RULE("filter", MEMBERS, "which executions; at least one filter besides `all`",
         .of = filter_rules, .required = true),
    RULE("dry_run", BOOL, "report the executions that match, and change nothing"),
    RULE("limit", INT, "act on at most this many, the newest; no limit if not given", .min = 1),
    RULE("reason", TEXT, "recorded in the history", .min = 1, .max = 1000),
    {0}};

const struct endpoint bulk_endpoints[] = {
    {"POST", "/v1/executions/actions", "actOnExecutions",
     "Carries out an action on all executions that match a filter, in slices. After an error, repeat it: it continues with the rest.",
     PAWL_SCOPE_OPERATE, PLANE_CONTROL, .body = members, .answer = "BulkResult", .slow = true,
     .status = 200, .run = act},
    {0},
};
