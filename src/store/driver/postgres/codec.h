/* codec.h - encodes parameters and decodes results in PostgreSQL's binary format. Row parameters
 * become arrays, so that one execution of a statement takes any number of rows. */
#ifndef STORE_DRIVER_POSTGRES_CODEC_H
#define STORE_DRIVER_POSTGRES_CODEC_H

#include "base/buf.h"
#include "store/driver/db.h"
#include "store/driver/postgres/libpq.h"

/* The encoded parameters of one execution of a statement. Values point into the arguments and into
 * the buffer. */
struct pg_params {
    int n;
    Oid types[STMT_MAX_PARAMS];
    const char *values[STMT_MAX_PARAMS];
    int lengths[STMT_MAX_PARAMS];
    int formats[STMT_MAX_PARAMS];
};

/* Encodes arguments. `same` is the set of row parameters that are sent as one value instead of an
 * array; see batch.h. -E_INTERNAL if a value does not fit its parameter's type. */
MUST_USE int pg_encode(const struct args *a, uint64_t same, struct buf *scratch,
                       struct pg_params *out, struct err *err);

/* Decodes a result. On success `out` owns the result, because texts point into it. -E_INTERNAL if a
 * column has a type that this module does not support; the statement must then cast the column. */
MUST_USE int pg_decode(PGresult *res, const struct stmt *stmt, struct rows *out, struct err *err);

#endif
