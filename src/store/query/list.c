/* list.c - lists executions, newest first, in pages. The order comes from an index; filters are
 * applied row by row, to at most LIST_SCAN rows per page. */
#include "store/query/query_internal.h"

struct list_query {
    const struct list_filter *f;
    int64_t before, floor;
    size_t max;
    struct rows rows;
};

static bool is_filtered(const struct list_filter *f)
{
    return f->statuses || f->kind || f->name || f->queue || f->workflow;
}

/* Finds the lowest id to read: that of the last of `scan` rows. */
static int find_floor(struct db *db, struct list_query *g, int64_t scan, struct err *err)
{
    const struct list_filter *f = g->f;
    AUTO_ARGS a = ARGS_INIT;
    AUTO_ROWS r = ROWS_INIT;
    int rc;

    g->floor = 0;
    args_begin(&a,
               f->parent ? Q_LIST_FLOOR_CHILDREN
               : f->all  ? Q_LIST_FLOOR_ALL
                         : Q_LIST_FLOOR_ROOTS,
               g->before, scan - 1);
    if (f->parent)
        args_int(&a, f->parent);
    rc = db_query(db, &a, &r, err);
    if (!rc && r.n)
        g->floor = rows_int(&r, 0, 0);
    return rc;
}

static int read_page(struct db *db, struct list_query *g, struct err *err)
{
    const struct list_filter *f = g->f;
    AUTO_ARGS a = ARGS_INIT;

    rows_release(&g->rows);
    args_begin(&a,
               f->parent ? Q_LIST_CHILDREN
               : f->all  ? Q_LIST_ALL
                         : Q_LIST_ROOTS,
               g->before, g->floor, g->max, f->statuses, f->kind, f->name, f->queue, f->workflow);
    if (f->parent)
        args_int(&a, f->parent);
    return db_query(db, &a, &g->rows, err);
}

/* Scans few rows first, since most pages are filled by recent rows, and LIST_SCAN rows only if
 * those do not suffice. */
static int list_body(struct db *db, void *arg, struct err *err)
{
    static const int64_t scans[] = {1000, LIST_SCAN};
    struct list_query *g = arg;
    int rc = 0;

    g->floor = 0;
    if (!is_filtered(g->f))
        return read_page(db, g, err);
    for (size_t i = 0; i < 2 && !rc && (!i || (g->floor && g->rows.n < g->max)); i++)
        if (!(rc = find_floor(db, g, scans[i], err)))
            rc = read_page(db, g, err);
    return rc;
}

int query_list(struct store *s, const struct list_filter *f, int64_t *before, size_t max,
               struct execution_list *out, struct err *err)
{
    struct list_query g = {
        .f = f, .before = *before ? *before : INT64_MAX, .max = max, .rows = ROWS_INIT};
    int rc = query_read(s, list_body, &g, err);

    if (!rc) {
        query_read_executions(&g.rows, out);
        *before = out->n == max ? out->at[max - 1].id : g.floor;
    }
    rows_release(&g.rows);
    return rc;
}
