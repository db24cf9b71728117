/* why.h - shared by why.c and why_workflow.c, the two files of query_why. */
#ifndef STORE_QUERY_WHY_H
#define STORE_QUERY_WHY_H

#include "store/query/query_internal.h"

struct why_query {
    int64_t id;
    struct why *why;
};

/* Reads the needs of a task, the nearest pause and the items of a fan-out. */
MUST_USE int why_read_workflow(struct db *db, struct why_query *g, struct err *err);

#endif
