/* custom_executor.h - makes an executor of the embedder (struct pawl_executor) available to the
 * dispatcher.
 *
 * Its functions are called on the loop's thread. Reports come from any thread: each one changes its
 * run under the lock and puts it on the list `news`, which the next poll forwards. However many
 * reports arrive between two polls, a run therefore takes no more memory than the kept part of its
 * log.
 *
 * The mark of a field says who may access it: [lock] any thread that holds the lock; [loop] the
 * loop's thread only. Runs are added and freed by the loop's thread, under the lock. */
#ifndef API_CUSTOM_EXECUTOR_H
#define API_CUSTOM_EXECUTOR_H

#include "base/buf.h"
#include "base/wakeup.h"
#include "dispatch/dispatch.h"
#include "exec/capped_log.h"
#include "pawl.h"

#include <pthread.h>

#define RUN_BUCKETS 256

/* An attempt that the executor runs. */
struct run {
    struct run *next; /* next run in the same bucket */
    struct pawl_attempt id;
    int64_t timeout;
    int64_t accepted; /* CLOCK_BOOTTIME in µs, like all times here */
    char **outputs;   /* the members of the result that are kept; ends with NULL; NULL for all */

    struct run *next_news; /* [lock] */
    bool is_news;          /* [lock] */
    bool started, ended;   /* [lock] the executor has reported the start, the end */
    int64_t started_at;    /* [lock] when the attempt started */
    struct outcome end;    /* [lock]; the run owns its strings */
    struct capped_log log; /* [lock] */

    bool reported_started; /* [loop] the start was passed on to the dispatcher */
    int64_t log_at;        /* [loop] when the log was last passed on */
    int64_t deadline;      /* [loop] when the timeout is reached; 0 if none */
    enum outcome_kind why; /* [loop] why the attempt must end; 0 if it may continue */
    bool cancel_called;    /* [loop] the executor's cancel function was called */
    bool dropped;          /* [loop] the next poll frees the run */
};

struct pawl_reporter {
    struct executor x; /* must be first: pointers to it are cast to pawl_reporter */
    struct executor_ops ops;
    struct pawl_executor own;
    const char *tenant;   /* NULL for the default tenant */
    int slots, n;         /* [loop] */
    bool closed;          /* [loop] */
    bool any_dropped;     /* [loop] */
    struct wakeup wakeup; /* [loop], but any thread may call wakeup_signal */
    pthread_mutex_t lock;
    struct run *runs[RUN_BUCKETS], *news, **news_end; /* [lock] */
};

struct custom_executor_options {
    int slots;          /* how many attempts may run at once if x->slots is 0 */
    const char *tenant; /* NULL for the default tenant; must outlive the executor, like env */
    struct env *env;
};
/* Checks the key and that the required functions exist. */
MUST_USE int api_executor_check(const struct pawl_executor *x, struct err *err);
/* Adds the executor to the dispatcher. */
MUST_USE int api_executor_add(struct dispatch *d, const struct pawl_executor *x,
                              const struct custom_executor_options *o, struct err *err);

/* Whether the job has a command. A job without one passes its values as its input. */
static inline bool spec_has_command(const struct spec *s)
{
    return s->run || s->argc;
}

/* custom_executor_attempts.c: the attempts of an executor and their reports */
struct run *run_new(struct pawl_reporter *r, const struct job *j);
struct run *run_of(struct executor *x, int64_t execution, int attempt); /* NULL if none */
/* Stops counting the run. The next poll frees it, not this function: a caller may still use it. */
void run_drop(struct run *run);
/* Passes on all reports of the run again, because its attempt was adopted under a new epoch. */
void run_repeat_reports(struct run *run);
/* Frees the dropped runs. */
void run_free_dropped(struct pawl_reporter *r);
void run_free_all(struct pawl_reporter *r);
/* Called on the loop's thread. Calls `each` for every run, with the current time; `each` may drop
 * the run. */
void run_each(struct pawl_reporter *r, void (*each)(struct run *run, int64_t now));

/* custom_executor_poll.c: passes the reports on */
void run_cancel(struct run *run, enum outcome_kind why); /* `why` is recorded with the end */
void custom_executor_poll(struct executor *x);

#endif
