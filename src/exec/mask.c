/* mask.c - replaces secrets in a stream of text; see mask.h. */
#include "exec/mask.h"

#include "base/mem.h"

#include <stdlib.h>
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

/* Length of the longest secret that the text starts with; 0 if none. */
static size_t word_at(const struct mask *m, const char *text, size_t len)
{
    if (m->first_bytes[(unsigned char)*text])
        for (size_t i = 0; i < m->n; i++)
            if (m->words[i].len <= len && !memcmp(text, m->words[i].text, m->words[i].len))
                return m->words[i].len;
    return 0;
}

/* Whether the whole text may be the start of a secret that continues in the next piece, and so is
 * longer than any secret that the text starts with. */
static bool is_cut(const struct mask *m, const char *text, size_t len)
{
    if (m->first_bytes[(unsigned char)*text])
        for (size_t i = 0; i < m->n && m->words[i].len > len; i++)
            if (!memcmp(text, m->words[i].text, len))
                return true;
    return false;
}

/* Returns how many bytes of the text were used: all of them if `last`. */
static size_t mask_text(const struct mask *m, const char *text, size_t len, bool last,
                        struct buf *out)
{
    size_t i = 0, from = 0, n;

    while (i < len && (last || !is_cut(m, text + i, len - i))) {
        n = word_at(m, text + i, len - i);
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

/* ---- JSON strings ---- */

/* A JSON string without its escape sequences. */
struct decoded {
    struct buf text;
    VEC(const char *)
    sources; /* the position of each decoded byte in the source, then the end of
                the string */
};

/* The value of the four hexadecimal digits at p; -1 if there are no such four digits. */
static int hex4(const char *p, const char *end)
{
    int value = 0, i;

    if (end - p < 4)
        return -1;
    for (i = 0; i < 4; i++) {
        char c = (char)(p[i] | 32);

        if (p[i] >= '0' && p[i] <= '9')
            value = value * 16 + (p[i] - '0');
        else if (c >= 'a' && c <= 'f')
            value = value * 16 + (c - 'a' + 10);
        else
            return -1;
    }
    return value;
}

static void add_byte(struct decoded *d, unsigned byte, const char *source)
{
    buf_addch(&d->text, (char)byte);
    *vec_add(&d->sources) = source;
}

static void add_code_point(struct decoded *d, unsigned c, const char *source)
{
    if (c < 0x80) {
        add_byte(d, c, source);
        return;
    }
    if (c < 0x800) {
        add_byte(d, 0xC0 | c >> 6, source);
    } else {
        if (c < 0x10000) {
            add_byte(d, 0xE0 | c >> 12, source);
        } else {
            add_byte(d, 0xF0 | c >> 18, source);
            add_byte(d, 0x80 | (c >> 12 & 0x3F), source);
        }
        add_byte(d, 0x80 | (c >> 6 & 0x3F), source);
    }
    add_byte(d, 0x80 | (c & 0x3F), source);
}

/* Decodes the escape sequence at p; returns its end, or NULL if it is not valid. */
static const char *decode_escape(struct decoded *d, const char *p, const char *end)
{
    static const char letters[] = "\"\\/bfnrt", meant[] = "\"\\/\b\f\n\r\t";
    const char *found = end - p > 1 && p[1] ? strchr(letters, p[1]) : NULL;
    int high, low;

    if (found) {
        add_byte(d, (unsigned char)meant[found - letters], p);
        return p + 2;
    }
    if (end - p < 2 || p[1] != 'u' || (high = hex4(p + 2, end)) < 0)
        return NULL;
    if (high >= 0xD800 && high < 0xDC00 && end - p > 8 && p[6] == '\\' && p[7] == 'u' &&
        (low = hex4(p + 8, end)) >= 0xDC00 && low < 0xE000) {
        add_code_point(d, 0x10000 + ((unsigned)(high - 0xD800) << 10) + (unsigned)(low - 0xDC00),
                       p);
        return p + 12;
    }
    add_code_point(d, (unsigned)high, p);
    return p + 6;
}

/* Decodes the JSON string that starts with the quote at p. Returns its closing quote or, if it is
 * not a JSON string on one line, the first character that does not fit. */
static const char *decode_string(struct decoded *d, const char *p, const char *end)
{
    const char *after;

    buf_reset(&d->text);
    d->sources.n = 0;
    for (p++; p < end && *p != '\n' && *p != '"'; p = after) {
        after = p + 1;
        if (*p != '\\')
            add_byte(d, (unsigned char)*p, p);
        else if (!(after = decode_escape(d, p, end)))
            break;
    }
    *vec_add(&d->sources) = p;
    return p;
}

/* Masks the words of a decoded string in its source; returns how far the source is done. */
static const char *mask_string(const struct mask *m, const struct decoded *d, const char *from,
                               struct buf *out)
{
    size_t i = 0, n;

    while (i < d->text.len) {
        n = word_at(m, d->text.ptr + i, d->text.len - i);
        if (n) {
            buf_add(out, from, (size_t)(d->sources.at[i] - from));
            buf_addstr(out, MASK_TEXT);
            from = d->sources.at[i + n];
        }
        i += n ? n : 1;
    }
    return from;
}

void mask_json_strings(const struct mask *m, const char *text, size_t len, struct buf *out)
{
    const char *end = text + len, *from = text, *quote;
    struct decoded d = {.text = BUF_INIT};

    while (text < end && (quote = memchr(text, '"', (size_t)(end - text)))) {
        /* In a text that is not JSON, the closing quote may as well open the next string. */
        text = decode_string(&d, quote, end);
        if (text < end && *text == '"')
            from = mask_string(m, &d, from, out);
    }
    buf_add(out, from, (size_t)(end - from));
    if (d.text.ptr)
        explicit_bzero(d.text.ptr, d.text.cap);
    buf_release(&d.text);
    vec_release(&d.sources);
}
