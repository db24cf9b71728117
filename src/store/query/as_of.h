/* as_of.h - executions as they were at a moment: what never changes is read from their rows,
 * all else is made from their events (core/history/replay.h). What the history does not keep is
 * left out: the input of a task that was not ready yet, or ran again since, and how many needs were
 * open. */
#ifndef STORE_QUERY_AS_OF_H
#define STORE_QUERY_AS_OF_H

#include "core/history/timeline.h"
#include "store/query/query.h"

/* After all events up to a time, or up to a number; the other is 0. A time to come means now. */
struct moment {
    int64_t time, event;
};

/* needs_left of what was pending then. */
#define NEEDS_UNKNOWN (-1)

/* As query_tree, of those that were there. E_NOT_FOUND: it was not, or there is none. */
MUST_USE int query_tree_at(struct store *s, int64_t id, const struct moment *at,
                           struct execution_list *out, struct err *err);
/* The execution, and after it, if it is a workflow, its tasks. */
MUST_USE int query_execution_at(struct store *s, int64_t id, const struct moment *at,
                                struct execution_list *out, struct err *err);
/* As query_outline; its time is that of the moment. */
MUST_USE int query_outline_at(struct store *s, int64_t id, const struct moment *at,
                              size_t max_items, struct outline *out, struct err *err);

/* Where the time of each execution of a tree went. */
struct timeline_row {
    struct execution execution;
    struct timeline timeline;
    const char *definition; /* of a workflow: the hash; NULL: it is none */
};
struct timeline_list {
    struct timeline_row *at; /* parents first */
    size_t n;
    int64_t now; /* the time of the moment */
    struct arena arena;
};
void timeline_list_release(struct timeline_list *l);
MUST_USE int query_timelines(struct store *s, int64_t id, const struct moment *at,
                             struct timeline_list *out, struct err *err);

#endif
