/* embedder_sql.h - statements of the program that embeds us, on tables of its own, inside of a
 * turn. With SQLite alone: on PostgreSQL such a program has a connection of its own, and submits by
 * SQL. */
#ifndef STORE_OPS_EMBEDDER_SQL_H
#define STORE_OPS_EMBEDDER_SQL_H

#include "store/store.h"

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

bool store_takes_embedder_stmts(const struct store *s);
/* E_INVALID: the statement can't be run, or touches what is ours. E_CONFLICT: a rule of the
 * program's own tables refused it. After these the turn may go on, unless it is over. */
MUST_USE int op_run_embedder_stmt(struct turn *t, struct embedder_stmt *g, struct err *err);

/* The canonical text of what a name means, as query_applied; lives as long as the turn. */
MUST_USE int op_read_applied(struct turn *t, const char *name, const char **definition,
                             struct err *err);

#endif
