/* submit.c - puts executions into the store. An idempotency key makes a submission safe to repeat:
 * the same key gives the same execution, a different body under it is refused. */
#include "store/data.h"
#include "store/door.h"

#include "base/json.h"
#include "base/text.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#define BODY_HASH 32

static int check_text(const char *what, const char *s, size_t max, struct err *err)
{
    size_t len = s ? strlen(s) : 0;

    if (!s)
        return 0;
    if (!len)
        return err_set(err, E_INVALID, "the %s is empty", what);
    if (len > max)
        return err_set(err, E_INVALID, "the %s has %zu bytes; at most %zu are taken", what, len,
                       max);
    if (!text_is_utf8(s, len))
        return err_set(err, E_INVALID, "the %s is not valid UTF-8", what);
    return 0;
}

int submission_check(const struct submission *s, struct err *err)
{
    int rc;

    if (*kind_text(s->kind) == '?')
        return err_set(err, E_INVALID, "%d is no kind of execution", s->kind);
    if (!s->name)
        return err_set(err, E_INVALID, "an execution needs a name");
    if ((rc = check_text("name", s->name, STORE_MAX_NAME, err)) ||
        (rc = check_text("queue", s->queue, STORE_MAX_QUEUE, err)) ||
        (rc = check_text("lane", s->lane, STORE_MAX_LANE, err)) ||
        (rc = check_text("concurrency key", s->concurrency, STORE_MAX_KEY, err)) ||
        (rc = check_text("task's name", s->task_name, STORE_MAX_NAME, err)) ||
        (rc = check_text("idempotency key", s->key, STORE_MAX_KEY, err)))
        return rc;
    if (s->max_attempts < 0 || s->max_attempts > 1000000 || s->concurrency_max < 0 ||
        s->delay < 0 || s->delay > STORE_MAX_DELAY || s->priority < -1000000 ||
        s->priority > 1000000)
        return err_set(err, E_INVALID,
                       "priority, attempts, delay or limit of '%s' is out of its range", s->name);
    return s->input ? json_check(s->input, strlen(s->input), STORE_MAX_INPUT, "the input", err) : 0;
}

static void hash_text(crypto_generichash_state *h, const char *s)
{
    uint64_t len = s ? strlen(s) + 1 : 0; /* absent and empty differ */

    crypto_generichash_update(h, (const unsigned char *)&len, sizeof(len));
    if (s)
        crypto_generichash_update(h, (const unsigned char *)s, strlen(s));
}

static void hash_body(const struct submission *s, unsigned char out[BODY_HASH])
{
    int64_t numbers[] = {s->kind,         s->parent,          s->task_index, s->priority,
                         s->max_attempts, s->concurrency_max, s->delay,      s->paused};
    crypto_generichash_state h;

    crypto_generichash_init(&h, NULL, 0, BODY_HASH);
    crypto_generichash_update(&h, (const unsigned char *)numbers, sizeof(numbers));
    hash_text(&h, s->name);
    hash_text(&h, s->queue);
    hash_text(&h, s->lane);
    hash_text(&h, s->concurrency);
    hash_text(&h, s->task_name);
    hash_text(&h, s->input);
    crypto_generichash_final(&h, out, BODY_HASH);
}

/* Keys that are known, in order: key, execution, body. */
struct known_keys {
    struct rows rows;
    const struct val **at;
};

static int by_known_key(const void *a, const void *b)
{
    const struct val *const *x = a, *const *y = b;

    return strcmp((*x)->s, (*y)->s);
}

/* Asks for the keys in t->args. */
static int look_up_keys(struct turn *t, struct known_keys *k, struct err *err)
{
    size_t i;
    int rc = turn_query(t, &t->args, &k->rows, err);

    if (rc)
        return rc;
    k->at = arena_alloc(&t->arena, (k->rows.n + 1) * sizeof(*k->at));
    for (i = 0; i < k->rows.n; i++)
        k->at[i] = &k->rows.cells[i * k->rows.ncols];
    qsort(k->at, k->rows.n, sizeof(*k->at), by_known_key);
    return 0;
}

/* The submission that the key belongs to takes its id; the others of the same key find it. False:
 * nobody has it. */
static bool resolve_key(struct submission *s, const struct known_keys *k)
{
    struct val key = {.s = s->key};
    const struct val *wanted = &key, *const * found, *v;
    unsigned char body[BODY_HASH];

    found = bsearch(&wanted, k->at, k->rows.n, sizeof(*k->at), by_known_key);
    if (!found)
        return false;
    v = *found;
    hash_body(s, body);
    if (v[2].len != BODY_HASH || memcmp(v[2].s, body, BODY_HASH)) {
        s->rc = err_set(
            &s->err, E_CONFLICT,
            "the key '%s' was used for execution %lld with other contents: use another key, or submit the same again",
            s->key, (long long)v[1].i);
        return true;
    }
    s->existed = s->id != v[1].i;
    s->id = v[1].i;
    return true;
}

