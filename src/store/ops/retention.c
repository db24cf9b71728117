/* retention.c - deletes old trees with their rows, events, logs and keys; never a tree that has an
 * open execution. It walks the roots by id, which rises with time, so nothing is sorted or counted.
 * Each call does one bounded slice. Logs may expire earlier than the executions. */
#include "store/door/door.h"
#include "store/store_internal.h"
#include "store/workflow/workflow.h"

#include <stdlib.h>

#define WRITER_MAX_AGE_US \
    (24 * 3600 * 1000000LL) /* µs: a writer or worker that is silent for this long is gone */

#define DEFAULT_MAX_ROWS  5000
/* Counters of writers merged in one turn; the LIMIT of stale_writers. */
#define WRITERS_SLICE     1000
#define HOSTS_SLICE       1000 /* rows of hosts without workers deleted in one turn */
#define AUDIT_SLICE       1000 /* audit entries deleted in one turn */
#define REFUSED_SLICE     5000 /* refused submissions deleted in one turn */
#define DEFINITIONS_SLICE 100  /* definitions deleted in one turn; their texts may be large */

/* The executions that this slice deletes: whole trees, and the lower part of a tree that is too
 * large for one slice. */
struct retention_batch {
    VEC(int64_t) candidates; /* roots that ended early enough */
    VEC(int64_t) roots;      /* the root of each execution in ids */
    VEC(int64_t) ids;
    VEC(int64_t) whole; /* roots of the trees that this slice deletes completely */
    int64_t part;       /* root of the tree that this slice deletes in part; 0 if none */
    int64_t trees, events;
};

static void retention_batch_release(struct retention_batch *d)
{
    vec_release(&d->candidates);
    vec_release(&d->roots);
    vec_release(&d->ids);
    vec_release(&d->whole);
}

/* Finds those of the next roots that ended early enough. Sets r->after to the last root checked,
 * and r->more if further roots may exist. */
static int find_roots(struct turn *t, struct retention *r, int64_t before,
                      struct retention_batch *d, struct err *err)
{
    AUTO_ROWS found = ROWS_INIT;

    TRY(ask(t, &found, err, Q_OLD_ROOTS, r->after, r->max_trees));
    r->more = found.n == r->max_trees;
    for (size_t i = 0; i < found.n; i++) {
        int64_t root, requested_at, finished_at;

        rows_read(&found, i, 0, NULL, &root, &requested_at, &finished_at);
        if (requested_at >= before) {
            r->more = false; /* this root and all later ones were requested too late */
            break;
        }
        r->after = root;
        if (finished_at && finished_at < before)
            *vec_add(&d->candidates) = root;
    }
    return 0;
}

/* Drops candidates that another turn has locked. The caller must read the others again: they may
 * have changed before they were locked. */
static int lock_candidates(struct turn *t, struct retention_batch *d, struct err *err)
{
    AUTO_IDMAP ours = IDMAP_INIT;
    AUTO_ROWS locked = ROWS_INIT;
    size_t n = 0;

    TRY(ask_ids(t->db, &locked, err, Q_LOCK_ROOTS, d->candidates.at, d->candidates.n));
    rows_index(&locked, &ours);
    for (size_t i = 0; i < d->candidates.n; i++)
        if (idmap_get(&ours, d->candidates.at[i]))
            d->candidates.at[n++] = d->candidates.at[i];
    d->candidates.n = n;
    return 0;
}

/* Makes the next slice start with the tree of this root. */
static void leave_for_next_slice(struct retention *r, int64_t root)
{
    r->after = root - 1;
    r->more = true;
}

/* Selects the trees in which everything ended early enough, children before their parents. Returns
 * false if the slice is full and some trees are left. The rows are sorted by root; within a tree,
 * the deepest come first. */
static bool select_trees(const struct rows *found, int64_t before, size_t enough,
                         struct retention *r, struct retention_batch *d)
{
    AUTO_IDMAP stay = IDMAP_INIT;
    bool all = true;

    for (size_t i = 0; i < found->n; i++)
        if (!status_is_terminal((int)rows_int(found, i, 2)) || rows_int(found, i, 4) >= before)
            idmap_put(&stay, rows_int(found, i, 0), d);
    for (size_t i = 0; i < found->n && all; i++) {
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
    return all;
}

/* Chooses what this slice deletes. The size of a tree is unknown until it is read. So one tree is
 * read first, then twice as many each time, until the slice is full. */
static int choose_trees(struct turn *t, int64_t before, struct retention *r,
                        struct retention_batch *d, struct err *err)
{
    size_t enough = r->max_rows ? r->max_rows : DEFAULT_MAX_ROWS, seen = 0;
    AUTO_ROWS found = ROWS_INIT;

