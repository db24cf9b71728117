/* query_internal.h - row readers shared by the files in store/query/. */
#ifndef STORE_QUERY_QUERY_INTERNAL_H
#define STORE_QUERY_QUERY_INTERNAL_H

#include "store/ask.h"
#include "store/query/query.h"

/* A time later than any stored time (year 2255), with which neither PostgreSQL nor Pawl
 * overflows. */
#define END_OF_TIME 9000000000000000LL

/* Allocates a list of n zeroed entries. */
#define LIST_ALLOC(list, count)                     \
    (*(list) = (__typeof__(*(list))){.n = (count)}, \
     (list)->at = arena_zalloc(&(list)->arena, ((list)->n + 1) * sizeof(*(list)->at)))

/* Read the rows of the statements query_queues, query_workers and query_lease_counts. */
void query_read_queues(const struct rows *r, int64_t now, struct queue_list *out);
void query_read_workers(const struct rows *r, const struct rows *counts, int64_t now,
                        struct worker_list *out);

/* Appends the bytes of a stored chunk of output to `out`. Returns false if the chunk is damaged. */
bool log_unpack(const struct val *data, int64_t raw, bool packed, struct buf *out);

/* Reads the columns of the SQL macro @past@ (sql/query.sql), starting at `col`. */
void query_read_history(struct execution_history *p, const struct rows *r, size_t row, size_t col,
                        struct arena *arena);

/* Reads rows whose columns are those of the SQL macros @whole@ (sql/00_columns.sql) and @past@. */
void query_read_executions(const struct rows *r, struct execution_list *out);

/* Reads the columns of the SQL macro @last_audit@ (sql/audit.sql), starting at `col`. */
void audit_read_last(struct last_audit *out, const struct rows *r, size_t row, size_t col,
                     struct arena *arena);

/* Reads the rows of the statement query_attempts_by_queue. */
void query_read_attempts(const struct rows *r, struct attempt_list *out);

/* Adds rows whose columns are those of the SQL macro @event@ to the list. */
void query_add_events(const struct rows *r, struct event_list *out);

#endif
