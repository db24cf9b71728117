/* idmap.h - a hash map from an id to a pointer. Open addressing; it never shrinks. */
#ifndef BASE_IDMAP_H
#define BASE_IDMAP_H

#include "base/mem.h"

#include <stddef.h>
#include <stdint.h>

struct idmap {
    int64_t *keys; /* an id, or 0 for a free slot: ids start at 1 */
    void **values;
    size_t n, cap;
};
#define IDMAP_INIT \
    {              \
        0          \
    }

void *idmap_get(const struct idmap *m, int64_t id); /* NULL if not found */
void idmap_put(struct idmap *m, int64_t id, void *value);
void idmap_remove(struct idmap *m, int64_t id); /* does nothing if the id is not found */
void idmap_reset(struct idmap *m);
/* Returns the first value at position *at or later and sets *at to the position after it. NULL if
 * no value is left. */
void *idmap_next(const struct idmap *m, size_t *at);
/* Loops over the values. The loop body must not change the map. */
#define IDMAP_EACH(m, value) for (size_t at_ = 0; ((value) = idmap_next((m), &at_));)
void idmap_release(struct idmap *m);
#define AUTO_IDMAP AUTO(idmap_release) struct idmap

#endif
