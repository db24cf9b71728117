/* answer.c - writes answers to requests: JSON documents, pages of lists, and problems (RFC
 * 9457). */
#include "base/json.h"
#include "base/text.h"
#include "server/server.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void answer_buf(struct request *r, unsigned status, const char *type, struct buf *body)
{
    buf_release(&r->answer);
    r->answer = *body;
    *body = (struct buf)BUF_INIT;
    r->status = status;
    r->type = type;
    r->answered = true;
}

void answer_json(struct request *r, unsigned status, const char *json)
{
    struct buf b = BUF_INIT;

    buf_addstr(&b, json);
    answer_buf(r, status, "application/json", &b);
}

void answer_empty(struct request *r, unsigned status)
{
    struct buf b = BUF_INIT;

    answer_buf(r, status, NULL, &b);
}

void answer_shared(struct request *r, const char *type, const void *bytes, size_t len)
{
    answer_empty(r, 200);
    r->type = type;
    r->shared = bytes;
    r->shared_len = len;
}

void answer_header(struct request *r, const char *name, const char *fmt, ...)
{
    struct header *h = vec_add(&r->headers);
    AUTO_FREE char *text = NULL;
    va_list ap;

    va_start(ap, fmt);
    text = mem_vprintf(fmt, ap);
    va_end(ap);
    *h = (struct header){name, arena_strdup(&r->arena, text)};
}

/* ---- problems ---- */

const struct problem_type problem_types[] = {
    {"invalid", "the request is not acceptable", 400},
    {"unauthorized", "a valid token is required", 401},
    {"message-refused", "the message was refused", 401},
    {"forbidden", "the token does not allow this", 403},
    {"not-found", "there is no such thing", 404},
    {"method-not-allowed", "the path has other methods", 405},
    {"not-acceptable", "the state does not allow this", 409},
    {"precondition-failed", "the condition of the request does not hold", 412},
    {"too-large", "the body is too large", 413},
    {"media-type", "the body has another media type than the endpoint accepts", 415},
    {"misdirected", "the server does not answer for this host", 421},
    {"not-processable", "the request is well-formed, but can't be carried out", 422},
    {"conflict", "the idempotency key belongs to another request", 422},
    {"refused", "a limit is reached", 429},
    {"head-too-large", "the request line and the headers are too large", 431},
    {"internal", "an error inside the server", 500},
    {"outcome-unknown", "the change may or may not have been made", 500},
    {"unavailable", "the database can't be used now", 503},
    {0},
};

static const struct problem_type *find_problem(const char *word)
{
    const struct problem_type *t = problem_types;

    while (t->word && strcmp(t->word, word))
        t++;
    return t->word ? t : find_problem("internal");
}

/* The names of enum pawl_code without PAWL_E_. */
static const char *code_name(int code)
{
    static const char *const names[] = {
#define X(name, exit_code) [PAWL_E_##name] = #name,
        ERROR_CODES(X)
#undef X
    };

    return code > 0 && (size_t)code < sizeof(names) / sizeof(*names) ? names[code] : NULL;
}

/* The words for enum pawl_missing; the status of an answer says PAWL_MISSING_STATE. */
static const char *const missing_words[] = {[PAWL_MISSING_EXECUTION] = "execution",
                                            [PAWL_MISSING_PARAM] = "param",
                                            [PAWL_MISSING_SUBMITTED] = "submitted"};

/* The members that describe an error of the library. */
static void write_error(struct json_writer *w, const struct pawl_error *err)
{
    json_field_text(w, "code", code_name(err->code));
    if (!err->missing || err->missing == PAWL_MISSING_STATE)
        return;
    json_field_text(w, "missing", missing_words[err->missing]);
    json_field_text(w, "name", err->name);
}

/* `err` is NULL if the server itself refuses the request. */
static void write_problem(struct request *r, unsigned status, const char *type, char *detail,
                          const struct pawl_error *err)
{
    struct buf b = BUF_INIT;
    struct json_writer w = JSON_WRITER(&b);

    text_make_utf8(detail);
    if (status == 429 || status == 503)
        answer_header(r, "Retry-After", "%d", status == 429 ? 1 : 5);
    json_write_begin(&w, '{');
    json_write_key(&w, "type");
    json_write_text(&w, arena_printf(&r->arena, "urn:pawl:problem:%s", type));
    json_field_text(&w, "title", find_problem(type)->title);
    json_field_i64(&w, "status", status);
    json_field_text(&w, "detail", detail);
    if (err)
        write_error(&w, err);
    json_write_end(&w, '}');
    answer_buf(r, status, "application/problem+json", &b);
}

void answer_problem(struct request *r, unsigned status, const char *type, const char *fmt, ...)
{
    AUTO_FREE char *detail = NULL;
    va_list ap;

    va_start(ap, fmt);
    detail = mem_vprintf(fmt, ap);
    va_end(ap);
    write_problem(r, status, type, detail, NULL);
}

