/* stmt.c - runs statements. Each statement is prepared once per connection. Running it means to
 * bind its parameters, to step it to the end and to reset it. A statement with row parameters is
 * run once per row, except that an INSERT of many rows inserts INSERT_ROWS of them at a time:
 * opening the table and its indexes, and computing the constants of their conditions, costs as much
 * as a row. */
#include "store/driver/sqlite/sqlite_db.h"

#include "base/buf.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define INSERT_ROWS 8 /* rows; more rows save little, and take longer to prepare */

static sqlite3_stmt **find_slot(struct sqlite_db *l, const struct stmt *s, size_t rows)
{
    uintptr_t at = (uintptr_t)s, first = (uintptr_t)statements;
    sqlite3_stmt ***named = rows > 1 ? &l->named_inserts : &l->named;
    struct sqlite_extra_stmt *extra;

    if (at >= first && at < first + sizeof(statements)) {
        if (!*named)
            *named = mem_zalloc(Q_COUNT * sizeof(**named));
        return &(*named)[s - statements];
    }
    assert(rows == 1);
    for (size_t i = 0; i < l->extra.n; i++)
        if (l->extra.at[i].stmt == s)
            return &l->extra.at[i].prepared;
    extra = vec_add(&l->extra);
    *extra = (struct sqlite_extra_stmt){.stmt = s};
    return &extra->prepared;
}

/* Makes the text of an INSERT that inserts that many rows. */
static void repeat_values(const struct stmt *s, size_t rows, struct buf *sql)
{
    size_t number = s->nrows;

    buf_addstr(sql, s->sql[DIALECT_SQLITE]);
    for (size_t row = 1; row < rows; row++) {
        for (int i = 0; i < s->nrows; i++)
            buf_addf(sql, "%s?%zu", i ? ", " : ", (", ++number);
        buf_addch(sql, ')');
    }
}

static int prepare(struct sqlite_db *l, const struct stmt *s, size_t rows, sqlite3_stmt **out,
                   struct err *err)
{
    const char *sql = s->sql[DIALECT_SQLITE], *rest;
    sqlite3_stmt **slot = find_slot(l, s, rows);
    AUTO_BUF repeated = BUF_INIT;

    if (!*slot) {
        if (!sql)
            return err_set(err, E_INTERNAL, "statement %s has no text for SQLite", s->name);
        if (rows > 1) {
            repeat_values(s, rows, &repeated);
            sql = repeated.ptr;
        }
        if (sqlite3_prepare_v3(l->sq, sql, -1, SQLITE_PREPARE_PERSISTENT, slot, &rest))
            return sqlite_set_error(l, s->name, err);
        if (!*slot || rest[strspn(rest, " \t\n;")]) {
            sqlite3_finalize(*slot);
            *slot = NULL;
            return err_set(err, E_INTERNAL, "the text of %s is not exactly one statement", s->name);
        }
    }
    /* PRAGMA query_only would check this, too, but makes SQLite prepare every statement again. */
    if (reads_only(l->kind) && !sqlite3_stmt_readonly(*slot))
        return err_set(err, E_INTERNAL, "statement %s writes in a transaction that only reads",
                       s->name);
    *out = *slot;
    return 0;
}

void sqlite_finalize_all(struct sqlite_db *l)
{
    for (int q = 0; l->named && q < Q_COUNT; q++)
        sqlite3_finalize(l->named[q]);
    for (int q = 0; l->named_inserts && q < Q_COUNT; q++)
        sqlite3_finalize(l->named_inserts[q]);
    for (size_t i = 0; i < l->extra.n; i++)
        sqlite3_finalize(l->extra.at[i].prepared);
    free(l->named);
    free(l->named_inserts);
    l->named = l->named_inserts = NULL;
    vec_release(&l->extra);
}

/* Binds one value. Returns SQLITE_MISMATCH for a text where a number is declared, or the reverse.
 * Texts are borrowed, because the arguments live longer than the execution of the statement.
 * Bindings are not cleared afterwards, because every execution binds all parameters again. */
