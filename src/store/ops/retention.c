/* retention.c - deletes old trees with their rows, events, logs and keys; never a tree that has an
 * open execution. It walks the roots by id, which rises with time, so nothing is sorted or counted.
 * Each call does one bounded slice. */
#include "store/door/door.h"
#include "store/store_internal.h"
#include "store/workflow/workflow.h"

#include <stdlib.h>

#define WRITER_MAX_AGE_US \
    (24 * 3600 * 1000000LL) /* a writer or worker that is silent for this long is gone */

#define DEFAULT_MAX_ROWS  5000
#define WRITERS_SLICE     1000 /* writers merged in one turn; the LIMIT of stale_writers */
#define WORKERS_SLICE     1000 /* workers whose counters are merged in one turn */
#define AUDIT_SLICE       1000 /* audit entries deleted in one turn */
#define REFUSED_SLICE     5000 /* refused submissions deleted in one turn */
#define DEFINITIONS_SLICE 100  /* definitions deleted in one turn; their texts may be large */

/* What this slice deletes: whole trees, and the lower part of a tree that is too large for one
 * slice. */
struct retention_batch {
    VEC(int64_t) candidates; /* roots that ended early enough */
    VEC(int64_t) roots;      /* of each execution in ids */
    VEC(int64_t) ids;
    VEC(int64_t) whole; /* roots of trees that this slice deletes completely */
    int64_t part;       /* the root of a tree that is deleted in part; 0 if none */
    int64_t trees, events;
};

static void retention_batch_release(struct retention_batch *d)
{
    vec_release(&d->candidates);
    vec_release(&d->roots);
    vec_release(&d->ids);
    vec_release(&d->whole);
}

/* Finds roots that ended early enough among the next ones. Sets r->after to the last root checked
 * and r->more if there may be others. */
static int find_roots(struct turn *t, struct retention *r, int64_t before,
                      struct retention_batch *d, struct err *err)
{
    struct rows found = ROWS_INIT;
    size_t i;
    int rc;

    args_begin(&t->args, Q_OLD_ROOTS);
    args_int(&t->args, r->after);
    args_int(&t->args, (int64_t)r->max_trees);
    if ((rc = turn_query(t, &t->args, &found, err)))
        goto done;
    r->more = found.n == r->max_trees;
    for (i = 0; i < found.n; i++) {
        if (rows_int(&found, i, 1) >= before) {
            r->more = false; /* this one and all later ones were requested too late */
            break;
        }
        r->after = rows_int(&found, i, 0);
        if (!rows_null(&found, i, 2) && rows_int(&found, i, 2) < before)
            *vec_add(&d->candidates) = r->after;
    }
done:
    rows_release(&found);
    return rc;
}

/* Drops candidates that another turn has locked. The state of the others is read again after they
 * are locked. */
static int lock_candidates(struct turn *t, struct retention_batch *d, struct err *err)
{
    struct idmap ours = IDMAP_INIT;
    struct rows locked = ROWS_INIT;
    size_t i, n = 0;
    int rc;

    args_begin(&t->args, Q_LOCK_ROOTS);
    for (i = 0; i < d->candidates.n; i++)
        args_int(&t->args, d->candidates.at[i]);
    if ((rc = db_query(t->db, &t->args, &locked, err)))
        goto done;
    for (i = 0; i < locked.n; i++)
        idmap_put(&ours, rows_int(&locked, i, 0), t);
    for (i = 0; i < d->candidates.n; i++)
        if (idmap_get(&ours, d->candidates.at[i]))
            d->candidates.at[n++] = d->candidates.at[i];
    d->candidates.n = n;
done:
    idmap_release(&ours);
    rows_release(&locked);
    return rc;
}

/* Makes the next slice start with this tree. */
static void leave_for_next_slice(struct retention *r, int64_t root)
{
    r->after = root - 1;
    r->more = true;
}

/* Selects the trees in which everything ended early enough, children before their parents. Returns
 * false if the slice is full and some trees are left. The rows are sorted by root, the deepest
 * first. */
static bool select_trees(const struct rows *found, int64_t before, size_t enough,
                         struct retention *r, struct retention_batch *d)
{
    struct idmap stay = IDMAP_INIT;
    bool all = true;
    size_t i;

    for (i = 0; i < found->n; i++)
        if (!status_is_terminal((int)rows_int(found, i, 2)) || rows_int(found, i, 4) >= before)
            idmap_put(&stay, rows_int(found, i, 0), d);
    for (i = 0; i < found->n && all; i++) {
        int64_t root = rows_int(found, i, 0), id = rows_int(found, i, 1);

        if (idmap_get(&stay, root))
            continue;
        if (!r->dry_run && d->ids.n >= enough) {
            leave_for_next_slice(r, root);
            if (d->roots.at[d->roots.n - 1] == root)
                d->part = root;
            all = false;
            continue;
        }
        *vec_add(&d->roots) = root;
        *vec_add(&d->ids) = id;
        d->events += rows_int(found, i, 3);
        if (id == root) {
            *vec_add(&d->whole) = root;
            d->trees++;
        }
    }
    idmap_release(&stay);
    return all;
}