static int by_key(const void *a, const void *b)
{
    const struct submission *const *x = a, *const *y = b;
    int c = strcmp((*x)->key, (*y)->key);

    return c ? c : (*x > *y) - (*x < *y);
}

/* Writes the keys of this turn; where one was there before, or comes twice, the first wins.
 * Inserting in key order, two turns wait for each other in a line, never in a circle. */
static int take_keys(struct turn *t, struct submission *list, size_t n, struct err *err)
{
    struct submission **keyed = arena_alloc(&t->arena, (n + 1) * sizeof(struct submission *));
    struct known_keys known = {0};
    size_t count = 0, i;
    int rc;

    for (i = 0; i < n; i++)
        if (list[i].key && !list[i].rc && !list[i].existed)
            keyed[count++] = &list[i];
    if (!count)
        return 0;
    qsort(keyed, count, sizeof(*keyed), by_key);
    args_begin(&t->args, Q_KEY_INSERT);
    for (i = 0; i < count; i++) {
        unsigned char *body = arena_alloc(&t->arena, BODY_HASH);

        if (i && !strcmp(keyed[i]->key, keyed[i - 1]->key))
            continue;
        hash_body(keyed[i], body);
        args_text(&t->args, keyed[i]->key);
        args_int(&t->args, keyed[i]->id);
        args_bytes(&t->args, body, BODY_HASH);
    }
    if ((rc = db_send(t->db, &t->args, NULL, ANY_ROWS, err)))
        return rc;
    args_begin(&t->args, Q_KEY_FIND);
    for (i = 0; i < count; i++)
        if (!i || strcmp(keyed[i]->key, keyed[i - 1]->key))
            args_text(&t->args, keyed[i]->key);
    rc = look_up_keys(t, &known, err);
    for (i = 0; !rc && i < count; i++)
        if (!resolve_key(keyed[i], &known))
            rc = err_set(err, E_REDO, "the key '%s' was deleted at this moment", keyed[i]->key);
    rows_release(&known.rows);
    return rc;
}

/* A submission that is repeated finds its execution, also below a parent that can have no new
 * children by now. */
static int find_repeated(struct turn *t, struct submission *list, size_t n, struct err *err)
{
    struct known_keys known = {0};
    size_t i;
    int rc;

    args_begin(&t->args, Q_KEY_FIND);
    for (i = 0; i < n; i++)
        if (list[i].key && list[i].parent && !list[i].rc)
            args_text(&t->args, list[i].key);
    if (!args_rows(&t->args))
        return 0;
    if (!(rc = look_up_keys(t, &known, err)))
        for (i = 0; i < n; i++)
            if (list[i].key && list[i].parent && !list[i].rc)
                (void)resolve_key(&list[i], &known);
    rows_release(&known.rows);
    return rc;
}

/* Locks the trees of the parents and checks that they may still have children. */
static int find_parents(struct turn *t, struct submission *list, size_t n, struct err *err)
{
    struct want *wants = arena_zalloc(&t->arena, (n + 1) * sizeof(*wants));
    size_t i, count = 0, at = 0;
    int rc;

    for (i = 0; i < n; i++)
        if (list[i].parent && !list[i].rc && !list[i].existed)
            wants[count++].id = list[i].parent;
    if (!count)
        return 0;
    if ((rc = turn_find_roots(t, wants, count, err)) || (rc = turn_load(t, wants, count, err)))
        return rc;
    for (i = 0; i < n; i++) {
        struct submission *s = &list[i];
        const struct row *p;

        if (!s->parent || s->rc || s->existed)
            continue;
        s->rc = wants[at++].rc;
        p = turn_row(t, s->parent);
        if (s->rc == -E_NOT_FOUND)
            err_set(&s->err, E_NOT_FOUND, "the parent, execution %lld, does not exist",
                    (long long)s->parent);
        else if (!s->rc && (status_is_terminal(p->now.status) || p->now.cancel_requested))
            s->rc = err_set(
                &s->err, E_INVALID, "the parent, execution %lld, %s: it can't have new children",
                (long long)s->parent, p->now.cancel_requested ? "is being cancelled" : "has ended");
    }
    return 0;
}

