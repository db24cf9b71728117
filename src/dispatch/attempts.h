/* attempts.h - the attempts in somebody's hands, by (execution, attempt). */
#ifndef DISPATCH_ATTEMPTS_H
#define DISPATCH_ATTEMPTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct attempt {
    int64_t execution, root;
    int attempt, epoch;
    struct executor_entry *holder;
    bool ended;           /* reported; the end is not committed yet */
    bool is_rejected;     /* its executor did not take it; the report waits for a turn */
    struct attempt *next; /* in its slot */
};

struct attempts {
    struct attempt **slots;
    size_t n, cap;
};

struct attempt *attempts_get(const struct attempts *t, int64_t execution, int attempt);
/* A new one, all else 0; there must be none. */
struct attempt *attempts_add(struct attempts *t, int64_t execution, int attempt);
void attempts_remove(struct attempts *t, struct attempt *a); /* frees it */
void attempts_release(struct attempts *t);

#endif
