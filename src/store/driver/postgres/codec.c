/* codec.c - PostgreSQL's binary format; see codec.h. */
#include "store/driver/postgres/codec.h"

#include <endian.h>
#include <limits.h>
#include <math.h>
#include <string.h>

#define EPOCH_US 946684800000000 /* PostgreSQL counts from 2000-01-01, Pawl from 1970 */

/* ---- parameters ---- */

static const struct {
    Oid scalar, array;
} oids[] = {
    [T_I64] = {20, 1016},    [T_I32] = {23, 1007},   [T_I16] = {21, 1005}, [T_TEXT] = {25, 1009},
    [T_TIME] = {1184, 1185}, [T_BYTES] = {17, 1001}, [T_TID] = {27, 1010},
};

static char *put16(char *p, int64_t n)
{
    uint16_t be = htobe16((uint16_t)n);

    return (char *)memcpy(p, &be, sizeof(be)) + sizeof(be);
}

static char *put32(char *p, int64_t n)
{
    uint32_t be = htobe32((uint32_t)n);

    return (char *)memcpy(p, &be, sizeof(be)) + sizeof(be);
}

static char *put64(char *p, int64_t n)
{
    uint64_t be = htobe64((uint64_t)n);

    return (char *)memcpy(p, &be, sizeof(be)) + sizeof(be);
}

/* Writes one value, not null; returns its end, or NULL if the value does not fit the type. */
static char *put_value(char *p, enum db_type type, const struct val *v)
{
    bool is_text = type == T_TEXT || type == T_BYTES;
    int64_t us;

    if (is_text != (v->s != NULL))
        return NULL;
    switch (type) {
    case T_I64:
        return put64(p, v->i);
    case T_I32:
        return v->i < INT32_MIN || v->i > INT32_MAX ? NULL : put32(p, v->i);
    case T_I16:
        return v->i < INT16_MIN || v->i > INT16_MAX ? NULL : put16(p, v->i);
    case T_TIME:
        return __builtin_sub_overflow(v->i, EPOCH_US, &us) ? NULL : put64(p, us);
    case T_TID:
        return put16(put32(p, v->i >> 16), v->i);
    case T_TEXT:
    case T_BYTES:
        return (char *)memcpy(p, v->s, v->len) + v->len;
    }
    return NULL;
}

/* Writes a column of the rows as a one-dimensional array: number of dimensions, whether it has
 * nulls, type of the elements, number of elements, first index; then each element with its length,
 * -1 for null. An empty array has no dimension. */
static char *put_array(char *p, enum db_type type, const struct val *column, size_t nrows,
                       size_t stride)
{
    char *has_null = p + 4, *length;

    p = put32(p, nrows ? 1 : 0);
    p = put32(p, 0);
    p = put32(p, oids[type].scalar);
    if (!nrows)
        return p;
    p = put32(p, (int64_t)nrows);
    p = put32(p, 1);
    for (size_t i = 0; i < nrows; i++, column += stride) {
        length = p;
        p = put32(p, -1);
        if (column->null) {
            put32(has_null, 1);
            continue;
        }
        if (!(p = put_value(p, type, column)))
            return NULL;
        put32(length, p - length - 4);
    }
    return p;
}

/* An upper bound of the encoded size: values point into the buffer, so it must not be reallocated
 * while it is filled. */
static size_t max_encoded_size(const struct args *a)
{
    size_t i, room = (size_t)a->stmt->nrows * 20;

    for (i = 0; i < a->vals.n; i++)
        room += 4 + (a->vals.at[i].s ? a->vals.at[i].len : sizeof(int64_t));
    return room;
}

static int set_misfit_error(const struct stmt *stmt, int param, struct err *err)
{
    return err_set(err, E_INTERNAL, "%s: a value does not fit the type of parameter $%d",
                   stmt->name, param + 1);
}

int pg_encode(const struct args *a, uint64_t same, struct buf *scratch, struct pg_params *out,
              struct err *err)
{
    const struct stmt *stmt = a->stmt;
    size_t nrows = args_rows(a), room = max_encoded_size(a);
    char *p;

    if (room > INT_MAX)
        return err_set(err, E_INTERNAL,
                       "%s: %zu bytes of parameters are too many for one statement", stmt->name,
                       room);
    buf_reset(scratch);
    buf_reserve(scratch, room);
    p = scratch->ptr;
    out->n = stmt->nscalars + stmt->nrows;
    for (int i = 0; i < out->n; i++) {
        enum db_type type = stmt->types[i];
        const struct val *v = &a->vals.at[i];
        bool is_scalar = i < stmt->nscalars || same >> i & 1;
        char *start = p;

        out->types[i] = is_scalar ? oids[type].scalar : oids[type].array;
        out->formats[i] = 1;
        out->values[i] = is_scalar && v->null ? NULL : start;
        if (!is_scalar)
            p = put_array(p, type, v, nrows, stmt->nrows);
        else if (!v->null)
            p = put_value(p, type, v);
        if (!p)
            return set_misfit_error(stmt, i, err);
        out->lengths[i] = (int)(p - start);
    }
    return 0;
}

