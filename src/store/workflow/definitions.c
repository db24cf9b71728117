/* definitions.c - parsed definitions, read once and cached by the store between turns. */
#include "core/templates.h"
#include "store/store_internal.h"
#include "store/workflow/workflow.h"

#include <stdlib.h>
#include <string.h>

#define MAX_CACHED_DEFINITIONS 32

static int by_name(const void *a, const void *b)
{
    const struct workflow_task *const *x = a, *const *y = b;

    return strcmp((*x)->name, (*y)->name);
}

static void sort_tasks(struct definition *d)
{
    const struct workflow *w = d->workflow;

    d->by_name = arena_alloc(&d->arena, (w->ntasks + 2) * sizeof(struct workflow_task *));
    for (size_t i = 0; i < w->ntasks; i++)
        d->by_name[d->ntasks++] = &w->tasks[i];
    if (w->on_failure)
        d->by_name[d->ntasks++] = w->on_failure;
    if (w->on_exit)
        d->by_name[d->ntasks++] = w->on_exit;
    if (d->ntasks)
        qsort(d->by_name, d->ntasks, sizeof(*d->by_name), by_name);
}

/* Sets the ranks of the tasks. Ranks start at 1; each task has a higher rank than its needs. */
static void rank_tasks(struct definition *d)
{
    const struct workflow *w = d->workflow;
    uint32_t *order = arena_alloc(&d->arena, (w->ntasks + 1) * sizeof(*order)), n, i;

    d->rank = arena_zalloc(&d->arena, (w->ntasks + 1) * sizeof(*d->rank));
    (void)!workflow_order(w, order, &n); /* cannot fail: a stored definition has no cycle */
    for (i = 0; i < n; i++)
        d->rank[order[i]] = i + 1;
}

const struct workflow_task *definition_find_task(const struct definition *d, const char *name)
{
    struct workflow_task key = {.name = name};
    const struct workflow_task *wanted = &key, *const *found =
                                                   d->ntasks
                                                       ? bsearch(&wanted, d->by_name, d->ntasks,
                                                                 sizeof(*d->by_name), by_name)
                                                       : NULL;

    return found ? *found : NULL;
}

void definition_free(struct definition *d)
{
    if (d)
        arena_release(&d->arena);
    free(d);
}

void definitions_release(struct store *s)
{
    for (size_t i = 0; i < s->definitions.n; i++)
        definition_free(s->definitions.at[i]);
    vec_release(&s->definitions);
}

int definition_parse(const char *text, size_t size, struct definition **out, struct err *err)
{
    struct definition *d = mem_zalloc(sizeof(*d));
    int rc = workflow_read(text, size, &d->arena, &d->workflow, err);

    if (rc) {
        definition_free(d);
        return rc;
    }
    d->size = size;
    memcpy(d->hash, d->workflow->hash, sizeof(d->hash));
    d->templates = templates_parse(d->workflow, &d->arena);
    sort_tasks(d);
    rank_tasks(d);
    *out = d;
    return 0;
}

int definition_read(struct db *db, const char *hash, struct definition **out, struct err *err)
{
    AUTO_ROWS r = ROWS_INIT;

    TRY(ask(db, &r, err, Q_DEFINITION_READ, hash));
    if (!r.n)
        return err_set(err, E_NOT_FOUND,
                       "the definition %s is missing from the database: apply its workflow "
                       "file again",
                       hash);
    TRY(definition_parse(rows_text(&r, 0, 0), strlen(rows_text(&r, 0, 0)), out, err));
    stpncpy((*out)->hash, hash, sizeof((*out)->hash) - 1);
    return 0;
}

struct definition *definition_find_cached(const struct store *s, const char *hash)
{
    for (size_t i = s->definitions.n; i > 0; i--)
        if (!strcmp(s->definitions.at[i - 1]->hash, hash))
            return s->definitions.at[i - 1];
    return NULL;
}

/* The newest definitions are at the end of the cache. The cache is trimmed only between turns,
 * since a turn uses few definitions. */
int definition_get(struct turn *t, const char *hash, const struct definition **out, struct err *err)
{
    struct definition *d = definition_find_cached(t->store, hash);
    int rc;

    if (d) {
        *out = d;
        return 0;
    }
    if ((rc = definition_read(t->db, hash, &d, err)) == -E_NOT_FOUND)
        return err_set(err, E_INTERNAL,
                       "the definition %s is missing from the database: apply its workflow "
                       "file again",
                       hash);
    if (rc)
        return rc;
    *vec_add(&t->store->definitions) = d;
    *out = d;
    return 0;
}

int definition_from_text(struct turn *t, const char *text, const struct definition **out,
                         struct err *err)
{
    size_t size = strlen(text), i;
    char hash[WORKFLOW_HASH_SIZE];
    struct definition *d;

    workflow_hash(text, size, hash);
    d = definition_find_cached(t->store, hash);
    for (i = 0; !d && i < t->parsed_definitions.n; i++)
        if (!strcmp(t->parsed_definitions.at[i]->hash, hash))
            d = t->parsed_definitions.at[i];
    if (!d) {
        TRY(definition_parse(text, size, &d, err));
        *vec_add(&t->parsed_definitions) = d;
    }
    *out = d;
    return 0;
}

bool definition_is_used_by_turn(const struct turn *t, const char *hash)
{
    for (size_t i = 0; i < t->used_hashes.n; i++)
        if (!strcmp(t->used_hashes.at[i], hash))
            return true;
    return false;
}

/* Adds the definitions that the turn has used to the cache. A definition that was parsed for a
 * refused submission is not cached, because a cached definition counts as stored. */
void definitions_cache_used(struct turn *t)
{
    size_t i, left = 0;

    for (i = 0; i < t->parsed_definitions.n; i++) {
        struct definition *d = t->parsed_definitions.at[i];

        if (definition_is_used_by_turn(t, d->hash) && !definition_find_cached(t->store, d->hash))
            *vec_add(&t->store->definitions) = d;
        else
            t->parsed_definitions.at[left++] = d;
    }
    t->parsed_definitions.n = left;
    for (i = 0; i < t->used_hashes.n; i++) {
        struct definition *d = definition_find_cached(t->store, t->used_hashes.at[i]);

        if (d)
            d->marked_used_at = t->now;
    }
}

void definitions_drop_parsed(struct turn *t)
{
    while (t->parsed_definitions.n)
        definition_free(t->parsed_definitions.at[--t->parsed_definitions.n]);
}

/* Drops old definitions from the cache. Call it only between turns, when no pointers to cached
 * definitions are in use. */
void definitions_trim_cache(struct store *s)
{
    size_t drop = s->definitions.n > MAX_CACHED_DEFINITIONS
                      ? s->definitions.n - MAX_CACHED_DEFINITIONS
                      : 0,
           i;

    if (!drop)
        return;
    for (i = 0; i < drop; i++)
        definition_free(s->definitions.at[i]);
    memmove(s->definitions.at, s->definitions.at + drop,
            (s->definitions.n - drop) * sizeof(*s->definitions.at));
    s->definitions.n -= drop;
}
