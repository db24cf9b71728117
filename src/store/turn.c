/* turn.c - the locks, loaded rows and ids of a turn; see turn.h. */
#include "store/turn.h"

#include "store/store_internal.h"

#include <stdlib.h>

int turn_sync(struct turn *t, struct err *err)
{
    int64_t now;

    TRY(t->db->driver->send_now(t->db, &t->db_now, err));
    TRY(db_flush(t->db, err));
    now = t->db_now + t->store->env->clock_offset;
    if (now > t->now)
        t->now = now;
    return 0;
}

int turn_query(struct turn *t, const struct args *a, struct rows *out, struct err *err)
{
    TRY(db_send(t->db, a, out, ANY_ROWS, err));
    return turn_sync(t, err);
}

int64_t turn_now(const struct turn *t)
{
    return t->now;
}

int64_t wall_time(const struct db *db, int64_t now)
{
    return db->driver->one_writer ? clock_wall_us() + db->env->clock_offset : now;
}

int64_t turn_wall_time(const struct turn *t)
{
    return wall_time(t->db, t->now);
}

const char **turn_messages(struct turn *t, const char *const *list, size_t n)
{
    const char **copy = arena_alloc(&t->arena, (n + 1) * sizeof(*copy));

    for (size_t i = 0; i < n; i++)
        copy[i] = list[i];
    return copy;
}

struct row *turn_row(const struct turn *t, int64_t id)
{
    return idmap_get(&t->rows, id);
}

struct row *turn_add_row(struct turn *t, const struct execution *e)
{
    struct row *r = turn_row(t, e->id);

    if (r)
        return r;
    r = arena_zalloc(&t->arena, sizeof(*r));
    r->stored = r->now = *e;
    r->has_permits = execution_has_permit(e);
    idmap_put(&t->rows, e->id, r);
    return r;
}

/* Replaces the image of an unlocked read by that of the locked row. A claim, a reaper or an offer
 * of a permit may have changed the row between the two reads, because these do not take the root
 * lock. */
static int refresh_unlocked(struct row *r, const struct execution *e, struct err *err)
{
    struct execution was = r->now;

    r->unlocked = false;
    if (r->dirty && e->seq != r->stored.seq)
        return err_set(err, E_REDO, "execution %lld was changed by another transaction",
                       (long long)e->id);
    if (r->dirty)
        return 0;
    r->stored = r->now = *e;
    r->now.input = was.input;
    r->now.spec = was.spec;
    r->now.result = was.result;
    r->now.error = was.error;
    r->has_permits = execution_has_permit(e);
    return 0;
}

/* Adds an image that was read under a lock to the turn. */
static int add_locked_row(struct turn *t, const struct execution *e, struct row **out,
                          struct err *err)
{
    *out = turn_add_row(t, e);
    return (*out)->unlocked ? refresh_unlocked(*out, e, err) : 0;
}

int turn_read_rows(struct turn *t, const struct rows *r, bool with_input, struct row ***out,
                   struct err *err)
{
    struct execution e;

    *out = arena_alloc(&t->arena, (r->n + 1) * sizeof(**out));
    for (size_t i = 0; i < r->n; i++) {
        struct row **row = &(*out)[i];

        execution_read_state(&e, r, i, 0, &t->arena);
        TRY(add_locked_row(t, &e, row, err));
        if (with_input && !(*row)->has_input_and_spec) {
            (*row)->has_input_and_spec = true;
            rows_read(r, i, STATE_COLUMNS, &t->arena, &(*row)->now.input, &(*row)->now.spec);
        }
    }
    return 0;
}

