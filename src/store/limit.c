/* limit.c - limits: how many jobs of a queue, or of a concurrency key, may be claimable or running
 * at once. A job takes its permits when it would become claimable; without room it is held. The end
 * of one hands its permit to the next in the same transaction. So a claim never has to look at
 * limits. */
#include "store/data.h"
#include "store/door.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

static int64_t hash(char kind, const char *name)
{
    uint64_t h = 14695981039346656037u ^ (unsigned char)kind;

    for (; *name; name++)
        h = (h ^ (unsigned char)*name) * 1099511628211u;
    return (int64_t)(h >> 1) | 1;
}

struct limit *limit_get(struct turn *t, char kind, const char *name)
{
    int64_t h = hash(kind, name);
    struct limit *first = idmap_get(&t->limits, h), *l;
    const char *prefix = kind == 'q' ? "queue:" : "key:";
    char *key;

    for (l = first; l; l = l->same_hash)
        if (l->kind == kind && !strcmp(l->name, name))
            return l;
    l = arena_zalloc(&t->arena, sizeof(*l));
    key = arena_alloc(&t->arena, strlen(prefix) + strlen(name) + 1);
    stpcpy(stpcpy(key, prefix), name);
    *l = (struct limit){
        .kind = kind, .key = key, .name = key + strlen(prefix), .max = -1, .same_hash = first};
    idmap_put(&t->limits, h, l);
    *vec_add(&t->limit_list) = l;
    return l;
}

void limits_note(struct turn *t, const struct execution *e)
{
    if (!kind_is_job(e->kind))
        return;
    limit_get(t, 'q', e->queue);
    if (e->concurrency)
        limit_get(t, 'k', e->concurrency);
}

static int by_key(const void *a, const void *b)
{
    const struct limit *const *x = a, *const *y = b;

    /* Queues first: whoever hands on a permit of a queue most often needs a key's limit then. */
    if ((*x)->kind != (*y)->kind)
        return (*x)->kind == 'q' ? -1 : 1;
    return strcmp((*x)->key, (*y)->key);
}

/* Pushes the keys of the limits that are not known yet, in order; returns how many. */
static size_t push_unknown(struct turn *t, struct args *a, enum stmt_id q)
{
    size_t i, n = 0;

    args_begin(a, q);
    for (i = 0; i < t->limit_list.n; i++)
        if (!t->limit_list.at[i]->known) {
            args_text(a, t->limit_list.at[i]->key);
            n++;
        }
    return n;
}

static void take_limits(struct turn *t, const struct rows *r)
{
    size_t i;

    for (i = 0; i < r->n; i++) {
        const char *key = rows_text(r, i, 0);
        struct limit *l = limit_get(t, key[0], strchr(key, ':') + 1);

        l->max = (int)rows_int(r, i, 1);
        l->used = l->stored_used = (int)rows_int(r, i, 2);
        l->known = true;
    }
}

int limits_fetch(struct turn *t, struct err *err)
{
    struct args a = ARGS_INIT;
    struct rows r = ROWS_INIT;
    size_t i;
    int rc = 0;

    if (t->limit_list.n)
        qsort(t->limit_list.at, t->limit_list.n, sizeof(*t->limit_list.at), by_key);
    if (!push_unknown(t, &a, Q_LOCK_LIMITS) || (rc = turn_query(t, &a, &r, err)))
        goto done;
    take_limits(t, &r);
    for (i = 0; i < t->limit_list.n; i++)
        t->limit_list.at[i]->known = true;
done:
    rows_release(&r);
    args_release(&a);
    return rc;
}

/* The same for limits that come up while others are held already. To wait for them would be out of
 * order, and might end in a circle: those that others hold stay unknown. */
static int limits_try(struct turn *t, struct err *err)
{
    struct rows locked = ROWS_INIT, there = ROWS_INIT;
    struct args a = ARGS_INIT;
    size_t i, k;
    int rc = 0;

    if (!push_unknown(t, &a, Q_TRY_LIMITS) || (rc = db_send(t->db, &a, &locked, ANY_ROWS, err)))
        goto done;
    push_unknown(t, &a, Q_LIMITS_THERE);
    if ((rc = turn_query(t, &a, &there, err)))
        goto done;
    take_limits(t, &locked);
    for (i = 0; i < t->limit_list.n; i++) {
        struct limit *l = t->limit_list.at[i];

        for (k = 0; k < there.n && strcmp(rows_text(&there, k, 0), l->key); k++)
            ;
        l->known |= k == there.n;
    }
done:
    rows_release(&locked);
    rows_release(&there);
    args_release(&a);
    return rc;
}

static bool limits_are_known(struct turn *t, const struct execution *e)
{
    return limit_get(t, 'q', e->queue)->known &&
           (!e->concurrency || limit_get(t, 'k', e->concurrency)->known);
}

