/* custom_executor.h - an executor of somebody outside (pawl.h) as the dispatcher knows executors.
 *
 * Slots are called on the loop's thread. Reports come from any thread: each changes the run that it
 * is about, under the lock, and puts it among the news; the next turn passes them on. So however
 * much is said between two turns, a run takes no more memory than what is kept of its log.
 *
 * Fields say who may touch them: L under the lock, M the loop's thread alone. The loop's thread
 * adds and frees runs, under the lock. */
#ifndef API_CUSTOM_EXECUTOR_H
#define API_CUSTOM_EXECUTOR_H

#include "base/buf.h"
#include "dispatch/dispatch.h"
#include "pawl.h"

#include <pthread.h>

#define RUN_BUCKETS 256

/* An attempt in the executor's hands. */
struct run {
    struct run *next; /* in its bucket */
    struct pawl_attempt id;
    int64_t timeout;
    int64_t accepted; /* CLOCK_BOOTTIME, µs, as all times here */

    struct run *next_news; /* L */
    bool is_news;          /* L */
    bool started, ended;   /* L: said so */
    int64_t begun;         /* L */
    struct outcome end;    /* L; its texts are ours */
    struct buf head, tail; /* L: of its log */
    int64_t dropped;       /* L: bytes between the two */
    bool log_due;          /* L: there is some that is not passed on */

    bool reported_started; /* M */
    int64_t log_sent;      /* M: bytes of the head that are passed on */
    int64_t log_at;        /* M: when that was */
    int64_t deadline;      /* M; 0: none */
    enum outcome_kind why; /* M: it is to end; 0: it is not */
    bool asked;            /* M: it knows that */
    bool gone;             /* M: to be freed by the turn */
};

struct pawl_reporter {
    struct executor x; /* the first, so that one is the other */
    struct executor_ops ops;
    struct pawl_executor own;
    int slots, n;  /* M */
    bool closed;   /* M */
    bool any_gone; /* M */
    int epoll, event, timer;
    int64_t armed; /* M: when the timer fires; 0: it does not */
    pthread_mutex_t lock;
    struct run *runs[RUN_BUCKETS], *news, **news_end; /* L */
};

/* Adds it; at most `slots` at once, if it does not say so itself. */
MUST_USE int api_executor_add(struct dispatch *d, const struct pawl_executor *x, int slots,
                              struct env *env, struct err *err);

/* custom_executor_attempts.c: what is in its hands, and what was said about it */
struct run *run_new(struct pawl_reporter *r, const struct task *t);
struct run *run_of(struct executor *x, int64_t execution, int attempt); /* NULL: none */
/* It no longer counts; the turn frees it, as somebody further up may be looking at it. */
void run_drop(struct run *run);
/* Somebody wants to hear of it again, under a new epoch: all is told from the beginning. */
void run_remember(struct run *run);
void run_sweep(struct pawl_reporter *r);
void run_free_all(struct pawl_reporter *r);
/* M: each one, with the time; it may be dropped meanwhile. */
void run_each(struct pawl_reporter *r, void (*each)(struct run *run, int64_t now));
/* What is beyond the tail's length goes; of its own thread, or L. */
void run_cut_log(struct run *run);

/* custom_executor_poll.c: what was said is passed on */
void run_ask(struct run *run, enum outcome_kind why); /* to end */
void run_arm(struct pawl_reporter *r, int64_t at);    /* has a turn taken by then */
void custom_executor_poll(struct executor *x);

#endif
