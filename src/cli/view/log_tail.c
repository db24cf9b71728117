/* log_tail.c - the last lines of an attempt's output, read incrementally. Escape sequences and
 * text overwritten after a carriage return are removed. */
#include "base/mem.h"
#include "cli/view/view.h"

#include <stdlib.h>
#include <string.h>

#define PAGE    16384
#define LONGEST 4000 /* bytes of a line that are kept */

static void end_line(struct tail *t)
{
    size_t slot = t->n++ % TAIL_LINES;

    free(t->lines[slot]);
    t->lines[slot] = mem_strdup(buf_cstr(&t->line));
    buf_reset(&t->line);
}

/* Whether a byte belongs to an escape sequence such as ESC [ …, up to and including its last
 * byte. */
static bool in_escape(struct tail *t, char c)
{
    if (c == '\033') {
        t->escape = 1;
        return true;
    }
    if (t->escape == 1) {
        t->escape = c == '[' ? 2 : 0;
        return true;
    }
    if (t->escape == 2 && c >= 0x40 && c <= 0x7E) {
        t->escape = 0;
        return true;
    }
    return t->escape == 2;
}

void tail_add(struct tail *t, const char *bytes, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        char c = bytes[i];

        if (in_escape(t, c))
            continue;
        if (c == '\n') {
            end_line(t);
        } else {
            if (t->returned)
                buf_reset(&t->line);
            if (c != '\r' && t->line.len < LONGEST)
                buf_addch(&t->line, c);
        }
        t->returned = c == '\r';
    }
}

int tail_refresh(struct pawl *p, struct tail *t, struct pawl_error *err)
{
    struct pawl_log_place at = {.execution = t->execution, .attempt = t->attempt, .from = t->at};
    struct pawl_log_page page;
    char bytes[PAGE];

    do {
        TRY(pawl_log(p, &at, bytes, sizeof(bytes), &page, err));
        if (page.dropped)
            buf_reset(&t->line);
        tail_add(t, bytes, page.len);
        t->at = at.from = page.next;
        t->attempt = at.attempt = page.attempt;
    } while (page.more);
    return 0;
}

size_t tail_count(const struct tail *t)
{
    return (t->n < TAIL_LINES ? t->n : TAIL_LINES) + (t->line.len > 0);
}

const char *tail_line(const struct tail *t, size_t i)
{
    size_t kept = t->n < TAIL_LINES ? t->n : TAIL_LINES;

    return i < kept ? t->lines[(t->n - kept + i) % TAIL_LINES] : buf_cstr(&t->line);
}

const char *tail_last(const struct tail *t)
{
    for (size_t i = tail_count(t); i > 0; i--)
        if (*tail_line(t, i - 1))
            return tail_line(t, i - 1);
    return "";
}

void tail_release(struct tail *t)
{
    for (size_t i = 0; i < TAIL_LINES; i++)
        free(t->lines[i]);
    buf_release(&t->line);
    *t = (struct tail){0};
}