static int bind_value(sqlite3_stmt *st, int i, unsigned char type, const struct val *v)
{
    if (v->null)
        return sqlite3_bind_null(st, i);
    if (type != T_TEXT && type != T_BYTES)
        return v->s ? SQLITE_MISMATCH : sqlite3_bind_int64(st, i, v->i);
    if (!v->s)
        return SQLITE_MISMATCH;
    if (type == T_BYTES)
        return sqlite3_bind_blob64(st, i, v->s, v->len, SQLITE_STATIC);
    return sqlite3_bind_text64(st, i, v->s, v->len, SQLITE_STATIC, SQLITE_UTF8);
}

/* Whether two values are surely equal. Compares texts by address, because rows usually share one
 * copy of a text. If they do not, the value is bound again, which is harmless. */
static bool is_same(const struct val *a, const struct val *b)
{
    return a->i == b->i && a->s == b->s && a->len == b->len && a->null == b->null;
}

/* Binds the scalars (first = 0) or a row (first = nscalars) of n values. The SQLite text of a
 * statement need not use the last of its declared parameters. `before` is the number of parameters
 * of the rows that precede this one in the statement. `bound` has the values of an earlier row,
 * which are still bound to these parameters, or is NULL: equal values are not bound again. */
static int bind_values(struct sqlite_db *l, const struct stmt *s, sqlite3_stmt *st, int first,
                       int n, int before, const struct val *v, const struct val *bound,
                       struct err *err)
{
    int count = sqlite3_bind_parameter_count(st), last = first + n < count ? first + n : count, rc;

    for (int i = first; i < last; i++, v++) {
        if (bound && is_same(v, bound++))
            continue;
        rc = bind_value(st, before + i + 1, s->types[i], v);
        if (rc == SQLITE_MISMATCH)
            return err_set(err, E_INTERNAL, "%s: a value does not fit the type of parameter $%d",
                           s->name, i + 1);
        if (rc)
            return sqlite_set_error(l, s->name, err);
    }
    return 0;
}

static void read_cell(sqlite3_stmt *st, int col, struct arena *arena, struct val *v)
{
    int type = sqlite3_column_type(st, col);
    const void *bytes;

    *v = (struct val){0};
    switch (type) {
    case SQLITE_INTEGER:
        v->i = sqlite3_column_int64(st, col);
        break;
    case SQLITE_FLOAT:
        v->i = llround(sqlite3_column_double(st, col));
        break;
    case SQLITE_NULL:
        v->null = true;
        break;
    default:
        bytes = type == SQLITE_TEXT ? (const void *)sqlite3_column_text(st, col)
                                    : sqlite3_column_blob(st, col);
        v->len = (uint32_t)sqlite3_column_bytes(st, col);
        v->s = arena_memdup0(arena, bytes, v->len);
    }
}

/* One execution of a statement, while it runs. */
struct stmt_run {
    sqlite3_stmt *st;
    struct rows *out;
    size_t cap; /* rows returned; for a statement without result columns, rows changed */
    long count; /* rows returned; for a statement without result columns, rows changed */
};

static void read_row(struct stmt_run *r)
{
    struct rows *out = r->out;

    if (out->n == r->cap) {
        r->cap = r->cap ? r->cap * 2 : 8;
        out->cells = mem_realloc(out->cells, r->cap * out->ncols * sizeof(*out->cells));
        out->own = out->cells;
        out->free_own = free;
    }
    for (size_t col = 0; col < out->ncols; col++)
        read_cell(r->st, (int)col, &out->arena, &out->cells[out->n * out->ncols + col]);
    out->n++;
}

