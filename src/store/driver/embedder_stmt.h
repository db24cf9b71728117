/* embedder_stmt.h - a statement of the embedder on its own tables that runs inside a turn. Only the
 * SQLite driver runs such statements: on PostgreSQL the embedder uses its own connection. */
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
    const char *s; /* a text or blob of len bytes */
    size_t len;
};

struct embedder_stmt {
    const char *sql; /* the text of exactly one statement */
    const struct embedder_value *params;
    size_t nparams;
    /* Called for each row of the result; its texts are valid until the call returns. A return value
     * other than 0 stops the statement. NULL if the rows are not needed. */
    int (*row)(void *arg, const struct embedder_value *cells, size_t n);
    void *arg;

    /* out */
    int64_t changed;     /* number of rows inserted, updated or deleted */
    bool must_roll_back; /* set if the transaction can only be rolled back */
};

#endif
