/* workflows.c - endpoints of the catalogue of applied workflows: list, show, versions, apply,
 * delete. The ETag of a workflow is the hash of its definition; If-Match and If-None-Match make a
 * change depend on it. */
#include "base/json.h"
#include "base/text.h"
#include "server/server.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PAGE_DEFAULT 100

/* ---- reading ---- */

/* A page of lines; the name or version of the last line is the cursor of the next page. */
struct catalogue_page {
    struct page page;
    const char *cursor_field;
    char *last;
};

static int add_line(void *arg, const char *json)
{
    struct catalogue_page *p = arg;
    json_auto_t *o = json_loads(json, 0, NULL);
    const json_t *field = json_object_get(o, p->cursor_field);

    free(p->last);
    p->last = json_is_string(field) ? mem_strdup(json_string_value(field))
                                    : mem_printf("%lld", (long long)json_integer_value(field));
    return page_line(&p->page, json);
}

static void answer_catalogue(struct request *r, int rc, struct catalogue_page *p, bool more,
                             const struct pawl_error *err)
{
    if (rc)
        answer_lines(r, rc, &p->page, err);
    else
        answer_page(r, &p->page, more ? p->last : NULL);
    free(p->last);
}

static int64_t page_limit(const struct request *r)
{
    int64_t n = value_int(&r->args, "limit");

    return n ? n : PAGE_DEFAULT;
}

static void list(struct request *r)
{
    struct pawl_applied_query q = {.name = value_text(&r->args, "name"),
                                   .after = value_text(&r->args, "cursor"),
                                   .limit = page_limit(r)};
    struct catalogue_page p = {.cursor_field = "name"};
    struct pawl_error err = {0};
    bool more = false;
    int rc = pawl_applied_list(r->p, &q, add_line, &p, &more, &err);

    answer_catalogue(r, rc, &p, more, &err);
}

static void versions(struct request *r)
{
    const char *cursor = value_text(&r->args, "cursor");
    struct catalogue_page p = {.cursor_field = "version"};
    struct pawl_error err = {0};
    int64_t before = 0;
    bool more = false;
    int rc;

    if (cursor && (text_parse_i64(cursor, &before) || before <= 0)) {
        answer_problem(r, 400, "invalid", "'%.60s' is not a cursor: use `next` of the page before",
                       cursor);
        return;
    }
    rc = pawl_applied_versions(r->p, r->path_args[0], before, page_limit(r), add_line, &p, &more,
                               &err);
    answer_catalogue(r, rc, &p, more, &err);
}

static void show(struct request *r)
{
    struct pawl_error err = {0};
    json_auto_t *o = NULL;
    const char *hash;
    char *json = NULL;

    if (pawl_applied_show(r->p, r->path_args[0], value_text(&r->args, "version"), &json, &err)) {
        answer_error(r, &err);
        return;
    }
    o = json_loads(json, 0, NULL);
    hash = json_string_value(json_object_get(o, "definition"));
    if (hash)
        answer_header(r, "ETag", "\"%s\"", hash);
    answer_json(r, 200, json);
    free(json);
}

/* ---- changing ---- */

/* Reads the condition of a change from If-Match or If-None-Match: NULL if there is none, "" if the
 * name must be new. A quoted hash is copied without its quotes. */
static const char *condition(struct request *r)
{
    const char *match = MHD_lookup_connection_value(r->connection, MHD_HEADER_KIND, "If-Match");
    const char *none = MHD_lookup_connection_value(r->connection, MHD_HEADER_KIND, "If-None-Match");
    size_t len = match ? strlen(match) : 0;

    if (none && !strcmp(none, "*"))
        return "";
    if (len > 1 && match[0] == '"' && match[len - 1] == '"')
        return arena_memdup0(&r->arena, match + 1, len - 2);
    return match;
}

/* Answers a refused change: a condition that does not hold has a status of its own. */
static void answer_refused(struct request *r, const char *if_match, const struct pawl_error *err)
{
    if (if_match && err->code == PAWL_E_CONFLICT)
        answer_problem(r, 412, "precondition-failed", "%s", err->message);
    else
        answer_error(r, err);
}

static void answer_applied(struct request *r, const struct pawl_applied *applied)
{
    struct buf b = BUF_INIT;
    struct json_writer w = JSON_WRITER(&b);

    json_write_begin(&w, '{');
    json_field_text(&w, "name", applied->definition.name);
    json_field_text(&w, "definition", applied->definition.hash);
    json_write_key(&w, "unchanged");
    json_write_bool(&w, applied->unchanged);
    json_field_i64(&w, "tasks", (int64_t)applied->definition.tasks);
    json_field_i64(&w, "nested", (int64_t)applied->definition.nested);
    json_field_i64(&w, "schedules", (int64_t)applied->definition.schedules);
    json_field_i64(&w, "kept", (int64_t)applied->kept);
    json_field_i64(&w, "removed", (int64_t)applied->removed);
    json_write_end(&w, '}');
    answer_header(r, "ETag", "\"%s\"", applied->definition.hash);
    answer_buf(r, 200, "application/json", &b);
}

/* Applies a workflow. The name in the path must be that of the file, so that a client can't replace
 * another workflow by mistake. */
