/* embedder_stmt.h - a statement of the embedding program on its own tables, run inside a turn. Only
 * the SQLite driver runs them: on PostgreSQL the program uses a connection of its own. */
#ifndef STORE_DRIVER_EMBEDDER_STMT_H
#define STORE_DRIVER_EMBEDDER_STMT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum embedder_type { EMBEDDER_NULL, EMBEDDER_INT, EMBEDDER_REAL, EMBEDDER_TEXT, EMBEDDER_BLOB };

struct embedder_value {
    enum embedder_type type;
    int64_t i;
    double d;
    const char *s; /* text and blob, of len bytes */
    size_t len;
};

struct embedder_stmt {
    const char *sql; /* one statement */
    const struct embedder_value *params;
    size_t nparams;
    /* For each row that it returns; texts live until this returns. Anything but 0: no more. NULL:
     * rows are of no interest. */
    int (*row)(void *arg, const struct embedder_value *cells, size_t n);
    void *arg;

    /* out */
    int64_t changed;     /* rows that it inserted, updated or deleted */
    bool must_roll_back; /* the transaction can only be rolled back */
};

#endif
