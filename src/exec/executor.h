/* executor.h - a way to run attempts: function, process, container, or one of your own.
 *
 * An executor never touches the database. The engine's loop gives it a task and gets back reports;
 * all slots are called on the loop's thread, and all reports are made on it, from inside `turn`
 * only. An executor that has threads or children of its own makes its descriptor readable when
 * there is something to say.
 *
 * An attempt is named by (execution, attempt). Its epoch rises when another worker takes it over:
 * only the holder of the current one may signal it. */
#ifndef EXEC_EXECUTOR_H
#define EXEC_EXECUTOR_H

#include "base/env.h"
#include "base/err.h"
#include "core/outcome.h"
#include "core/spec.h"

/* A job that this worker holds, ready to be run. Texts and the spec live until the slot returns. */
struct task {
    int64_t execution, root;
    int attempt; /* from 1 */
    int max_attempts;
    int epoch;
    const char *name;     /* full name, exec::NAME or workflow::task */
    const char *function; /* of the lane function:NAME; NULL for other lanes */
    const char *input;    /* JSON; NULL: none */
    const struct spec *spec;
    int64_t lease_until; /* CLOCK_BOOTTIME, µs: what the worker may count on */
    bool cancel;         /* a cancel was requested already (adopted ones) */
};

enum report_kind {
    REPORT_STARTED, /* the work began, `ago` µs before now; once an epoch, before the other two */
    REPORT_LOG,     /* more of its output */
    REPORT_ENDED,   /* the last one */
};

struct report {
    enum report_kind kind;
    int64_t execution;
    int attempt, epoch;
    int64_t ago;

    /* REPORT_LOG: bytes of the kept output from `offset` on, after masking; `dropped` is how many
     * bytes were left out before this chunk. Chunks of one attempt come in order; one at an offset
     * that was told before replaces everything from there on. Whoever has a new epoch begins at 0
     * again. */
    const char *log;
    size_t log_len;
    int64_t offset, dropped;

    struct outcome outcome; /* REPORT_ENDED; texts live until `report` returns. retry_delay only for
                               deferred and refused */
};

struct executor_stats {
    int running;
    int64_t done, failed; /* since the worker started; done counts both */
    int64_t mean, p99;    /* µs of run time; 0: none ended yet */
};

struct executor;

struct executor_ops {
    const char *kind; /* "function", "process", "container" */
    /* Whether work goes on without the worker that started it; else it is lost with it. */
    bool outlives_worker;

    /* Begins an attempt that nobody has begun. 0: reports will come, REPORT_ENDED among them
     * exactly once, unless `forget` comes first. -E_REFUSED: nothing was begun, the job is given
     * back (released); all other errors: the attempt has failed, with this sentence. */
    int (*start)(struct executor *x, const struct task *t, struct err *err);

    /* Takes over an attempt that another worker may have begun: reports come as after start. What
     * is not there or died without an exit record is reported as lost, after its remains are gone;
     * never begun anew. Errors as for start. */
    int (*reattach)(struct executor *x, const struct task *t, struct err *err);

    /* Ends it: TERM, grace, KILL. `why` is OUTCOME_CANCELLED or OUTCOME_TIMED_OUT; work that ended
     * by itself before keeps its own outcome. Unknown attempts are no error. */
    void (*cancel)(struct executor *x, int64_t execution, int attempt, enum outcome_kind why);

    /* The lease was renewed: good until then (CLOCK_BOOTTIME, µs). NULL: not wanted. */
    void (*renewed)(struct executor *x, int64_t execution, int attempt, int64_t until);

    /* The lease is lost: another worker may own this very process. Closes the handles, signals and
     * reports nothing more. A function gets its cancel flag, and keeps its slot until it returns.
     */
    void (*forget)(struct executor *x, int64_t execution, int attempt);

    /* The end of this attempt is committed: what it left on the disk may go. NULL: nothing to do.
     */
    void (*settled)(struct executor *x, int64_t execution, int attempt);

    /* Calls `each` for what attempts have left on the disk that nobody here holds and in which
     * nothing lives; `settled` removes it. NULL: nothing is left. */
    void (*leftovers)(struct executor *x, void (*each)(void *arg, int64_t execution, int attempt),
                      void *arg);

    /* Takes nothing more. What has not begun is given back (refused); what outlives the worker is
     * left running, its handles dropped; what runs and does not outlive it goes on, and is told to
     * stop with `now`. For a graceful stop. NULL: nothing to do. */
    void (*stop)(struct executor *x, bool now);

    /* How many attempts it can begin now. */
    int (*capacity)(struct executor *x);

    /* A descriptor to poll for reading, or -1; then `turn` is called, which makes the reports. */
    int (*fd)(struct executor *x);
    void (*poll)(struct executor *x);

    void (*stats)(struct executor *x, struct executor_stats *out);
    void (*free)(struct executor *x);
};

/* The head of every executor's own structure. */
struct executor {
    const struct executor_ops *ops;
    const char *key; /* as in routes; owned by the executor */
    struct env *env; /* outlives it */
    void (*report)(void *arg, struct executor *x, const struct report *r); /* set by the engine */
    void *arg;
};

#endif