static int compare_ids(const void *a, const void *b)
{
    const int64_t *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

/* Pushes each id once, in ascending order, because all turns must lock in the same order. */
static void push_sorted(struct args *a, int64_t *ids, size_t n)
{
    if (n)
        qsort(ids, n, sizeof(*ids), compare_ids);
    for (size_t i = 0; i < n; i++)
        if (!i || ids[i] != ids[i - 1])
            args_int(a, ids[i]);
}

int turn_find_roots(struct turn *t, struct row_ref *list, size_t n, struct err *err)
{
    AUTO_ARGS a = ARGS_INIT;
    AUTO_ROWS r = ROWS_INIT;
    AUTO_IDMAP root_of = IDMAP_INIT;
    size_t i, unknown = 0;

    args_begin(&a, Q_ROOTS_OF);
    for (i = 0; i < n; i++)
        if (!list[i].root) {
            args_int(&a, list[i].id);
            unknown++;
        }
    if (!unknown)
        return 0;
    TRY(db_query(t->db, &a, &r, err));
    for (i = 0; i < r.n; i++)
        idmap_put(&root_of, rows_int(&r, i, 0), (void *)(intptr_t)rows_int(&r, i, 1));
    for (i = 0; i < n; i++)
        if (!list[i].root) {
            list[i].root = (int64_t)(intptr_t)idmap_get(&root_of, list[i].id);
            list[i].rc = list[i].root ? 0 : -E_NOT_FOUND;
        }
    return 0;
}

/* Queues the statement that takes the root locks. Roots that are themselves among the rows to load
 * are left out, because loading a row locks it, too. */
static int send_root_locks(struct turn *t, const struct row_ref *list, size_t n, struct rows *out,
                           struct err *err)
{
    int64_t *roots = arena_alloc(&t->arena, n * sizeof(*roots));
    AUTO_ARGS a = ARGS_INIT;
    size_t i, count = 0;

    for (i = 0; i < n; i++)
        if (list[i].rc == 0 && list[i].root != list[i].id && !idmap_get(&t->roots, list[i].root))
            roots[count++] = list[i].root;
    args_begin(&a, t->wait ? Q_LOCK_ROOTS_WAIT : Q_LOCK_ROOTS);
    push_sorted(&a, roots, count);
    return db_send(t->db, &a, out, ANY_ROWS, err);
}

/* Whether the row is loaded, and locked so that no other turn can change it. */
static bool is_loaded_and_locked(const struct turn *t, int64_t id)
{
    const struct row *r = turn_row(t, id);

    return r && !r->unlocked;
}

static int send_loads(struct turn *t, const struct row_ref *list, size_t n, struct rows *out,
                      struct rows *leases, struct err *err)
{
    int64_t *ids = arena_alloc(&t->arena, n * sizeof(*ids));
    AUTO_ARGS a = ARGS_INIT;
    size_t i, count = 0;

    for (i = 0; i < n; i++)
        if (list[i].rc == 0 && !is_loaded_and_locked(t, list[i].id))
            ids[count++] = list[i].id;
    args_begin(&a, t->wait ? Q_LOAD_WAIT : Q_LOAD);
    push_sorted(&a, ids, count);
    TRY(db_send(t->db, &a, out, ANY_ROWS, err));
    args_begin(&a, Q_LEASES_OF);
    push_sorted(&a, ids, count);
    return db_send(t->db, &a, leases, ANY_ROWS, err);
}

/* Adds the loaded rows to the turn. Leases of rows that could not be locked are ignored. */
static int add_loaded_rows(struct turn *t, const struct rows *loaded, const struct rows *leases,
                           struct err *err)
{
    AUTO_IDMAP lease_of = IDMAP_INIT;
    struct execution e;
    struct row *row;

    rows_index(leases, &lease_of);
    for (size_t i = 0; i < loaded->n; i++) {
        const struct val *l;

        execution_read_state(&e, loaded, i, 0, &t->arena);
        if ((l = idmap_get(&lease_of, e.id))) {
            e.worker = l[1].i;
            e.until = l[2].i;
            e.expired_at = l[3].i;
            e.folder = arena_strdup(&t->arena, l[4].s);
        }
        TRY(add_locked_row(t, &e, &row, err));
        if (e.id == e.root)
            idmap_put(&t->roots, e.id, t);
    }
    return 0;
}

/* Sets the rc of the rows that were not returned. Such a row is locked by another turn or does not
 * exist; an unlocked read decides which is true. */
static int mark_busy_or_missing(struct turn *t, struct row_ref *list, size_t n, struct err *err)
{
    struct row_ref *missing = arena_alloc(&t->arena, n * sizeof(*missing));
    size_t i, count = 0, at = 0;

    for (i = 0; i < n; i++)
        if (list[i].rc == -E_NOT_FOUND)
            missing[count++] = (struct row_ref){.id = list[i].id};
    if (!count)
        return 0;
    TRY(turn_find_roots(t, missing, count, err));
    for (i = 0; i < n; i++)
        if (list[i].rc == -E_NOT_FOUND && missing[at++].rc == 0)
            list[i].rc = -E_BUSY;
    return 0;
}

/* Whether all rows are loaded already, which is the common case while a workflow advances. */
static bool is_loaded(const struct turn *t, const struct row_ref *list, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (list[i].rc || !is_loaded_and_locked(t, list[i].id) ||
            (list[i].root != list[i].id && !idmap_get(&t->roots, list[i].root)))
            return false;
    return true;
}

int turn_load(struct turn *t, struct row_ref *list, size_t n, struct err *err)
{
    return is_loaded(t, list, n) ? 0 : turn_load_and_send(t, list, n, NULL, NULL, err);
}

int turn_load_row(struct turn *t, int64_t id, int64_t root, struct row **out, struct err *err)
{
    struct row_ref ref = {.id = id, .root = root};

    TRY(turn_load(t, &ref, 1, err));
    if (ref.rc == -E_BUSY)
        return err_set(err, E_REDO, "the tree of execution %lld is locked by another transaction",
                       (long long)id);
    if (ref.rc)
        return err_set(err, E_INTERNAL, "the row of execution %lld is missing: run `pawl verify`",
                       (long long)id);
    *out = turn_row(t, id);
    return 0;
}

int turn_load_and_send(struct turn *t, struct row_ref *list, size_t n,
                       int (*send_more)(struct turn *t, void *arg, struct err *err), void *arg,
                       struct err *err)
{
    AUTO_ROWS locked = ROWS_INIT, loaded = ROWS_INIT, leases = ROWS_INIT;

    TRY(send_root_locks(t, list, n, &locked, err));
    TRY(send_loads(t, list, n, &loaded, &leases, err));
    if (send_more)
        TRY(send_more(t, arg, err));
    TRY(turn_sync(t, err));
    for (size_t i = 0; i < locked.n; i++)
        idmap_put(&t->roots, rows_int(&locked, i, 0), t);
    TRY(add_loaded_rows(t, &loaded, &leases, err));
    for (size_t i = 0; i < n; i++) {
        if (list[i].rc)
            continue;
        if (!is_loaded_and_locked(t, list[i].id))
            list[i].rc = -E_NOT_FOUND;
        else if (list[i].root != list[i].id && !idmap_get(&t->roots, list[i].root))
            list[i].rc = -E_BUSY; /* another turn holds the root lock */
    }
    return mark_busy_or_missing(t, list, n, err);
}

/* Creates the missing partitions of the events table, up to the one for the root `highest`;
 * PostgreSQL only. */
static int create_partitions(struct turn *t, int64_t highest, struct err *err)
{
    return ask_one(t->db, INTO(&t->partition_limit), err, Q_CREATE_PARTITIONS, highest);
}

int turn_ensure_partition(struct turn *t, int64_t id, struct err *err)
{
    int64_t limit = t->partition_limit;

    TRY(create_partitions(t, id, err));
    if (t->partition_limit < limit)
        t->partition_limit = limit;
    return 0;
}

static int fetch_ids(struct turn *t, size_t n, int64_t *ids, struct err *err)
{
    AUTO_ROWS r = ROWS_INIT;

    TRY(ask(t, &r, err, Q_NEW_IDS, n));
    for (size_t i = 0; i < n; i++)
        ids[i] = r.n == n ? rows_int(&r, i, 0) : rows_int(&r, 0, 0) + (int64_t)i;
    return ids[n - 1] >= t->partition_limit ? create_partitions(t, ids[n - 1], err) : 0;
}

/* Whether the next n reserved ids ascend and are greater than the parent's id. */
static bool has_reserved(const struct turn *t, size_t n, int64_t parent)
{
    const int64_t *next = t->reserved_ids.at + t->reserved_ids.n;

    if (t->reserved_ids.n < n)
        return false;
    for (; n; n--, parent = *next)
        if (*--next <= parent)
            return false;
    return true;
}

int turn_reserve_ids(struct turn *t, size_t n, int64_t parent, struct err *err)
{
    int64_t *ids;

    if (has_reserved(t, n, parent))
        return 0;
    ids = arena_alloc(&t->arena, n * sizeof(*ids));
    TRY(fetch_ids(t, n, ids, err));
    for (size_t i = n; i > 0; i--)
        *vec_add(&t->reserved_ids) = ids[i - 1];
    return 0;
}

int turn_new_ids(struct turn *t, size_t n, int64_t *ids, struct err *err)
{
    return n ? fetch_ids(t, n, ids, err) : 0;
}

int turn_next_id(struct turn *t, int64_t parent, int64_t *id, struct err *err)
{
    if (!t->reserved_ids.n || t->reserved_ids.at[t->reserved_ids.n - 1] <= parent)
        return fetch_ids(t, 1, id, err);
    *id = t->reserved_ids.at[--t->reserved_ids.n];
    return 0;
}
