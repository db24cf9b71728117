/* ask.c - runs one statement in one call; see ask.h. */
#include "store/ask.h"

#include "store/snapshot.h"
#include "store/turn.h"

struct ask_on ask_on_turn(struct turn *t)
{
    return (struct ask_on){.turn = t};
}

struct ask_on ask_on_store(struct store *s)
{
    return (struct ask_on){.store = s};
}

struct ask_on ask_on_db(struct db *db)
{
    return (struct ask_on){.db = db};
}

static int run(struct ask_on on, const struct args *a, struct rows *out, struct err *err)
{
    return on.turn    ? turn_query(on.turn, a, out, err)
           : on.store ? query_run(on.store, a, out, err)
                      : db_query(on.db, a, out, err);
}

/* The arguments without copying the values. */
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

    return run(on, &a, out, err);
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
    return run(on, &a, out, err);
}

int ask_rows_found(struct ask_on on, struct rows *out, struct err *err, enum stmt_id q,
                   const struct rows *found)
{
    AUTO_ARGS a = ARGS_INIT;

    args_begin(&a, q);
    for (size_t i = 0; i < found->n; i++)
        args_int(&a, rows_int(found, i, 0));
    return run(on, &a, out, err);
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
