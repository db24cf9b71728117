/* foreground.h - runs a tree in this process until it ends, and shows its progress or copies its
 * output. If the process dies, a worker of the same state folder takes over. */
#ifndef CLI_FOREGROUND_H
#define CLI_FOREGROUND_H

#include "cli/progress.h"
#include "cli/run_workflow.h"

struct foreground {
    const struct pawl_job *job; /* the job to submit and run; NULL: resume `tree` */
    const char *file;           /* of its workflow, for hints; NULL if not known */
    int64_t tree;               /* resume this tree, which was run in the foreground before */
    int64_t since;              /* show what happened from this time on; 0: everything */
    const char *state;          /* state folder; NULL: the default */
    enum progress_kind kind;    /* not PROGRESS_AUTO */
    bool json;                  /* print the execution at its end */
    int slots;                  /* 0: as configured */
    /* Instead of progress: its output is copied there. NULL: progress is shown. */
    struct output *output;
    /* Called once the job is stored; NULL if not needed. */
    void (*accepted)(void *arg, int64_t id, bool existed);
    void *arg;
};

/* Returns the exit code for the execution's outcome; with `output` 0 if it has ended. */
int foreground_run(const struct foreground *h, struct pawl *p);
/* The exit code for a final status; -1 if it is not final. */
int foreground_exit_code(const char *status);

#endif
