/* lease.c - leases after the claim: heartbeat, reap, adopt. None of these changes a status: a job
 * whose worker died may still have a live process. */
#include "store/door/door.h"
#include "store/door/event_data.h"

#include "store/store_internal.h"

#include <stdlib.h>
#include <string.h>

static int by_execution(const void *a, const void *b)
{
    const struct lease_ref *const *x = a, *const *y = b;

    return ((*x)->execution > (*y)->execution) - ((*x)->execution < (*y)->execution);
}

/* Pushes one row of arguments per lease, in the order in which a settle deletes them, to avoid
 * deadlocks. */
static void push_leases(struct turn *t, const struct lease_ref *list, size_t n)
{
    const struct lease_ref **sorted = arena_alloc(&t->arena, (n + 1) * sizeof(*sorted));

    for (size_t i = 0; i < n; i++)
        sorted[i] = &list[i];
    qsort(sorted, n, sizeof(*sorted), by_execution);
    for (size_t i = 0; i < n; i++)
        args_row(&t->args, sorted[i]->execution, sorted[i]->epoch);
}

int op_heartbeat(struct turn *t, int64_t worker, int64_t lease, struct lease_ref *list, size_t n,
                 struct err *err)
{
    AUTO_IDMAP found = IDMAP_INIT;
    AUTO_ROWS r = ROWS_INIT;

    if (!n)
        return 0;
    if (t->db->driver->one_writer)
        TRY(turn_sync(t, err));
    args_begin(&t->args, Q_HEARTBEAT, worker, t->now + lease, lease + t->store->env->clock_offset);
    push_leases(t, list, n);
    TRY(db_query(t->db, &t->args, &r, err));
    rows_index(&r, &found);
    for (size_t i = 0; i < n; i++) {
        const struct val *f = idmap_get(&found, list[i].execution);
        bool mine = f && f[1].i == list[i].epoch; /* the list may also contain an older epoch */

        list[i].rc = mine ? 0 : -E_LEASE_LOST;
        list[i].cancel_requested = mine && f[2].i;
    }
    return 0;
}

static int expire_lease(struct turn *t, struct row *r, struct err *err)
{
    struct move_note note = {.worker = r->now.worker, .data = data_expired(t, r->now.until)};

    return door_move(t, r, EV_LEASE_EXPIRED, S_RUNNING, &note, err);
}

int op_reap(struct turn *t, struct reap_slice *r, struct err *err)
{
    AUTO_ROWS expired = ROWS_INIT;
    struct row **rows;

    r->found = r->n = 0;
    TRY(door_flush(t, err));
    TRY(turn_sync(t, err));
    if (r->may_reap && !r->may_reap(r->arg, t->now))
        return 0;
    TRY(ask(t, &expired, err, Q_EXPIRED, t->now, r->max, r->after));
    r->found = expired.n;
    r->first = expired.n ? rows_int(&expired, 0, 0) : 0;
    TRY(turn_read_rows(t, &expired, false, &rows, err));
    for (size_t i = 0; i < expired.n; i++) {
        if (!rows[i]->now.worker)
            continue;
        TRY(expire_lease(t, rows[i], err));
        r->n++;
    }
    return 0;
}

/* Equal lanes are adjacent; only the first of them is used. */
static bool is_next_lane(const struct claim *c, size_t nth)
{
    return !nth || strcmp(c->serves[nth].lane, c->serves[nth - 1].lane) != 0;
}

/* Quarantined leases are read too, but never adopted. */
static size_t adoption_page_size(const struct adoption *a)
{
    return a->claim.max + quarantine_count(a->claim.quarantined);
}

/* Finds orphans: those of this state folder at once, those of others after the host's grace. */
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

/* Finds leases of workers that are known to be dead, without waiting for the reaper. */
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

/* Adopts leases that were found until claim.max is reached; a row occurs twice if lanes repeat. */
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
            TRY(expire_lease(t, r, err));
        TRY(door_move(t, r, EV_ADOPTED, S_RUNNING, &note, err));
    }
    return 0;
}

/* The execution up to which all lanes were searched. SQLite runs the query once per lane, and each
 * of them may have reached its LIMIT; PostgreSQL merges the lanes first. */
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

int op_check_lost_leases(struct turn *t, struct lease_ref *list, size_t n, struct err *err)
{
    AUTO_ROWS r = ROWS_INIT;
    AUTO_IDMAP unclaimed = IDMAP_INIT;

    if (!n)
        return 0;
    args_begin(&t->args, Q_ORPHANS_UNCLAIMED);
    push_leases(t, list, n);
    TRY(db_query(t->db, &t->args, &r, err));
    rows_index(&r, &unclaimed);
    for (size_t i = 0; i < n; i++)
        list[i].rc = idmap_get(&unclaimed, list[i].execution) ? -E_BUSY : -E_LEASE_LOST;
    return 0;
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
    do { /* page by page: unwanted orphans must not hide wanted ones */
        TRY(find_orphans(t, a, after, &orphans, err));
        TRY(adopt_found(t, a, &orphans, out, err));
        after = find_last_seen(t, &orphans, adoption_page_size(a));
    } while (orphans.n >= adoption_page_size(a) && out->n < a->claim.max);
    if (!a->ndead_workers)
        return 0;
    TRY(find_leases_of_dead(t, a, &dead_workers, err));
    return adopt_found(t, a, &dead_workers, out, err);
}
