/* mask.c - see mask.h. */
#include "exec/mask.h"

#include "base/mem.h"

#include <string.h>

static void add_word(struct mask *m, const char *text, size_t len)
{
    size_t at;

    if (len < MASK_MIN)
        return;
    m->words = mem_realloc(m->words, (m->n + 1) * sizeof(*m->words));
    for (at = m->n; at > 0 && m->words[at - 1].len < len; at--)
        m->words[at] = m->words[at - 1];
    m->words[at].text = memcpy(mem_alloc(len), text, len);
    m->words[at].len = len;
    m->n++;
    m->first_bytes[(unsigned char)*text] = true;
}

void mask_add(struct mask *m, const char *secret)
{
    size_t len = strlen(secret), line = strcspn(secret, "\n");

    add_word(m, secret, len);
    if (line == len)
        return;
    for (; *secret; secret += line + (secret[line] == '\n')) {
        line = strcspn(secret, "\n");
        add_word(m, secret, line);
    }
}

/* The length of the word that starts here; 0 if none. Sets *cut if the text ends inside a word that
 * may start here. */
static size_t match_word(const struct mask *m, const char *text, size_t len, bool *cut)
{
    for (size_t i = 0; i < m->n; i++) {
        const struct mask_word *w = &m->words[i];

        if (w->len > len && memcmp(text, w->text, len) == 0) {
            *cut = true;
            return 0;
        }
        if (w->len <= len && memcmp(text, w->text, w->len) == 0)
            return w->len;
    }
    return 0;
}

static size_t mask_text(const struct mask *m, const char *text, size_t len, bool last,
                        struct buf *out)
{
    size_t i = 0, from = 0;

    while (i < len) {
        bool cut = false;
        size_t n = 0;

        if (m->first_bytes[(unsigned char)text[i]])
            n = match_word(m, text + i, len - i, &cut);
        if (cut && !last)
            break;
        /* At the end of the stream, a partly matched word can't be completed any more, but a
         * shorter word may match here. */
        for (size_t k = 0; cut && !n && k < m->n; k++)
            if (m->words[k].len <= len - i &&
                memcmp(text + i, m->words[k].text, m->words[k].len) == 0)
                n = m->words[k].len;
        if (!n) {
            i++;
            continue;
        }
        buf_add(out, text + from, i - from);
        buf_addstr(out, MASK_TEXT);
        i += n;
        from = i;
    }
    buf_add(out, text + from, i - from);
    return i;
}

void mask_feed(struct mask *m, const char *text, size_t len, struct buf *out)
{
    size_t used;

    if (!m->n) {
        buf_add(out, text, len);
        return;
    }
    if (m->pending.len) {
        buf_add(&m->pending, text, len);
        used = mask_text(m, m->pending.ptr, m->pending.len, false, out);
        memmove(m->pending.ptr, m->pending.ptr + used, m->pending.len - used);
        m->pending.len -= used;
        return;
    }
    used = mask_text(m, text, len, false, out);
    buf_add(&m->pending, text + used, len - used);
}

void mask_end(struct mask *m, struct buf *out)
{
    if (m->pending.len)
        mask_text(m, m->pending.ptr, m->pending.len, true, out);
    buf_reset(&m->pending);
}
