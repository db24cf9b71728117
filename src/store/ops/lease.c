/* lease.c - leases after the claim: heartbeat and reap; adopt.c takes over orphans. None of these
 * changes a status: a job whose worker died may still have a live process. */
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

/* Pushes one row of arguments per lease, in the order in which a settle deletes leases, to avoid
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
        /* Compare the epoch: the list may also contain the lease with an older one. */
        bool mine = f && f[1].i == list[i].epoch;

        list[i].rc = mine ? 0 : -E_LEASE_LOST;
        list[i].cancel_requested = mine && f[2].i;
    }
    return 0;
}

int lease_expire(struct turn *t, struct row *r, struct err *err)
{
    struct move_note note = {.worker = r->now.worker,
                             .data = data_build(t, "u", "until", r->now.until)};

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
        TRY(lease_expire(t, rows[i], err));
        r->n++;
    }
    return 0;
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
