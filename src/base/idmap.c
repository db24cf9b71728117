/* idmap.c - a hash map from an id to a pointer; see idmap.h. */
#include "base/idmap.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

static size_t slot_of(const struct idmap *m, int64_t id)
{
    size_t at = (size_t)((uint64_t)id * 0x9E3779B97F4A7C15u >> 20) & (m->cap - 1);

    while (m->keys[at] && m->keys[at] != id)
        at = (at + 1) & (m->cap - 1);
    return at;
}

void *idmap_get(const struct idmap *m, int64_t id)
{
    size_t at;

    if (!m->n)
        return NULL;
    at = slot_of(m, id);
    return m->keys[at] ? m->values[at] : NULL;
}

static void grow(struct idmap *m)
{
    struct idmap bigger = {.cap = m->cap ? m->cap * 2 : 64};

    bigger.keys = mem_zalloc(bigger.cap * sizeof(*bigger.keys));
    bigger.values = mem_zalloc(bigger.cap * sizeof(*bigger.values));
    for (size_t i = 0; i < m->cap; i++)
        if (m->keys[i])
            idmap_put(&bigger, m->keys[i], m->values[i]);
    idmap_release(m);
    *m = bigger;
}

void idmap_put(struct idmap *m, int64_t id, void *value)
{
    size_t at;

    if (m->n * 2 >= m->cap)
        grow(m);
    at = slot_of(m, id);
    if (!m->keys[at])
        m->n++;
    m->keys[at] = id;
    m->values[at] = value;
}

void idmap_remove(struct idmap *m, int64_t id)
{
    size_t at;

    if (!m->n || (at = slot_of(m, id), !m->keys[at]))
        return;
    m->keys[at] = 0;
    m->n--;
    /* Reinsert the entries that follow without a gap: the removed entry may have displaced them. */
    for (at = (at + 1) & (m->cap - 1); m->keys[at]; at = (at + 1) & (m->cap - 1)) {
        int64_t key = m->keys[at];

        m->keys[at] = 0;
        m->n--;
        idmap_put(m, key, m->values[at]);
    }
}

void *idmap_next(const struct idmap *m, size_t *at)
{
    while (*at < m->cap && !m->keys[*at])
        ++*at;
    return *at < m->cap ? m->values[(*at)++] : NULL;
}

void idmap_reset(struct idmap *m)
{
    if (m->n)
        memset(m->keys, 0, m->cap * sizeof(*m->keys));
    m->n = 0;
}

void idmap_release(struct idmap *m)
{
    free(m->keys);
    free(m->values);
    *m = (struct idmap)IDMAP_INIT;
}