    for (size_t done = 0, n = 1; done < d->candidates.n; done += n, n *= 2) {
        if (seen >= enough) {
            leave_for_next_slice(r, d->candidates.at[done]);
            break;
        }
        if (n > d->candidates.n - done)
            n = d->candidates.n - done;
        TRY(ask_ids(t, &found, err, Q_TREE_IDS, d->candidates.at + done, n));
        if (!select_trees(&found, before, enough, r, d))
            break;
        seen += found.n;
    }
    return 0;
}

static int delete_events(struct turn *t, const struct retention_batch *d, struct err *err)
{
    args_begin(&t->args, Q_EVENTS_DELETE);
    for (size_t i = 0; i < d->ids.n; i++)
        args_row(&t->args, d->roots.at[i], d->ids.at[i]);
    return db_send(t->db, &t->args, NULL, ANY_ROWS, err);
}

static int delete_batch(struct turn *t, const struct retention_batch *d, struct err *err)
{
    if (!d->ids.n)
        return 0;
    TRY(db_queue(t->db, NULL, ANY_ROWS, err, Q_EVENT_FLOOR_KEEP));
    TRY(db_queue(t->db, NULL, ANY_ROWS, err, Q_RETENTION_ON));
    TRY(delete_events(t, d, err));
    TRY(db_queue_ids(t->db, err, Q_LOGS_DELETE, d->ids.at, d->ids.n));
    TRY(db_queue_ids(t->db, err, Q_KEYS_DELETE, d->ids.at, d->ids.n));
    TRY(db_queue_ids(t->db, err, Q_TIMERS_DELETE, d->ids.at, d->ids.n));
    TRY(db_queue_ids(t->db, err, Q_WORKFLOWS_DELETE, d->ids.at, d->ids.n));
    TRY(db_queue_ids(t->db, err, Q_RETAINING_BEGIN, &d->part, d->part != 0));
    TRY(db_queue_ids(t->db, err, Q_RETAINING_END, d->whole.at, d->whole.n));
    TRY(db_queue_ids(t->db, err, Q_FIRINGS_DELETE, d->ids.at, d->ids.n));
    TRY(db_queue_ids(t->db, err, Q_SUBMISSIONS_DELETE, d->ids.at, d->ids.n));
    TRY(db_queue_ids(t->db, err, Q_EXECUTIONS_DELETE, d->ids.at, d->ids.n));
    TRY(db_queue(t->db, NULL, ANY_ROWS, err, Q_RETENTION_OFF));
    return db_flush(t->db, err);
}

/* Deletes the rows of workers that have been silent for a long time, and merges the counters of all
 * workers that are gone. Their hosts stay stored as long as events may name these workers. */
static int delete_silent_workers(struct turn *t, int64_t silent_since, bool *more, struct err *err)
{
    AUTO_ROWS silent = ROWS_INIT, gone = ROWS_INIT;

    TRY(ask(t->db, &silent, err, Q_WORKERS_DELETE_SILENT, silent_since));
    args_begin(&t->args, Q_WORKER_HOSTS_SEEN, t->now);
    for (size_t i = 0; i < silent.n; i++)
        args_int(&t->args, rows_int(&silent, i, 0));
    if (silent.n)
        TRY(db_query(t->db, &t->args, NULL, err));
    TRY(db_queue(t->db, NULL, ANY_ROWS, err, Q_ATTEMPTS_MERGE_WORKERS));
    TRY(db_queue(t->db, NULL, ANY_ROWS, err, Q_ATTEMPTS_DELETE_WORKERS));
    TRY(ask(t->db, &gone, err, Q_WORKER_HOSTS_DELETE_OLD, t->now, HOSTS_SLICE));
    *more |= gone.n == HOSTS_SLICE;
    return 0;
}

/* Deletes unused definitions and their applications. A turn that is about to use such a definition
 * waits for this turn. So this turn must not wait for other turns afterwards, which dropping a
 * partition would do. */
static int delete_unused_definitions(struct turn *t, struct retention *r, struct err *err)
{
    int64_t age = r->older_than > 2 * DEFINITION_FRESH_US ? r->older_than : 2 * DEFINITION_FRESH_US;
    AUTO_ROWS gone = ROWS_INIT;

    TRY(ask(t->db, &gone, err, Q_DEFINITIONS_DELETE_UNUSED, t->now - age, DEFINITIONS_SLICE));
    if (!gone.n)
        return 0;
    r->more = true; /* further ones may exist */
    args_begin(&t->args, Q_APPLICATIONS_DELETE);
    for (size_t i = 0; i < gone.n; i++)
        args_text(&t->args, rows_text(&gone, i, 0));
    return db_query(t->db, &t->args, NULL, err);
}

/* Deletes old rows that belong to no tree: audit entries and refused SQL submissions. */
static int delete_old_rows(struct turn *t, enum stmt_id q, size_t max, struct retention *r,
                           struct err *err)
{
    AUTO_ROWS gone = ROWS_INIT;

