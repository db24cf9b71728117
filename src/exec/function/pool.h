/* pool.h - internals of the function executor, shared by the loop's thread (function.c,
 * function_reports.c), the pool's threads (pool.c) and the running functions (call.c).
 *
 * The states of a job:
 *
 *     QUEUED ──a thread takes it──> RUNNING ──it returns──> ENDED ──poll reports it──> freed
 *        └──cancel, stop, waits too long─────────────────────^
 *
 * The mark of a field says which thread may access it: [lock] any thread that holds the lock;
 * [loop] the loop's thread only; [runner] the thread that runs the function until it has ended,
 * then the loop's thread. */
#ifndef EXEC_FUNCTION_POOL_H
#define EXEC_FUNCTION_POOL_H

#include "base/buf.h"
#include "base/mem.h"
#include "base/wakeup.h"
#include "exec/capped_log.h"
#include "exec/function/function.h"

#include <pthread.h>
#include <stdatomic.h>

/* A named function. Its address never changes, because jobs point to it. */
struct entry {
    char *lane; /* "function:NAME" */
    const char *name;
    function_fn *fn;
    void *arg;
    void *plugin; /* handle from dlopen; NULL if not from a plugin */
};

enum job_state { JOB_QUEUED, JOB_RUNNING, JOB_ENDED };

struct job_output {
    char *key, *json;
};

struct function_job {
    struct function_call call; /* must be first: pointers to it are cast to function_job */
    struct functions *f;
    const struct entry *entry;
    int64_t timeout, grace;                   /* µs; timeout 0 if none */
    char **wanted;                            /* the outputs to keep; NULL means all */
    struct function_job *all_prev, *all_next; /* [loop] list of all jobs */
    struct function_job *prev, *next;         /* [lock] list of the queued, running or ended jobs */

    enum job_state state;      /* [lock] */
    enum outcome_kind why;     /* [lock] why the job was asked to stop; 0 if it was not */
    enum outcome_kind kind;    /* [lock] how the job ended */
    int64_t stop_requested_at; /* [lock] */
    atomic_bool stop_flag;     /* the cancel flag, also read by the function */
    struct capped_log log;     /* [lock] */

    bool forgotten; /* [loop] the lease is lost, report nothing */
    bool started;   /* [loop] REPORT_STARTED was sent */
    bool unstarted; /* [loop] adopted from a worker that died before it started the job */
    int mark;       /* [loop] slot of the job's start mark; -1 if none */
    int mark_error; /* [runner] errno if the start could not be recorded, so nothing ran */

    int64_t queued_at;       /* [lock]; CLOCK_BOOTTIME */
    int64_t begun, deadline; /* [lock] until the job runs, then constant; µs of CLOCK_BOOTTIME */
    int64_t ended, cpu;      /* [runner] */
    int rc;                  /* [runner] return value of the function */
    char *failure; /* [runner] message passed to `fail`, or how the function misused its call */
    int64_t defer; /* [runner] µs; -1 if not deferred */
    char *result;  /* [runner] */
    VEC(struct job_output) outputs; /* [runner] */
};

struct function_job_list {
    struct function_job *first, *last;
    int n;
};

struct pool_thread {
    pthread_t id;
    struct functions *f;
    struct pool_thread *next;
};

struct functions {
    struct executor x;           /* must be first: pointers to it are cast to functions */
    VEC(struct entry *) entries; /* [loop] sorted by name */
    VEC(const char *) lanes;     /* [loop] lanes of the entries */
    VEC(void *) plugins;         /* [loop] */
    struct function_job *all;    /* [loop] */
    struct start_marks *marks;   /* NULL if starts are not recorded */
    int max_threads, max_queue;
    int64_t idle_time, patience;

    pthread_mutex_t lock;
    pthread_cond_t work;                            /* a job was queued, or `stopping` was set */
    pthread_cond_t gone;                            /* a thread has ended */
    struct function_job_list queue, running, ended; /* [lock] */
    int64_t typical;           /* [lock] typical run time of recent functions, µs; -1 if none has
                                  ended */
    int threads, idle, waking; /* [lock] waking: idle threads that were signalled */
    struct pool_thread *finished; /* [lock] threads to be joined */
    struct wakeup wakeup;         /* [lock] */
    bool stopping;                /* [lock] threads end when the queue is empty */
    bool abandoned;               /* [lock] the last thread frees everything */
    bool closed;                  /* [loop] nothing is started any more */
    bool stopped;                 /* [loop] function_stop was called */
};

/* µs after which a running function is reported as started, unless it ends before. */
#define STARTED_AFTER 50000
#define LOG_EVERY     1000000
/* µs within which the jobs of the local queue should start. */
#define QUEUE_TIME    100000

/* function.c, function_reports.c */
void function_job_free(struct function_job *j);
void function_release(struct functions *f);
void function_poll(struct executor *x);

/* plugin.c: the registry of functions by name */
const struct entry *function_find(const struct functions *f, const char *name); /* or NULL */
void function_registry_release(struct functions *f);

/* pool.c, call.c */
extern const struct function_call_ops function_call_ops;

/* Queues a job and wakes or creates a thread for it. False if there is no thread and none can be
 * created; the job is not queued then. */
bool pool_push(struct functions *f, struct function_job *j);
/* Called under the lock. Ends a job that never ran, or that this executor never had. */
void pool_end_unrun(struct functions *f, struct function_job *j, enum outcome_kind kind);
/* Called under the lock. Sets the cancel flag. A cancel or timeout is kept as the reason; any other
 * reason is replaced. */
void pool_request_stop(struct function_job *j, enum outcome_kind why);
void pool_join_finished(struct functions *f); /* cleans up after threads that have ended */
/* Ends all threads, except those whose functions do not return within `patience` µs. */
void pool_stop(struct functions *f, int64_t patience);
/* Leaves `f` to the threads that remain after pool_stop; the last of them frees it. False if none
 * remain: then the caller frees it. */
bool pool_abandon(struct functions *f);

void job_list_add(struct function_job_list *l, struct function_job *j);
void job_list_remove(struct function_job_list *l, struct function_job *j);

/* The result or the outputs as JSON, possibly stored in `out`; NULL if none were set. */
const char *call_result(const struct function_job *j, struct buf *out);
void call_free(struct function_job *j); /* frees outputs, result, failure and log */

#endif
