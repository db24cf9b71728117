/* detail.c - the pages of pawl top for one execution (why it has its status, and its tree), and the
 * help page with the keys. */
#include "cli/top/top.h"

#include <string.h>

int detail_read(struct top_detail *d, struct pawl *p, int64_t id, struct pawl_error *err)
{
    AUTO(detail_release) struct top_detail new = {0};
    json_auto_t *o = NULL;
    char *json;

    TRY(show_object(p, id, &o, err));
    TRY(pawl_why(p, id, &json, err));
    new.why = take_object(json);
    TRY(view_read(p, field_int(o, "root"), NULL, &new.tree, err));
    detail_release(d);
    *d = new;
    new = (struct top_detail){0};
    return 0;
}

void detail_release(struct top_detail *d)
{
    json_decref(d->why);
    view_release(&d->tree);
    *d = (struct top_detail){0};
}

/* ---- lines ---- */

/* Wraps text to the width; lines after the first are indented. */
static void add_words(const struct top_view_state *k, struct line *l, const char *text,
                      struct buf *out)
{
    char word[256];
    size_t len;
    int room = k->style.width, words = 0;

    line_begin(l, &k->style);
    for (; *text; text += len + strspn(text + len, " ")) {
        len = strcspn(text, " ");
        snprintf(word, sizeof(word), "%.*s", (int)len, text);
        if (words && l->cols + 1 + (int)len > room) {
            buf_addf(out, "%s\n", buf_cstr(&l->text));
            line_begin(l, &k->style);
            line_add(l, TINT_PLAIN, "    ");
            words = 0;
        }
        if (words++)
            line_add(l, TINT_PLAIN, " ");
        line_add(l, TINT_PLAIN, word);
    }
    buf_addf(out, "%s\n", buf_cstr(&l->text));
}

static void add_why(const struct top_detail *d, const struct top_view_state *k, struct line *l,
                    struct buf *out)
{
    const json_t *reasons = json_object_get(d->why, "reasons");
    AUTO_BUF text = BUF_INIT;

    buf_addf(&text, "execution %lld, %s: %s", (long long)field_int(d->why, "id"),
             field(d->why, "name"), field(d->why, "status"));
    add_words(k, l, buf_cstr(&text), out);
    for (size_t i = 0; i < json_array_size(reasons); i++) {
        buf_reset(&text);
        out_clean(&text, field(json_array_get(reasons, i), "text"));
        add_words(k, l, buf_cstr(&text), out);
    }
    buf_addch(out, '\n');
}

/* ---- frames ---- */

static size_t count_lines(const char *text)
{
    size_t n = 0;

    for (; (text = strchr(text, '\n')); text++)
        n++;
    return n;
}

/* Adds as many lines as fit from *first on, then the footer in the last line. */
static void add_window(const struct top_view_state *k, const char *text, size_t *first,
                       struct line *l, struct buf *out)
{
    size_t n = count_lines(text), room = k->rows > 1 ? (size_t)k->rows - 1 : 1, i;

    if (*first + room > n)
        *first = n > room ? n - room : 0;
    for (i = 0; i < *first; i++)
        text = strchr(text, '\n') + 1;
    for (i = 0; i < room; i++) {
        size_t len = strcspn(text, "\n");

        buf_add(out, text, len);
        buf_addch(out, '\n');
        text += len + (text[len] != '\0');
    }
    line_begin(l, &k->style);
    line_add(l, TINT_FAINT, k->foot);
    buf_addstr(out, buf_cstr(&l->text));
}

void detail_frame(const struct top_detail *d, const struct top_view_state *k, size_t *first,
                  struct buf *out)
{
    AUTO_BUF all = BUF_INIT;
    AUTO(line_release) struct line l = {0};

    add_why(d, k, &l, &all);
    view_lines(&d->tree, &k->style, &all);
    add_window(k, buf_cstr(&all), first, &l, out);
}

void help_frame(const struct top_view_state *k, struct buf *out)
{
    static const char *const keys[] = {
        "up down j k     move",
        "page up, down   move by a page",
        "enter           why it runs, and its tree",
        "f               filter by name or queue",
        "p               pause and resume",
        "q, escape       back; quit",
        "",
        "TRY: attempt/maximum. RUNS: jobs/slots.",
        "DONE/M FAILED/M: attempts per minute,",
        "known after 10 s.",
        "draining: claims no more jobs.",
        "silent: not seen for 30 s.",
        "gone: worker lost; another adopts it.",
    };
    AUTO_BUF all = BUF_INIT;
    AUTO(line_release) struct line l = {0};
    size_t first = 0;

    for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++)
        buf_addf(&all, "%s\n", keys[i]);
    add_window(k, buf_cstr(&all), &first, &l, out);
}
