/* snapshot.c - read-only transactions; see snapshot.h. */
#include "store/snapshot.h"

static int read_once(struct db *db, int (*body)(struct db *, void *, struct err *), void *arg,
                     struct err *err)
{
    int rc = 0;

    TRY(db_begin(db, TX_READ, err));
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

struct snapshot_calls {
    const struct asked *list;
    int64_t *now;
};

static int run_statements(struct db *db, void *arg, struct err *err)
{
    const struct snapshot_calls *c = arg;

    for (const struct asked *a = c->list; a->out; a++)
        TRY(db_send_vals(db, a->out, ANY_ROWS, err, a->q, a->vals));
    TRY(db->driver->send_now(db, c->now, err));
    TRY(db_flush(db, err));
    *c->now += db->env->clock_offset;
    return 0;
}

int ask_snapshot(struct store *s, int64_t *now, struct err *err, const struct asked *list)
{
    return query_read(s, run_statements, &(struct snapshot_calls){list, now}, err);
}
