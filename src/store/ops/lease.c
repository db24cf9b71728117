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
    size_t i;

    for (i = 0; i < n; i++)
        sorted[i] = &list[i];
    qsort(sorted, n, sizeof(*sorted), by_execution);
    for (i = 0; i < n; i++) {
        args_int(&t->args, sorted[i]->execution);
        args_int(&t->args, sorted[i]->epoch);
    }
}

int op_heartbeat(struct turn *t, int64_t worker, int64_t lease, struct lease_ref *list, size_t n,
                 struct err *err)
{
    struct idmap found = IDMAP_INIT;
    struct rows r = ROWS_INIT;
    size_t i;
    int rc;

    if (!n)
        return 0;
    if (t->db->driver->one_writer && (rc = turn_sync(t, err)))
        return rc;
    args_begin(&t->args, Q_HEARTBEAT);
    args_int(&t->args, worker);
    args_int(&t->args, t->now + lease);
    args_int(&t->args, lease + t->store->env->clock_offset);
    push_leases(t, list, n);
    if ((rc = db_query(t->db, &t->args, &r, err)))
        goto done;
    for (i = 0; i < r.n; i++)
        idmap_put(&found, rows_int(&r, i, 0), &r.cells[i * r.ncols]);
    for (i = 0; i < n; i++) {
        const struct val *f = idmap_get(&found, list[i].execution);
        bool mine = f && f[1].i == list[i].epoch; /* the list may also contain an older epoch */

        list[i].rc = mine ? 0 : -E_LEASE_LOST;
        list[i].cancel_requested = mine && f[2].i;
    }
done:
    idmap_release(&found);
    rows_release(&r);
    return rc;
}

static int expire_lease(struct turn *t, struct row *r, struct err *err)
{
    struct move_note note = {.worker = r->now.worker, .data = data_expired(t, r->now.until)};

    return door_move(t, r, EV_LEASE_EXPIRED, S_RUNNING, &note, err);
}

int op_reap(struct turn *t, struct reap_slice *r, struct err *err)
{
    struct rows expired = ROWS_INIT;
    struct row **rows;
    size_t i;
    int rc;

    r->found = r->n = 0;
    if ((rc = door_flush(t, err)) || (rc = turn_sync(t, err)))
        return rc;
    if (r->may_reap && !r->may_reap(r->arg, t->now))
        return 0;
    args_begin(&t->args, Q_EXPIRED);
    args_int(&t->args, t->now);
    args_int(&t->args, (int64_t)r->max);
    args_int(&t->args, r->after);
    if ((rc = turn_query(t, &t->args, &expired, err)))
        goto done;
    r->found = expired.n;
    r->first = expired.n ? rows_int(&expired, 0, 0) : 0;
    rows = arena_alloc(&t->arena, (expired.n + 1) * sizeof(*rows));
    if ((rc = turn_read_rows(t, &expired, false, rows, err)))
        goto done;
    for (i = 0; i < expired.n; i++) {
        if (!rows[i]->now.worker)
            continue;
        if ((rc = expire_lease(t, rows[i], err)))
            goto done;
        r->n++;
    }
done:
    rows_release(&expired);
    return rc;
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
    size_t i;

    args_begin(&t->args, Q_ORPHANS);
    args_text(&t->args, a->claim.folder);
    args_int(&t->args, now - a->host_grace);
    args_int(&t->args, (int64_t)adoption_page_size(a));
    args_int(&t->args, after);
    for (i = 0; i < a->claim.nserves; i++)
        if (is_next_lane(&a->claim, i))
            args_text(&t->args, a->claim.serves[i].lane);
    return turn_query(t, &t->args, out, err);
}

/* Finds leases of workers that are known to be dead, without waiting for the reaper. */
static int find_leases_of_dead(struct turn *t, const struct adoption *a, struct rows *out,
                               struct err *err)
{
    size_t i, d;

    args_begin(&t->args, Q_LEASES_OF_DEAD_WORKERS);
    args_text(&t->args, a->claim.folder);
    args_int(&t->args, (int64_t)adoption_page_size(a));
    for (d = 0; d < a->ndead_workers; d++)
        for (i = 0; i < a->claim.nserves; i++)
            if (is_next_lane(&a->claim, i)) {
                args_int(&t->args, a->dead_workers[d]);
                args_text(&t->args, a->claim.serves[i].lane);
            }
    return turn_query(t, &t->args, out, err);
}

/* Adopts leases that were found until claim.max is reached; a row occurs twice if lanes repeat. */
static int adopt_found(struct turn *t, const struct adoption *a, const struct rows *found,
                       struct job_list *out, struct err *err)
{
    struct row **rows = arena_alloc(&t->arena, (found->n + 1) * sizeof(*rows));
    size_t i;
    int rc;

    if ((rc = turn_read_rows(t, found, true, rows, err)))
        return rc;
    for (i = 0; i < found->n && out->n < a->claim.max; i++) {
        struct move_note note = {
            .worker = a->claim.worker, .until = t->now + a->claim.lease, .folder = a->claim.folder};
        struct row *r = rows[i];

        if (r->now.worker == a->claim.worker || quarantine_has(a->claim.quarantined, r->now.id))
            continue;
        if (a->wanted && !a->wanted(a->arg, &r->now, rows_int(found, i, found->ncols - 1)))
            continue;
        out->at[out->n++] = &r->now;
        if ((r->now.worker && (rc = expire_lease(t, r, err))) ||
            (rc = door_move(t, r, EV_ADOPTED, S_RUNNING, &note, err)))
            return rc;
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
    struct rows r = ROWS_INIT;
    struct idmap unclaimed = IDMAP_INIT;
    size_t i;
    int rc;

    if (!n)
        return 0;
    args_begin(&t->args, Q_ORPHANS_UNCLAIMED);
    push_leases(t, list, n);
    if (!(rc = db_query(t->db, &t->args, &r, err))) {
        for (i = 0; i < r.n; i++)
            idmap_put(&unclaimed, rows_int(&r, i, 0), t);
        for (i = 0; i < n; i++)
            list[i].rc = idmap_get(&unclaimed, list[i].execution) ? -E_BUSY : -E_LEASE_LOST;
    }
    idmap_release(&unclaimed);
    rows_release(&r);
    return rc;
}

int op_adopt(struct turn *t, const struct adoption *a, struct job_list *out, struct err *err)
{
    struct rows orphans = ROWS_INIT, dead_workers = ROWS_INIT;
    int64_t after = 0;
    int rc;

    *out = (struct job_list){.at = arena_alloc(&t->arena, (a->claim.max + 1) * sizeof(*out->at))};
    if (!a->claim.max || !a->claim.nserves)
        return 0;
    if ((rc = door_flush(t, err)) || (rc = turn_sync(t, err)))
        return rc;
    do { /* page by page: unwanted orphans must not hide wanted ones */
        rows_release(&orphans);
        orphans = (struct rows)ROWS_INIT;
        if ((rc = find_orphans(t, a, after, &orphans, err)) ||
            (rc = adopt_found(t, a, &orphans, out, err)))
            goto done;
        after = find_last_seen(t, &orphans, adoption_page_size(a));
    } while (orphans.n >= adoption_page_size(a) && out->n < a->claim.max);
    if (a->ndead_workers && !(rc = find_leases_of_dead(t, a, &dead_workers, err)))
        rc = adopt_found(t, a, &dead_workers, out, err);
done:
    rows_release(&orphans);
    rows_release(&dead_workers);
    return rc;
}
