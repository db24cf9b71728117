/* foreground.h - runs a tree in this process until it ends, and shows its progress or copies its
 * output. If the process dies, a worker of the same state folder takes over. */
#ifndef CLI_FOREGROUND_H
#define CLI_FOREGROUND_H

#include "cli/progress.h"
#include "cli/run_workflow.h"

struct foreground {
    const struct pawl_job *job; /* the job to submit and run; NULL to resume `tree` */
    const char *file;           /* the workflow's file, for hints; NULL if not known */
    int64_t tree;               /* resume this tree, which was run in the foreground before */
    int64_t since;              /* show events from this time on; 0 for all events */
    const char *state;          /* state folder; NULL for the default */
    enum progress_kind kind;    /* not PROGRESS_AUTO */
    bool json;                  /* print the execution when it has ended */
    int slots;                  /* 0 for the configured number */
    /* The execution's output is copied there, and no progress is shown; NULL to show progress. */
    struct output *output;
    /* Called once the job is stored; NULL if not needed. */
    void (*accepted)(void *arg, int64_t id, bool existed);
    void *arg;
};

/* Returns PAWL_EXECUTION_ID, the id of the task that started this process; NULL if no task did, or
 * if the command uses another database. */
const char *foreground_task(const struct cli *c);
/* Returns the exit code for the execution's outcome or, with `output`, 0 once it has ended. */
int foreground_run(const struct foreground *h, struct pawl *p);

#endif
