/* limits.c - limits: how many jobs of a queue, of a concurrency key, or of all processes with
 * queue.enabled: false (the cap), may be claimable or running at once. A job takes its permits when
 * it would become claimable; it is held if a limit has no free permit. When a job ends, the same
 * transaction passes its permit to the next waiting job, so a claim never has to check limits. */
#include "store/door/door.h"
#include "store/door/event_data.h"
#include "store/store_internal.h"
#include "store/workflow/workflow.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

static int64_t hash_limit(char kind, const char *name)
{
    uint64_t h = 14695981039346656037u ^ (unsigned char)kind;

    for (; *name; name++)
        h = (h ^ (unsigned char)*name) * 1099511628211u;
    return (int64_t)(h >> 1) | 1;
}

struct limit *limit_get(struct turn *t, char kind, const char *name)
{
    int64_t h = hash_limit(kind, name);
    struct limit *first = idmap_get(&t->limits, h), *l;
    const char *prefix = kind == 'q' ? "queue:" : "key:";
    char *key;

    for (l = first; l; l = l->next_same_hash)
        if (l->kind == kind && !strcmp(l->name, name))
            return l;
    l = arena_zalloc(&t->arena, sizeof(*l));
    key = arena_alloc(&t->arena, strlen(prefix) + strlen(name) + 1);
    stpcpy(stpcpy(key, prefix), name);
    *l = (struct limit){
        .kind = kind, .key = key, .name = key + strlen(prefix), .max = -1, .next_same_hash = first};
    idmap_put(&t->limits, h, l);
    *vec_add(&t->limit_list) = l;
    return l;
}

bool limit_is_cap(const struct limit *l)
{
    return l->kind == 'k' && !strcmp(l->name, LIMIT_CAP);
}

struct limit *limit_get_cap(struct turn *t)
{
    return limit_get(t, 'k', LIMIT_CAP);
}

static void set_to_cap(struct limit *l, int cap)
{
    int max = cap > l->used ? cap : l->used;

    l->max_changed |= max != l->max;
    l->max = max;
}

void limit_apply_cap(struct turn *t)
{
    struct limit *l = limit_get_cap(t);

    /* Jobs that wait for the cap can be admitted if it is higher now. */
    l->freed |= t->store->workflow_options.cap > l->max;
    set_to_cap(l, t->store->workflow_options.cap);
}

void limit_lower_to_cap(struct turn *t, struct limit *l)
{
    int cap = t->store->workflow_options.cap;

    if (cap && cap < l->max && limit_is_cap(l))
        set_to_cap(l, cap);
}

/* Lists all limits that could apply to the execution, whether or not they are set. A queue's limit
 * and the cap count jobs only; a key's limit also counts workflows. */
static size_t possible_limits(struct turn *t, const struct execution *e,
                              struct limit *out[LIMITS_MAX])
{
    bool job = kind_is_job(e->kind);
    size_t n = 0;

    if (job)
        out[n++] = limit_get(t, 'q', e->queue);
    if (e->concurrency)
        out[n++] = limit_get(t, 'k', e->concurrency);
    if (job && (e->flags & FLAG_CAPPED) && !limit_is_cap(out[n - 1]))
        out[n++] = limit_get_cap(t);
    return n;
}

void limits_note(struct turn *t, const struct execution *e)
{
    struct limit *limits[LIMITS_MAX];

    possible_limits(t, e, limits);
}

int limits_note_rows(struct turn *t, struct args *a, struct rows *r, struct row ***rows,
                     struct err *err)
{
    TRY(turn_query(t, a, r, err));
    TRY(turn_read_rows(t, r, false, rows, err));
    for (size_t i = 0; i < r->n; i++)
        limits_note(t, &(*rows)[i]->now);
    return 0;
}

/* The order in which all turns lock limits. */
static int by_key(const void *a, const void *b)
{
    const struct limit *const *x = a, *const *y = b;

    return strcmp((*x)->key, (*y)->key);
}

/* Adds to the arguments the keys of limits that have not been read yet, in list order. Returns
 * their number. */
static size_t push_unknown_keys(struct turn *t, struct args *a, enum stmt_id q)
{
    args_begin(a, q);
    for (size_t i = 0; i < t->limit_list.n; i++)
        if (!t->limit_list.at[i]->known)
            args_text(a, t->limit_list.at[i]->key);
    return args_rows(a);
}

static void read_limits(struct turn *t, const struct rows *r)
{
    for (size_t i = 0; i < r->n; i++) {
        const char *key = rows_text(r, i, 0);
        struct limit *l = limit_get(t, key[0], strchr(key, ':') + 1);

        rows_read(r, i, 1, NULL, &l->max, &l->used);
        l->stored_used = l->used;
        l->known = true;
    }
}

int limits_send(struct turn *t, struct rows *locked, struct err *err)
{
    AUTO_ARGS a = ARGS_INIT;

    if (t->limit_list.n)
        qsort(t->limit_list.at, t->limit_list.n, sizeof(*t->limit_list.at), by_key);
    return push_unknown_keys(t, &a, Q_LOCK_LIMITS) ? db_send(t->db, &a, locked, ANY_ROWS, err) : 0;
}

void limits_receive(struct turn *t, const struct rows *locked)
{
    read_limits(t, locked);
    for (size_t i = 0; i < t->limit_list.n; i++)
        t->limit_list.at[i]->known = true;
}