/* Chooses what this slice deletes. The size of a tree is unknown until it is read, so this reads
 * one tree first and then twice as many each time, until the slice is full. */
static int choose_trees(struct turn *t, int64_t before, struct retention *r,
                        struct retention_batch *d, struct err *err)
{
    size_t enough = r->max_rows ? r->max_rows : DEFAULT_MAX_ROWS, seen = 0, done, n, i;
    struct rows found = ROWS_INIT;
    int rc = 0;

    for (done = 0, n = 1; done < d->candidates.n; done += n, n *= 2) {
        if (seen >= enough) {
            leave_for_next_slice(r, d->candidates.at[done]);
            break;
        }
        if (n > d->candidates.n - done)
            n = d->candidates.n - done;
        args_begin(&t->args, Q_TREE_IDS);
        for (i = done; i < done + n; i++)
            args_int(&t->args, d->candidates.at[i]);
        if ((rc = turn_query(t, &t->args, &found, err)) ||
            !select_trees(&found, before, enough, r, d))
            break;
        seen += found.n;
    }
    rows_release(&found);
    return rc;
}

static int send_statement(struct turn *t, enum stmt_id q, struct err *err)
{
    args_begin(&t->args, q);
    return db_send(t->db, &t->args, NULL, ANY_ROWS, err);
}

static int send_for_ids(struct turn *t, enum stmt_id q, const int64_t *ids, size_t n,
                        struct err *err)
{
    size_t i;

    args_begin(&t->args, q);
    for (i = 0; i < n; i++)
        args_int(&t->args, ids[i]);
    return db_send(t->db, &t->args, NULL, ANY_ROWS, err);
}

static int delete_events(struct turn *t, const struct retention_batch *d, struct err *err)
{
    size_t i;

    args_begin(&t->args, Q_EVENTS_DELETE);
    for (i = 0; i < d->ids.n; i++) {
        args_int(&t->args, d->roots.at[i]);
        args_int(&t->args, d->ids.at[i]);
    }
    return db_send(t->db, &t->args, NULL, ANY_ROWS, err);
}

static int delete_batch(struct turn *t, const struct retention_batch *d, struct err *err)
{
    int rc;

    if (!d->ids.n)
        return 0;
    if ((rc = send_statement(t, Q_EVENT_FLOOR_KEEP, err)) ||
        (rc = send_statement(t, Q_RETENTION_ON, err)) || (rc = delete_events(t, d, err)) ||
        (rc = send_for_ids(t, Q_LOGS_DELETE, d->ids.at, d->ids.n, err)) ||
        (rc = send_for_ids(t, Q_KEYS_DELETE, d->ids.at, d->ids.n, err)) ||
        (rc = send_for_ids(t, Q_TIMERS_DELETE, d->ids.at, d->ids.n, err)) ||
        (rc = send_for_ids(t, Q_WORKFLOWS_DELETE, d->ids.at, d->ids.n, err)) ||
        (rc = send_for_ids(t, Q_RETAINING_BEGIN, &d->part, d->part != 0, err)) ||
        (rc = send_for_ids(t, Q_RETAINING_END, d->whole.at, d->whole.n, err)) ||
        (rc = send_for_ids(t, Q_FIRINGS_DELETE, d->ids.at, d->ids.n, err)) ||
        (rc = send_for_ids(t, Q_SUBMISSIONS_DELETE, d->ids.at, d->ids.n, err)) ||
        (rc = send_for_ids(t, Q_EXECUTIONS_DELETE, d->ids.at, d->ids.n, err)) ||
        (rc = send_statement(t, Q_RETENTION_OFF, err)))
        return rc;
    return db_flush(t->db, err);
}

/* Merges the counters of workers that no longer exist into worker 0. */
static int merge_worker_counters(struct turn *t, bool *more, struct err *err)
{
    struct rows left = ROWS_INIT, taken = ROWS_INIT;
    size_t i;
    int rc;

    args_begin(&t->args, Q_WORKER_COUNTERS_LEFT);
    args_int(&t->args, WORKERS_SLICE);
    if ((rc = db_query(t->db, &t->args, &left, err)))
        goto done;
    args_begin(&t->args, Q_WORKER_COUNTERS_TAKE);
    for (i = 0; i < left.n; i++)
        args_int(&t->args, rows_int(&left, i, 0));
    if ((rc = db_query(t->db, &t->args, &taken, err)))
        goto done;
    args_begin(&t->args, Q_WORKER_COUNTER_ADD);
    args_int(&t->args, 0);
    for (i = 0; i < taken.n; i++) {
        args_text(&t->args, rows_text(&taken, i, 0));
        args_text(&t->args, rows_text(&taken, i, 1));
        args_int(&t->args, rows_int(&taken, i, 2));
    }
    if (!(rc = db_query(t->db, &t->args, NULL, err)))
        *more |= left.n == WORKERS_SLICE;
done:
    rows_release(&left);
    rows_release(&taken);
    return rc;
}