/* ---- results ---- */

static uint16_t get16(const char *p)
{
    uint16_t be;

    memcpy(&be, p, sizeof(be));
    return be16toh(be);
}

static uint32_t get32(const char *p)
{
    uint32_t be;

    memcpy(&be, p, sizeof(be));
    return be32toh(be);
}

static uint64_t get64(const char *p)
{
    uint64_t be;

    memcpy(&be, p, sizeof(be));
    return be64toh(be);
}

static void read_bool(struct val *v, const char *p)
{
    v->i = *p != 0;
}

static void read_i16(struct val *v, const char *p)
{
    v->i = (int16_t)get16(p);
}

static void read_i32(struct val *v, const char *p)
{
    v->i = (int32_t)get32(p);
}

static void read_u32(struct val *v, const char *p)
{
    v->i = get32(p);
}

static void read_i64(struct val *v, const char *p)
{
    v->i = (int64_t)get64(p);
}

static void read_float(struct val *v, const char *p)
{
    uint64_t bits = get64(p);
    double d;

    memcpy(&d, &bits, sizeof(d));
    v->i = llround(d);
}

static void read_time(struct val *v, const char *p)
{
    v->i = (int64_t)get64(p) + EPOCH_US;
}

static void read_tid(struct val *v, const char *p)
{
    v->i =
        (int64_t)get32(p) << 16 | get16(p + 4); /* the row's page, and its position in that page */
}

static void read_text(struct val *v, const char *p)
{
    v->s = p; /* libpq terminates every value with a NUL */
}

static void read_void(struct val *v, const char *p)
{
    (void)p;
    v->null = true;
}

static const struct column_type {
    Oid oid;
    int size; /* -1 if it varies */
    void (*read)(struct val *v, const char *p);
} column_types[] = {
    {16, 1, read_bool},    /* bool */
    {20, 8, read_i64},     /* int8 */
    {21, 2, read_i16},     /* int2 */
    {23, 4, read_i32},     /* int4 */
    {25, -1, read_text},   /* text */
    {1184, 8, read_time},  /* timestamptz */
    {17, -1, read_text},   /* bytea */
    {701, 8, read_float},  /* float8 */
    {26, 4, read_u32},     /* oid */
    {27, 6, read_tid},     /* tid */
    {5069, 8, read_i64},   /* xid8 */
    {19, -1, read_text},   /* name */
    {114, -1, read_text},  /* json */
    {1043, -1, read_text}, /* varchar */
    {705, -1, read_text},  /* unknown */
    {2278, -1, read_void}, /* void: pg_advisory_xact_lock() and the like */
};

static const struct column_type *find_type(Oid oid)
{
    for (size_t i = 0; i < sizeof(column_types) / sizeof(*column_types); i++)
        if (column_types[i].oid == oid)
            return &column_types[i];
    return NULL;
}

static int decode_column(const PGresult *res, int col, const struct stmt *stmt, struct rows *out,
                         struct err *err)
{
    const struct column_type *type = find_type(pq.ftype(res, col));

    if (!type)
        return err_set(err, E_INTERNAL,
                       "%s: column %s has a type that Pawl does not read (oid %u): cast it",
                       stmt->name, pq.fname(res, col), pq.ftype(res, col));
    for (size_t i = 0; i < out->n; i++) {
        struct val *v = &out->cells[i * out->ncols + (size_t)col];
        int len = pq.getlength(res, (int)i, col);

        v->null = pq.getisnull(res, (int)i, col);
        if (v->null)
            continue;
        if (type->size >= 0 && len != type->size)
            return err_set(err, E_INTERNAL, "%s: column %s has %d bytes, not %d", stmt->name,
                           pq.fname(res, col), len, type->size);
        type->read(v, pq.getvalue(res, (int)i, col));
        v->len = v->s ? (uint32_t)len : 0;
    }
    return 0;
}

static void free_result(void *res)
{
    pq.clear(res);
}

int pg_decode(PGresult *res, const struct stmt *stmt, struct rows *out, struct err *err)
{
    int col, rc, ncols = pq.nfields(res);

    rows_release(out);
    out->n = (size_t)pq.ntuples(res);
    out->ncols = (size_t)ncols;
    if (out->n && out->ncols)
        out->cells = arena_zalloc(&out->arena, out->n * out->ncols * sizeof(*out->cells));
    for (col = 0; col < ncols; col++)
        if ((rc = decode_column(res, col, stmt, out, err))) {
            rows_release(out);
            return rc;
        }
    out->own = res;
    out->free_own = free_result;
    return 0;
}