static bool has_unknown_limit(const struct turn *t)
{
    for (size_t i = 0; i < t->limit_list.n; i++)
        if (!t->limit_list.at[i]->known)
            return true;
    return false;
}

int limits_fetch(struct turn *t, struct err *err)
{
    AUTO_ROWS r = ROWS_INIT;

    if (!has_unknown_limit(t))
        return 0;
    TRY(limits_send(t, &r, err));
    TRY(turn_sync(t, err));
    limits_receive(t, &r);
    return 0;
}

/* Locks further limits while this turn already holds some. Waiting for further limits would break
 * the lock order and could deadlock, so limits that other turns have locked stay unknown. */
static int try_lock_limits(struct turn *t, struct err *err)
{
    AUTO_ROWS locked = ROWS_INIT, existing = ROWS_INIT;
    AUTO_ARGS a = ARGS_INIT;

    if (!push_unknown_keys(t, &a, Q_TRY_LIMITS))
        return 0;
    TRY(db_send(t->db, &a, &locked, ANY_ROWS, err));
    push_unknown_keys(t, &a, Q_LIMITS_EXISTING);
    TRY(turn_query(t, &a, &existing, err));
    read_limits(t, &locked);
    for (size_t i = 0, k; i < t->limit_list.n; i++) {
        struct limit *l = t->limit_list.at[i];

        for (k = 0; k < existing.n && strcmp(rows_text(&existing, k, 0), l->key); k++)
            ;
        l->known |= k == existing.n; /* a limit that does not exist needs no lock */
    }
    return 0;
}

static bool limits_are_known(struct turn *t, const struct execution *e)
{
    struct limit *limits[LIMITS_MAX];
    size_t n = possible_limits(t, e, limits);

    while (n && limits[n - 1]->known)
        n--;
    return !n;
}

size_t limits_find(struct turn *t, const struct execution *e, struct limit *out[LIMITS_MAX])
{
    size_t all = possible_limits(t, e, out), n = 0;

    for (size_t i = 0; i < all; i++)
        if (out[i]->max >= 0)
            out[n++] = out[i];
    return n;
}

/* The first waiters may be unable to use a permit because another limit holds them. So a permit is
 * offered to several waiters at once, but not to all in one turn. */
#define OFFER_AT_ONCE  100
#define OFFER_PER_TURN 1000

/* Locks waiters of a limit and admits them while the limit has free permits; another limit may hold
 * them again. Locks more waiters than there are permits if earlier ones could not use them. */
static int offer_permits(struct turn *t, struct limit *l, size_t *accepted, struct err *err)
{
    AUTO_ARGS a = ARGS_INIT;
    AUTO_ROWS r = ROWS_INIT;
    struct row **rows;
    int free_permits = l->max - l->used;

    *accepted = 0;
    args_begin(&a, Q_WAITERS, free_permits > l->offer_at_least ? free_permits : l->offer_at_least,
               l->key);
    TRY(limits_note_rows(t, &a, &r, &rows, err));
    TRY(try_lock_limits(t, err));
    for (size_t i = 0; i < r.n && l->used < l->max; i++) {
        if (rows[i]->now.held != HELD_LIMIT || !limits_are_known(t, &rows[i]->now))
            continue;
        TRY(door_move(t, rows[i], EV_UNHELD, (enum status)rows[i]->now.status, NULL, err));
        TRY(door_admit(t, rows[i], err));
        if (!kind_is_job(rows[i]->now.kind))
            TRY(workflow_start_permitted(t, rows[i], err));
        ++*accepted;
    }
    l->offer_at_least =
        l->offer_at_least * 2 > OFFER_AT_ONCE ? OFFER_AT_ONCE : l->offer_at_least * 2 + 1;
    t->offered += *accepted;
    return 0;
}

/* Sets a timer, due now, that offers the permit again. Used if other turns have locked all waiters
 * that could take it, or the other limits of these waiters, or if this turn has offered
 * OFFER_PER_TURN permits. */
static int offer_permits_later(struct turn *t, const struct limit *l, struct err *err)
{
    AUTO_ROWS r = ROWS_INIT;

    TRY(ask(t->db, &r, err, Q_FIRST_WAITER, l->key));
    if (!r.n)
        return 0;
    t->wake |= WAKE_JOBS | WAKE_TIMERS;
    return db_queue(t->db, NULL, ANY_ROWS, err, Q_TIMER_INSERT, t->now, rows_int(&r, 0, 1),
                    TIMER_HANDOVER);
}

void op_offer_permits_later(struct turn *t)
{
    t->offered = OFFER_PER_TURN;
}

int limits_offer_permits(struct turn *t, struct err *err)
{
    for (size_t i = 0, accepted; i < t->limit_list.n; i++) {
        struct limit *l = t->limit_list.at[i];

        if (!l->freed || l->max < 0 || l->used >= l->max) {
            l->freed = false;
            continue;
        }
        accepted = 0;
        if (t->offered < OFFER_PER_TURN)
            TRY(offer_permits(t, l, &accepted, err));
        if (t->dirty.n)
            return 0; /* the caller writes the rows and calls again: the permit may still be free */
        l->freed = false;
        if (!accepted)
            TRY(offer_permits_later(t, l, err));
    }
    return 0;
}
