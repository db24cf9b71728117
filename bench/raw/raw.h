/* raw.h - a database of the raw loop: statements straight through its library. One connection per
 * process; any error ends it. */
#ifndef BENCH_RAW_H
#define BENCH_RAW_H

#include "store/store.h"

struct raw_db {
    void (*open)(const char *url);
    void (*begin)(void);
    /* Stores the first column of the result: now, or at the next sync. NULL if it is not needed. */
    void (*run)(const struct args *a, int64_t *first_column);
    /* Reads all outstanding results; stores the first column of the last result that has rows. */
    void (*sync)(int64_t *first_column);
    void (*commit)(void);
};

extern const struct raw_db raw_sqlite, raw_pg;

#define MAX_IDS 5000
extern int64_t
    raw_outbox_ctids[MAX_IDS]; /* the outbox rows that PostgreSQL's last claim returned */

_Noreturn void raw_die(const char *what, const char *why);

#endif
