/* foreground.h - runs a tree in this process until it ends. If the process dies, a worker of the
 * same state folder takes over. */
#ifndef CLI_FOREGROUND_H
#define CLI_FOREGROUND_H

#include "cli/progress.h"

struct foreground {
    const struct pawl_job *job; /* the job to submit and run; NULL: resume `tree` */
    int64_t tree;               /* resume this tree, which was run in the foreground before */
    int64_t since;              /* show what happened from this time on; 0: everything */
    const char *state;          /* state folder; NULL: the default */
    enum progress_kind kind;    /* not PROGRESS_AUTO */
    bool json;                  /* print the execution at its end */
};

/* Returns the exit code for the execution's outcome. */
int foreground_run(const struct foreground *h, struct pawl *p);

#endif
