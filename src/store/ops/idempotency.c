/* idempotency.c - idempotency keys: a repeated key returns the same execution; a different body
 * under the same key is refused. See idempotency.h. */
#include "store/ops/idempotency.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#define BODY_HASH_SIZE 32

static void hash_text(crypto_generichash_state *h, const char *s)
{
    uint64_t len = s ? strlen(s) + 1 : 0; /* + 1, because the hashes of NULL and "" must differ */

    crypto_generichash_update(h, (const unsigned char *)&len, sizeof(len));
    if (s)
        crypto_generichash_update(h, (const unsigned char *)s, strlen(s));
}

static void hash_body(const struct submission *s, const char *lane,
                      unsigned char out[BODY_HASH_SIZE])
{
    int64_t numbers[] = {s->kind,         s->parent,          s->task_index, s->priority,
                         s->max_attempts, s->concurrency_max, s->delay,      s->paused};
    crypto_generichash_state h;

    crypto_generichash_init(&h, NULL, 0, BODY_HASH_SIZE);
    crypto_generichash_update(&h, (const unsigned char *)numbers, sizeof(numbers));
    hash_text(&h, s->name);
    hash_text(&h, s->queue);
    hash_text(&h, lane);
    hash_text(&h, s->concurrency);
    hash_text(&h, s->task_name);
    hash_text(&h, s->input);
    /* Hashed only if given, because hashes stored before specs existed must stay valid. */
    if (s->spec)
        hash_text(&h, s->spec);
    if (s->definition || s->hash)
        hash_text(&h, s->definition ? s->definition : s->hash);
    if (s->rerun_of) {
        crypto_generichash_update(&h, (const unsigned char *)&s->rerun_of, sizeof(s->rerun_of));
        hash_text(&h, s->reuse);
    }
    crypto_generichash_final(&h, out, BODY_HASH_SIZE);
}

/* Whether the stored hash is the hash of the submission. A lane that the routes choose is not part
 * of the hash, because such a submission names no lane. Up to version 18 of the schema the hash
 * included the lane that the routes in the submitter's pawl.yaml chose. */
static int has_hash(struct turn *t, const struct submission *s, const struct val *hash, bool *same,
                    struct err *err)
{
    const char *lanes[] = {s->lane, "process", NULL};
    size_t n = 1;

    if (!s->lane && kind_is_job(s->kind)) {
        TRY(turn_route(t, &(struct route_query){.name = s->name}, &lanes[2], err));
        n = 3;
    }
    *same = false;
    for (size_t i = 0; !*same && i < n; i++) {
        unsigned char body[BODY_HASH_SIZE];

        hash_body(s, lanes[i], body);
        *same = hash->len == BODY_HASH_SIZE && !memcmp(hash->s, body, BODY_HASH_SIZE);
    }
    return 0;
}

/* The result of a query for stored keys, sorted by key. The columns are key, execution, body. */
struct known_keys {
    struct rows rows;
    const struct val **at;
};

static int by_known_key(const void *a, const void *b)
{
    const struct val *const *x = a, *const *y = b;

    return strcmp((*x)->s, (*y)->s);
}

/* Runs the query in t->args and sorts the keys that the query finds. */
static int look_up_keys(struct turn *t, struct known_keys *k, struct err *err)
{
    TRY(turn_query(t, &t->args, &k->rows, err));
    k->at = arena_alloc(&t->arena, (k->rows.n + 1) * sizeof(*k->at));
    for (size_t i = 0; i < k->rows.n; i++)
        k->at[i] = &k->rows.cells[i * k->rows.ncols];
    qsort(k->at, k->rows.n, sizeof(*k->at), by_known_key);
    return 0;
}

/* Looks for the submission's key among stored keys. If the key is found, sets the submission's id
 * to the execution that has the key, or its rc if the bodies differ. Otherwise sets *found to
 * false. */
static int resolve_key(struct turn *t, struct submission *s, const struct known_keys *k,
                       bool *found, struct err *err)
{
    struct val key = {.s = s->key};
    const struct val *wanted = &key, *const * at, *v;
    bool same;

    at = bsearch(&wanted, k->at, k->rows.n, sizeof(*k->at), by_known_key);
    *found = at != NULL;
    if (!at)
        return 0;
    v = *at;
    TRY(has_hash(t, s, &v[2], &same, err));
    if (!same) {
        s->rc = err_set(
            &s->err, E_CONFLICT,
            "the key '%s' was used for execution %lld with different contents: use another key, or submit the same contents again",
            s->key, (long long)v[1].i);
        return 0;
    }
    s->existed = s->id != v[1].i;
    s->id = v[1].i;
    return 0;
}

static int by_key(const void *a, const void *b)
{
    const struct submission *const *x = a, *const *y = b;
    int c = strcmp((*x)->key, (*y)->key);

    return c ? c : (*x > *y) - (*x < *y);
}

/* Inserts keys in key order, so that two turns never deadlock. */
int keys_insert(struct turn *t, struct submission *list, size_t n, struct err *err)
{
    struct submission **keyed = arena_alloc(&t->arena, (n + 1) * sizeof(struct submission *));
    struct known_keys known = {0};
    size_t count = 0, i;
    bool found;
    int rc = 0;

    for (i = 0; i < n; i++)
        if (list[i].key && !list[i].rc && !list[i].existed)
            keyed[count++] = &list[i];
    if (!count)
        return 0;
    qsort(keyed, count, sizeof(*keyed), by_key);
    args_begin(&t->args, Q_KEY_INSERT);
    for (i = 0; i < count; i++) {
        unsigned char *body = arena_alloc(&t->arena, BODY_HASH_SIZE);

        if (i && !strcmp(keyed[i]->key, keyed[i - 1]->key))
            continue;
        hash_body(keyed[i], keyed[i]->lane, body);
        args_row(&t->args, keyed[i]->key, keyed[i]->id, val_bytes(body, BODY_HASH_SIZE));
    }
    TRY(db_send(t->db, &t->args, NULL, ANY_ROWS, err));
    args_begin(&t->args, Q_KEY_FIND);
    for (i = 0; i < count; i++)
        if (!i || strcmp(keyed[i]->key, keyed[i - 1]->key))
            args_text(&t->args, keyed[i]->key);
    rc = look_up_keys(t, &known, err);
    for (i = 0; !rc && i < count; i++)
        if (!(rc = resolve_key(t, keyed[i], &known, &found, err)) && !found)
            rc = err_set(err, E_REDO,
                         "the execution with the key '%s' was deleted by another transaction: "
                         "try again",
                         keyed[i]->key);
    rows_release(&known.rows);
    return rc;
}

int keys_find_repeated(struct turn *t, struct submission *list, size_t n, struct err *err)
{
    struct known_keys known = {0};
    bool found;
    int rc;

    args_begin(&t->args, Q_KEY_FIND);
    for (size_t i = 0; i < n; i++)
        if (list[i].key && list[i].parent && !list[i].rc)
            args_text(&t->args, list[i].key);
    if (!args_rows(&t->args))
        return 0;
    rc = look_up_keys(t, &known, err);
    for (size_t i = 0; !rc && i < n; i++)
        if (list[i].key && list[i].parent && !list[i].rc)
            rc = resolve_key(t, &list[i], &known, &found, err);
    rows_release(&known.rows);
    return rc;
}
