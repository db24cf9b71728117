/* adopt.c - takes over orphans: running jobs whose lease has expired, or whose worker is known to
 * be dead. The status stays running and the attempt continues under the next epoch. After the
 * commit, the worker reattaches to the attempt's process (exec/process/reattach.c). */
#include "store/door/door.h"

#include "store/store_internal.h"

#include <string.h>

/* Whether the nth lane differs from the one before it. Equal lanes are adjacent; only the first of
 * them is searched. */
static bool is_next_lane(const struct claim *c, size_t nth)
{
    return !nth || strcmp(c->serves[nth].lane, c->serves[nth - 1].lane) != 0;
}

/* The page of leases has room for the quarantined ones, too, because the query returns them. */
static size_t adoption_page_size(const struct adoption *a)
{
    return a->claim.max + quarantine_count(a->claim.quarantined);
}

/* Finds orphans: those that ran in this worker's state folder at once, those of other state folders
 * after host_grace. */
static int find_orphans(struct turn *t, const struct adoption *a, int64_t after, struct rows *out,
                        struct err *err)
{
    int64_t now = a->latest && a->latest < t->now ? a->latest : t->now;

    args_begin(&t->args, Q_ORPHANS, a->claim.folder, now - a->host_grace, adoption_page_size(a),
               after);
    for (size_t i = 0; i < a->claim.nserves; i++)
        if (is_next_lane(&a->claim, i))
            args_text(&t->args, a->claim.serves[i].lane);
    return turn_query(t, &t->args, out, err);
}

/* Finds leases of workers that are known to be dead, so that they are adopted before the reaper
 * clears them. */
static int find_leases_of_dead(struct turn *t, const struct adoption *a, struct rows *out,
                               struct err *err)
{
    args_begin(&t->args, Q_LEASES_OF_DEAD_WORKERS, a->claim.folder, adoption_page_size(a));
    for (size_t d = 0; d < a->ndead_workers; d++)
        for (size_t i = 0; i < a->claim.nserves; i++)
            if (is_next_lane(&a->claim, i))
                args_row(&t->args, a->dead_workers[d], a->claim.serves[i].lane);
    return turn_query(t, &t->args, out, err);
}

/* Adopts the found leases until claim.max is reached. Skips rows that occur twice, which happens if
 * the caller has listed a lane twice. */
static int adopt_found(struct turn *t, const struct adoption *a, const struct rows *found,
                       struct job_list *out, struct err *err)
{
    struct row **rows;

    TRY(turn_read_rows(t, found, true, &rows, err));
    for (size_t i = 0; i < found->n && out->n < a->claim.max; i++) {
        struct move_note note = {
            .worker = a->claim.worker, .until = t->now + a->claim.lease, .folder = a->claim.folder};
        struct row *r = rows[i];

        if (r->now.worker == a->claim.worker || quarantine_has(a->claim.quarantined, r->now.id))
            continue;
        if (a->wanted && !a->wanted(a->arg, &r->now, rows_int(found, i, found->ncols - 1)))
            continue;
        out->at[out->n++] = &r->now;
        if (r->now.worker)
            TRY(lease_expire(t, r, err));
        TRY(door_move(t, r, EV_ADOPTED, S_RUNNING, &note, err));
    }
    return 0;
}

/* The id of the execution up to which all lanes were searched. SQLite runs the query once per lane,
 * and each run may have reached its LIMIT; PostgreSQL merges the lanes first. */
static int64_t find_last_seen(const struct turn *t, const struct rows *found, size_t max)
{
    int64_t last = 0, cut = INT64_MAX;
    const char *lane = NULL;
    size_t i, n = 0;

    for (i = 0; i < found->n; i++) {
        int64_t id = rows_int(found, i, 0);
        const char *of = turn_row(t, id)->now.lane;

        n = lane && !strcmp(lane, of) ? n + 1 : 1;
        lane = of;
        last = id > last ? id : last;
        if (n == max && id < cut)
            cut = id;
    }
    return cut < last ? cut : last;
}

int op_adopt(struct turn *t, const struct adoption *a, struct job_list *out, struct err *err)
{
    AUTO_ROWS orphans = ROWS_INIT, dead_workers = ROWS_INIT;
    int64_t after = 0;

    *out = (struct job_list){.at = arena_alloc(&t->arena, (a->claim.max + 1) * sizeof(*out->at))};
    if (!a->claim.max || !a->claim.nserves)
        return 0;
    TRY(door_flush(t, err));
    TRY(turn_sync(t, err));
    do { /* page by page, so that orphans that can't be adopted do not hide others */
        TRY(find_orphans(t, a, after, &orphans, err));
        TRY(adopt_found(t, a, &orphans, out, err));
        after = find_last_seen(t, &orphans, adoption_page_size(a));
    } while (orphans.n >= adoption_page_size(a) && out->n < a->claim.max);
    if (!a->ndead_workers)
        return 0;
    TRY(find_leases_of_dead(t, a, &dead_workers, err));
    return adopt_found(t, a, &dead_workers, out, err);
}
