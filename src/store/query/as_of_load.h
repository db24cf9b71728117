/* as_of_load.h - loads a tree as it was at a moment, for as_of.c. */
#ifndef STORE_QUERY_AS_OF_LOAD_H
#define STORE_QUERY_AS_OF_LOAD_H

#include "base/idmap.h"
#include "core/history/timeline.h"
#include "store/query/as_of.h"

struct as_of_row {
    struct execution execution; /* as it was at the moment */
    struct replay at_moment, now;
    struct timeline timeline; /* only with_timelines */
    const char *result;       /* if a later rerun moved it from the row to an event */
    const char *definition, *variables;
    int64_t items; /* number of items of a fan-out; -1 if unknown, or not a fan-out */
};

struct as_of_tree {
    /* what to load */
    int64_t id;
    struct moment at;
    bool with_texts;     /* also load input, result and variables */
    bool whole_tree;     /* load all descendants, not only the tasks of a workflow */
    bool with_timelines; /* also compute timelines */

    int64_t now;            /* the time of the moment */
    struct as_of_row *rows; /* parents first, by depth, requested_at and id */
    size_t n;
    struct idmap by_id;
    struct arena arena;
};

/* Loads in one snapshot. E_NOT_FOUND if the execution did not exist at the moment. The caller
 * releases p in any case. */
MUST_USE int as_of_load(struct as_of_tree *p, struct store *s, struct err *err);
void as_of_release(struct as_of_tree *p);

#endif
