/* fence.c - the identity of the database: its id and its generation. The id distinguishes it from
 * other databases, and its backups share it. The generation is raised after a backup was restored,
 * so that attempts started after the backup are not mistaken for attempts started since the
 * restore. */
#include "store/door/door.h"
#include "store/door/event_data.h"
#include "store/snapshot.h"

#include <stdio.h>

int store_identity(struct store *s, char id[STORE_ID_SIZE], int64_t *generation, struct err *err)
{
    struct args a = ARGS_INIT;
    struct rows r = ROWS_INIT;
    int rc;

    args_begin(&a, Q_QUERY_IDENTITY);
    if ((rc = query_run(s, &a, &r, err)))
        goto done;
    if (rows_null(&r, 0, 0) || rows_null(&r, 0, 1)) {
        rc = err_set(err, E_INTERNAL,
                     "the database has lost its id or generation: restore the table settings "
                     "from a backup");
        goto done;
    }
    snprintf(id, STORE_ID_SIZE, "%s", rows_text(&r, 0, 0));
    *generation = rows_int(&r, 0, 1);
done:
    rows_release(&r);
    args_release(&a);
    return rc;
}

int turn_send_generation(struct turn *t, struct rows *answer, struct err *err)
{
    args_begin(&t->args, Q_GENERATION_READ);
    return db_send(t->db, &t->args, answer, 1, err);
}

int64_t turn_read_generation(const struct rows *answer)
{
    return rows_int(answer, 0, 0);
}

/* ---- the fence ---- */

static int raise_generation(struct turn *t, int64_t *generation, struct err *err)
{
    struct rows r = ROWS_INIT;
    int rc;

    args_begin(&t->args, Q_GENERATION_RAISE);
    args_int(&t->args, clock_wall_us() / 1000);
    if (!(rc = db_send(t->db, &t->args, &r, 1, err)) && !(rc = turn_sync(t, err)))
        *generation = rows_int(&r, 0, 0);
    rows_release(&r);
    return rc;
}

/* Reads the next leases in the order of their executions, and locks those that no other turn has
 * locked. */
static int find_leases(struct turn *t, const struct fence *f, struct rows *held,
                       struct rows *locked, struct err *err)
{
    size_t i;
    int rc;

    args_begin(&t->args, Q_LEASES_HELD);
    args_int(&t->args, f->after);
    args_int(&t->args, (int64_t)f->slice);
    if ((rc = db_query(t->db, &t->args, held, err)))
        return rc;
    args_begin(&t->args, Q_LEASES_LOCK);
    for (i = 0; i < held->n; i++)
        args_int(&t->args, rows_int(held, i, 0));
    return turn_query(t, &t->args, locked, err);
}

static int expire_lease(struct turn *t, struct row *r, int64_t generation, struct err *err)
{
    struct move_note note = {.worker = r->now.worker,
                             .data = data_fenced(t, r->now.until, generation)};

    return door_move(t, r, EV_LEASE_EXPIRED, S_RUNNING, &note, err);
}

/* The next slice starts with the first lease that could not be locked. If that lease is gone by
 * then, its attempt has ended. */
static void advance_fence(struct turn *t, struct fence *f, const struct rows *held)
{
    size_t i;

    f->more = held->n == f->slice;
    for (i = 0; i < held->n; i++) {
        const struct row *r = turn_row(t, rows_int(held, i, 0));

        if (!r || r->now.worker) {
            f->more = true;
            return;
        }
        f->after = rows_int(held, i, 0);
    }
}

int op_fence(struct turn *t, const struct fence *from, struct fence *f, struct err *err)
{
    struct rows held = ROWS_INIT, locked = ROWS_INIT;
    struct row **rows;
    size_t i;
    int rc;

    *f = *from; /* the body of a turn may run more than once */
    if ((rc = door_flush(t, err)) ||
        (!f->generation && (rc = raise_generation(t, &f->generation, err))) ||
        (rc = find_leases(t, f, &held, &locked, err)))
        goto done;
    rows = arena_alloc(&t->arena, (locked.n + 1) * sizeof(*rows));
    if ((rc = turn_read_rows(t, &locked, false, rows, err)))
        goto done;
    for (i = 0; i < locked.n; i++) {
        if (!rows[i]->now.worker)
            continue;
        if ((rc = expire_lease(t, rows[i], f->generation, err)))
            goto done;
        f->expired++;
    }
    advance_fence(t, f, &held);
done:
    rows_release(&held);
    rows_release(&locked);
    return rc;
}