size_t limits_of(struct turn *t, const struct execution *e, struct limit *out[2])
{
    struct limit *l;
    size_t n = 0;

    if (!kind_is_job(e->kind))
        return 0;
    l = limit_get(t, 'q', e->queue);
    if (l->max >= 0)
        out[n++] = l;
    if (e->concurrency && (l = limit_get(t, 'k', e->concurrency))->max >= 0)
        out[n++] = l;
    return n;
}

/* Locks up to `room` of those who wait for l and lets them go on; another limit may hold them
 * again. */
static int offer(struct turn *t, struct limit *l, size_t *taken, struct err *err)
{
    struct args a = ARGS_INIT;
    struct rows r = ROWS_INIT;
    struct row **rows;
    size_t i;
    int rc;

    *taken = 0;
    args_begin(&a, Q_WAITERS);
    args_int(&a, l->max - l->used);
    args_text(&a, l->key);
    if ((rc = turn_query(t, &a, &r, err)))
        goto done;
    rows = arena_alloc(&t->arena, (r.n + 1) * sizeof(*rows));
    turn_read_rows(t, &r, false, rows);
    for (i = 0; i < r.n; i++)
        limits_note(t, &rows[i]->now);
    if ((rc = limits_try(t, err)))
        goto done;
    for (i = 0; i < r.n; i++) {
        if (rows[i]->now.held != HELD_LIMIT || !limits_are_known(t, &rows[i]->now))
            continue;
        if ((rc = door_move(t, rows[i], EV_UNHELD, S_READY, NULL, err)) ||
            (rc = door_admit(t, rows[i], err)))
            goto done;
        ++*taken;
    }
done:
    rows_release(&r);
    args_release(&a);
    return rc;
}

/* Those who could take a permit, or their other limits, are all locked: a timer that is due now
 * offers it again.
 */
static int offer_later(struct turn *t, const struct limit *l, struct err *err)
{
    struct args a = ARGS_INIT;
    struct rows r = ROWS_INIT;
    int rc;

    args_begin(&a, Q_FIRST_WAITER);
    args_text(&a, l->key);
    if ((rc = db_query(t->db, &a, &r, err)) || !r.n)
        goto done;
    args_begin(&a, Q_TIMER_INSERT);
    args_int(&a, t->now);
    args_int(&a, rows_int(&r, 0, 1));
    args_int(&a, TIMER_HANDOVER);
    rc = db_send(t->db, &a, NULL, ANY_ROWS, err);
    t->wake |= WAKE_JOBS;
done:
    rows_release(&r);
    args_release(&a);
    return rc;
}

int limits_hand_on(struct turn *t, struct err *err)
{
    size_t i, taken;
    int rc;

    for (i = 0; i < t->limit_list.n; i++) {
        struct limit *l = t->limit_list.at[i];

        if (!l->freed || l->max < 0 || l->used >= l->max) {
            l->freed = false;
            continue;
        }
        if ((rc = offer(t, l, &taken, err)))
            return rc;
        if (t->dirty.n)
            return 0; /* write them, then look again: the permit may not have been taken */
        l->freed = false;
        if (!taken && (rc = offer_later(t, l, err)))
            return rc;
    }
    return 0;
}

/* ---- setting a limit ----------------------------------------------------------------------------
 */

/* The permits that are taken of a limit which is new. A key has none: its first job made it, see
 * submit.c. */
static int count_used(struct turn *t, struct limit *l, struct err *err)
{
    struct args a = ARGS_INIT;
    struct rows r = ROWS_INIT;
    int rc;

    if (l->kind == 'k')
        return 0;
    args_begin(&a, Q_QUEUE_PERMITS);
    args_text(&a, l->name);
    if (!(rc = turn_query(t, &a, &r, err)))
        l->used = (int)rows_int(&r, 0, 0);
    rows_release(&r);
    args_release(&a);
    return rc;
}

/* Whether more than `seen` jobs of the limit may be claimed, also such as others have locked. */
static int is_more_claimable(struct turn *t, const struct limit *l, size_t seen, bool *more,
                             struct err *err)
{
    struct args a = ARGS_INIT;
    struct rows r = ROWS_INIT;
    int rc;

    args_begin(&a, l->kind == 'q' ? Q_CLAIMABLE_OF_QUEUE : Q_CLAIMABLE_OF_KEY);
    args_text(&a, l->name);
    args_int(&a, (int64_t)seen + 1);
    if (!(rc = db_query(t->db, &a, &r, err)))
        *more = rows_int(&r, 0, 0) > (int64_t)seen;
    rows_release(&r);
    args_release(&a);
    return rc;
}