static void apply(struct request *r)
{
    struct pawl_apply_options o = {
        .yaml = buf_cstr(&r->body), .by = r->by, .name = r->path_args[0], .if_match = condition(r)};
    struct pawl_applied applied;
    struct pawl_error err = {0};

    if (strlen(o.yaml) != r->body.len)
        answer_problem(r, 400, "invalid", "the file contains a NUL character");
    else if (pawl_apply_with(r->p, &o, &applied, &err))
        answer_refused(r, o.if_match, &err);
    else
        answer_applied(r, &applied);
}

/* A client that has read a workflow file itself sends what it made of it: its paths and nested
 * files are those of the client. */
static void apply_document(struct request *r)
{
    struct pawl_apply_options o = {.by = r->by};
    struct pawl_applied applied;
    struct pawl_error err = {0};
    struct values *v;
    size_t n;

    if (!body_read(r, &v, &n))
        return;
    o.document = value_text(v, "document");
    o.source = value_text(v, "source");
    o.if_match = value_text(v, "if_match");
    if (pawl_apply_with(r->p, &o, &applied, &err))
        answer_refused(r, o.if_match, &err);
    else
        answer_applied(r, &applied);
}

static void answer_deleted(struct request *r, const struct pawl_applied_deleted *d)
{
    struct buf b = BUF_INIT;
    struct json_writer w = JSON_WRITER(&b);

    json_write_begin(&w, '{');
    json_field_text(&w, "name", r->path_args[0]);
    json_field_text(&w, "definition", d->hash);
    json_field_i64(&w, "schedules", (int64_t)d->schedules);
    json_field_i64(&w, "waiting", (int64_t)d->waiting);
    json_write_end(&w, '}');
    answer_buf(r, 200, "application/json", &b);
}

static void delete (struct request *r)
{
    const char *if_match = condition(r);
    struct pawl_applied_deleted deleted;
    struct pawl_error err = {0};

    if (pawl_applied_delete(r->p, r->path_args[0], if_match, r->by, value_text(&r->args, "reason"),
                            &deleted, &err))
        answer_refused(r, if_match, &err);
    else
        answer_deleted(r, &deleted);
}

#define ARG_LIMIT \
    RULE("limit", INT, "the size of a page; 100 if not given", .min = 1, .max = LIST_MAX)
static const struct value_rule list_args[] = {
    RULE("name", TEXT, "only with a name that this glob matches", .max = 1000),
    RULE("cursor", TEXT, "the cursor of the page, as `next` of the page before has it",
         .max = 1000),
    ARG_LIMIT,
    {0}};
static const struct value_rule version_args[] = {
    RULE("cursor", TEXT, "the cursor of the page, as `next` of the page before has it", .max = 100,
         .pattern = "^[1-9][0-9]{0,17}$"),
    ARG_LIMIT,
    {0}};
static const struct value_rule show_args[] = {
    RULE("version", TEXT, "the hash of an earlier definition; the current one if not given",
         .max = 100),
    {0}};
static const struct value_rule document_members[] = {
    RULE("document", OBJECT, "the definition, as `document` of a workflow in detail has it",
         .required = true),
    RULE("source", TEXT, "the text of the file that it was made from"),
    RULE("if_match", TEXT,
         "only if the name has the definition of this hash; empty: only if the name is new",
         .max = 100),
    {0}};
static const struct value_rule delete_args[] = {
    RULE("reason", TEXT, "recorded with it", .max = 1000), {0}};

#define READ  PAWL_SCOPE_READ, PLANE_READ
#define ADMIN PAWL_SCOPE_ADMIN, PLANE_CONTROL
const struct endpoint workflow_endpoints[] = {
    {"GET", "/v1/workflows", "listWorkflows", "Lists applied workflows by name.", READ, list_args,
     .answer = "AppliedWorkflow", .page = true, .status = 200, .run = list},
    {"GET", "/v1/workflows/{name}", "getWorkflow",
     "Shows an applied workflow with its params, tasks and schedules, and the text that it was applied from. Its ETag is the "
     "hash of its definition.",
     READ, show_args, .answer = "AppliedWorkflowInDetail", .status = 200, .run = show},
    {"GET", "/v1/workflows/{name}/versions", "listVersions",
     "Lists the definitions that a name has had, newest first.", READ, version_args,
     .answer = "WorkflowVersion", .page = true, .status = 200, .run = versions},
    {"PUT", "/v1/workflows/{name}", "applyWorkflow",
     "Stores a workflow file under its name, with its schedules. With `If-Match` only if the definition has this hash, with "
     "`If-None-Match: *` only if the name is new; otherwise 412.",
     ADMIN, .body_type = "application/yaml", .answer = "Applied", .status = 200, .run = apply},
    {"POST", "/v1/workflows", "applyDocument",
     "Stores a definition that the client made from a file, under its name, with its schedules.",
     ADMIN, .body = document_members, .answer = "Applied", .status = 200, .run = apply_document},
    {"DELETE", "/v1/workflows/{name}", "deleteWorkflow",
     "Removes the name and its schedules; executions keep their definition.", ADMIN, delete_args,
     .answer = "Deleted", .status = 200, .run = delete},
    {0},
};
