/* quarantine.h - what could not be done is left alone until a time: a short list of ids. */
#ifndef BASE_QUARANTINE_H
#define BASE_QUARANTINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ASIDE_MAX 20         /* more at once, and it is not their fault */
#define ASIDE_FOR 60000000LL /* µs */

struct quarantine {
    int64_t ids[ASIDE_MAX];
    int64_t until[ASIDE_MAX]; /* rising: the first came first */
    size_t n;
};

bool aside_add(struct quarantine *a, int64_t id, int64_t now); /* false: it is full */
bool aside_has(const struct quarantine *a, int64_t id);        /* NULL: has nothing */
size_t aside_count(const struct quarantine *a);                /* NULL: 0 */
int64_t aside_next(const struct quarantine *a);       /* when the first comes back; 0: none */
bool aside_return(struct quarantine *a, int64_t now); /* those whose time is over; were there */

#endif
