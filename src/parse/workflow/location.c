/* location.c - finds the column in the file for an offset in a string. */
#include "base/text.h"
#include "parse/workflow/reader.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* The column in the file of an offset in a string. If the string is not in the file unchanged and
 * in one line (with or without quotes), returns the column where the string starts. */
static uint32_t column_of(const struct source *s, const struct text_use *use, size_t offset)
{
    size_t left, quote;
    const char *p = source_at(s, use->line, use->column, &left);

    quote = left && (*p == '"' || *p == '\'');
    if (left - quote <= offset || memcmp(p + quote, use->text, offset + 1) != 0)
        return use->column;
    return use->column + (uint32_t)(quote + text_characters(p + quote, offset));
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
