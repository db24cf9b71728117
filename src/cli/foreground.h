/* foreground.h - a tree that this very process works on, until its end; if it dies, a worker of the
 * same state folder goes on. */
#ifndef CLI_FOREGROUND_H
#define CLI_FOREGROUND_H

#include "cli/progress.h"

struct foreground {
    const struct pawl_job *job; /* submitted and run; NULL: */
    int64_t tree;               /* goes on with this one, which was run so before */
    int64_t since;              /* and tells what happens from this time on; 0: all */
    const char *state;          /* its folder; NULL: the usual one */
    enum progress_kind kind;    /* not PROGRESS_AUTO */
    bool json;                  /* the execution is printed at its end */
};

/* Returns the exit code that says how it ended. */
int foreground_run(const struct foreground *h, struct pawl *p);

#endif
