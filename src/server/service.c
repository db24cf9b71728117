/* service.c - endpoints of the server itself: health, metrics, the OpenAPI document, browser
 * sessions, the identity of the client, access tokens. */
#include "base/json.h"
#include "server/server.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

static void healthz(struct request *r)
{
    answer_json(r, 200, "{\"status\":\"ok\"}");
}

/* Answers whether a request that needs the database would be carried out now. */
static void readyz(struct request *r)
{
    struct pawl_error err = {0};
    int64_t id;
    int rc = pawl_last(r->p, &id, &err);

    if (rc && rc != -PAWL_E_NOT_FOUND)
        answer_error(r, &err);
    else
        answer_json(r, 200, "{\"status\":\"ready\"}");
}

static void metrics(struct request *r)
{
    struct pawl_error err = {0};
    struct buf b = BUF_INIT;
    char *text;

    if (pawl_metrics(r->p, &text, &err)) {
        answer_error(r, &err);
        return;
    }
    buf_addstr(&b, text);
    free(text);
    answer_buf(r, 200, "text/plain; version=0.0.4; charset=utf-8", &b);
}

static void openapi(struct request *r)
{
    answer_shared(r, "application/json", r->server->openapi, strlen(r->server->openapi));
}

/* ---- who asks ---- */

static void identity(struct request *r)
{
    struct buf b = BUF_INIT;
    struct json_writer w = JSON_WRITER(&b);

    json_write_begin(&w, '{');
    json_field_text(&w, "by", r->by);
    json_write_key(&w, "scopes");
    json_write_begin(&w, '[');
    for (unsigned bit = 1; bit <= PAWL_SCOPE_ADMIN; bit <<= 1)
        if (r->scopes & bit)
            json_write_text(&w, pawl_scope_text(bit));
    json_write_end(&w, ']');
    json_write_key(&w, "read_only");
    json_write_bool(&w, r->server->options.read_only);
    json_field_text(&w, "version", pawl_version());
    json_field_text(&w, "database", r->scopes & PAWL_SCOPE_ADMIN ? r->server->url : NULL);
    json_write_end(&w, '}');
    answer_buf(r, 200, "application/json", &b);
}

/* Whether the browser that made this request uses TLS, which a proxy terminates. */
static bool is_tls(const struct request *r)
{
    const char *origin = MHD_lookup_connection_value(r->connection, MHD_HEADER_KIND, "Origin");

    return origin && !strncasecmp(origin, "https://", 8);
}

/* Stores the token in a cookie that scripts of the browser can't read. */
static void log_in(struct request *r)
{
    struct values *v;
    size_t n;

    if (!body_read(r, &v, &n))
        return;
    answer_header(r, "Set-Cookie", "pawl=%s; Path=/; HttpOnly; SameSite=Strict; Max-Age=2592000%s",
                  r->token ? r->token : "", is_tls(r) ? "; Secure" : "");
    identity(r);
}

static void log_out(struct request *r)
{
    answer_header(r, "Set-Cookie", "%s", END_SESSION);
    answer_empty(r, 204);
}

/* ---- verify ---- */

struct violations {
    struct buf items;
    size_t n;
};

static void add_violation(void *arg, const char *invariant, int64_t execution, const char *detail)
{
    struct violations *v = arg;
    struct json_writer w = JSON_WRITER(&v->items);

    if (v->n++)
        buf_addch(&v->items, ',');
    json_write_begin(&w, '{');
    json_field_text(&w, "invariant", invariant);
    json_write_key(&w, "execution");
    if (execution)
        json_write_i64(&w, execution);
    else
        json_write_raw(&w, "null");
    json_field_text(&w, "detail", detail);
    json_write_end(&w, '}');
}

static void answer_verified(struct request *r, const struct pawl_verify_result *result,
                            const struct violations *found)
{
    struct buf b = BUF_INIT;
    struct json_writer w = JSON_WRITER(&b);

    json_write_begin(&w, '{');
    json_field_i64(&w, "checks", (int64_t)result->checks);
    json_field_i64(&w, "violations", (int64_t)result->violations);
    json_field_i64(&w, "executions", result->executions);
    json_field_i64(&w, "events", result->events);
    buf_addf(&b, ",\"items\":[%s]}", buf_cstr(&found->items));
    answer_buf(r, 200, "application/json", &b);
}

/* It reads the whole database, so a server runs one at a time. */
static void verify(struct request *r)
{
    static pthread_mutex_t running = PTHREAD_MUTEX_INITIALIZER;
    struct violations found = {0};
    struct pawl_verify_options o = {
        .lease = value_int(&r->args, "lease"), .violation = add_violation, .arg = &found};
    struct pawl_verify_result result = {0};
    struct pawl_error err = {0};

    if (pthread_mutex_trylock(&running)) {
        answer_problem(r, 429, "refused",
                       "the database is being verified already: try again later");
        return;
    }
    if (pawl_verify(r->p, &o, &result, &err) && err.code != PAWL_E_VIOLATION)
        answer_error(r, &err);
    else
        answer_verified(r, &result, &found);
    pthread_mutex_unlock(&running);
    buf_release(&found.items);
}

