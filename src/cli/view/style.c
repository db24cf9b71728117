/* style.c - what a terminal can show, and lines cut to its width. */
#include "base/mem.h"
#include "cli/view/view.h"

#include <langinfo.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <wchar.h>

struct style style_of(FILE *to)
{
    const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");
    bool dumb = !term || !*term || !strcmp(term, "dumb");
    struct winsize size;
    struct style s = {.utf8 = !strcmp(nl_langinfo(CODESET), "UTF-8")};

    if (!isatty(fileno(to)))
        return s;
    s.color = !dumb && (!no_color || !*no_color);
    s.width = !ioctl(fileno(to), TIOCGWINSZ, &size) && size.ws_col ? size.ws_col : 80;
    return s;
}

/* ---- statuses ---- */

static const struct status_style {
    const char *status, *utf8, *ascii;
    enum tint tint;
} status_styles[] = {
    {"pending", "·", ".", TINT_FAINT}, {"ready", "◦", ".", TINT_PLAIN},
    {"running", "▸", ">", TINT_BUSY},  {"succeeded", "✔", "+", TINT_GOOD},
    {"failed", "✘", "x", TINT_BAD},    {"timed_out", "✘", "x", TINT_BAD},
    {"cancelled", "⊘", "-", TINT_BAD}, {"skipped", "○", "o", TINT_FAINT},
};

static const struct status_style *find_style(const char *status)
{
    const struct status_style *found = FIND_NAMED(status_styles, status);

    return found ? found : &status_styles[0];
}

const char *status_symbol(const char *status, const struct style *style)
{
    return style->utf8 ? find_style(status)->utf8 : find_style(status)->ascii;
}

enum tint status_tint(const char *status)
{
    return find_style(status)->tint;
}

/* ---- lines ---- */

static const char *const tints[] = {[TINT_PLAIN] = "",
                                    [TINT_GOOD] = "\033[32m",
                                    [TINT_BAD] = "\033[31m",
                                    [TINT_BUSY] = "\033[36m",
                                    [TINT_FAINT] = "\033[2m"};

void line_begin(struct line *l, const struct style *style)
{
    buf_reset(&l->text);
    *l = (struct line){.style = style, .text = l->text};
}

/* Ends a line in which the next character does not fit: replaces the character before it with an
 * ellipsis. */
static void cut(struct line *l)
{
    l->text.len = l->before;
    l->text.ptr[l->before] = 0;
    buf_addstr(&l->text, l->style->utf8 ? "…" : ">");
    l->cols = l->style->width;
    l->cut = true;
}

static void add_character(struct line *l, const char *bytes, size_t len, int cols)
{
    if (l->style->width && l->cols + cols > l->style->width) {
        cut(l);
        return;
    }
    if (l->cols < l->style->width)
        l->before = l->text.len;
    buf_add(&l->text, bytes, len);
    l->cols += cols;
}

static void add_clean(struct line *l, const char *text)
{
    size_t len = strlen(text), at = 0;
    mbstate_t state;

    while (at < len && !l->cut) {
        wchar_t c;
        size_t n;

        memset(&state, 0, sizeof(state));
        n = mbrtowc(&c, text + at, len - at, &state);
        if (n == 0 || n > len - at || (text[at] & 0x80 && !l->style->utf8)) {
            add_character(l, "?", 1, 1);
            at++;
            while (at < len && ((unsigned char)text[at] & 0xC0) == 0x80)
                at++; /* one "?" for the whole character */
            continue;
        }
        add_character(l, text + at, n, wcwidth(c) < 0 ? 1 : wcwidth(c));
        at += n;
    }
}

void line_add(struct line *l, enum tint tint, const char *text)
{
    bool tinted = l->style->color && tint != TINT_PLAIN;
    AUTO_BUF clean = BUF_INIT;

    if (l->cut || !*text)
        return;
    out_clean(&clean, text);
    if (tinted)
        buf_addstr(&l->text, tints[tint]);
    add_clean(l, buf_cstr(&clean));
    if (tinted)
        buf_addstr(&l->text, "\033[0m");
}

void line_addf(struct line *l, enum tint tint, const char *fmt, ...)
{
    char text[1024];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    line_add(l, tint, text);
}

void line_print(struct line *l, FILE *to)
{
    fprintf(to, "%s\n", buf_cstr(&l->text));
    line_begin(l, l->style);
}

void line_release(struct line *l)
{
    buf_release(&l->text);
}