    TRY(ask(t->db, &gone, err, q, t->now - r->older_than, max));
    r->more |= gone.n == max;
    return 0;
}

/* Removes other old rows, when no tree is left to delete: partitions without trees, rows of writers
 * and workers that are long gone, old audit entries and refused submissions. The counters of a
 * writer are part of a sum, so they are merged into writer 0, never dropped. */
static int cleanup_leftovers(struct turn *t, struct retention *r, struct err *err)
{
    int64_t silent_since = t->now - WRITER_MAX_AGE_US;
    AUTO_ROWS writers = ROWS_INIT;

    TRY(db_queue(t->db, NULL, ANY_ROWS, err, Q_DROP_PARTITIONS, r->after));
    TRY(ask(t, &writers, err, Q_STALE_WRITERS, silent_since));
    TRY(ask_found(t->db, NULL, err, Q_COUNTERS_MERGE, &writers));
    TRY(ask_found(t->db, NULL, err, Q_COUNTERS_DELETE, &writers));
    TRY(ask_found(t->db, NULL, err, Q_ATTEMPTS_MERGE_WRITERS, &writers));
    TRY(ask_found(t->db, NULL, err, Q_ATTEMPTS_DELETE_WRITERS, &writers));
    TRY(ask_found(t->db, NULL, err, Q_TURNS_DELETE, &writers));
    TRY(db_queue(t->db, NULL, ANY_ROWS, err, Q_COUNTERS_DELETE_ZERO));
    r->more = writers.n == WRITERS_SLICE; /* another call merges the rest */
    TRY(delete_silent_workers(t, silent_since, &r->more, err));
    TRY(delete_old_rows(t, Q_AUDIT_DELETE_OLD, AUDIT_SLICE, r, err));
    return delete_old_rows(t, Q_SUBMISSIONS_DELETE_REFUSED, REFUSED_SLICE, r, err);
}

int op_retain(struct turn *t, const struct retention *from, struct retention *r, struct err *err)
{
    AUTO(retention_batch_release) struct retention_batch d = {0};
    int64_t before;

    *r = *from; /* start anew: the body of a turn may run more than once */
    TRY(turn_sync(t, err));
    before = t->now - r->older_than;
    TRY(find_roots(t, r, before, &d, err));
    if (!r->dry_run)
        TRY(lock_candidates(t, &d, err));
    TRY(choose_trees(t, before, r, &d, err));
    if (!r->dry_run)
        TRY(delete_batch(t, &d, err));
    r->trees += d.trees;
    r->executions += (int64_t)d.ids.n;
    r->events += d.events;
    if (r->more || r->dry_run)
        return 0;
    TRY(delete_unused_definitions(t, r, err));
    return r->more ? 0 : cleanup_leftovers(t, r, err);
}

#define DAY_US (86400LL * 1000000)

int op_retention_due(struct turn *t, bool *due, struct err *err)
{
    TRY(turn_sync(t, err));
    return ask_any(t->db, due, err, Q_RETENTION_MARK_RUN, t->now, t->now - DAY_US);
}

/* ---- logs: the walk uses their index, so executions without logs cost nothing ---- */

/* Finds the next executions with logs that ended early enough. `wants` gets two entries for each
 * execution: its root and the execution itself. */
static int find_with_logs(struct turn *t, struct retention *r, int64_t before,
                          struct row_ref *wants, size_t *n, struct err *err)
{
    AUTO_ROWS found = ROWS_INIT;

    TRY(ask(t, &found, err, Q_LOGS_KEPT, r->after, r->max_trees));
    r->more = found.n == r->max_trees;
    for (size_t i = 0; i < found.n; i++) {
        int64_t id, root, requested_at, finished_at;

        rows_read(&found, i, 0, NULL, &id, &root, &requested_at, &finished_at);
        if (requested_at >= before) {
            r->more = false; /* this execution and all later ones were requested too late */
            break;
        }
        r->after = id;
        if (finished_at && finished_at < before) {
            wants[(*n)++] = (struct row_ref){.id = root, .root = root};
            wants[(*n)++] = (struct row_ref){.id = id, .root = root};
        }
    }
    return 0;
}

/* Whether an execution is still old enough, now that its tree is locked: a rerun may have reopened
 * it. Returns false if another turn has locked its tree; the next retention checks it again. */
static bool is_old(const struct turn *t, const struct row_ref *w, int64_t before)
{
    const struct row *row = w->rc ? NULL : turn_row(t, w->id);

    return row && row->now.finished_at && row->now.finished_at < before;
}

int op_retain_logs(struct turn *t, const struct retention *from, struct retention *r,
                   struct err *err)
{
    struct row_ref *wants = arena_alloc(&t->arena, (2 * from->max_trees + 1) * sizeof(*wants));
    int64_t before;
    size_t n = 0;

    *r = *from; /* start anew: the body of a turn may run more than once */
    TRY(turn_sync(t, err));
    before = t->now - r->older_than;
    TRY(find_with_logs(t, r, before, wants, &n, err));
    TRY(turn_load(t, wants, n, err));
    args_begin(&t->args, Q_LOGS_DELETE);
    for (size_t i = 0; i < n; i += 2)
        if (is_old(t, &wants[i], before) && is_old(t, &wants[i + 1], before)) {
            args_int(&t->args, wants[i + 1].id);
            r->executions++;
        }
    return args_rows(&t->args) ? db_send(t->db, &t->args, NULL, ANY_ROWS, err) : 0;
}