void answer_error(struct request *r, const struct pawl_error *err)
{
    static const struct {
        unsigned status;
        const char *type;
    } problems[] = {
        [PAWL_E_INTERNAL] = {500, "internal"},
        [PAWL_E_INVALID] = {422, "not-processable"},
        [PAWL_E_CONFLICT] = {422, "conflict"},
        [PAWL_E_NOT_FOUND] = {404, "not-found"},
        [PAWL_E_UNAVAILABLE] = {503, "unavailable"},
        [PAWL_E_NO_SPACE] = {503, "unavailable"},
        [PAWL_E_SCHEMA] = {503, "unavailable"},
        [PAWL_E_REFUSED] = {429, "refused"},
        [PAWL_E_LEASE_LOST] = {409, "not-acceptable"},
        [PAWL_E_BUSY] = {503, "unavailable"},
        [PAWL_E_REDO] = {503, "unavailable"},
        [PAWL_E_CONN_LOST] = {503, "unavailable"},
        [PAWL_E_VIOLATION] = {500, "internal"},
        /* Not 503: many HTTP clients repeat a request that was answered so. */
        [PAWL_E_COMMIT_UNKNOWN] = {500, "outcome-unknown"},
    };
    size_t code = (size_t)err->code;
    struct pawl_error shown = *err;

    if (code >= sizeof(problems) / sizeof(*problems) || !problems[code].status)
        code = PAWL_E_INTERNAL;
    if (err->missing == PAWL_MISSING_STATE)
        write_problem(r, 409, "not-acceptable", shown.message, err);
    else
        write_problem(r, problems[code].status, problems[code].type, shown.message, err);
}

/* ---- how much is being sent ---- */

/* Whether the answer of a request may be refused, because the request can be repeated and changed
 * nothing. Health checks are not refused. */
static bool may_refuse(const struct request *r)
{
    return r->endpoint && r->endpoint->plane == PLANE_READ && r->endpoint->scope;
}

static void count(struct request *r, size_t n)
{
    answer_uncount(r);
    r->answer_counted = n;
    __atomic_add_fetch(&r->server->answers, n, __ATOMIC_RELAXED);
}

static void refuse_size(struct request *r)
{
    answer_problem(
        r, 422, "not-processable",
        "the answer would have more than %d MB: read it by pages, with a smaller `limit`",
        ANSWER_MAX >> 20);
}

void answer_count(struct request *r)
{
    size_t most = r->answer.len > LARGE_ANSWER ? ANSWERS / 4 * 3 : ANSWERS;

    if (may_refuse(r) && r->answer.len > ANSWER_MAX)
        refuse_size(r);
    count(r, r->answer.len);
    if (!may_refuse(r) || __atomic_load_n(&r->server->answers, __ATOMIC_RELAXED) <= most)
        return;
    answer_problem(r, 503, "unavailable",
                   "the server is sending too many large answers: try again later");
    count(r, r->answer.len);
}

void answer_uncount(struct request *r)
{
    __atomic_sub_fetch(&r->server->answers, r->answer_counted, __ATOMIC_RELAXED);
    r->answer_counted = 0;
}

/* ---- pages ---- */

int page_line(void *arg, const char *json)
{
    struct page *p = arg;

    if ((p->full = p->full || p->out.len + strlen(json) > ANSWER_MAX))
        return 1;
    buf_addstr(&p->out, p->n++ ? ",\n" : "");
    buf_addstr(&p->out, json);
    return 0;
}

/* Appends text to a URL: every byte that is not a letter or digit is escaped. */
static void add_escaped(struct buf *b, const char *text)
{
    for (; *text; text++)
        if ((*text >= '0' && *text <= '9') || (*text >= 'a' && *text <= 'z') ||
            (*text >= 'A' && *text <= 'Z'))
            buf_addch(b, *text);
        else
            buf_addf(b, "%%%02X", (unsigned char)*text);
}

/* Adds a header Link with the target of this request and another cursor. */
static void add_next_link(struct request *r, const char *next)
{
    AUTO_BUF link = BUF_INIT;
    const char *query = strchr(r->target, '?'), *part = query ? query + 1 : "";

    buf_add(&link, r->target, query ? (size_t)(query - r->target) : strlen(r->target));
    buf_addstr(&link, "?cursor=");
    add_escaped(&link, next);
    while (*part) {
        size_t len = strcspn(part, "&");

        if (len && strncmp(part, "cursor=", 7)) {
            buf_addch(&link, '&');
            buf_add(&link, part, len);
        }
        part += len + (part[len] == '&');
    }
    answer_header(r, "Link", "<%s>; rel=\"next\"", link.ptr);
}

static bool takes_cursor(const struct endpoint *e)
{
    const struct value_rule *a = e->args;

    while (a && a->name && strcmp(a->name, "cursor"))
        a++;
    return a && a->name;
}

void answer_page(struct request *r, struct page *page, const char *next)
{
    struct buf b = BUF_INIT;

    if (page->full) {
        buf_release(&page->out);
        refuse_size(r);
        return;
    }
    buf_addstr(&b, "{\"items\":[");
    buf_addstr(&b, buf_cstr(&page->out));
    buf_addstr(&b, "],\"next\":");
    if (next) {
        json_quote(&b, next, strlen(next));
        if (takes_cursor(r->endpoint))
            add_next_link(r, next);
    } else {
        buf_addstr(&b, "null");
    }
    buf_addch(&b, '}');
    buf_release(&page->out);
    answer_buf(r, 200, "application/json", &b);
}

void answer_lines(struct request *r, int rc, struct page *page, const struct pawl_error *err)
{
    if (!rc) {
        answer_page(r, page, NULL);
        return;
    }
    buf_release(&page->out);
    answer_error(r, err);
}

void answer_document(struct request *r, int rc, char *json, const struct pawl_error *err)
{
    if (rc) {
        answer_error(r, err);
        return;
    }
    answer_json(r, 200, json);
    free(json);
}
