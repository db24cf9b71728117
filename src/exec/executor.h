/* executor.h - the interface of executors, which run attempts: function, process, container, or one
 * that the embedder adds.
 *
 * An executor never touches the database. The engine's loop passes it a job and receives reports.
 * All operations are called on the loop's thread; reports are made on that thread too, and only
 * from inside `poll`. An executor with its own threads or children makes its descriptor readable
 * when it has something to report.
 *
 * An attempt is identified by (execution, attempt). Its epoch rises when another worker adopts it:
 * only the holder of the current epoch may signal it.
 *
 * The engine keeps the table of attempts (dispatch/attempts.h). `start` and `reattach` return the
 * executor's handle of an attempt, which the engine passes to all operations on that attempt. A
 * handle is valid until the executor has reported the end of the attempt, or until `forget`
 * returns. */
#ifndef EXEC_EXECUTOR_H
#define EXEC_EXECUTOR_H

#include "base/env.h"
#include "base/err.h"
#include "core/outcome.h"
#include "core/spec.h"

/* A leased job, ready to run. Strings and the spec are valid until the operation returns. */
struct job {
    int64_t execution, root;
    int64_t parent, workflow; /* the execution above the job, and the nearest workflow; 0 if none */
    int attempt;              /* counts from 1 */
    int max_attempts;
    int epoch;
    int priority;
    int index;             /* the item's index in its fan-out; -1 if the job is not an item */
    const char *task_name; /* NULL unless the job is a task of a workflow */
    const char *queue;
    const char *name;     /* full name, exec::NAME or workflow::task */
    const char *function; /* NAME of the lane function:NAME; NULL for other lanes */
    const char *input;    /* JSON; NULL if none */
    const struct spec *spec;
    int64_t lease_until; /* CLOCK_BOOTTIME, µs; the lease is valid at least until then */
    bool cancel;         /* a cancel was requested already (adopted attempts only) */
    bool unstarted;      /* adopted, and the file of the dead worker proves that it never started
                            the job; only for executors that write start marks */
};

enum report_kind {
    REPORT_STARTED, /* the command or function started `ago` µs before now; once per epoch, before
                       other reports */
    REPORT_LOG,     /* more output of the attempt */
    REPORT_ENDED,   /* the last report */
};

struct report {
    enum report_kind kind;
    int64_t execution;
    int attempt;
    int64_t ago;

    /* REPORT_LOG: kept output, after masking, starting at `offset`; `dropped` is the number of
     * bytes that were left out before this chunk. Chunks of one attempt come in order; a chunk at
     * an offset that was reported before replaces everything from there on. Under a new epoch the
     * log is reported from offset 0 again. */
    const char *log;
    size_t log_len;
    int64_t offset, dropped;

    struct outcome outcome; /* REPORT_ENDED; strings are valid until `report` returns. retry_delay
                               is used only if deferred or refused */
};

struct executor;

struct executor_ops {
    /* Whether an attempt continues when its worker ends; otherwise it is lost. */
    bool outlives_worker;
    /* Whether the executor writes start marks (base/start_marks.h) by itself, so that the file of a
     * dead worker proves which attempts it never started. For other executors the engine writes
     * them before `start`. */
    bool marks_starts;

    /* Starts a new attempt. 0: reports will follow, exactly one of them REPORT_ENDED, unless
     * `forget` is called first. -E_REFUSED: nothing was started and the job is released. Any other
     * error: the attempt has failed, with this message. */
    int (*start)(struct executor *x, const struct job *j, void **handle, struct err *err);

    /* Reattaches to an adopted attempt, which another worker may have started: reports follow as
     * after `start`. An attempt that does not exist, or that ended without an exit record, is
     * reported as lost once its remains are gone, or as refused and unstarted if that is proved; it
     * is never started again. *handle comes in as the handle that this executor already has for the
     * attempt, under an older epoch; NULL if none. -E_REFUSED: the attempt can't be searched for
     * now, and *handle stays as it was. -E_LEASE_LOST: a higher epoch is recorded. Any other error:
     * the attempt has failed, and the executor has dropped it. */
    int (*reattach)(struct executor *x, const struct job *j, void **handle, struct err *err);

    /* Ends an attempt: TERM, grace, KILL. `why` is OUTCOME_CANCELLED or OUTCOME_TIMED_OUT; an
     * attempt that has already ended by itself keeps its outcome. */
    void (*cancel)(struct executor *x, void *handle, enum outcome_kind why);

    /* The lease was renewed until `until` (CLOCK_BOOTTIME, µs). May be NULL. */
    void (*renewed)(struct executor *x, void *handle, int64_t until);

    /* The lease is lost: another worker may own the process now. The executor closes its handles
     * and neither signals nor reports the attempt any more. A function gets its cancel flag set and
     * keeps its slot until it returns. */
    void (*forget)(struct executor *x, void *handle);

    /* The outcome of this attempt is committed: its files may be removed. May be NULL. */
    void (*settled)(struct executor *x, int64_t execution, int attempt);

    /* Calls `each` for every attempt that has files on the disk, is not watched by this executor
     * and has no live process; `settled` removes the files. May be NULL. */
    void (*leftovers)(struct executor *x, void (*each)(void *arg, int64_t execution, int attempt),
                      void *arg);

    /* The executor accepts no more attempts. Attempts that have not started are reported as
     * refused; those that run continue and report their end. May be NULL. */
    void (*drain)(struct executor *x);

    /* Graceful stop: the executor accepts no more attempts. Attempts that have not started are
     * reported as refused. Running attempts that outlive the worker are forgotten afterwards;
     * others continue, or are asked to stop if `now`. May be NULL. */
    void (*stop)(struct executor *x, bool now);

    /* How many attempts it can start now. */
    int (*capacity)(struct executor *x);

    /* A descriptor to poll for reading, or -1. When it is readable, `poll` is called, which makes
     * the reports. */
    int (*fd)(struct executor *x);
    void (*poll)(struct executor *x);

    void (*free)(struct executor *x);
};

/* The first member of every executor's own structure. */
struct executor {
    const struct executor_ops *ops;
    const char *key; /* the executor's name in routes; owned by the executor */
    struct env *env; /* outlives the executor */
    void (*report)(void *arg, struct executor *x, const struct report *r); /* set by the engine */
    void *arg;
};

#endif
