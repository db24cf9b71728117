/* cmd_logs.c - pawl logs: prints the output of an attempt page by page, while it runs or
 * afterwards. */
#include "cli/cli.h"
#include "cli/follow.h"

#include "base/env.h"
#include "base/json.h"
#include "base/mem.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PAGE      65536
#define FOLLOW_MS 500 /* workers store output about once a second */

struct logs {
    int64_t id, attempt, tail; /* tail < 0 for all lines */
    bool follow, raw, json;

    int64_t skip; /* lines still to skip */
    bool in_line; /* the last byte did not end a line */
    bool half;    /* the last byte may start a two-byte control character */
    struct buf clean, rest;
};

/* ---- a page ---- */

/* Removes control characters except newlines and tabs, so that output can't control the
 * terminal. U+0080 to U+009F take two bytes, which may arrive in different pages. */
static void clean_bytes(struct logs *g, const char *bytes, size_t len)
{
    buf_reset(&g->clean);
    for (size_t i = 0; i < len; i++) {
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
    printf("%s[… %.*s bytes missing …]\n", g->in_line ? "\n" : "", (int)out, text);
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

/* Returns the length of the UTF-8 character at s; 0 if it may continue after the end, -1 if it is
 * invalid. */
static int utf8_length(const char *s, size_t len)
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

/* Converts output to text for JSON: invalid UTF-8 becomes U+FFFD; a character that continues in
 * the next page waits for it. */
static void add_text(struct logs *g, const char *bytes, size_t len, bool last, struct buf *out)
{
    size_t at = 0;

    buf_add(&g->rest, bytes, len);
    while (at < g->rest.len) {
        int n = utf8_length(g->rest.ptr + at, g->rest.len - at);

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
    AUTO_BUF b = BUF_INIT, text = BUF_INIT;

    add_text(g, bytes, len, page->ended && !page->more, &text);
    if (text.len || page->dropped) {
        buf_addf(&b, "{\"execution\":%lld,\"attempt\":%d,\"from\":%lld,\"dropped\":%lld,\"text\":",
                 (long long)g->id, page->attempt, (long long)(page->next - (int64_t)len),
                 (long long)page->dropped);
        json_quote(&b, buf_cstr(&text), text.len);
        printf("%s}\n", b.ptr);
    }
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

/* Counts the lines to skip so that the last `tail` remain. Also sets the attempt's number if none
 * was given, so that the next read does not find a newer attempt. */
static int count_lines(struct cli *c, struct logs *g, char *bytes)
{
    struct pawl_log_place at = {.execution = g->id, .attempt = (int)g->attempt};
    struct pawl_log_page page;
    int64_t lines = 0;
    bool in_line = false;

    do {
        TRY(pawl_log(c->p, &at, bytes, PAGE, &page, &c->err));
        lines += page.dropped && in_line;
        for (size_t i = 0; i < page.len; i++)
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

/* Explains why there is no output: workflows and fan-outs have none of their own. */
static void print_no_output(struct pawl *p, int64_t id)
{
    json_auto_t *v = NULL;

    if (show_object(p, id, &v, NULL))
        return;
    if (*field(v, "executor"))
        fprintf(stderr, "pawl: execution %lld has not started\n", (long long)id);
    else
        fprintf(stderr,
                "pawl: execution %lld is a %s and has no output of its own: `pawl tree %lld` shows "
                "the ids of its tasks\n",
                (long long)id, field(v, "kind"), (long long)id);
}

static int print_all(struct cli *c, struct logs *g, char *bytes, struct pawl_listener *l)
{
    struct pawl_log_place at = {.execution = g->id, .attempt = (int)g->attempt};
    struct pawl_log_page page;

    for (;;) {
        int rc = pawl_log(c->p, &at, bytes, PAGE, &page, &c->err);

        if (g->follow && follow_retries(c->p, rc))
            continue;
        if (rc)
            return rc;
        print_page(g, &page, bytes);
        at.from = page.next;
        at.attempt = page.attempt;
        if (page.more)
            continue;
        if (!g->follow || page.ended)
            break;
        follow_wait(c->p, l, FOLLOW_MS);
    }
    if (!page.attempt)
        print_no_output(c->p, g->id);
    else if (!page.next && !g->json)
        fprintf(stderr, "pawl: attempt %d of execution %lld %s\n", page.attempt, (long long)g->id,
                page.ended ? "has no stored output" : "has written nothing yet");
    return 0;
}

static int logs(struct cli *c, int64_t id)
{
    struct logs *g = c->values;
    struct pawl_listener *l = NULL;
    AUTO_FREE char *bytes = mem_alloc(PAGE);
    int rc = 0;

    if (g->attempt > INT_MAX)
        return cli_wrong("--attempt must be at most %d, not %lld", INT_MAX, (long long)g->attempt);
    g->id = id;
    g->json = c->json;
    g->raw |= !isatty(STDOUT_FILENO);
    if (g->follow && pawl_listen(c->p, PAWL_WAKE_EVENTS, &l, NULL))
        l = NULL; /* without a listener, polling is enough */
    if (g->tail >= 0)
        rc = count_lines(c, g, bytes);
    if (!rc)
        rc = print_all(c, g, bytes, l);
    pawl_listener_close(l);
    buf_release(&g->clean);
    buf_release(&g->rest);
    return rc;
}

static const struct option options[] = {
    {"attempt", OPTION_NUMBER, offsetof(struct logs, attempt), "N",
     "show this attempt; default: the last one"},
    {"tail", OPTION_NUMBER, offsetof(struct logs, tail), "N", "only the last N lines"},
    {"follow", OPTION_FLAG, offsetof(struct logs, follow), NULL,
     "keep printing new output until the attempt has ended"},
    {"raw", OPTION_FLAG, offsetof(struct logs, raw), NULL,
     "print all bytes, including control characters on a terminal"},
    {0},
};

static const struct logs defaults = {.tail = -1};

const struct command command_logs = {
    .name = "logs",
    .forms = "ID",
    .text = "print the output of an attempt (default: the last one)",
    .options = options,
    .size = sizeof(defaults),
    .defaults = &defaults,
    .examples = {{"pawl logs 17 --follow", "print output as it is written"},
                 {"pawl logs 17 --attempt 1 --tail 20", "the last lines of the first attempt"}},
    .least = 1,
    .most = 1,
    .run_id = logs,
    .reads = true,
};
