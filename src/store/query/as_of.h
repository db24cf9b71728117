/* as_of.h - executions as they were at an earlier moment. Columns that never change are read from
 * the rows, everything else is replayed from events (core/history/replay.h). Facts that events do
 * not contain are left out: the input of a task that was not ready yet or has been rerun since, and
 * the number of open needs. */
#ifndef STORE_QUERY_AS_OF_H
#define STORE_QUERY_AS_OF_H

#include "core/history/timeline.h"
#include "store/query/query.h"

/* A moment: after all events up to a time, or up to an event number. The member that is not used is
 * 0. A time in the future means now. */
struct moment {
    int64_t time, event;
};

/* The value of needs_left in an execution as of an earlier moment. */
#define NEEDS_UNKNOWN (-1)

/* Like query_tree, but returns the executions that existed at the moment, in their state at the
 * moment. -E_NOT_FOUND if `id` did not exist at that moment, or does not exist at all. */
MUST_USE int query_tree_at(struct store *s, int64_t id, const struct moment *at,
                           struct execution_list *out, struct err *err);
/* Like query_tree_at, but reads only the execution and, if it is a workflow, its tasks. */
MUST_USE int query_execution_at(struct store *s, int64_t id, const struct moment *at,
                                struct execution_list *out, struct err *err);
/* Like query_outline, but as of a moment; `out->now` is the time of `at`. */
MUST_USE int query_outline_at(struct store *s, int64_t id, const struct moment *at,
                              size_t max_items, struct outline *out, struct err *err);

/* One execution of a tree, and its timeline. */
struct timeline_row {
    struct execution execution;
    struct timeline timeline;
    const char *definition; /* hash of the definition of a workflow; NULL for other kinds */
};
STORE_LIST(timeline_list, struct timeline_row,
           int64_t now) /* rows: parents first; now: the time of `at` */
MUST_USE int query_timelines(struct store *s, int64_t id, const struct moment *at,
                             struct timeline_list *out, struct err *err);

#endif
