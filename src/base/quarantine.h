/* quarantine.h - a short list of ids that failed and are left alone for a time. */
#ifndef BASE_QUARANTINE_H
#define BASE_QUARANTINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ASIDE_MAX 20         /* if more fail at once, the cause is not the rows */
#define ASIDE_FOR 60000000LL /* µs */

struct quarantine {
    int64_t ids[ASIDE_MAX];
    int64_t until[ASIDE_MAX]; /* ascending: the oldest entry is first */
    size_t n;
};

bool aside_add(struct quarantine *a, int64_t id, int64_t now); /* false if full */
bool aside_has(const struct quarantine *a, int64_t id);        /* false if a is NULL */
size_t aside_count(const struct quarantine *a);                /* 0 if a is NULL */
int64_t aside_next(const struct quarantine *a);       /* when the first entry expires; 0 if empty */
bool aside_return(struct quarantine *a, int64_t now); /* drops expired entries; true if any */

#endif
