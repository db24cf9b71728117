/* hooks.c - webhooks: their messages, which are signed instead of having a token, and their
 * management. */
#include "base/json.h"
#include "server/server.h"

#include <stdlib.h>
#include <string.h>

/* ---- messages ---- */

struct header_list {
    struct arena *arena;
    VEC(struct pawl_hook_header) at;
};

static enum MHD_Result add_header(void *list, enum MHD_ValueKind kind, const char *name,
                                  const char *value)
{
    struct header_list *l = list;

    (void)kind;
    *vec_add(&l->at) = (struct pawl_hook_header){arena_strdup(l->arena, name),
                                                 arena_strdup(l->arena, value ? value : "")};
    return MHD_YES;
}

static void answer_message(struct request *r, const struct pawl_hook_message *m)
{
    answer_json(r, m->existed ? 200 : 201,
                arena_printf(&r->arena, "{\"id\":%lld,\"existed\":%s}", (long long)m->id,
                             m->existed ? "true" : "false"));
}

static void receive(struct request *r)
{
    struct header_list headers = {.arena = &r->arena};
    struct pawl_hook_message m = {
        .hook = r->path_args[0], .body = r->body.ptr, .size = r->body.len};
    struct pawl_error err = {0};
    int rc;

    if (r->server->options.read_only) {
        answer_problem(r, 403, "forbidden", "this server was started with --read-only");
        return;
    }
    MHD_get_connection_values(r->connection, MHD_HEADER_KIND, add_header, &headers);
    m.headers = headers.at.at;
    m.nheaders = headers.at.n;
    rc = pawl_hook_receive(r->p, &m, &err);
    vec_release(&headers.at);
    if (!rc)
        answer_message(r, &m);
    else if (!m.admitted && rc == -PAWL_E_INVALID)
        answer_problem(r, 401, "message-refused", "%s", err.message);
    else
        answer_error(r, &err);
}

/* ---- management ---- */

static void hooks(struct request *r)
{
    struct pawl_error err = {0};
    struct page page = {0};
    int rc = pawl_hooks(r->p, page_line, &page, &err);

    answer_lines(r, rc, &page, &err);
}

static void create_hook(struct request *r)
{
    struct pawl_hook hook;
    struct pawl_error err = {0};
    struct values *v;
    AUTO_FREE char *secret = NULL;
    struct buf b = BUF_INIT;
    size_t n;

    if (!body_read(r, &v, &n))
        return;
    hook = (struct pawl_hook){.name = value_text(v, "name"),
                              .signature = value_text(v, "signature"),
                              .secret = value_text(v, "secret"),
                              .url = value_text(v, "url"),
                              .statuses = value_text(v, "statuses"),
                              .workflow = value_text(v, "workflow"),
                              .queue = value_text(v, "queue"),
                              .tasks = value_bool(v, "tasks")};
    if (pawl_hook_create(r->p, &hook, r->by, value_text(v, "reason"), &secret, &err)) {
        answer_error(r, &err);
        return;
    }
    buf_addstr(&b, "{\"secret\":");
    json_quote(&b, secret, strlen(secret));
    buf_addch(&b, '}');
    answer_buf(r, 201, "application/json", &b);
}

static void revoke_hook(struct request *r)
{
    struct pawl_error err = {0};

    if (pawl_hook_revoke(r->p, r->path_args[0], r->by, value_text(&r->args, "reason"), &err))
        answer_error(r, &err);
    else
        answer_empty(r, 204);
}

static const struct value_rule hook_members[] = {
    RULE("name", TEXT, "letters, digits, _ and -", .min = 1, .max = 100, .required = true,
         .pattern = "^[A-Za-z_][A-Za-z0-9_-]{0,99}$"),
    RULE("signature", WORD, "how its messages are signed; `standard` if not given",
         .words = "standard|github"),
    RULE("secret", TEXT, "the secret that the sender gave; a new one if not given", .min = 1,
         .max = 200),
    RULE("url", TEXT,
         "where it reports ends of executions to; without it, the webhook starts a workflow",
         .min = 1, .max = 2000),
    RULE("statuses", WORDS, "with `url`: the ends that it reports; all but `skipped` if not given",
         .words = "succeeded|failed|timed_out|cancelled|skipped"),
    RULE("workflow", TEXT, "with `url`: only runs of this workflow", .min = 1, .max = 100),
    RULE("queue", TEXT, "with `url`: only executions of this queue", .min = 1, .max = 64),
    RULE("tasks", BOOL, "with `url`: also executions with a parent, such as tasks"),
    RULE("reason", TEXT, "recorded with it", .min = 1, .max = 1000),
    {0}};
static const struct value_rule reason_only[] = {
    RULE("reason", TEXT, "recorded with it", .max = 1000), {0}};
static const struct value_rule tenant_only[] = {RULE("tenant", TEXT,
                                                     "the tenant, if the server serves several",
                                                     .min = 1, .max = TENANT_SIZE - 1),
                                                {0}};

#define ADMIN PAWL_SCOPE_ADMIN, PLANE_CONTROL
const struct endpoint hook_endpoints[] = {
    {"GET", "/v1/hooks", "listHooks", "Lists webhooks, without their secrets.", ADMIN,
     .answer = "Webhook", .page = true, .status = 200, .run = hooks},
    {"POST", "/v1/hooks", "createHook", "Creates a webhook. Its secret is shown once.", ADMIN,
     .body = hook_members, .answer = "NewHook", .status = 201, .run = create_hook},
    {"DELETE", "/v1/hooks/{name}", "revokeHook", "Deletes a webhook.", ADMIN, reason_only,
     .answer = "", .status = 204, .run = revoke_hook},
    {"POST", "/v1/hooks/{name}", "receiveHook",
     "Takes a message of a webhook, which needs no token: its signature is checked. Starts the applied workflow whose "
     "`on: webhook` names it, once for each id of a message. Answers 201 if the execution is new, 200 if an earlier delivery "
     "of the message has created it, and 401 if the webhook or the signature is not valid.",
     0, PLANE_HOOK, tenant_only, .body_type = "*/*", .answer = "Submitted", .status = 201,
     .run = receive},
    {0},
};
