/* list.c - lists executions, newest first, in pages. An index gives the order, and the range of ids
 * that were requested in a period; other filters are applied row by row, to at most LIST_SCAN rows
 * per page. A page is found first, with few columns, and then read. */
#include "base/idmap.h"
#include "store/query/query_internal.h"

/* The order of ids is nearly, but not exactly, the order of times: a turn that took its ids earlier
 * than another turn may get a later time, and clocks are corrected. Of two executions, the one with
 * the smaller id was requested at most this much (µs) later. The search for the ids of a period
 * includes this much before and after the period; the exact times are then compared row by row. If
 * a server's clock was set back by more than this, executions of that time may be missing. */
#define LIST_SKEW    (60 * 1000000LL)
/* Number of rows that are read at once if their inputs are needed: an input may be as large as 1
 * MB. */
#define INPUT_SLICE  200
#define INPUT_COLUMN 9 /* index of the input in the rows of the statements list_roots, … */

struct list_search {
    const struct list_filter *f;
    /* Only ids below these are read; `before` moves down while a page is searched. */
    int64_t start, before;
    int64_t floor;  /* lowest id to read now */
    int64_t lowest; /* the lowest id that the period allows */
    size_t max;
    struct found_list out;
};

static bool is_filtered(const struct list_filter *f)
{
    return f->statuses || f->kind || f->name || f->queue || f->workflow || f->since || f->until ||
           f->worker || f->host || f->by || f->input;
}

/* ---- the range of ids ---- */

/* Finds the first id that was not requested before `time`. *id is 0 if there are no executions, and
 * greater than *highest if all executions are older. */
static int seek_time(struct db *db, int64_t time, int64_t *id, int64_t *highest, struct err *err)
{
    *id = *highest = 0;
    return ask_one(db, INTO(id, highest), err, Q_LIST_SEEK, time);
}

/* Restricts the range to the ids of the period. Waiting SQL submissions may have higher ids than
 * the newest execution. */
static int restrict_to_period(struct db *db, struct list_search *g, struct err *err)
{
    int64_t id, highest;

    g->before = g->start;
    g->lowest = 0;
    if (g->f->since)
        TRY(seek_time(db, g->f->since - LIST_SKEW, &g->lowest, &highest, err));
    if (!g->f->until)
        return 0;
    TRY(seek_time(db, g->f->until + LIST_SKEW, &id, &highest, err));
    if (id && id <= highest && id < g->before)
        g->before = id;
    return 0;
}

/* Sets the floor so that `scan` rows are above it, or to the lowest id of the period. */
static int find_floor(struct db *db, struct list_search *g, int64_t scan, struct err *err)
{
    const struct list_filter *f = g->f;
    AUTO_ARGS a = ARGS_INIT;
    AUTO_ROWS r = ROWS_INIT;

    g->floor = g->lowest;
    args_begin(&a,
               f->parent ? Q_LIST_FLOOR_CHILDREN
               : f->all  ? Q_LIST_FLOOR_ALL
                         : Q_LIST_FLOOR_ROOTS,
               g->before, scan - 1);
    if (f->parent)
        args_int(&a, f->parent);
    TRY(db_query(db, &a, &r, err));
    if (r.n && rows_int(&r, 0, 0) > g->floor)
        g->floor = rows_int(&r, 0, 0);
    return 0;
}

/* ---- find ---- */

static int find_rows(struct db *db, const struct list_search *g, size_t n, struct rows *out,
                     struct err *err)
{
    const struct list_filter *f = g->f;
    AUTO_ARGS a = ARGS_INIT;

    args_begin(&a,
               f->parent ? Q_LIST_CHILDREN
               : f->all  ? Q_LIST_ALL
                         : Q_LIST_ROOTS,
               g->before, g->floor, n, f->statuses, f->kind, f->name, f->queue, f->workflow,
               f->since, f->until ? f->until : END_OF_TIME, f->worker, f->host, f->by,
               f->input ? 1 : 0);
    if (f->parent)
        args_int(&a, f->parent);
    return db_query(db, &a, out, err);
}

/* Adds the rows whose input matches. */
static void add_found(struct list_search *g, const struct rows *r)
{
    for (size_t i = 0; i < r->n && g->out.n < g->max; i++) {
        struct found_execution *o = &g->out.at[g->out.n];
        int cancel_requested, seq;

        g->before = rows_int(r, i, 0);
        if (g->f->input && !input_filter_matches(g->f->input, rows_text(r, i, INPUT_COLUMN)))
            continue;
        rows_read(r, i, 0, &g->out.arena, &o->id, &o->root, &o->kind, &o->status, &o->flags,
                  &cancel_requested, &seq, &o->name, &o->queue);
        o->cancel_requested = cancel_requested;
        o->is_submission = !seq;
        g->out.n++;
    }
}

