/* verb.h - operator actions on nodes of trees; each acts on a set of executions. */
#ifndef API_VERB_H
#define API_VERB_H

#include "api/api.h"

struct verb {
    /* Acts on the requests in one turn, and on at most `slice` descendants of each. *more requests
     * another turn, with is_continuation set. */
    int (*op)(struct turn *t, struct request *list, size_t n, size_t slice, bool *more,
              struct err *err);
    const char *(*refusal)(const struct execution *e); /* says why op refused the execution with
                                                          -E_INVALID */
    /* The turn must not have requests for two executions of one tree: op acts on an execution as
     * its ancestors were at the start of the turn. */
    bool one_per_tree;
    const char *decision; /* the command that decides an approval this way; NULL if op does not */
};
extern const struct verb verb_pause, verb_resume, verb_skip;

/* Sets the error for a request that op refused with r->rc. */
int verb_explain(struct pawl *p, const struct verb *v, const struct request *r, struct err *err);

#endif
