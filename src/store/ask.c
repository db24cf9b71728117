/* ask.c - runs one statement in one call; see ask.h. */
#include "store/ask.h"

#include "store/turn.h"

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

static int run_on(struct ask_on on, const struct args *a, struct rows *out, struct err *err)
{
    if (on.kind == ON_TURN)
        return turn_query(on.at, a, out, err);
    if (on.kind == ON_STORE)
        return query_read(on.at, run_statement, &(struct statement_call){a, out}, err);
    return db_query(on.at, a, out, err);
}

/* Makes arguments that point to vals instead of copying them. */
static struct args wrap(enum stmt_id q, const struct val *vals)
{
    struct args a = {.stmt = &statements[q], .vals = {.at = (struct val *)vals}};

    while (vals[a.vals.n].len != VALS_END)
        a.vals.n++;
    return a;
}

int ask_rows(struct ask_on on, struct rows *out, struct err *err, enum stmt_id q,
             const struct val *vals)
{
    struct args a = wrap(q, vals);

    return run_on(on, &a, out, err);
}

int ask_row(struct ask_on on, const struct val_out *into, struct err *err, enum stmt_id q,
            const struct val *vals)
{
    AUTO_ROWS r = ROWS_INIT;
    int rc = ask_rows(on, &r, err, q, vals);

    if (!rc && r.n)
        rows_read_into(&r, 0, 0, NULL, into);
    return rc;
}

int ask_exists(struct ask_on on, bool *any, struct err *err, enum stmt_id q, const struct val *vals)
{
    AUTO_ROWS r = ROWS_INIT;
    int rc = ask_rows(on, &r, err, q, vals);

    *any = r.n > 0;
    return rc;
}

int ask_rows_of(struct ask_on on, struct rows *out, struct err *err, enum stmt_id q,
                const int64_t *ids, size_t n)
{
    AUTO_ARGS a = ARGS_INIT;

    args_begin(&a, q);
    args_ids(&a, ids, n);
    return run_on(on, &a, out, err);
}

int ask_rows_found(struct ask_on on, struct rows *out, struct err *err, enum stmt_id q,
                   const struct rows *found)
{
    AUTO_ARGS a = ARGS_INIT;

    args_begin(&a, q);
    for (size_t i = 0; i < found->n; i++)
        args_int(&a, rows_int(found, i, 0));
    return run_on(on, &a, out, err);
}

int db_send_vals(struct db *db, struct rows *out, long expect, struct err *err, enum stmt_id q,
                 const struct val *vals)
{
    struct args a = wrap(q, vals);

    return db_send(db, &a, out, expect, err);
}

int db_queue_ids(struct db *db, struct err *err, enum stmt_id q, const int64_t *ids, size_t n)
{
    AUTO_ARGS a = ARGS_INIT;

    args_begin(&a, q);
    args_ids(&a, ids, n);
    return db_send(db, &a, NULL, ANY_ROWS, err);
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
