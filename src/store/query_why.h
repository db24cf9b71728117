/* query_why.h - what the two files of query_why share. */
#ifndef STORE_QUERY_WHY_H
#define STORE_QUERY_WHY_H

#include "store/query_internal.h"

struct asking {
    int64_t id;
    struct why *why;
    struct args args;
    struct rows rows;
};

/* Runs what is in args; the rows are there until the next one. */
MUST_USE int why_ask(struct db *db, struct asking *g, struct err *err);

/* Needs, pauses, items. */
MUST_USE int why_read_flow(struct db *db, struct asking *g, struct err *err);

#endif