/* Finds executions down to the floor, until the page is full. */
static int find_to_floor(struct db *db, struct list_search *g, struct err *err)
{
    size_t wanted, found;

    do {
        AUTO_ROWS r = ROWS_INIT;

        wanted = g->f->input ? INPUT_SLICE : g->max - g->out.n;
        TRY(find_rows(db, g, wanted, &r, err));
        add_found(g, &r);
        found = r.n;
    } while (found == wanted && g->out.n < g->max);
    return 0;
}

/* Scans few rows first, since most pages are filled by recent rows, and LIST_SCAN rows only if
 * those do not suffice. */
static int find_page(struct db *db, struct list_search *g, struct err *err)
{
    static const int64_t scans[] = {1000, LIST_SCAN - 1000};

    found_list_release(&g->out); /* start anew: the transaction may be repeated */
    LIST_ALLOC(&g->out, g->max);
    g->out.n = 0;
    g->floor = 0;
    TRY(restrict_to_period(db, g, err));
    if (!is_filtered(g->f))
        return find_to_floor(db, g, err);
    for (size_t i = 0; i < 2; i++) {
        TRY(find_floor(db, g, scans[i], err));
        TRY(find_to_floor(db, g, err));
        if (g->out.n == g->max || g->floor == g->lowest)
            break;
        g->before = g->floor;
    }
    return 0;
}

static int find_body(struct db *db, void *arg, struct err *err)
{
    return find_page(db, arg, err);
}

static struct list_search search_of(const struct list_filter *f, int64_t before, size_t max)
{
    return (struct list_search){.f = f, .start = before ? before : INT64_MAX, .max = max};
}

/* The id at which the next page starts; 0 if this page is the last. */
static int64_t next_page(const struct list_search *g)
{
    if (g->out.n == g->max)
        return g->out.at[g->max - 1].id;
    return g->floor > g->lowest ? g->floor : 0;
}

int query_find(struct store *s, const struct list_filter *f, int64_t *before, size_t max,
               struct found_list *out, struct err *err)
{
    struct list_search g = search_of(f, *before, max);
    int rc = query_read(s, find_body, &g, err);

    if (rc) {
        found_list_release(&g.out);
        return rc;
    }
    *before = next_page(&g);
    *out = g.out;
    return 0;
}

int query_found_statuses(struct store *s, struct found_execution *list, size_t n, struct err *err)
{
    AUTO_VEC(int64_t) ids = {0};
    AUTO_IDMAP found = IDMAP_INIT;
    AUTO_ROWS r = ROWS_INIT;

    for (size_t i = 0; i < n; i++)
        *vec_add(&ids) = list[i].id;
    if (n)
        TRY(ask_ids(s, &r, err, Q_LIST_STATUSES, ids.at, n));
    for (size_t i = 0; i < r.n; i++)
        idmap_put(&found, rows_int(&r, i, 0), &r.cells[i * r.ncols + 1]);
    for (size_t i = 0; i < n; i++) {
        const struct val *status = idmap_get(&found, list[i].id);

        if (status)
            list[i].status = (int)status->i;
    }
    return 0;
}

/* ---- list ---- */

struct list_reading {
    struct list_search search;
    struct rows rows;
};

static int list_body(struct db *db, void *arg, struct err *err)
{
    struct list_reading *l = arg;
    AUTO_VEC(int64_t) ids = {0};

    rows_release(&l->rows);
    TRY(find_page(db, &l->search, err));
    for (size_t i = 0; i < l->search.out.n; i++)
        *vec_add(&ids) = l->search.out.at[i].id;
    return ids.n ? ask_ids(db, &l->rows, err, Q_LIST_READ, ids.at, ids.n) : 0;
}

int query_list(struct store *s, const struct list_filter *f, int64_t *before, size_t max,
               struct execution_list *out, struct err *err)
{
    struct list_reading l = {.search = search_of(f, *before, max), .rows = ROWS_INIT};
    int rc = query_read(s, list_body, &l, err);

    if (!rc) {
        query_read_executions(&l.rows, out);
        *before = next_page(&l.search);
    }
    rows_release(&l.rows);
    found_list_release(&l.search.out);
    return rc;
}
