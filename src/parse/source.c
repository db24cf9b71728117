/* source.c - reads a user's file, and finds and shows a location in it; see source.h. */
#include "parse/source.h"

#include "base/fd.h"
#include "base/ownership.h"
#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define HIDDEN      "***"
#define SHOWN_WIDTH 100  /* characters of a line that are shown */
#define CONTEXT     1024 /* bytes of the line before and after the location that are examined */

/* The reason why a file is not read: reading a FIFO or a device could block, or never end. NULL for
 * a plain file, for /dev/null, which is an empty file, and for a folder, which read(2) refuses. */
static const char *why_unreadable(const struct stat *st)
{
    if (S_ISREG(st->st_mode) || S_ISDIR(st->st_mode))
        return NULL;
    if (S_ISCHR(st->st_mode) && st->st_rdev == makedev(1, 3))
        return NULL;
    return S_ISFIFO(st->st_mode) ? "it is a FIFO" : "it is a device";
}

/* Refuses a file that other users can change, directly or through a symbolic link that leads to
 * it. */
static int refuse_foreign(const char *path, const struct stat *st, struct err *err)
{
    char text[OWNERSHIP_FAULT_SIZE];
    const char *fault = S_ISREG(st->st_mode) ? ownership_fault(st, text) : NULL;

    if (!fault && ownership_has_foreign_link(path))
        fault = "a symbolic link of another user leads to it";
    return fault
               ? err_set(err, E_INVALID,
                         "%s is refused, because %s: a configuration file must be writable only by "
                         "you and root (chown, chmod go-w)",
                         path, fault)
               : 0;
}

/* Opens a file. O_NONBLOCK is needed because opening a FIFO would otherwise wait for a writer. */
static int open_source(const char *path, bool is_config, int *out, struct stat *st, struct err *err)
{
    AUTO_FD fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    const char *why = NULL;
    int rc;

    if (fd < 0 || fstat(fd, st))
        why = errno == ENXIO ? "it is a socket" : strerror(errno);
    else
        why = why_unreadable(st);
    if (why)
        return err_set(err,
                       fd < 0 && (errno == ENOENT || errno == ENOTDIR) ? E_NOT_FOUND : E_INVALID,
                       "%s can't be read: %s", path, why);
    if (is_config && (rc = refuse_foreign(path, st, err)))
        return rc;
    *out = fd;
    fd = -1;
    return 0;
}

static const char *reason_to_hide(const char *path, const struct stat *st,
                                  const struct source *named_by)
{
    if (!ownership_is_ours(st))
        return NULL;
    if (named_by && (named_by->is_foreign || named_by->hidden))
        return "a file of another user names it";
    return ownership_has_foreign_link(path) ? "a symbolic link of another user leads to it" : NULL;
}

static int read_source(const char *path, bool is_config, const struct source *named_by,
                       struct arena *arena, struct source *out, struct err *err)
{
    AUTO_BUF b = BUF_INIT;
    AUTO_FD fd = -1;
    struct stat st;
    int rc = open_source(path, is_config, &fd, &st, err);

    if (rc)
        return rc;
    if (!buf_read(&b, fd, SOURCE_MAX))
        return err_set(err, E_INVALID, "%s can't be read: %s", path, strerror(errno));
    if (b.len > SOURCE_MAX)
        return err_set(err, E_INVALID, "%s is longer than %d MB", path, SOURCE_MAX_MB);
    *out = (struct source){.name = arena_strdup(arena, path),
                           .text = arena_memdup0(arena, b.ptr, b.len),
                           .len = b.len,
                           .is_foreign = !ownership_is_ours(&st),
                           .hidden = reason_to_hide(path, &st, named_by)};
    return 0;
}

int source_read(const char *path, const struct source *named_by, struct arena *arena,
                struct source *out, struct err *err)
{
    return read_source(path, false, named_by, arena, out, err);
}

int source_read_config(const char *path, struct arena *arena, struct source *out, struct err *err)
{
    return read_source(path, true, NULL, arena, out, err);
}

/* ---- locations ---- */

/* The length of the line break at p; 0 if there is none. NEL, LS and PS end a line, too, as in
 * libyaml, whose line numbers are used here. */
static size_t break_at(const char *p, size_t left)
{
    if (*p == '\n')
        return 1;
    if (*p == '\r')
        return left > 1 && p[1] == '\n' ? 2 : 1;
    if (left > 1 && !memcmp(p, "\xC2\x85", 2))
        return 2;
    return left > 2 && (!memcmp(p, "\xE2\x80\xA8", 3) || !memcmp(p, "\xE2\x80\xA9", 3)) ? 3 : 0;
}

/* The number of bytes from p to the end of its line. */
static size_t line_length(const char *p, size_t left)
{
    size_t n = 0;

    /* Fast path: no line break can start at bytes other than these four. */
    while (n < left && ((p[n] != '\n' && p[n] != '\r' && p[n] != '\xC2' && p[n] != '\xE2') ||
                        !break_at(p + n, left - n)))
        n++;
    return n;
}

void source_location(const struct source *s, size_t offset, uint32_t *line, uint32_t *column)
{
    size_t at = 0, n;

    *line = *column = 1;
    while (at < offset && at < s->len) {
        n = break_at(s->text + at, s->len - at);
        if (n) {
            ++*line;
            *column = 1;
        } else {
            n = text_step(s->text + at, s->len - at);
            ++*column;
        }
        at += n ? n : 1;
    }
}