static void fill_image(struct turn *t, const struct submission *s, struct execution *e)
{
    const struct row *p = s->parent ? turn_row(t, s->parent) : NULL;
    bool job = kind_is_job(s->kind);

    *e = (struct execution){
        .id = s->id,
        .parent = s->parent,
        .root = p ? p->now.root : s->id,
        .workflow = !p                             ? 0
                    : p->now.kind == KIND_WORKFLOW ? p->now.id
                                                   : p->now.workflow,
        .depth = p ? p->now.depth + 1 : 0,
        .kind = s->kind,
        .priority = s->priority,
        .max_attempts = s->max_attempts ? s->max_attempts : 1,
        .task_index = s->task_index,
        .name = s->name,
        .queue = s->queue ? s->queue : "default",
        .lane = !job      ? NULL
                : s->lane ? s->lane
                          : "process",
        .concurrency = job ? s->concurrency : NULL,
        .task_name = s->task_name,
        .input = s->input,
    };
}

static int by_concurrency(const void *a, const void *b)
{
    const struct submission *const *x = a, *const *y = b;
    int c = strcmp((*x)->concurrency, (*y)->concurrency);

    return c ? c : (*x > *y) - (*x < *y);
}

/* A concurrency key's limit is made by the first job that uses it; in order, as all locks. */
static int make_limits(struct turn *t, struct submission *list, size_t n, struct err *err)
{
    struct submission **keyed = arena_alloc(&t->arena, (n + 1) * sizeof(struct submission *));
    size_t i, count = 0;

    for (i = 0; i < n; i++)
        if (list[i].concurrency && kind_is_job(list[i].kind) && !list[i].rc && !list[i].existed)
            keyed[count++] = &list[i];
    qsort(keyed, count, sizeof(*keyed), by_concurrency);
    args_begin(&t->args, Q_LIMIT_CREATE);
    for (i = 0; i < count; i++)
        if (!i || strcmp(keyed[i]->concurrency, keyed[i - 1]->concurrency)) {
            args_text(&t->args, limit_get(t, 'k', keyed[i]->concurrency)->key);
            args_int(&t->args, keyed[i]->concurrency_max ? keyed[i]->concurrency_max : 1);
        }
    return db_send(t->db, &t->args, NULL, ANY_ROWS, err);
}

static int create(struct turn *t, struct submission *s, struct err *err)
{
    struct execution e;
    struct row *r;
    int rc;

    fill_image(t, s, &e);
    if ((rc = door_create(t, &e, NULL, &r, err)))
        return rc;
    if (!kind_is_job(e.kind))
        return door_move(t, r, EV_STARTED, S_RUNNING, NULL, err);
    if ((rc = door_move(t, r, EV_MARKED_READY, S_READY, NULL, err)))
        return rc;
    if (s->paused || s->delay > 0) {
        enum hold why = s->paused ? HELD_PAUSED : HELD_DELAY;
        int64_t due = s->delay > 0 ? t->now + s->delay : 0; /* a pause does not stop the delay */
        struct move_note note = {.why = why, .due_at = due, .data = data_hold(t, why, NULL, due)};

        return door_move(t, r, EV_HELD, S_READY, &note, err);
    }
    return door_admit(t, r, err);
}

int op_submit(struct turn *t, struct submission *list, size_t n, struct err *err)
{
    int64_t *ids = arena_alloc(&t->arena, (n + 1) * sizeof(*ids));
    size_t i;
    int rc;

    if (n > STORE_MAX_BATCH)
        return err_set(err, E_INVALID, "%zu submissions at once are too many: at most %d", n,
                       STORE_MAX_BATCH);
    for (i = 0; i < n; i++) {
        list[i].existed = false;
        list[i].rc = submission_check(&list[i], &list[i].err);
    }
    if ((rc = turn_take_ids(t, n, ids, err)))
        return rc;
    for (i = 0; i < n; i++)
        list[i].id = list[i].rc ? 0 : ids[i];
    if ((rc = find_repeated(t, list, n, err)) || (rc = find_parents(t, list, n, err)) ||
        (rc = take_keys(t, list, n, err)) || (rc = make_limits(t, list, n, err)))
        return rc;
    for (i = 0; i < n; i++)
        if (!list[i].rc && !list[i].existed)
            limits_note(t, &(struct execution){.kind = list[i].kind,
                                               .queue = list[i].queue ? list[i].queue : "default",
                                               .concurrency = list[i].concurrency});
    if ((rc = limits_fetch(t, err)))
        return rc;
    for (i = 0; i < n; i++)
        if (!list[i].rc && !list[i].existed && (rc = create(t, &list[i], err)))
            return rc;
    return 0;
}
