/* fence.c - the identity of the database: its id and its generation. The id distinguishes it from
 * other databases; its backups have the same id. The generation is raised after a backup was
 * restored, so that attempts started after the backup are not mistaken for attempts started since
 * the restore. */
#include "store/door/door.h"
#include "store/door/event_data.h"
#include "store/generation.h"

#include <stdio.h>

int store_identity(struct store *s, char id[STORE_ID_SIZE], int64_t *generation, struct err *err)
{
    AUTO_ROWS r = ROWS_INIT;

    TRY(ask(s, &r, err, Q_QUERY_IDENTITY));
    if (rows_null(&r, 0, 0) || rows_null(&r, 0, 1))
        return err_set(err, E_INTERNAL,
                       "the database's id or generation is missing: restore its table "
                       "`settings` from a backup");
    snprintf(id, STORE_ID_SIZE, "%s", rows_text(&r, 0, 0));
    *generation = rows_int(&r, 0, 1);
    return 0;
}

int store_fenced_trees(struct store *s, struct rows *roots, struct err *err)
{
    return ask(s, roots, err, Q_QUERY_FENCED_TREES);
}

int op_fenced_tree_end(struct turn *t, int64_t root, struct err *err)
{
    return db_queue_ids(t->db, err, Q_FENCED_TREES_END, &root, 1);
}

int turn_send_generation(struct turn *t, struct rows *answer, struct err *err)
{
    return db_queue(t->db, answer, 1, err, Q_GENERATION_READ);
}

int64_t turn_read_generation(const struct rows *answer)
{
    return rows_int(answer, 0, 0);
}

/* ---- the fence ---- */

/* Ids that were given out in the lost time must not be given out again, because programs outside
 * the database may have stored them. Their number is not known. The fence skips one id for each µs
 * since a moment at which the database was certainly in use, which is ten times as many as the
 * fastest servers can commit; MARGIN allows for clocks that differ. Numbers of events are skipped,
 * too, for programs that follow events by number. Ids stay exact in JSON (below 2^53) for 285 years
 * of lost time. */
#define MARGIN 1000000000LL

static int skip_ids(struct turn *t, struct err *err)
{
    int64_t generation_ms = 0, requested = 0, migrated = 0, now, known;

    TRY(ask_one(t, INTO(&requested, &generation_ms, &migrated), err, Q_FENCE_KNOWN_TIMES));
    now = turn_now(t);
    known = requested > migrated ? requested : migrated;
    if (generation_ms > known / 1000)
        known = generation_ms < now / 1000 ? generation_ms * 1000 : now;
    return ask(t->db, NULL, err, Q_IDS_SKIP, MARGIN + (now > known ? now - known : 0));
}

int op_accept_timeline(struct turn *t, const char **timeline, struct err *err)
{
    AUTO_ROWS r = ROWS_INIT;

    TRY(ask(t, &r, err, Q_TIMELINE_ACCEPT));
    *timeline = r.n ? arena_strdup(&t->arena, rows_text(&r, 0, 0)) : NULL;
    return 0;
}

static int raise_generation(struct turn *t, int64_t *generation, struct err *err)
{
    return ask_one(t, INTO(generation), err, Q_GENERATION_RAISE, clock_wall_us() / 1000);
}

/* Reads the next leases in the order of their executions, and locks those that no other turn has
 * locked. */
static int find_leases(struct turn *t, const struct fence *f, struct rows *held,
                       struct rows *locked, struct err *err)
{
    TRY(ask(t->db, held, err, Q_LEASES_HELD, f->after, f->slice));
    return ask_found(t, locked, err, Q_LEASES_LOCK, held);
}

static int expire_lease(struct turn *t, struct row *r, int64_t generation, struct err *err)
{
    struct move_note note = {
        .worker = r->now.worker,
        .data = data_build(t, "un", "until", r->now.until, "generation", generation)};

    return door_move(t, r, EV_LEASE_EXPIRED, S_RUNNING, &note, err);
}

/* Makes the next slice start with the first lease that could not be locked. If that lease does not
 * exist any more by then, its attempt has ended. */
static void advance_fence(struct turn *t, struct fence *f, const struct rows *held)
{
    f->more = held->n == f->slice;
    for (size_t i = 0; i < held->n; i++) {
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
    AUTO_ROWS held = ROWS_INIT, locked = ROWS_INIT;
    const char *timeline;
    struct row **rows;

    *f = *from; /* start anew: the body of a turn may run more than once */
    TRY(door_flush(t, err));
    if (!f->generation) {
        TRY(skip_ids(t, err));
        TRY(ask(t->db, NULL, err, Q_FENCED_TREES_NOTE));
        TRY(raise_generation(t, &f->generation, err));
        TRY(op_accept_timeline(t, &timeline, err));
    }
    TRY(find_leases(t, f, &held, &locked, err));
    TRY(turn_read_rows(t, &locked, false, &rows, err));
    for (size_t i = 0; i < locked.n; i++) {
        if (!rows[i]->now.worker)
            continue;
        TRY(expire_lease(t, rows[i], f->generation, err));
        f->expired++;
    }
    advance_fence(t, f, &held);
    return 0;
}
