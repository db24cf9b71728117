/* codec.c - PostgreSQL's binary format; see codec.h. */
#include "store/driver/postgres/codec.h"

#include <endian.h>
#include <limits.h>
#include <math.h>
#include <string.h>

/* From 1970-01-01, where Pawl's times start, to 2000-01-01, where PostgreSQL's start. */
#define EPOCH_US 946684800000000

/* ---- parameters ---- */

static const struct {
    Oid scalar, array;
} oids[] = {
    [T_I64] = {20, 1016},    [T_I32] = {23, 1007},   [T_I16] = {21, 1005}, [T_TEXT] = {25, 1009},
    [T_TIME] = {1184, 1185}, [T_BYTES] = {17, 1001}, [T_TID] = {27, 1010},
};

/* Writes the low `size` bytes of n in big-endian order. */
static inline char *put_int(char *p, size_t size, int64_t n)
{
    uint64_t be = htobe64((uint64_t)n << (64 - 8 * size));

    return (char *)memcpy(p, &be, size) + size;
}

/* Writes one value that is not null. Returns the end of the written bytes, or NULL if the value
 * does not fit the type. */
static char *put_value(char *p, enum db_type type, const struct val *v)
{
    bool is_text = type == T_TEXT || type == T_BYTES;
    int64_t us;

    if (is_text != (v->s != NULL))
        return NULL;
    switch (type) {
    case T_I64:
        return put_int(p, 8, v->i);
    case T_I32:
        return v->i < INT32_MIN || v->i > INT32_MAX ? NULL : put_int(p, 4, v->i);
    case T_I16:
        return v->i < INT16_MIN || v->i > INT16_MAX ? NULL : put_int(p, 2, v->i);
    case T_TIME:
        return __builtin_sub_overflow(v->i, EPOCH_US, &us) ? NULL : put_int(p, 8, us);
    case T_TID:
        return put_int(put_int(p, 4, v->i >> 16), 2, v->i);
    case T_TEXT:
    case T_BYTES:
        return (char *)memcpy(p, v->s, v->len) + v->len;
    }
    return NULL;
}

/* Writes a column of the rows as a one-dimensional array. The format is: number of dimensions,
 * whether there are nulls, type of the elements, number of elements, first index; then each element
 * after its length, which is -1 for null. An empty array has no dimension. */
static char *put_array(char *p, enum db_type type, const struct val *column, size_t nrows,
                       size_t stride)
{
    char *has_null = p + 4, *length;

    p = put_int(p, 4, nrows ? 1 : 0);
    p = put_int(p, 4, 0);
    p = put_int(p, 4, oids[type].scalar);
    if (!nrows)
        return p;
    p = put_int(p, 4, (int64_t)nrows);
    p = put_int(p, 4, 1);
    for (size_t i = 0; i < nrows; i++, column += stride) {
        length = p;
        p = put_int(p, 4, -1);
        if (column->null) {
            put_int(has_null, 4, 1);
            continue;
        }
        if (!(p = put_value(p, type, column)))
            return NULL;
        put_int(length, 4, p - length - 4);
    }
    return p;
}

/* An upper bound of the encoded size of the parameters. Values point into the buffer, so it must
 * not be reallocated while it is filled. */
static size_t max_encoded_size(const struct args *a)
{
    size_t i, room = (size_t)a->stmt->nrows * 20;

    for (i = 0; i < a->vals.n; i++)
        room += 4 + (a->vals.at[i].s ? a->vals.at[i].len : sizeof(int64_t));
    return room;
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
            return err_set(err, E_INTERNAL, "%s: a value does not fit the type of parameter $%d",
                           stmt->name, i + 1);
        out->lengths[i] = (int)(p - start);
    }
    return 0;
}

/* ---- results ---- */

/* Reads a signed big-endian number of 1, 2, 4 or 8 bytes. A memcpy of constant size compiles to one
 * load; a memcpy of variable size is a call. */
static inline int64_t get_int(const char *p, size_t size)
{
    uint64_t be64;
    uint32_t be32;
    uint16_t be16;

    switch (size) {
    case 8:
        memcpy(&be64, p, sizeof(be64));
        return (int64_t)be64toh(be64);
    case 4:
        memcpy(&be32, p, sizeof(be32));
        return (int32_t)be32toh(be32);
    case 2:
        memcpy(&be16, p, sizeof(be16));
        return (int16_t)be16toh(be16);
    default:
        return (signed char)*p;
    }
}

/* How the bytes of a column's values are read. */
enum form { INTEGER, UNSIGNED, FLOAT, TIME, TID, TEXT, NOTHING };

static void read_value(struct val *v, enum form form, const char *p, size_t size)
{
    int64_t bits = form == TEXT || form == NOTHING ? 0 : get_int(p, form == TID ? 4 : size);
    double d;

    switch (form) {
    case INTEGER:
        v->i = bits;
        break;
    case UNSIGNED:
        v->i = (uint32_t)bits;
        break;
    case FLOAT:
        memcpy(&d, &bits, sizeof(d));
        v->i = llround(d);
        break;
    case TIME:
        v->i = bits + EPOCH_US;
        break;
    case TID: /* TID: the number of a row's page, and its position in that page */
        v->i = (int64_t)(uint32_t)bits << 16 | (uint16_t)get_int(p + 4, 2);
        break;
    case TEXT:
        v->s = p; /* libpq terminates every value with a NUL */
        break;
    case NOTHING:
        v->null = true;
    }
}

static const struct column_type {
    Oid oid;
    int size; /* bytes of a value; -1 if the size varies */
    enum form form;
} column_types[] = {
    {16, 1, INTEGER},    /* bool */
    {20, 8, INTEGER},    /* int8 */
    {21, 2, INTEGER},    /* int2 */
    {23, 4, INTEGER},    /* int4 */
    {25, -1, TEXT},      /* text */
    {1184, 8, TIME},     /* timestamptz */
    {17, -1, TEXT},      /* bytea */
    {701, 8, FLOAT},     /* float8 */
    {26, 4, UNSIGNED},   /* oid */
    {27, 6, TID},        /* tid */
    {5069, 8, INTEGER},  /* xid8 */
    {19, -1, TEXT},      /* name */
    {114, -1, TEXT},     /* json */
    {1043, -1, TEXT},    /* varchar */
    {705, -1, TEXT},     /* unknown */
    {2278, -1, NOTHING}, /* the type void, which pg_advisory_xact_lock() and others return */
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
            return err_set(err, E_INTERNAL, "%s: column %s is %d bytes long instead of %d",
                           stmt->name, pq.fname(res, col), len, type->size);
        read_value(v, type->form, pq.getvalue(res, (int)i, col), (size_t)len);
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
    int rc;

    rows_release(out);
    out->n = (size_t)pq.ntuples(res);
    out->ncols = (size_t)pq.nfields(res);
    if (out->n && out->ncols)
        out->cells = arena_zalloc(&out->arena, out->n * out->ncols * sizeof(*out->cells));
    for (int col = 0; col < (int)out->ncols; col++)
        if ((rc = decode_column(res, col, stmt, out, err))) {
            rows_release(out);
            return rc;
        }
    out->own = res;
    out->free_own = free_result;
    return 0;
}
