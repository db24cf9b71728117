/* logs.c - endpoints that read the output of attempts, and search it. */
#include "base/json.h"
#include "base/text.h"
#include "server/server.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define LOG_DEFAULT    (64 << 10)
#define LOG_MAX        (1 << 20)
#define FOUND_DEFAULT  100
/* One request searches so much, so that a reader of a large log does not keep a thread. */
#define SEARCH_BYTES   (16 << 20)
#define LINE_MAX_BYTES (1 << 20) /* a longer line is searched in parts */
#define SHOWN_BYTES    400       /* of a line that was found */

/* ---- read ---- */

/* Answers with the output itself. Headers describe its place in the whole output: a client
 * continues at Pawl-Log-Next. */
static void logs(struct request *r)
{
    struct pawl_log_place place = {.attempt = (int)value_int(&r->args, "attempt"),
                                   .from = value_int(&r->args, "from")};
    int64_t limit = value_int(&r->args, "limit");
    size_t size = limit ? (size_t)limit : LOG_DEFAULT;
    struct pawl_log_page page;
    struct pawl_error err = {0};
    struct buf b = BUF_INIT;

    if (!path_id(r, &place.execution))
        return;
    buf_reserve(&b, size);
    if (pawl_log(r->p, &place, b.ptr, size, &page, &err)) {
        buf_release(&b);
        answer_error(r, &err);
        return;
    }
    b.len = page.len;
    b.ptr[b.len] = '\0';
    answer_header(r, "Pawl-Log-Attempt", "%d", page.attempt);
    answer_header(r, "Pawl-Log-From", "%lld", (long long)page.from);
    answer_header(r, "Pawl-Log-Next", "%lld", (long long)page.next);
    answer_header(r, "Pawl-Log-Dropped", "%lld", (long long)page.dropped);
    answer_header(r, "Pawl-Log-More", "%s", page.more ? "true" : "false");
    answer_header(r, "Pawl-Log-Ended", "%s", page.ended ? "true" : "false");
    answer_buf(r, 200, "application/octet-stream", &b);
}

/* ---- search ---- */

struct search {
    const char *text; /* in lower case */
    size_t len;
    int64_t found, limit;
    int64_t at;      /* offset of the line that begins with `rest` */
    struct buf rest; /* bytes of an unfinished line */
    struct buf lines;
};

/* A line as JSON text: without bytes that are not UTF-8, and not longer than a reader wants. */
static void add_found(struct search *s, const char *line, size_t n)
{
    AUTO_BUF b = BUF_INIT;

    buf_add(&b, line, n < SHOWN_BYTES ? n : SHOWN_BYTES);
    for (size_t i = 0; i < b.len; i++)
        if (!b.ptr[i])
            b.ptr[i] = ' ';
    text_make_utf8((char *)buf_cstr(&b));
    buf_addf(&s->lines, "%s{\"byte\":%lld,\"text\":", s->found++ ? "," : "", (long long)s->at);
    json_quote(&s->lines, b.ptr ? b.ptr : "", b.ptr ? strlen(b.ptr) : 0);
    buf_addch(&s->lines, '}');
}

static void search_line(struct search *s, const char *line, size_t n)
{
    AUTO_BUF lower = BUF_INIT;

    buf_add(&lower, line, n);
    for (size_t i = 0; i < n; i++)
        lower.ptr[i] = (char)tolower((unsigned char)lower.ptr[i]);
    if (n && memmem(lower.ptr, n, s->text, s->len))
        add_found(s, line, n);
}

static void end_line(struct search *s, size_t with_newline)
{
    search_line(s, s->rest.ptr, s->rest.len);
    s->at += (int64_t)(s->rest.len + with_newline);
    buf_reset(&s->rest);
}

/* Searches what was read. Stops at the start of a line if enough lines were found. */
static void search_bytes(struct search *s, const char *bytes, size_t n)
{
    while (n && s->found < s->limit) {
        const char *end = memchr(bytes, '\n', n);
        size_t part = end ? (size_t)(end - bytes) : n;

        buf_add(&s->rest, bytes, part);
        if (end || s->rest.len >= LINE_MAX_BYTES)
            end_line(s, end ? 1 : 0);
        part += end ? 1 : 0;
        bytes += part;
        n -= part;
    }
}