/* ---- tokens ---- */

static void tokens(struct request *r)
{
    struct pawl_error err = {0};
    struct page page = {0};
    int rc = pawl_tokens(r->p, page_line, &page, &err);

    answer_lines(r, rc, &page, &err);
}

static void create_token(struct request *r)
{
    struct pawl_token token = {0};
    struct pawl_error err = {0};
    struct values *v;
    AUTO_FREE char *text = NULL;
    struct buf b = BUF_INIT;
    size_t n;

    if (!body_read(r, &v, &n))
        return;
    token = (struct pawl_token){.name = value_text(v, "name"),
                                .queues = value_of(v, "queues")->list,
                                .lanes = value_of(v, "lanes")->list,
                                .expires_in = value_int(v, "expires_in")};
    if (pawl_scopes_parse(value_text(v, "scopes"), &token.scopes, &err) ||
        pawl_token_create(r->p, &token, r->by, value_text(v, "reason"), &text, &err)) {
        answer_error(r, &err);
        return;
    }
    buf_addstr(&b, "{\"token\":");
    json_quote(&b, text, strlen(text));
    buf_addch(&b, '}');
    answer_buf(r, 201, "application/json", &b);
}

static void revoke_token(struct request *r)
{
    struct pawl_error err = {0};

    if (pawl_token_revoke(r->p, r->path_args[0], r->by, value_text(&r->args, "reason"), &err))
        answer_error(r, &err);
    else
        answer_empty(r, 204);
}

static const struct value_rule token_members[] = {
    RULE("name", TEXT, "recorded in the history as who asked", .min = 1, .max = 100,
         .required = true),
    RULE("scopes", TEXT, "words of read, submit, operate, work and admin, separated by commas",
         .min = 1, .max = 100, .required = true),
    RULE("queues", TEXTS, "the queues that a worker with this token may serve; any if not given"),
    RULE("lanes", TEXTS, "the lanes that a worker with this token may serve; any if not given"),
    RULE("expires_in", DURATION, "never expires if not given"),
    RULE("reason", TEXT, "recorded with it", .min = 1, .max = 1000),
    {0}};
static const struct value_rule reason_only[] = {
    RULE("reason", TEXT, "recorded with it", .max = 1000), {0}};
static const struct value_rule verify_args[] = {
    RULE("lease", DURATION, "the longest lease of this database's workers; 30s if not given"), {0}};
static const struct value_rule nothing[] = {{0}};

#define READ  PAWL_SCOPE_READ, PLANE_READ
#define ADMIN PAWL_SCOPE_ADMIN, PLANE_CONTROL
const struct endpoint service_endpoints[] = {
    {"GET", "/healthz", "health", "Answers if the server runs.", 0, PLANE_NONE, .answer = "Health",
     .status = 200, .run = healthz},
    {"GET", "/readyz", "readiness", "Answers if the database can be used.", 0, PLANE_READ,
     .answer = "Health", .status = 200, .run = readyz},
    {"GET", "/metrics", "metrics", "Metrics in the text format of Prometheus.", READ, .answer = "",
     .answer_type = "text/plain", .status = 200, .run = metrics},
    {"GET", "/openapi.json", "openapi", "This document.", 0, PLANE_NONE, .answer = "",
     .answer_type = "application/json", .status = 200, .run = openapi},
    {"GET", "/v1/identity", "getIdentity", "Shows who asks, and what they may do.", READ,
     .answer = "Identity", .status = 200, .run = identity},
    {"POST", "/v1/session", "logIn", "Keeps the token of the request in a cookie, for a browser.",
     READ, .body = nothing, .answer = "Identity", .status = 200, .run = log_in},
    {"DELETE", "/v1/session", "logOut", "Removes the cookie.", 0, PLANE_NONE, .answer = "",
     .status = 204, .run = log_out},
    {"GET", "/v1/verify", "verify",
     "Checks every invariant of the database. It reads all of it: a large one takes minutes.",
     PAWL_SCOPE_ADMIN, PLANE_READ, verify_args, .answer = "Verified", .slow = true, .status = 200,
     .run = verify},
    {"GET", "/v1/tokens", "listTokens", "Lists access tokens, without their secrets.", ADMIN,
     .answer = "Token", .page = true, .status = 200, .run = tokens},
    {"POST", "/v1/tokens", "createToken", "Creates an access token. Its text is shown once.", ADMIN,
     .body = token_members, .answer = "NewToken", .status = 201, .run = create_token},
    {"DELETE", "/v1/tokens/{name}", "revokeToken", "Revokes an access token.", ADMIN, reason_only,
     .answer = "", .status = 204, .run = revoke_token},
    {0},
};
