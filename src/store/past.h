/* past.h - a tree at a moment, loaded: what query_past.c makes its answers from. */
#ifndef STORE_PAST_H
#define STORE_PAST_H

#include "base/idmap.h"
#include "core/trail.h"
#include "store/query_past.h"

struct past_row {
    struct execution execution; /* as it was */
    struct fold then, now;
    struct trail trail; /* if asked for */
    const char *result; /* if a rerun took it out of the row since */
    const char *definition, *variables;
    int64_t items; /* of a fan-out; -1: not known, or it is none */
};

struct past {
    /* what to load */
    int64_t id;
    struct moment at;
    bool texts;  /* input, result and variables, too */
    bool deep;   /* all below it, not only the tasks of a workflow */
    bool trails; /* where their time went */

    int64_t now;           /* the time of the moment */
    struct past_row *rows; /* parents first, by depth, requested_at and id */
    size_t n;
    struct idmap by_id;
    struct arena arena;
};

/* In one snapshot. E_NOT_FOUND: it was not there. Release it in any case. */
MUST_USE int past_load(struct past *p, struct store *s, struct err *err);
void past_release(struct past *p);

#endif
