/* attempts.h - the table of attempts that the dispatcher holds, by (execution, attempt). */
#ifndef DISPATCH_ATTEMPTS_H
#define DISPATCH_ATTEMPTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct attempt {
    int64_t execution, root;
    int attempt, epoch;
    struct executor_entry *holder; /* NULL if no executor serves its lane */
    bool ended;                    /* its end was reported, and is not committed yet */
    bool is_rejected;              /* no executor accepted it; the next poll reports that */
    struct attempt *next;          /* in the same hash slot */
};

struct attempts {
    struct attempt **slots;
    size_t n, cap;
};

struct attempt *attempts_get(const struct attempts *t, int64_t execution, int attempt);
/* Adds an attempt with all other fields 0. It must not exist yet. */
struct attempt *attempts_add(struct attempts *t, int64_t execution, int attempt);
void attempts_remove(struct attempts *t, struct attempt *a); /* and frees it */
void attempts_release(struct attempts *t);

#endif
