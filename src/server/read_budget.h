/* read_budget.h - how much reading one token may cause. Each token has a budget of time in which
 * readers work for it: it grows by a share of the processors' time up to a maximum, which serves
 * somebody who opens one page after another, and each request is charged for the time that it took.
 * While a budget is exhausted, the token's requests wait. So a client that reads in a loop leaves
 * nearly all of the machine, and of a database on it, to those who submit and work.
 *
 * It does no locking. */
#ifndef SERVER_READ_BUDGET_H
#define SERVER_READ_BUDGET_H

#include <stdint.h>

#define READ_BUDGET_MAX    (5 * 1000000LL) /* µs */
#define READ_BUDGET_SHARE  20              /* one part in this many of each processor's time */
#define READ_BUDGET_TOKENS 64              /* that are remembered; others have a full budget */

struct read_budget {
    uint64_t token; /* a hash; 0: unused */
    int64_t left;   /* µs at `at`; negative after a request that took longer */
    int64_t at;     /* CLOCK_BOOTTIME, µs */
};

struct read_budgets {
    int processors; /* 0: not known yet */
    struct read_budget at[READ_BUDGET_TOKENS];
};

/* How long requests of the token have to wait, in µs; 0 if they may start. The token may be NULL.
 */
int64_t read_budget_wait(struct read_budgets *b, const char *token, int64_t now);
/* A request of the token was carried out from `start` to `end`. */
void read_budget_charge(struct read_budgets *b, const char *token, int64_t start, int64_t end);

#endif