static void answer_search(struct request *r, struct search *s, const struct pawl_log_page *page,
                          bool more)
{
    struct buf b = BUF_INIT;
    struct json_writer w = JSON_WRITER(&b);

    json_write_begin(&w, '{');
    json_field_i64(&w, "attempt", page->attempt);
    json_write_key(&w, "items");
    json_write_raw(&w, "[");
    buf_addf(&b, "%s]", buf_cstr(&s->lines));
    json_write_key(&w, "next");
    if (more)
        json_write_i64(&w, s->at);
    else
        json_write_raw(&w, "null");
    json_write_end(&w, '}');
    answer_buf(r, 200, "application/json", &b);
}

static int search_pages(struct request *r, struct search *s, struct pawl_log_place *place,
                        struct pawl_log_page *page, struct pawl_error *err)
{
    AUTO_FREE char *chunk = mem_alloc(LOG_MAX);
    int64_t until = place->from + SEARCH_BYTES;

    do {
        if (pawl_log(r->p, place, chunk, LOG_MAX, page, err))
            return -err->code;
        if (page->dropped) {
            end_line(s, 0);
            s->at = page->from;
        }
        search_bytes(s, chunk, page->len);
        place->from = page->next;
        place->attempt = page->attempt;
    } while (page->more && page->next < until && s->found < s->limit);
    return 0;
}

static void search(struct request *r)
{
    struct pawl_log_place place = {.attempt = (int)value_int(&r->args, "attempt"),
                                   .from = value_int(&r->args, "from")};
    const char *text = value_text(&r->args, "text");
    int64_t limit = value_int(&r->args, "limit");
    char *lower = arena_strdup(&r->arena, text);
    struct search s = {.text = lower,
                       .len = strlen(lower),
                       .at = place.from,
                       .limit = limit ? limit : FOUND_DEFAULT};
    struct pawl_log_page page = {0};
    struct pawl_error err = {0};

    for (char *c = lower; *c; c++)
        *c = (char)tolower((unsigned char)*c);
    if (!path_id(r, &place.execution))
        return;
    if (search_pages(r, &s, &place, &page, &err)) {
        answer_error(r, &err);
    } else {
        bool more = page.more || s.found >= s.limit;

        if (!more)
            end_line(&s, 0); /* the last line, which may have no end yet */
        answer_search(r, &s, &page, more);
    }
    buf_release(&s.rest);
    buf_release(&s.lines);
}

static const struct value_rule log_args[] = {
    RULE("attempt", INT, "the last attempt if not given", .min = 1, .max = INT32_MAX),
    RULE("from", INT, "the first byte to read: its offset in the whole output", .min = 0,
         .max = INT64_MAX),
    RULE("limit", INT, "bytes to read; 65536 if not given", .min = 1, .max = LOG_MAX),
    {0}};

static const struct value_rule search_args[] = {
    RULE("text", TEXT, "what a line contains; letters from A to Z match in both cases", .min = 1,
         .max = 200, .required = true),
    RULE("attempt", INT, "the last attempt if not given", .min = 1, .max = INT32_MAX),
    RULE("from", INT, "where to begin: 0, or `next` of the answer before", .min = 0,
         .max = INT64_MAX),
    RULE("limit", INT, "lines to find; 100 if not given", .min = 1, .max = LIST_MAX),
    {0}};

#define READ PAWL_SCOPE_READ, PLANE_READ
const struct endpoint log_endpoints[] = {
    {"GET", "/v1/executions/{id}/logs", "getLogs",
     "Reads the output of an attempt, during and after its run.", READ, log_args, .answer = "",
     .answer_type = "application/octet-stream", .status = 200, .run = logs},
    {"GET", "/v1/executions/{id}/logs/search", "searchLogs",
     "Finds the lines of an attempt's output that contain a text. One request searches at most 16 MB: continue at `next` "
     "until it is null.",
     READ, search_args, .answer = "FoundLines", .status = 200, .run = search},
    {0},
};
