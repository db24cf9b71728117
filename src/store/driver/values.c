/* values.c - parameters and rows, which both drivers share; see values.h. */
#include "store/driver/values.h"

#include <stdlib.h>

/* ---- parameters ---- */

void args_begin_vals(struct args *a, enum stmt_id q, const struct val *vals)
{
    a->stmt = &statements[q];
    a->vals.n = 0;
    args_add(a, vals);
}

void args_add(struct args *a, const struct val *vals)
{
    size_t n = 0;

    while (vals[n].len != VALS_END)
        n++;
    if (n)
        memcpy(args_room(a, n), vals, n * sizeof(*vals));
}

void args_grow(struct args *a, size_t n)
{
    a->vals.cap = a->vals.cap * 2 + n;
    a->vals.at = mem_realloc(a->vals.at, a->vals.cap * sizeof(*a->vals.at));
}

void args_ids(struct args *a, const int64_t *ids, size_t n)
{
    for (size_t i = 0; i < n; i++)
        args_int(a, ids[i]);
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

const struct val *rows_cells(const struct rows *r, size_t row)
{
    return &r->cells[row * r->ncols];
}

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

void rows_index(const struct rows *r, struct idmap *out)
{
    for (size_t i = 0; i < r->n; i++)
        idmap_put(out, rows_int(r, i, 0), &r->cells[i * r->ncols]);
}

void rows_read_into(const struct rows *r, size_t row, size_t col, struct arena *arena,
                    const struct val_out *out)
{
    for (; out->type; out++, col++) {
        const struct val *v = get_cell(r, row, col);

        assert(v->null || (out->type == OUT_TEXT) == (v->s != NULL));
        switch (out->type) {
        case OUT_I64:
            *(int64_t *)out->p = v->null ? 0 : v->i;
            break;
        case OUT_INT:
            *(int *)out->p = v->null ? 0 : (int)v->i;
            break;
        case OUT_BOOL:
            *(bool *)out->p = !v->null && v->i;
            break;
        default:
            *(const char **)out->p = v->null ? NULL : arena ? arena_strdup(arena, v->s) : v->s;
        }
    }
}

void rows_release(struct rows *r)
{
    if (r->own)
        r->free_own(r->own);
    arena_release(&r->arena);
    *r = (struct rows)ROWS_INIT;
}
