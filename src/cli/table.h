/* table.h - rows in aligned columns. On a terminal they fit its width: long cells are cut, and less
 * important columns are left out. In a pipe everything is printed. */
#ifndef CLI_TABLE_H
#define CLI_TABLE_H

#include "cli/view/view.h"

/* The first row is the heading. "<" before a column's name aligns it to the left, otherwise to the
 * right. "~" before that marks a column that may be left out: columns with the most "~" are left
 * out first, from the right. */
struct table {
    struct buf texts; /* NUL-terminated, one after another */
    VEC(struct table_cell {
        size_t at; /* offset in `texts` */
        enum tint tint;
    })
    cells;
    size_t ncols;
    const void *arg; /* for the functions that add cells */
};
void table_heads(struct table *t, const char *const *heads, size_t n);
void table_add(struct table *t, const char *cell);
void table_addf(struct table *t, const char *fmt, ...) PRINTF_LIKE(2, 3);
void table_add_tinted(struct table *t, enum tint tint, const char *cell);
void table_add_span(struct table *t, int64_t us);
void table_print(const struct table *t); /* to stdout */
void table_release(struct table *t);

/* For callers that draw rows themselves. */
size_t table_rows(const struct table *t); /* including the heading, which is row 0 */
struct table_fit {
    VEC(int) wide; /* width of each column; < 0 if left out */
};
void table_fit(const struct table *t, const struct style *style, struct table_fit *out);
int table_fit_width(const struct table_fit *f); /* terminal columns of a whole row */
void table_fit_release(struct table_fit *f);
void table_row(const struct table *t, const struct table_fit *f, size_t row, struct line *out);

#endif
