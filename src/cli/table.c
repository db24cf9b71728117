/* table.c - prints rows in aligned columns that fit the terminal; see table.h. */
#include "cli/table.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define GAP 2

/* Minimum widths of text columns: first, optional columns shrink to LEAST and others to LEAST_NAME;
 * once all optional columns are left out, the others may shrink to LEAST_AT_ALL. */
enum { LEAST = 10, LEAST_NAME = 24, LEAST_AT_ALL = 6 };

/* ---- cells ---- */

void table_add_tinted(struct table *t, enum tint tint, const char *cell)
{
    *vec_add(&t->cells) = (struct table_cell){.at = t->texts.len, .tint = tint};
    out_clean(&t->texts, cell);
    buf_addch(&t->texts, '\0');
}

void table_add(struct table *t, const char *cell)
{
    table_add_tinted(t, TINT_PLAIN, cell);
}

void table_addf(struct table *t, const char *fmt, ...)
{
    char text[512];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    table_add(t, text);
}

void table_add_span(struct table *t, int64_t us)
{
    char text[DURATION_TEXT_SIZE];

    table_add(t, text_duration(us, text));
}

void table_heads(struct table *t, const char *const *heads, size_t n)
{
    for (t->ncols = 0; t->ncols < n; t->ncols++)
        table_add(t, heads[t->ncols]);
}

size_t table_rows(const struct table *t)
{
    return t->ncols ? t->cells.n / t->ncols : 0;
}

void table_release(struct table *t)
{
    buf_release(&t->texts);
    vec_release(&t->cells);
    *t = (struct table){0};
}

static const char *text_at(const struct table *t, size_t row, size_t col)
{
    const char *text = t->texts.ptr + t->cells.at[row * t->ncols + col].at;

    return row ? text : text + strspn(text, "~<");
}

static size_t rank_of(const struct table *t, size_t col)
{
    return strspn(t->texts.ptr + t->cells.at[col].at, "~");
}

static bool is_left(const struct table *t, size_t col)
{
    const char *head = t->texts.ptr + t->cells.at[col].at;

    return head[strspn(head, "~")] == '<';
}

/* ---- fit ---- */

/* Returns the number of characters, not bytes; wide and combining characters count as one
 * column. */
static int width(const char *s)
{
    return (int)text_characters(s, strlen(s));
}

int table_fit_width(const struct table_fit *f)
{
    int sum = -GAP;

    for (size_t i = 0; i < f->wide.n; i++)
        sum += f->wide.at[i] < 0 ? 0 : f->wide.at[i] + GAP;
    return sum;
}

/* Shrinks the widest left-aligned column by one; false if none can shrink. */
static bool shrink(const struct table *t, struct table_fit *f, int least_name)
{
    size_t i, widest = f->wide.n;

    for (i = 0; i < f->wide.n; i++)
        if (is_left(t, i) && f->wide.at[i] > (rank_of(t, i) ? LEAST : least_name) &&
            (widest == f->wide.n || f->wide.at[i] > f->wide.at[widest]))
            widest = i;
    if (widest == f->wide.n)
        return false;
    f->wide.at[widest]--;
    return true;
}

/* Leaves out the least important column; false if none may be left out. */
static bool leave_out(const struct table *t, struct table_fit *f)
{
    size_t i, first = f->wide.n;

    for (i = 0; i < f->wide.n; i++)
        if (f->wide.at[i] >= 0 && rank_of(t, i) &&
            (first == f->wide.n || rank_of(t, i) >= rank_of(t, first)))
            first = i;
    if (first == f->wide.n)
        return false;
    f->wide.at[first] = -1;
    return true;
}

/* Measures the natural width of the columns that are shown. */
static void measure(const struct table *t, struct table_fit *f)
{
    int n;

    for (size_t col = 0; col < t->ncols; col++)
        f->wide.at[col] = f->wide.at[col] < 0 ? -1 : 0;
    for (size_t row = 0; row < table_rows(t); row++)
        for (size_t col = 0; col < t->ncols; col++)
            if (f->wide.at[col] >= 0 && (n = width(text_at(t, row, col))) > f->wide.at[col])
                f->wide.at[col] = n;
}

