/* snapshot.h - a tree as its rows are at some moments of a play; afterwards its events must tell
 * the same of each of them. */
#ifndef TESTS_RANDOM_SNAPSHOT_H
#define TESTS_RANDOM_SNAPSHOT_H

#include "base/buf.h"
#include "store/query/as_of.h"

#define SNAPSHOTS 6 /* of one play; more are not taken */

struct snapshots {
    struct execution_list at[SNAPSHOTS];
    int64_t event[SNAPSHOTS]; /* the last one by then */
    size_t n;
};

void snapshot_take(struct snapshots *all, struct store *s, int64_t root);
/* What differs; nothing is kept of them. */
void snapshots_compare(struct snapshots *all, struct store *s, struct buf *wrong);

#endif
