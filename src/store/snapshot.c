/* snapshot.c - read-only transactions; see snapshot.h. */
#include "store/snapshot.h"

static int read_once(struct db *db, int (*body)(struct db *, void *, struct err *), void *arg,
                     struct err *err)
{
    int rc = db_begin(db, TX_READ, err);

    if (rc)
        return rc;
    rc = body(db, arg, err);
    db_rollback(db);
    return rc;
}

int query_read(struct store *s, int (*body)(struct db *, void *, struct err *), void *arg,
               struct err *err)
{
    int rc = read_once(store_db(s), body, arg, err);

    if (rc == -E_CONN_LOST || rc == -E_REDO)
        rc = read_once(store_db(s), body, arg, err);
    if (rc == -E_CONN_LOST || rc == -E_REDO) {
        err->code = E_UNAVAILABLE;
        rc = -E_UNAVAILABLE;
    }
    return rc;
}

struct statement_call {
    const struct args *args;
    struct rows *rows;
};

static int run_statement(struct db *db, void *arg, struct err *err)
{
    struct statement_call *q = arg;

    return db_query(db, q->args, q->rows, err);
}

int query_run(struct store *s, const struct args *a, struct rows *out, struct err *err)
{
    return query_read(s, run_statement, &(struct statement_call){a, out}, err);
}

int query_send(struct db *db, enum stmt_id q, struct rows *out, struct err *err)
{
    struct args a = ARGS_INIT;
    int rc;

    args_begin(&a, q);
    rows_release(out); /* the body may run a second time */
    rc = db_send(db, &a, out, ANY_ROWS, err);
    args_release(&a);
    return rc;
}