/* Deletes unused definitions. A turn that is about to use one waits for this turn, so this turn
 * must not wait for other turns afterwards, as dropping a partition does. */
static int delete_unused_definitions(struct turn *t, struct retention *r, struct err *err)
{
    int64_t age = r->older_than > 2 * DEFINITION_FRESH_US ? r->older_than : 2 * DEFINITION_FRESH_US;
    struct rows gone = ROWS_INIT;
    int rc;

    args_begin(&t->args, Q_DEFINITIONS_DELETE_UNUSED);
    args_int(&t->args, t->now - age);
    args_int(&t->args, DEFINITIONS_SLICE);
    if (!(rc = db_query(t->db, &t->args, &gone, err)))
        r->more = gone.n > 0;
    rows_release(&gone);
    return rc;
}

/* Deletes old rows that belong to no tree: audit entries and refused SQL submissions. */
static int delete_old_rows(struct turn *t, enum stmt_id q, size_t max, struct retention *r,
                           struct err *err)
{
    struct rows gone = ROWS_INIT;
    int rc;

    args_begin(&t->args, q);
    args_int(&t->args, t->now - r->older_than);
    args_int(&t->args, (int64_t)max);
    if (!(rc = db_query(t->db, &t->args, &gone, err)))
        r->more |= gone.n == max;
    rows_release(&gone);
    return rc;
}

/* Runs when no tree is left to delete: removes partitions without trees, rows of writers and
 * workers that are long gone, old audit entries and refused submissions. The counters of a writer
 * are part of a sum, so they are merged into writer 0, never dropped. */
static int cleanup_leftovers(struct turn *t, struct retention *r, struct err *err)
{
    VEC(int64_t) writers = {0};
    struct rows found = ROWS_INIT;
    size_t i;
    int rc;

    args_begin(&t->args, Q_DROP_PARTITIONS);
    args_int(&t->args, r->after);
    if ((rc = db_send(t->db, &t->args, NULL, ANY_ROWS, err)))
        goto done;
    args_begin(&t->args, Q_STALE_WRITERS);
    args_int(&t->args, t->now - WRITER_MAX_AGE_US);
    if ((rc = turn_query(t, &t->args, &found, err)))
        goto done;
    for (i = 0; i < found.n; i++)
        *vec_add(&writers) = rows_int(&found, i, 0);
    if ((rc = send_for_ids(t, Q_COUNTERS_MERGE, writers.at, writers.n, err)) ||
        (rc = send_for_ids(t, Q_COUNTERS_DELETE, writers.at, writers.n, err)) ||
        (rc = send_for_ids(t, Q_TURNS_DELETE, writers.at, writers.n, err)) ||
        (rc = send_statement(t, Q_COUNTERS_DELETE_ZERO, err)))
        goto done;
    r->more = found.n == WRITERS_SLICE; /* another call merges the rest */
    args_begin(&t->args, Q_WORKERS_DELETE_SILENT);
    args_int(&t->args, t->now - WRITER_MAX_AGE_US);
    if ((rc = db_send(t->db, &t->args, NULL, ANY_ROWS, err)) ||
        (rc = merge_worker_counters(t, &r->more, err)) ||
        (rc = delete_old_rows(t, Q_AUDIT_DELETE_OLD, AUDIT_SLICE, r, err)))
        goto done;
    rc = delete_old_rows(t, Q_SUBMISSIONS_DELETE_REFUSED, REFUSED_SLICE, r, err);
done:
    vec_release(&writers);
    rows_release(&found);
    return rc;
}

int op_retain(struct turn *t, const struct retention *from, struct retention *r, struct err *err)
{
    struct retention_batch d = {0};
    int64_t before;
    int rc;

    *r = *from; /* the body of a turn may run more than once */
    if ((rc = turn_sync(t, err)))
        return rc;
    before = t->now - r->older_than;
    if ((rc = find_roots(t, r, before, &d, err)) ||
        (!r->dry_run && (rc = lock_candidates(t, &d, err))) ||
        (rc = choose_trees(t, before, r, &d, err)))
        goto done;
    if (!r->dry_run && (rc = delete_batch(t, &d, err)))
        goto done;
    r->trees += d.trees;
    r->executions += (int64_t)d.ids.n;
    r->events += d.events;
    if (r->more || r->dry_run)
        goto done;
    if (!(rc = delete_unused_definitions(t, r, err)) && !r->more)
        rc = cleanup_leftovers(t, r, err);
done:
    retention_batch_release(&d);
    return rc;
}

#define DAY_US (86400LL * 1000000)

int op_retention_due(struct turn *t, bool *due, struct err *err)
{
    struct rows r = ROWS_INIT;
    int rc;

    if ((rc = turn_sync(t, err)))
        return rc;
    args_begin(&t->args, Q_RETENTION_MARK_RUN);
    args_int(&t->args, t->now);
    args_int(&t->args, t->now - DAY_US);
    if (!(rc = db_query(t->db, &t->args, &r, err)))
        *due = r.n > 0;
    rows_release(&r);
    return rc;
}
