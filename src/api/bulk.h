/* bulk.h - one slice of an action on many executions; see bulk.c. */
#ifndef API_BULK_H
#define API_BULK_H

#include "api/verb.h"

#define BULK_SLICE 100 /* executions changed in one turn */

struct bulk_action {
    const char *name;
    uint64_t statuses;                            /* the statuses in which the action is allowed */
    bool (*may)(const struct found_execution *e); /* a further condition; NULL if the status
                                                     suffices */
    const struct verb *verb;                      /* NULL for a rerun, which is not done in sets */
    bool cancels, let_finish, failed;
};

/* Executions that are changed together, at most BULK_SLICE. */
struct bulk_slice {
    const struct bulk_action *action;
    const char *by, *reason;
    const struct found_execution *at;
    size_t n;

    struct err errors[BULK_SLICE]; /* out: why an execution was refused; code 0 if it was not */
};

/* Carries out the action. Fails only with an error that concerns all executions, such as a lost
 * database. */
MUST_USE int bulk_act(struct pawl *p, struct bulk_slice *s, struct err *err);

#endif
