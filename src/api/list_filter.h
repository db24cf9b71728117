/* list_filter.h - the filters of pawl_list_query. */
#ifndef API_LIST_FILTER_H
#define API_LIST_FILTER_H

#include "pawl.h"
#include "store/query/query.h"

/* A filter for the store, and what it points to. Its strings are those of the query. */
struct api_list_filter {
    struct list_filter f;
    struct input_filter input;
};
#define AUTO_LIST_FILTER AUTO(list_filter_release) struct api_list_filter

/* Checks a query and converts its filters; `tasks`, `before` and `limit` are left to the caller.
 * *out starts as {0}, must stay where it is, and is released also after an error. */
MUST_USE int list_filter_read(const struct pawl_list_query *q, struct api_list_filter *out,
                              struct err *err);
void list_filter_release(struct api_list_filter *f);
/* Reads the id of a worker: 16 hexadecimal digits. */
MUST_USE int api_parse_worker(const char *text, int64_t *id, struct err *err);
/* Whether a loaded execution matches, except for parent, all and workflow. */
bool list_filter_matches(const struct list_filter *f, const struct execution *e,
                         const struct execution_history *h);

#endif
