/* cmd_logs.c - pawl logs: the output of an attempt, while it runs and after, a page at a time. */
#include "cli/cli.h"

#include "base/env.h"
#include "base/json.h"
#include "base/mem.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PAGE      65536
#define FOLLOW_MS 500 /* output comes in about once a second */

struct logs {
    int64_t id, attempt, tail; /* tail < 0: all */
    bool follow, raw, json;

    int64_t skip; /* lines before those that are wanted */
    bool in_line; /* the last byte did not end a line */
    bool half;    /* the last byte begins a control character of two */
    struct buf clean, rest;
};

/* ---- a page ---- */

/* For a terminal: no control characters but the ends of lines and tabs, so that output can't drive
 * it. Those from U+0080 to U+009F have two bytes, which may come in two pages. */
static void clean_bytes(struct logs *g, const char *bytes, size_t len)
{
    size_t i;

    buf_reset(&g->clean);
    for (i = 0; i < len; i++) {
        unsigned char c = (unsigned char)bytes[i];

        if (g->half && (c < 0x80 || c > 0x9F))
            buf_addch(&g->clean, (char)0xC2);
        if (c == 0xC2) {
            g->half = true;
            continue;
        }
        if ((c >= 0x20 && c != 0x7F && !(g->half && c >= 0x80 && c <= 0x9F)) || c == '\n' ||
            c == '\t')
            buf_addch(&g->clean, (char)c);
        g->half = false;
    }
}

static void print_gap(struct logs *g, int64_t bytes)
{
    char digits[32], text[48];
    size_t n = (size_t)snprintf(digits, sizeof(digits), "%lld", (long long)bytes), i, out = 0;

    for (i = 0; i < n; i++) {
        if (i && (n - i) % 3 == 0)
            text[out++] = ',';
        text[out++] = digits[i];
    }
    printf("%s[… %.*s bytes left out …]\n", g->in_line ? "\n" : "", (int)out, text);
    g->in_line = false;
}

static void print_bytes(struct logs *g, const char *bytes, size_t len)
{
    if (!g->raw) {
        clean_bytes(g, bytes, len);
        bytes = buf_cstr(&g->clean);
        len = g->clean.len;
    }
    fwrite(bytes, 1, len, stdout);
    if (len)
        g->in_line = bytes[len - 1] != '\n';
}

/* How many bytes of a character at s are there: 0 if it may go on behind the end, -1 if it is none.
 */
static int character(const char *s, size_t len)
{
    unsigned char c = (unsigned char)*s;
    size_t need = c < 0x80 ? 1 : c < 0xE0 ? 2 : c < 0xF0 ? 3 : 4, i;

    if ((c >= 0x80 && c < 0xC2) || c > 0xF4)
        return -1;
    for (i = 1; i < need && i < len; i++)
        if (((unsigned char)s[i] & 0xC0) != 0x80)
            return -1;
    if (need > len)
        return 0;
    return need == 1 || text_is_utf8(s, need) ? (int)need : -1;
}

/* Text for JSON: what is no UTF-8 becomes U+FFFD; a character that goes on in the next page waits
 * for it. */
static void add_text(struct logs *g, const char *bytes, size_t len, bool last, struct buf *out)
{
    size_t at = 0;

    buf_add(&g->rest, bytes, len);
    while (at < g->rest.len) {
        int n = character(g->rest.ptr + at, g->rest.len - at);

        if (!n && !last)
            break;
        if (n > 0)
            buf_add(out, g->rest.ptr + at, (size_t)n);
        else
            buf_addstr(out, "\xEF\xBF\xBD");
        at += n > 0 ? (size_t)n : 1;
    }
    if (g->rest.len)
        memmove(g->rest.ptr, g->rest.ptr + at, g->rest.len - at);
    g->rest.len -= at;
}

static void print_json(struct logs *g, const struct pawl_log_page *page, const char *bytes,
                       size_t len)
{
    struct buf b = BUF_INIT, text = BUF_INIT;

    add_text(g, bytes, len, page->ended && !page->more, &text);
    if (text.len || page->dropped) {
        buf_addf(&b, "{\"execution\":%lld,\"attempt\":%d,\"from\":%lld,\"dropped\":%lld,\"text\":",
                 (long long)g->id, page->attempt, (long long)(page->next - (int64_t)len),
                 (long long)page->dropped);
        json_quote(&b, buf_cstr(&text), text.len);
        printf("%s}\n", b.ptr);
    }
    buf_release(&b);
    buf_release(&text);
}

static void print_page(struct logs *g, const struct pawl_log_page *page, const char *bytes)
{
    size_t at = 0;

    if (g->skip && page->dropped && g->in_line) {
        g->skip--; /* a gap ends the line before it */
        g->in_line = false;
    }
    for (; g->skip && at < page->len; at++)
        g->skip -= bytes[at] == '\n';
    if (at)
        g->in_line = bytes[at - 1] != '\n';
    if (page->len && at == page->len)
        return;
    if (g->json) {
        print_json(g, page, bytes + at, page->len - at);
        return;
    }
    if (page->dropped && !at)
        print_gap(g, page->dropped);
    print_bytes(g, bytes + at, page->len - at);
}

