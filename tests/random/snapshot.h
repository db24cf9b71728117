/* snapshot.h - the rows of a tree at some moments of a play; afterwards the replay of its events
 * must equal each of them. */
#ifndef TESTS_RANDOM_SNAPSHOT_H
#define TESTS_RANDOM_SNAPSHOT_H

#include "base/buf.h"
#include "store/query/as_of.h"

#define SNAPSHOTS 6 /* per play; no more are taken */

struct snapshots {
    struct execution_list at[SNAPSHOTS];
    int64_t event[SNAPSHOTS]; /* the last event at that time */
    size_t n;
};

void snapshot_take(struct snapshots *all, struct store *s, int64_t root);
/* Appends the differences, and frees the snapshots. */
void snapshots_compare(struct snapshots *all, struct store *s, struct buf *wrong);

#endif
