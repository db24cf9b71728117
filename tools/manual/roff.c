/* roff.c - formats text as a man page. */
#include "manual.h"

#include "pawl.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* Writes a multi-byte character by its number, so that the page is ASCII. */
static const char *add_wide(struct buf *b, const char *at)
{
    unsigned char lead = (unsigned char)*at++;
    uint32_t c = lead & (lead < 0xE0 ? 0x1Fu : lead < 0xF0 ? 0x0Fu : 0x07u);

    while ((*at & 0xC0) == 0x80)
        c = c << 6 | ((unsigned char)*at++ & 0x3Fu);
    if (c == 0x2026)
        buf_addstr(b, "...");
    else
        buf_addf(b, "\\[u%04X]", c);
    return at;
}

/* Adds one line of text. Backquotes switch bold on and off, unless `literal`. */
static void add_line(struct buf *b, const char *text, size_t len, bool literal)
{
    const char *end = text + len;
    bool bold = false;

    if (len && (*text == '.' || *text == '\''))
        buf_addstr(b, "\\&");
    while (text < end) {
        if ((unsigned char)*text >= 0x80) {
            text = add_wide(b, text);
            continue;
        }
        if (*text == '`' && !literal)
            buf_addstr(b, (bold = !bold) ? "\\fB" : "\\fR");
        else if (*text == '\\')
            buf_addstr(b, "\\e");
        else if (*text == '-')
            buf_addstr(b, "\\-");
        else if (*text == '~')
            buf_addstr(b, "\\(ti");
        else if (*text == '^')
            buf_addstr(b, "\\(ha");
        else if (*text == '\'')
            buf_addstr(b, "\\(aq");
        else if (*text == '`')
            buf_addstr(b, "\\(ga");
        else
            buf_addch(b, *text);
        text++;
    }
    buf_addch(b, '\n');
}

/* Escapes quotes, which would end the argument of a macro. */
static void add_argument(struct buf *b, const char *text)
{
    for (; *text; text++)
        if (*text == '"')
            buf_addstr(b, "\\(dq");
        else
            buf_addch(b, *text);
}

void roff_begin(struct buf *b, const char *name, const char *section, const char *summary)
{
    buf_addstr(b, ".\\\" generated from the tables in the code by tools/manual\n");
    buf_addf(b, ".TH \"%s\" %s \"\" \"Pawl %s\" \"Pawl\"\n", name, section, pawl_version());
    buf_addstr(b, ".nh\n.ad l\n.SH NAME\n");
    buf_addf(b, "%s \\- ", name);
    add_line(b, summary, strlen(summary), true);
}

void roff_section(struct buf *b, const char *title)
{
    buf_addstr(b, ".SH \"");
    add_argument(b, title);
    buf_addstr(b, "\"\n");
}

void roff_text(struct buf *b, const char *text)
{
    size_t len;

    buf_addstr(b, ".PP\n");
    for (; *text; text += len + (text[len] == '\n')) {
        len = strcspn(text, "\n");
        if (len)
            add_line(b, text, len, false);
        else
            buf_addstr(b, ".PP\n");
    }
}

void roff_item(struct buf *b, const char *term, const char *text)
{
    buf_addstr(b, ".TP\n\\fB");
    add_line(b, term, strlen(term), true);
    b->len--;
    buf_addstr(b, "\\fR\n");
    add_line(b, text, strlen(text), false);
}

void roff_code(struct buf *b, const char *lines)
{
    size_t len;

    buf_addstr(b, ".PP\n.RS 4\n.nf\n");
    for (; *lines; lines += len + (lines[len] == '\n')) {
        len = strcspn(lines, "\n");
        add_line(b, lines, len, true);
    }
    buf_addstr(b, ".fi\n.RE\n");
}