void table_fit(const struct table *t, const struct style *style, struct table_fit *f)
{
    f->wide.n = 0;
    for (size_t i = 0; i < t->ncols; i++)
        *vec_add(&f->wide) = 0;
    do {
        measure(t, f);
        while (style->width && table_fit_width(f) > style->width && shrink(t, f, LEAST_NAME))
            ;
    } while (style->width && table_fit_width(f) > style->width && leave_out(t, f));
    while (style->width && table_fit_width(f) > style->width && shrink(t, f, LEAST_AT_ALL))
        ;
}

void table_fit_release(struct table_fit *f)
{
    vec_release(&f->wide);
}

/* ---- rows ---- */

static void add_blanks(struct line *l, int n)
{
    for (; n > 0; n--)
        line_add(l, TINT_PLAIN, " ");
}

/* Adds text; in a pipe its bytes are printed unchanged, regardless of the locale. */
static void add_text(struct line *l, enum tint tint, const char *text)
{
    if (l->style->width) {
        line_add(l, tint, text);
    } else {
        buf_addstr(&l->text, text);
        l->cols += width(text);
    }
}

/* Returns the position after the first n characters. */
static const char *skip(const char *s, int n)
{
    for (; *s && n > 0; n--)
        for (s++; ((unsigned char)*s & 0xC0) == 0x80; s++)
            ;
    return s;
}

/* Cuts a long name in the middle, because names of tasks often differ only in their last part. */
static void cut_name(const char *name, int wide, bool utf8, struct buf *out)
{
    int all = width(name), tail = wide / 2, head = wide - tail - 1;

    buf_add(out, name, (size_t)(skip(name, head) - name));
    buf_addf(out, "%s%s", utf8 ? "…" : ">", skip(name, all - tail));
}

static void add_cell(const struct table *t, size_t row, size_t col, int wide, struct line *l)
{
    const char *text = text_at(t, row, col);
    struct style narrow = *l->style;
    AUTO_BUF cut = BUF_INIT;
    AUTO(line_release) struct line cell = {0};

    narrow.color = false;
    narrow.width = narrow.width ? wide : 0;
    line_begin(&cell, &narrow);
    if (wide > 2 && width(text) > wide && !rank_of(t, col)) {
        cut_name(text, wide, narrow.utf8, &cut);
        text = buf_cstr(&cut);
    }
    if (wide)
        add_text(&cell, TINT_PLAIN, text);
    if (!is_left(t, col))
        add_blanks(l, wide - cell.cols);
    add_text(l, t->cells.at[row * t->ncols + col].tint, buf_cstr(&cell.text));
    if (is_left(t, col))
        add_blanks(l, wide - cell.cols);
}

void table_row(const struct table *t, const struct table_fit *f, size_t row, struct line *l)
{
    bool first = true;

    for (size_t col = 0; col < t->ncols; col++) {
        if (f->wide.at[col] < 0)
            continue;
        if (!first)
            add_blanks(l, GAP);
        first = false;
        add_cell(t, row, col, f->wide.at[col], l);
    }
    while (l->text.len && l->text.ptr[l->text.len - 1] == ' ') {
        l->text.ptr[--l->text.len] = '\0';
        l->cols--;
    }
}

void table_print(const struct table *t)
{
    struct style style = style_of(stdout);
    AUTO(table_fit_release) struct table_fit fit = {0};
    AUTO(line_release) struct line l = {0};

    table_fit(t, &style, &fit);
    for (size_t row = 0; row < table_rows(t); row++) {
        line_begin(&l, &style);
        table_row(t, &fit, row, &l);
        puts(buf_cstr(&l.text));
    }
}
