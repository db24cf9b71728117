/* fault.c - builds the faults of expressions: sentence, location and excerpt. A sentence never
 * contains a line break and is never cut within a character. */
#include "core/expr/expr_internal.h"

#include "base/suggest.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define EXCERPT_MAX    100 /* bytes */
/* At most this many bytes of the excerpt are before the location of the fault. */
#define EXCERPT_BEFORE 60

static bool is_continuation(char c)
{
    return ((unsigned char)c & 0xC0) == 0x80;
}

int expr_cut(const char *text, size_t len, size_t max)
{
    if (len <= max)
        return (int)len;
    while (max > 0 && is_continuation(text[max]))
        max--;
    return (int)max;
}

const char *expr_did_you_mean(const char *word, const char *const *list, struct buf *out)
{
    /* Any two single letters are close to each other, so suggest nothing for one letter. */
    const char *meant = word[0] && word[1] ? suggest_from(word, list) : NULL;

    if (meant)
        buf_addf(out, "; did you mean '%.*s'?", expr_cut(meant, strlen(meant), 40), meant);
    return buf_cstr(out);
}

static void set_location(struct expr_fault *fault, const struct expr_text *text, size_t offset)
{
    fault->offset = offset;
    fault->file = text->file;
    fault->line = text->line ? text->line : 1;
    fault->column = text->column ? text->column : 1;
    for (size_t i = 0; i < offset && i < text->len; i++) {
        if (text->at[i] == '\n') {
            fault->line++;
            fault->column = 1;
        } else if (!is_continuation(text->at[i])) {
            fault->column++;
        }
    }
}

static void one_line(char *s)
{
    for (; *s; s++)
        if ((unsigned char)*s < ' ' || *s == 0x7F)
            *s = ' ';
}

/* Sets the fault's excerpt: the whole expression, or the part around the offset if the expression
 * is long. */
static void set_excerpt(struct expr_fault *fault, const struct expr_range *in, size_t offset)
{
    const char *text = in->text.at;
    size_t begin = in->begin, end = in->end, cut;

    while (begin < end && strchr(" \t\r\n", text[begin]))
        begin++;
    while (end > begin && strchr(" \t\r\n", text[end - 1]))
        end--;
    cut = begin;
    if (offset > begin + EXCERPT_BEFORE && end - begin > EXCERPT_MAX)
        cut = offset - EXCERPT_BEFORE;
    while (cut > begin && is_continuation(text[cut]))
        cut--;
    if (cut > end)
        cut = end;
    snprintf(fault->excerpt, sizeof(fault->excerpt), "%s%.*s%s", cut > begin ? "…" : "",
             expr_cut(text + cut, end - cut, EXCERPT_MAX), text + cut,
             end - cut > EXCERPT_MAX ? "…" : "");
    one_line(fault->excerpt);
}

int expr_fault_set(struct expr_fault *fault, const struct expr_range *in, size_t offset,
                   const char *fmt, ...)
{
    size_t room = sizeof(fault->what), last;
    va_list ap;
    int len;

    va_start(ap, fmt);
    len = vsnprintf(fault->what, room, fmt, ap);
    va_end(ap);
    if (len >= (int)room) { /* the end of the cut text may be an incomplete character */
        for (last = room - 1; last > 0 && is_continuation(fault->what[last - 1]); last--)
            ;
        if (last > 0 && (unsigned char)fault->what[last - 1] >= 0xC0)
            last--;
        fault->what[last] = '\0';
    }
    one_line(fault->what);
    set_location(fault, &in->text, offset);
    set_excerpt(fault, in, offset);
    return -E_INVALID;
}

int expr_fault_err(const struct expr_fault *fault, struct err *err)
{
    if (fault->file)
        return err_set(err, E_INVALID, "%s:%u:%u: %s (in: %s)", fault->file, fault->line,
                       fault->column, fault->what, fault->excerpt);
    if (!fault->line)
        return err_set(err, E_INVALID, "%s (in: %s)", fault->what, fault->excerpt);
    return err_set(err, E_INVALID, "line %u, column %u: %s (in: %s)", fault->line, fault->column,
                   fault->what, fault->excerpt);
}