static int step_to_end(struct sqlite_db *l, const char *name, struct stmt_run *r, struct err *err)
{
    int got, rc = 0, before = sqlite3_total_changes(l->sq);

    while ((got = sqlite3_step(r->st)) == SQLITE_ROW) {
        r->count++;
        if (r->out)
            read_row(r);
    }
    if (got != SQLITE_DONE)
        rc = sqlite_set_error(l, name, err);
    else if (sqlite3_column_count(r->st) == 0 && sqlite3_total_changes(l->sq) != before)
        /* Without this check, sqlite3_changes would return the count of an earlier statement. */
        r->count += sqlite3_changes(l->sq);
    sqlite3_reset(r->st);
    return rc;
}

static int check_count(const struct sqlite_db *l, const struct stmt *s, long count, long expect,
                       struct err *err)
{
    if (expect == ANY_ROWS || count == expect)
        return 0;
    return err_set(err, E_INTERNAL,
                   "in the database %s, %s changed %ld rows instead of %ld: a condition "
                   "of the statement refused the change",
                   l->path, s->name, count, expect);
}

/* Runs the prepared statement for `rows` rows, starting at `row`; each run takes `each` rows. A
 * statement without row parameters is run once. */
static int run_rows(struct sqlite_db *l, const struct args *a, struct stmt_run *r, size_t row,
                    size_t rows, size_t each, struct err *err)
{
    const struct stmt *s = a->stmt;
    const struct val *v = a->vals.at + s->nscalars + row * s->nrows;
    size_t step = each * s->nrows;

    TRY(bind_values(l, s, r->st, 0, s->nscalars, 0, a->vals.at, NULL, err));
    for (size_t done = 0; done < rows; done += each) {
        for (size_t i = 0; s->nrows && i < each; i++, v += s->nrows)
            TRY(bind_values(l, s, r->st, s->nscalars, s->nrows, (int)(i * s->nrows), v,
                            done ? v - step : NULL, err));
        TRY(step_to_end(l, s->name, r, err));
    }
    return 0;
}

static int run_all_rows(struct sqlite_db *l, const struct args *a, struct stmt_run *r,
                        struct err *err)
{
    const struct stmt *s = a->stmt;
    size_t rows = s->nrows ? args_rows(a) : 1;
    size_t many = s->is_insert ? rows - rows % INSERT_ROWS : 0;

    assert(a->vals.n == s->nscalars + (s->nrows ? rows * s->nrows : 0));
    if (many) {
        TRY(prepare(l, s, INSERT_ROWS, &r->st, err));
        TRY(run_rows(l, a, r, 0, many, INSERT_ROWS, err));
    }
    if (many == rows)
        return 0;
    TRY(prepare(l, s, 1, &r->st, err));
    if (r->out)
        r->out->ncols = (size_t)sqlite3_column_count(r->st);
    return run_rows(l, a, r, many, rows - many, 1, err);
}

static int run_counted(struct sqlite_db *l, const struct args *a, struct rows *out, long expect,
                       long *count, struct err *err)
{
    struct stmt_run r = {.out = out};
    int rc = 0;

    if (out)
        rows_release(out);
    if (a->stmt->nrows && args_rows(a) == 0)
        return check_count(l, a->stmt, 0, expect, err);
    rc = run_all_rows(l, a, &r, err);
    *count = r.count;
    return rc ? rc : check_count(l, a->stmt, r.count, expect, err);
}

int sqlite_run_stmt(struct sqlite_db *l, const struct args *a, struct rows *out, long expect,
                    struct err *err)
{
    int64_t start = sqlite_trace_start(l);
    long count = 0;
    int rc = run_counted(l, a, out, expect, &count, err);

    sqlite_trace(l, a->stmt->name, start, count);
    return rc;
}

int sqlite_send(struct db *db, const struct args *a, struct rows *out, long expect, struct err *err)
{
    struct sqlite_db *l = sqlite_from_db(db);
    int rc;

    if (!db->in_tx)
        return err_set(err, E_INTERNAL, "statement %s was sent outside a transaction",
                       a->stmt->name);
    if ((rc = sqlite_run_stmt(l, a, out, expect, err)))
        l->failed = true;
    return rc;
}