/* ---- display ---- */

static void add_char(struct buf *out, const char *p, size_t n)
{
    if (text_is_hidden(p, n))
        buf_addch(out, ' ');
    else
        buf_add(out, p, n);
}

/* The length of the password that starts at line[at], which follows "://USER:" and ends before the
 * last @ of the word. 0 if no password starts there. */
static size_t password_at(const char *line, size_t len, size_t at)
{
    size_t begin, end, n = 0;

    if (!at || line[at - 1] != ':')
        return 0;
    for (begin = at - 1; begin && !strchr(" \t/@:", line[begin - 1]); begin--)
        ;
    if (begin < 3 || memcmp(line + begin - 3, "://", 3))
        return 0;
    for (end = at; end < len && !strchr(" \t", line[end]); end++)
        if (line[end] == '@')
            n = end - at;
    return n;
}

void source_add_visible(struct buf *out, const char *s, size_t len)
{
    size_t at = 0, n;

    for (; at < len; at += n ? n : 1) {
        if ((n = password_at(s, len, at))) {
            buf_addstr(out, HIDDEN);
            continue;
        }
        n = text_step(s + at, len - at);
        if (n)
            add_char(out, s + at, n);
    }
}

/* A line as it is displayed: its text, the offset of each character in `text`, and the index of the
 * character that the caret points at. */
struct visible_line {
    struct buf text;
    VEC(size_t) starts;
    size_t caret;
};

static void make_visible(struct visible_line *w, const char *line, size_t len, size_t target)
{
    size_t at = 0, n, hidden;

    w->caret = SIZE_MAX;
    for (; at < len; at += n) {
        hidden = password_at(line, len, at);
        n = hidden ? hidden : text_step(line + at, len - at);
        if (target >= at && target < at + (n ? n : 1))
            w->caret = w->starts.n;
        *vec_add(&w->starts) = w->text.len;
        if (hidden)
            buf_addstr(&w->text, HIDDEN);
        else if (n)
            add_char(&w->text, line + at, n);
        else
            buf_addch(&w->text, '?');
        n += !n;
    }
    if (w->caret > w->starts.n)
        w->caret = w->starts.n;
    *vec_add(&w->starts) = w->text.len;
}

static const char *find_line(const struct source *s, uint32_t line, size_t *len)
{
    size_t at = 0, n;

    for (; line > 1 && at < s->len; line--) {
        at += line_length(s->text + at, s->len - at);
        n = at < s->len ? break_at(s->text + at, s->len - at) : 0;
        if (!n)
            return NULL;
        at += n;
    }
    *len = line_length(s->text + at, s->len - at);
    return s->text + at;
}

/* The number of bytes before a column of the line; the length of the line if it has fewer
 * columns. */
static size_t column_offset(const char *line, size_t len, uint32_t column)
{
    size_t at = 0, n;

    for (; column > 1 && at < len; column--) {
        n = text_step(line + at, len - at);
        at += n ? n : 1;
    }
    return at;
}

const char *source_at(const struct source *s, uint32_t line, uint32_t column, size_t *len)
{
    const char *p = find_line(s, line, len);
    size_t at = p ? column_offset(p, *len, column) : 0;

    *len = p ? *len - at : 0;
    return p ? p + at : "";
}

/* The display width of the characters from `a` to `b`. A hidden password is one character, but is
 * displayed as HIDDEN, which is wider. */
static size_t width(const struct visible_line *w, size_t a, size_t b)
{
    return text_characters(buf_cstr(&w->text) + w->starts.at[a], w->starts.at[b] - w->starts.at[a]);
}

void source_show(const struct source *s, uint32_t line, uint32_t column, struct buf *out)
{
    struct visible_line w = {.text = BUF_INIT};
    size_t len = 0, from = 0, to, count, target, skipped = 0;
    const char *p = s->hidden ? NULL : find_line(s, line, &len);
    char number[16];

    if (!p)
        return;
    target = column_offset(p, len, column);
    if (target > CONTEXT)
        for (skipped = target - CONTEXT; ((unsigned char)p[skipped] & 0xC0) == 0x80; skipped++)
            ;
    if (len - target > CONTEXT)
        len = target + CONTEXT;
    make_visible(&w, p + skipped, len - skipped, target - skipped);
    count = w.starts.n - 1;
    if (w.caret > SHOWN_WIDTH * 3 / 4)
        from = w.caret - SHOWN_WIDTH / 2;
    to = count - from > SHOWN_WIDTH ? from + SHOWN_WIDTH : count;
    snprintf(number, sizeof(number), "%6u", line);
    buf_addf(out, "%s | %s", number, from ? "…" : "");
    buf_add(out, buf_cstr(&w.text) + w.starts.at[from], w.starts.at[to] - w.starts.at[from]);
    buf_addf(out, "%s\n%*s | %*s^\n", to < count ? "…" : "", (int)strlen(number), "",
             (int)(width(&w, from, w.caret > to ? to : w.caret) + (from > 0)), "");
    buf_release(&w.text);
    vec_release(&w.starts);
}
