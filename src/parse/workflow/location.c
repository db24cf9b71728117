/* location.c - finds the column in the file for an offset in a text. */
#include "parse/workflow/reader.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* The start of a line; NULL if the file has fewer newlines (YAML allows other line ends). */
static const char *line_start(const struct source *s, uint32_t line)
{
    const char *p = s->text, *end = s->text + s->len;

    for (; line > 1 && p; line--) {
        p = memchr(p, '\n', (size_t)(end - p));
        p = p ? p + 1 : NULL;
    }
    return p;
}

static uint32_t count_characters(const char *p, size_t len)
{
    uint32_t n = 0;
    size_t i;

    for (i = 0; i < len; i++)
        n += ((unsigned char)p[i] & 0xC0) != 0x80;
    return n;
}

/* The column of an offset, if the text appears in the file unchanged, on one line, with or without
 * quotes; else the column of its start. */
static uint32_t column_of(const struct source *s, const struct text_use *use, size_t offset)
{
    const char *p = line_start(s, use->line), *end = s->text + s->len;
    uint32_t i, quote;
    size_t step;

    for (i = 1; p && i < use->column && p < end; i++) {
        step = source_step(p, (size_t)(end - p));
        p += step ? step : 1;
    }
    if (!p || p >= end)
        return use->column;
    quote = *p == '"' || *p == '\'';
    p += quote;
    if ((size_t)(end - p) <= offset || memcmp(p, use->text, offset + 1) != 0 ||
        memchr(p, '\n', offset))
        return use->column;
    return use->column + quote + count_characters(p, offset);
}

void reader_error(struct reader *r, const struct text_use *use, size_t offset, const char *fmt, ...)
{
    const struct source *s = r->doc->source;
    struct diagnostics *ps = r->doc->diagnostics;
    char message[1024];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(message, sizeof(message), fmt, ap);
    va_end(ap);
    diagnostics_add(ps, s, use->line,
                    diagnostics_full(ps) ? use->column : column_of(s, use, offset), "%s", message);
}
