/* batch.h - variants of a statement, for many rows that have the same value in some columns. The
 * server spends time on each element of an array, both to parse the array and to unnest it. But
 * when five hundred new jobs are inserted, often only two of the 34 columns differ between them. So
 * a column that is equal in all rows is sent once: where the statement has unnest($3), the variant
 * for such rows has $3 (docs/adr/0041). */
#ifndef STORE_DRIVER_POSTGRES_BATCH_H
#define STORE_DRIVER_POSTGRES_BATCH_H

#include "base/mem.h"
#include "store/driver/db.h"

/* A variant of a statement. Bit i of `same` is set if $(i + 1) is a single value, not an array. */
struct pg_shape {
    const struct stmt *stmt;
    uint64_t same;
    const char *name, *sql;
    bool prepared; /* set as soon as the PREPARE is sent */
};

struct pg_shapes {
    VEC(struct pg_shape *) list;
    struct arena arena;
};

/* The variant that fits these arguments best; NULL if the statement itself should be used. */
struct pg_shape *pg_shape_for(struct pg_shapes *all, const struct args *a);
/* Marks all variants as not prepared, because the session in which they were prepared is gone. */
void pg_shapes_forget(struct pg_shapes *all);
void pg_shapes_release(struct pg_shapes *all);

#endif
