/* why.h - what the two files of query_why share. */
#ifndef STORE_QUERY_WHY_H
#define STORE_QUERY_WHY_H

#include "store/query/query_internal.h"

struct why_query {
    int64_t id;
    struct why *why;
    struct args args;
    struct rows rows;
};

/* Runs what is in args; the rows are there until the next one. */
MUST_USE int why_run_query(struct db *db, struct why_query *g, struct err *err);

/* Needs, pauses, items. */
MUST_USE int why_read_workflow(struct db *db, struct why_query *g, struct err *err);

#endif
