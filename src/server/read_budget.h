/* read_budget.h - how much reading one token, and all of them together, may cause. Each token has a
 * budget of time that threads for reading may spend on its requests. The budget grows by a share of
 * the processors' time up to a maximum, which suffices for a person who opens one page after
 * another, and each request is charged for the time that it took. While the budget is exhausted,
 * requests of the token wait. The more tokens read, the smaller are their shares and maxima, so
 * that all of them together get a tenth of the processors' time, and one that has not read lately
 * can read at once. So clients that read in a loop leave nearly all of the machine, and of a
 * database on it, to submitters and workers. A request also takes long while the database is slow
 * or can't be reached, so no wait is longer than a bound.
 *
 * These functions take no lock: the caller must. */
#ifndef SERVER_READ_BUDGET_H
#define SERVER_READ_BUDGET_H

#include <stdint.h>

#define READ_BUDGET_MAX   (5 * 1000000LL) /* µs, the largest budget */
#define READ_BUDGET_SHARE 20 /* budgets grow by at most 1/20 of each processor's time */
#define READ_BUDGET_FULL \
    2 /* this many tokens have whole shares; more tokens share those of these */
#define READ_BUDGET_WAIT (8 * 1000000LL) /* µs, the longest wait of a token with a whole share */
#define READ_BUDGET_ACTIVE \
    (10 * 1000000LL)           /* µs for which a token counts after it has read or waited */
#define READ_BUDGET_TOKENS 128 /* budgets that are stored; other tokens have a full one */

struct read_budget {
    uint64_t token;  /* hash of the token; 0 if the entry is unused */
    int64_t left;    /* µs at `at`; negative after a request that took longer */
    int64_t at;      /* CLOCK_BOOTTIME, µs */
    int64_t used_at; /* when it last read or had to wait; same clock */
};

struct read_budgets {
    int processors;     /* 0 if not known yet */
    int sharing;        /* tokens that share; at least READ_BUDGET_FULL once it is known */
    int64_t counted_at; /* when they were counted; CLOCK_BOOTTIME, µs */
    struct read_budget at[READ_BUDGET_TOKENS];
};

/* How long requests of the token must wait, in µs; 0 if they may start. At most about
 * READ_BUDGET_WAIT, or as many times longer as the token's share is smaller than a whole one. The
 * token may be NULL. */
int64_t read_budget_wait(struct read_budgets *b, const char *token, int64_t now);
/* Charges the token for a request that was carried out from `start` to `end`. */
void read_budget_charge(struct read_budgets *b, const char *token, int64_t start, int64_t end);

#endif