/* Takes jobs above the limit out of the outbox, the youngest first, at most `slice`. */
static int hold_surplus(struct turn *t, struct limit *l, size_t slice, bool *more, struct err *err)
{
    size_t above = (size_t)(l->used - l->max), i;
    struct args a = ARGS_INIT;
    struct rows r = ROWS_INIT;
    struct row **rows;
    int rc;

    args_begin(&a, l->kind == 'q' ? Q_SURPLUS_OF_QUEUE : Q_SURPLUS_OF_KEY);
    args_text(&a, l->name);
    args_int(&a, (int64_t)(above < slice ? above : slice));
    if ((rc = turn_query(t, &a, &r, err)))
        goto done;
    rows = arena_alloc(&t->arena, (r.n + 1) * sizeof(*rows));
    turn_read_rows(t, &r, false, rows);
    for (i = 0; i < r.n; i++)
        limits_note(t, &rows[i]->now);
    if ((rc = limits_fetch(t, err)))
        goto done;
    /* A claim that has one locked may yet be rolled back. */
    if (r.n < above && (rc = is_more_claimable(t, l, r.n, more, err)))
        goto done;
    for (i = 0; i < r.n; i++) {
        struct move_note note = {
            .why = HELD_LIMIT, .held_key = l->key, .data = data_hold(t, HELD_LIMIT, l->key, 0)};

        if ((rc = door_move(t, rows[i], EV_HELD, S_READY, &note, err)))
            goto done;
    }
done:
    rows_release(&r);
    args_release(&a);
    return rc;
}

static int is_waited_for(struct turn *t, const struct limit *l, bool *waited, struct err *err)
{
    struct args a = ARGS_INIT;
    struct rows r = ROWS_INIT;
    int rc;

    args_begin(&a, Q_FIRST_WAITER);
    args_text(&a, l->key);
    if (!(rc = db_query(t->db, &a, &r, err)))
        *waited = r.n > 0;
    rows_release(&r);
    args_release(&a);
    return rc;
}

static int write_max(struct turn *t, const struct limit *l, struct err *err)
{
    struct args a = ARGS_INIT;
    int rc;

    args_begin(&a, Q_LIMIT_UPSERT);
    args_text(&a, l->key);
    args_int(&a, l->max);
    args_int(&a, l->used);
    rc = db_send(t->db, &a, NULL, 1, err);
    args_release(&a);
    return rc;
}

/* Raises the limit and lets those go who wait, a slice at a time; *more if it is not at `max` yet.
 */
static int let_go(struct turn *t, struct limit *l, int max, size_t slice, bool *more,
                  struct err *err)
{
    int rc;

    l->max = max - l->used > (int)slice ? l->used + (int)slice : max;
    l->freed = true;
    if ((rc = door_flush(t, err)) || (l->max < max && (rc = is_waited_for(t, l, more, err))))
        return rc;
    if (!*more)
        l->max = max;
    return write_max(t, l, err);
}

/* Whether any job of a key is open, also one that is held for something else and has no permit. */
static int is_in_use(struct turn *t, const struct limit *l, bool *used, struct err *err)
{
    struct args a = ARGS_INIT;
    struct rows r = ROWS_INIT;
    int rc;

    args_begin(&a, Q_KEY_IN_USE);
    args_text(&a, l->name);
    if (!(rc = db_query(t->db, &a, &r, err)))
        *used = r.n > 0;
    rows_release(&r);
    args_release(&a);
    return rc;
}

/* The limit goes when nobody waits for it any more. That of a key which is in use stays, without a
 * bound: every job of a key is counted. */
static int remove_limit(struct turn *t, struct limit *l, size_t slice, bool *more, struct err *err)
{
    struct args a = ARGS_INIT;
    bool used = l->used > 0;
    int rc;

    if (l->max < 0)
        return 0;
    if ((rc = let_go(t, l, INT_MAX, slice, more, err)) || *more ||
        (l->kind == 'k' && !used && (rc = is_in_use(t, l, &used, err))) || (l->kind == 'k' && used))
        return rc;
    args_begin(&a, Q_LIMIT_DELETE);
    args_text(&a, l->key);
    rc = db_send(t->db, &a, NULL, 1, err);
    l->max = -1;
    args_release(&a);
    return rc;
}

int op_limit(struct turn *t, const char *key, int max, size_t slice, bool *more, struct err *err)
{
    bool queue = !strncmp(key, "queue:", 6);
    const char *name = strchr(key, ':');
    struct args a = ARGS_INIT;
    struct limit *l;
    int rc;

    *more = false;
    if ((!queue && strncmp(key, "key:", 4)) || !name[1])
        return err_set(err, E_INVALID, "'%.80s' is no limit: write queue:NAME or key:NAME", key);
    /* Turns that saw no limit, or another one, end before this goes on; see lock_limits. */
    args_begin(&a, Q_LIMITS_TABLE_LOCK);
    rc = db_send(t->db, &a, NULL, ANY_ROWS, err);
    args_release(&a);
    if (rc)
        return rc;
    l = limit_get(t, queue ? 'q' : 'k', name + 1);
    if ((rc = limits_fetch(t, err)))
        return rc;
    if (max < 0)
        return remove_limit(t, l, slice, more, err);
    if (l->max < 0 && (rc = count_used(t, l, err)))
        return rc;
    l->stored_used = l->used;
    if (l->used < max)
        return let_go(t, l, max, slice, more, err);
    l->max = max;
    if ((rc = write_max(t, l, err)))
        return rc;
    return l->used > max ? hold_surplus(t, l, slice, more, err) : 0;
}
