/* attempts.c - a hash table with chaining; see attempts.h. */
#include "dispatch/attempts.h"

#include "base/mem.h"

#include <stdlib.h>

static struct attempt **slot_of(const struct attempts *t, int64_t execution, int attempt)
{
    uint64_t hash = ((uint64_t)execution + (uint64_t)attempt * 0x9E3779B9u) * 0x9E3779B97F4A7C15u;

    return &t->slots[hash >> 20 & (t->cap - 1)];
}

struct attempt *attempts_get(const struct attempts *t, int64_t execution, int attempt)
{
    struct attempt *a = t->cap ? *slot_of(t, execution, attempt) : NULL;

    while (a && (a->execution != execution || a->attempt != attempt))
        a = a->next;
    return a;
}

static void link_attempt(struct attempts *t, struct attempt *a)
{
    struct attempt **slot = slot_of(t, a->execution, a->attempt);

    a->next = *slot;
    *slot = a;
}

static void grow_table(struct attempts *t)
{
    struct attempts old = *t;
    size_t i;

    t->cap = old.cap ? old.cap * 2 : 64;
    t->slots = mem_zalloc(t->cap * sizeof(struct attempt *));
    for (i = 0; i < old.cap; i++)
        while (old.slots[i]) {
            struct attempt *a = old.slots[i];

            old.slots[i] = a->next;
            link_attempt(t, a);
        }
    free(old.slots);
}

struct attempt *attempts_add(struct attempts *t, int64_t execution, int attempt)
{
    struct attempt *a = mem_zalloc(sizeof(*a));

    if (t->n == t->cap)
        grow_table(t);
    a->execution = execution;
    a->attempt = attempt;
    link_attempt(t, a);
    t->n++;
    return a;
}

void attempts_remove(struct attempts *t, struct attempt *a)
{
    struct attempt **at = slot_of(t, a->execution, a->attempt);

    while (*at != a)
        at = &(*at)->next;
    *at = a->next;
    t->n--;
    free(a);
}

void attempts_release(struct attempts *t)
{
    size_t i;

    for (i = 0; i < t->cap; i++)
        while (t->slots[i])
            attempts_remove(t, t->slots[i]);
    free(t->slots);
    *t = (struct attempts){0};
}
