/* as_of_load.h - a tree at a moment, loaded: what as_of.c makes its answers from. */
#ifndef STORE_QUERY_AS_OF_LOAD_H
#define STORE_QUERY_AS_OF_LOAD_H

#include "base/idmap.h"
#include "core/history/timeline.h"
#include "store/query/as_of.h"

struct as_of_row {
    struct execution execution; /* as it was */
    struct replay at_moment, now;
    struct timeline timeline; /* if asked for */
    const char *result;       /* if a rerun took it out of the row since */
    const char *definition, *variables;
    int64_t items; /* of a fan-out; -1: not known, or it is none */
};

struct as_of_tree {
    /* what to load */
    int64_t id;
    struct moment at;
    bool with_texts;     /* input, result and variables, too */
    bool whole_tree;     /* all below it, not only the tasks of a workflow */
    bool with_timelines; /* where their time went */

    int64_t now;            /* the time of the moment */
    struct as_of_row *rows; /* parents first, by depth, requested_at and id */
    size_t n;
    struct idmap by_id;
    struct arena arena;
};

/* In one snapshot. E_NOT_FOUND: it was not there. Release it in any case. */
MUST_USE int as_of_load(struct as_of_tree *p, struct store *s, struct err *err);
void as_of_release(struct as_of_tree *p);

#endif
