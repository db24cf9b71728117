/* table.h - rows in aligned columns. On a terminal they fit its width: long texts are cut, and
 * columns that can be done without go. In a pipe all is there. */
#ifndef CLI_TABLE_H
#define CLI_TABLE_H

#include "cli/view/view.h"

/* The first row is the heading. "<" before a column's name keeps its cells to the left, otherwise
 * they go to the right. "~" before that says that the column may be left out: of those with the
 * most of them the last goes first. */
struct table {
    struct buf texts; /* NUL-terminated, one after the other */
    VEC(struct table_cell {
        size_t at; /* in texts */
        enum tint tint;
    })
    cells;
    size_t ncols;
};
void table_heads(struct table *t, const char *const *heads, size_t n);
void table_add(struct table *t, const char *cell);
void table_addf(struct table *t, const char *fmt, ...) PRINTF_LIKE(2, 3);
void table_add_tinted(struct table *t, enum tint tint, const char *cell);
void table_add_span(struct table *t, int64_t us);
void table_print(struct table *t); /* on stdout; and forget */
void table_release(struct table *t);

/* For those who draw rows themselves. */
size_t table_rows(const struct table *t); /* with the heading, which is row 0 */
struct table_fit {
    VEC(int) wide; /* of each column; < 0: left out */
};
void table_fit(const struct table *t, const struct style *style, struct table_fit *out);
int table_fit_width(const struct table_fit *f); /* columns of a whole row */
void table_fit_release(struct table_fit *f);
void table_row(const struct table *t, const struct table_fit *f, size_t row, struct line *out);

#endif