/* ---- all pages ---- */

/* How many lines to leave out, so that the last `tail` remain. The number of an attempt that was
 * not named is fixed here, too: the next look must not find another one. */
static int count_lines(struct pawl *p, struct logs *g, char *bytes, struct pawl_error *err)
{
    struct pawl_log_place at = {.execution = g->id, .attempt = (int)g->attempt};
    struct pawl_log_page page;
    int64_t lines = 0;
    bool in_line = false;
    size_t i;
    int rc;

    do {
        if ((rc = pawl_log(p, &at, bytes, PAGE, &page, err)))
            return rc;
        lines += page.dropped && in_line;
        for (i = 0; i < page.len; i++)
            lines += bytes[i] == '\n';
        if (page.len)
            in_line = bytes[page.len - 1] != '\n';
        at.from = page.next;
        at.attempt = page.attempt;
    } while (page.more);
    g->attempt = page.attempt;
    g->skip = lines + in_line > g->tail ? lines + in_line - g->tail : 0;
    return 0;
}

static void wait_for_more(struct pawl_listener *l)
{
    fflush(stdout);
    if (l)
        pawl_listener_wait(l, FOLLOW_MS);
    else
        clock_sleep_us(FOLLOW_MS * 1000LL);
}

/* Workflows and fan-outs have none of their own. */
static void print_no_output(struct pawl *p, int64_t id)
{
    char *json;
    json_t *v;

    if (pawl_show(p, id, &json, NULL))
        return;
    v = parse_object(json);
    if (*field(v, "executor"))
        fprintf(stderr, "pawl: execution %lld was not started\n", (long long)id);
    else
        fprintf(stderr,
                "pawl: execution %lld is a %s: what its tasks wrote is in theirs (`pawl tree %lld` "
                "shows their ids)\n",
                (long long)id, field(v, "kind"), (long long)id);
    json_decref(v);
    free(json);
}

static int print_all(struct pawl *p, struct logs *g, char *bytes, struct pawl_listener *l,
                     struct pawl_error *err)
{
    struct pawl_log_place at = {.execution = g->id, .attempt = (int)g->attempt};
    struct pawl_log_page page;
    int rc;

    for (;;) {
        if ((rc = pawl_log(p, &at, bytes, PAGE, &page, err)))
            return rc;
        print_page(g, &page, bytes);
        at.from = page.next;
        at.attempt = page.attempt;
        if (page.more)
            continue;
        if (!g->follow || page.ended)
            break;
        wait_for_more(l);
    }
    if (!page.attempt)
        print_no_output(p, g->id);
    else if (!page.next && !g->json)
        fprintf(stderr, "pawl: attempt %d of execution %lld %s\n", page.attempt, (long long)g->id,
                page.ended ? "wrote nothing, or nothing of it is kept" : "has written nothing yet");
    return 0;
}

static int logs(struct pawl *p, const char *which, struct logs *g)
{
    struct pawl_listener *l = NULL;
    struct pawl_error err;
    char *bytes;
    int rc = 0, code = cli_id(p, which, &g->id);

    if (code)
        return code;
    if (g->attempt > INT_MAX)
        return cli_wrong("there is no attempt %lld", (long long)g->attempt);
    bytes = mem_alloc(PAGE);
    if (g->follow && pawl_listen(p, PAWL_WAKE_EVENTS, &l, NULL))
        l = NULL; /* looking by ourselves will do */
    if (g->tail >= 0)
        rc = count_lines(p, g, bytes, &err);
    if (!rc)
        rc = print_all(p, g, bytes, l, &err);
    pawl_listener_close(l);
    free(bytes);
    buf_release(&g->clean);
    buf_release(&g->rest);
    return rc ? cli_fail(&err) : 0;
}

static const struct option options[] = {
    {"attempt", OPTION_NUMBER, offsetof(struct logs, attempt), "N", "of this attempt"},
    {"tail", OPTION_NUMBER, offsetof(struct logs, tail), "N", "only the last so many lines"},
    {"follow", OPTION_FLAG, offsetof(struct logs, follow), NULL,
     "go on with what comes, until it has ended"},
    {"raw", OPTION_FLAG, offsetof(struct logs, raw), NULL,
     "bytes as they are, also control characters on a terminal"},
    {0},
};

static int cmd_logs(int argc, char **argv)
{
    struct logs g = {.tail = -1};
    struct cli c;
    struct pawl *p;
    int code = cli_begin(&c, &command_logs, argc, argv, &g);

    if (code >= 0)
        return code;
    g.json = c.json;
    g.raw |= !isatty(STDOUT_FILENO);
    if (!(code = cli_open(&c, &p))) {
        code = logs(p, c.words[0], &g);
        pawl_close(p);
    }
    cli_end(&c);
    return cli_done(code);
}

const struct command command_logs = {
    .name = "logs",
    .forms = "ID",
    .text = "print what an attempt wrote (the last one, unless another is named)",
    .options = options,
    .examples = {{"pawl logs 17 --follow", "what it writes, while it runs"},
                 {"pawl logs 17 --attempt 1 --tail 20", "how the first attempt ended"}},
    .least = 1,
    .most = 1,
    .run = cmd_logs,
};
