/* pool.h - the inside of the function executor: what the loop's thread (function.c), the
 * pool's threads (pool.c) and the functions (call.c) share.
 *
 * A job's life, and who moves it:
 *
 *     QUEUED ──a thread takes it──> RUNNING ──it returns──> ENDED ──turn reports it──> freed
 *        └──cancel, hand_over────────────────────────────────^
 *
 * Fields say who may touch them: L under the lock, M the loop's thread alone, F the thread that
 * runs the function until it has ended, the loop's after that. */
#ifndef EXEC_FUNCTION_POOL_H
#define EXEC_FUNCTION_POOL_H

#include "base/buf.h"
#include "base/mem.h"
#include "exec/function/function.h"

#include <pthread.h>
#include <stdatomic.h>

/* A function under its name. Never moves: jobs point to it. */
struct entry {
    char *lane; /* "function:NAME" */
    const char *name;
    function_fn *fn;
    void *arg;
    void *plugin; /* from dlopen; NULL: none */
};

enum job_state { JOB_QUEUED, JOB_RUNNING, JOB_ENDED };

/* What a function wrote: the first bytes and the last ones are kept. */
struct job_log {
    struct buf head, tail;
    int64_t dropped;
};

struct job_output {
    char *key, *json;
};

struct function_job {
    struct function_call call; /* the first, so that one is the other */
    struct functions *f;
    const struct entry *entry;
    int64_t timeout, grace;                   /* µs; timeout 0: none */
    const char *const *wanted;                /* the outputs that count; NULL: all */
    struct function_job *all_prev, *all_next; /* M: every job that is here */
    struct function_job *prev, *next;         /* L: in the queue, the running or the ended ones */

    enum job_state state;      /* L */
    enum outcome_kind why;     /* L: why it was told to stop; 0: it was not */
    enum outcome_kind kind;    /* L: how it ended */
    int64_t stop_requested_at; /* L */
    atomic_bool stop_flag;     /* the flag; also read by its function */
    struct job_log log;        /* L */
    bool log_due;              /* L: there is something that turn has not reported */

    int epoch;        /* M */
    bool forgotten;   /* M: nobody wants to hear of it */
    bool started;     /* M: reported */
    int64_t log_sent; /* M: bytes of the head reported */

    int64_t begun, deadline;        /* L until it runs, constant then; µs of CLOCK_BOOTTIME */
    int64_t ended, cpu;             /* F */
    int rc;                         /* F: what the function returned */
    char *failure;                  /* F: its own words, or what was wrong with its calls */
    int64_t defer;                  /* F: -1: no */
    char *result;                   /* F */
    VEC(struct job_output) outputs; /* F */
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
    struct executor x;           /* the first, so that one is the other */
    VEC(struct entry *) entries; /* M: sorted by name */
    VEC(const char *) lanes;     /* M: theirs */
    VEC(void *) plugins;         /* M */
    struct function_job *all;    /* M */
    int max_threads, max_queue;
    int64_t idle_time;
    int epoll, event, timer;

    pthread_mutex_t lock;
    pthread_cond_t work; /* there may be something in the queue, or it is time to go */
    pthread_cond_t gone; /* a thread has ended */
    struct function_job_list queue, running, ended; /* L */
    int threads, idle, waking;    /* L: waking ones are idle, and were signalled */
    struct pool_thread *finished; /* L: to be joined */
    int64_t armed;                /* L: when the timer fires; 0: it does not */
    bool stopping;                /* L: threads end when the queue is empty */
    bool abandoned;               /* L: the last thread frees it all */
    bool closed;                  /* M: nothing is begun any more */
};

/* A running function is reported as started after this time, unless it ends before. */
#define STARTED_AFTER 50000
#define LOG_EVERY     1000000

/* function.c, function_reports.c */
void function_job_free(struct function_job *j);
void function_release(struct functions *f);
void function_poll(struct executor *x);

/* plugin.c: the functions by their names */
const struct entry *function_find(const struct functions *f, const char *name); /* NULL: none */
void function_registry_release(struct functions *f);

/* pool.c, call.c */
extern const struct function_call_ops function_call_ops;

/* Puts a job into the queue and sees to it that a thread takes it; false: there is none, and none
 * can be made. */
bool pool_push(struct functions *f, struct function_job *j);
/* L: has the loop's turn called at that time at the latest. */
void pool_set_timer(struct functions *f, int64_t at);
/* L: ends a job that never ran, or was never here. */
void pool_end_unrun(struct functions *f, struct function_job *j, enum outcome_kind kind);
/* L: sets the flag; what it was told first stays, unless that was no request of anybody. */
void pool_request_stop(struct function_job *j, enum outcome_kind why);
void pool_wake(struct functions *f);          /* makes the descriptor readable */
void pool_join_finished(struct functions *f); /* cleans up after threads that have ended */
/* Ends all threads. False: some function did not return within `patience`; from now on everything
 * belongs to the threads that are left, the last of which frees it. */
bool pool_stop(struct functions *f, int64_t patience);

void job_list_add(struct function_job_list *l, struct function_job *j);
void job_list_remove(struct function_job_list *l, struct function_job *j);

/* The JSON of what it set into `out`; NULL: nothing. */
const char *call_result(const struct function_job *j, struct buf *out);
/* What is kept of the log beyond the head, at most so much. */
void call_log_trim(struct job_log *l);
void call_free(struct function_job *j); /* what the function's calls left */

#endif
