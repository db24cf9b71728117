/* batch.h - the text of a statement for many rows that have columns in common. An array costs
 * the server for each of its elements, when it is read and when it is taken apart; but of 34
 * columns of five hundred new jobs often two differ. So a column that is the same in all rows is
 * sent once: where the statement says unnest($3), the text for such rows says $3. (docs/adr/0041)
 */
#ifndef STORE_DRIVER_POSTGRES_BATCH_H
#define STORE_DRIVER_POSTGRES_BATCH_H

#include "base/mem.h"
#include "store/driver/db.h"

/* A text of a statement, and which of its parameters are no arrays in it: bit i is $(i + 1). */
struct pg_shape {
    const struct stmt *stmt;
    uint64_t same;
    const char *name, *sql;
    bool prepared; /* by this connection's session, or on the way to it */
};

struct pg_shapes {
    VEC(struct pg_shape *) list;
    struct arena arena;
};

/* The shape that fits these rows best; NULL: the statement as it is. */
struct pg_shape *pg_shape_for(struct pg_shapes *all, const struct args *a);
/* The session that knew them is gone. */
void pg_shapes_forget(struct pg_shapes *all);
void pg_shapes_release(struct pg_shapes *all);

#endif
