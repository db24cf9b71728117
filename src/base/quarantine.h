/* quarantine.h - a short list of ids that make turns fail, each left alone until a given time. */
#ifndef BASE_QUARANTINE_H
#define BASE_QUARANTINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* If more rows than this fail at once, the rows are not the cause. */
#define QUARANTINE_MAX 20
#define QUARANTINE_FOR 60000000LL /* µs */

struct quarantine {
    int64_t ids[QUARANTINE_MAX];
    int64_t until[QUARANTINE_MAX]; /* ascending: the entry that expires first comes first */
    size_t n;
};

/* Returns false if the list is full and the id was not added. */
bool quarantine_add(struct quarantine *q, int64_t id, int64_t now);
/* quarantine_has and quarantine_count accept NULL as an empty list. */
bool quarantine_has(const struct quarantine *q, int64_t id);
size_t quarantine_count(const struct quarantine *q);
/* The time at which the first entry expires; 0 if the list is empty. */
int64_t quarantine_next(const struct quarantine *q);
/* Removes the entries that have expired; returns whether there were any. */
bool quarantine_remove_expired(struct quarantine *q, int64_t now);

#endif
