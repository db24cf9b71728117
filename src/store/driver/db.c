/* db.c - code that both drivers share: arguments, rows, and the calls through the driver's table.
 */
#include "store/driver/db.h"

#include "store/driver/url.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* ---- arguments ---- */

void args_begin(struct args *a, enum stmt_id q)
{
    a->stmt = &statements[q];
    a->vals.n = 0;
}

void args_int(struct args *a, int64_t n)
{
    *vec_add(&a->vals) = (struct val){.i = n};
}

void args_int_or_null(struct args *a, int64_t n)
{
    *vec_add(&a->vals) = (struct val){.i = n, .null = n == 0};
}

void args_text(struct args *a, const char *s)
{
    args_bytes(a, s, s ? strlen(s) : 0);
}

void args_bytes(struct args *a, const void *p, size_t len)
{
    assert(len <= UINT32_MAX);
    *vec_add(&a->vals) = (struct val){.s = p, .len = (uint32_t)len, .null = !p};
}

void args_null(struct args *a)
{
    *vec_add(&a->vals) = (struct val){.null = true};
}

size_t args_rows(const struct args *a)
{
    size_t cells = a->vals.n - a->stmt->nscalars;

    assert(a->vals.n >= a->stmt->nscalars);
    if (!a->stmt->nrows) {
        assert(!cells);
        return 0;
    }
    assert(cells % a->stmt->nrows == 0);
    return cells / a->stmt->nrows;
}

void args_release(struct args *a)
{
    vec_release(&a->vals);
}

/* ---- rows ---- */

static const struct val *get_cell(const struct rows *r, size_t row, size_t col)
{
    assert(row < r->n && col < r->ncols);
    return &r->cells[row * r->ncols + col];
}

int64_t rows_int(const struct rows *r, size_t row, size_t col)
{
    const struct val *v = get_cell(r, row, col);

    return v->null ? 0 : v->i;
}

const char *rows_text(const struct rows *r, size_t row, size_t col)
{
    const struct val *v = get_cell(r, row, col);

    return v->null ? NULL : v->s;
}

bool rows_null(const struct rows *r, size_t row, size_t col)
{
    return get_cell(r, row, col)->null;
}

void rows_release(struct rows *r)
{
    if (r->own)
        r->free_own(r->own);
    arena_release(&r->arena);
    *r = (struct rows)ROWS_INIT;
}

/* ---- calls through the driver ---- */

int db_open(const struct db_url *url, struct env *env, struct db **out, struct err *err)
{
    return url->driver->open(url, env, out, err);
}

void db_close(struct db **db)
{
    if (*db)
        (*db)->driver->close(*db);
    *db = NULL;
}

int db_begin(struct db *db, enum tx_kind kind, struct err *err)
{
    return db->driver->begin(db, kind, err);
}

int db_send(struct db *db, const struct args *a, struct rows *out, long expect, struct err *err)
{
    env_point(db->env, a->stmt->name);
    return db->driver->send(db, a, out, expect, err);
}

int db_flush(struct db *db, struct err *err)
{
    return db->driver->flush(db, err);
}

int db_query(struct db *db, const struct args *a, struct rows *out, struct err *err)
{
    int rc = db_send(db, a, out, ANY_ROWS, err);

    return rc ? rc : db_flush(db, err);
}

int db_commit(struct db *db, struct err *err)
{
    int rc;

    env_point(db->env, "commit");
    rc = db->driver->commit(db, err);
    env_point(db->env, "committed");
    return rc;
}

void db_rollback(struct db *db)
{
    db->driver->rollback(db);
}
