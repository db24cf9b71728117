/* operator.h - what people ask of executions, limits and queues: operations of a turn, as those of
 * store.h. Engines ask for some of it, too. */
#ifndef STORE_OPERATOR_H
#define STORE_OPERATOR_H

#include "store/store.h"

/* ---- of an execution ---- */

/* Something an operator or an engine asks of one execution. */
struct request {
    int64_t execution;
    int64_t root;         /* 0: looked up */
    const char *by;       /* who, for the event; NULL: the engine */
    const char *reason;   /* why; NULL: none */
    bool let_finish;      /* cancel: what runs may finish, but nothing comes after it */
    bool is_continuation; /* pause, resume: a slice after the first */

    /* out */
    int rc;     /* 0, -E_NOT_FOUND, -E_INVALID (wrong status), -E_BUSY */
    int status; /* its status afterwards */
};
/* Nothing of it and below it starts any more, at any depth; what runs goes on. -E_INVALID: it has
 * ended, is paused already, or is a job that runs. In slices: *more asks for another turn with
 * is_continuation set. */
MUST_USE int op_pause(struct turn *t, struct request *list, size_t n, size_t slice, bool *more,
                      struct err *err);
/* The end of that pause; what is paused further down, or further up, stays so. */
MUST_USE int op_resume(struct turn *t, struct request *list, size_t n, size_t slice, bool *more,
                       struct err *err);
/* Gives, or refuses, what a task's approval waits for. -E_INVALID: it waits for none. */
MUST_USE int op_approve(struct turn *t, struct request *list, size_t n, bool yes, struct err *err);
/* Skips what has not begun: those that need it take it for done. -E_INVALID: it has begun. */
MUST_USE int op_skip(struct turn *t, struct request *list, size_t n, struct err *err);
enum rerun_scope { RERUN_WHOLE, RERUN_ONLY_FAILED, RERUN_FROM_TASK };
struct rerun_row {
    int64_t id;
    char *name;
    int status; /* before */
};
/* Runs again what has ended, in place, with all that is behind it; what is above it that has ended
 * is open again. */
struct rerun {
    struct request request;
    enum rerun_scope what;
    const char *from; /* the name of a task of the workflow that is named */
    bool dry_run;     /* change nothing: -E_INVALID, with `planned` set */

    /* out */
    VEC(struct rerun_row) reruns; /* what runs again; below a node that is named, all of it */
    bool planned;
};
void rerun_release(struct rerun *r);
/* -E_INVALID: it can't be, err says why. -E_REFUSED: a limit has no room for the workflow. */
MUST_USE int op_rerun(struct turn *t, struct rerun *r, struct err *err);
/* Pending and ready ones are cancelled at once, running ones get a durable request. Whole subtrees,
 * at most `max` executions of each in this turn; *more says that some are left: a timer goes on
 * with them, and whoever does not want to wait for it may ask again. */
MUST_USE int op_cancel(struct turn *t, struct request *list, size_t n, size_t max, bool *more,
                       struct err *err);

/* ---- of a limit or a queue ---- */

/* Sets a limit ("queue:NAME" or "key:NAME"); max < 0 removes it (that of a key in use stays,
 * without a bound). In slices: *more says that jobs above it are left in the outbox, or that more
 * may go than went, to be done by another turn with the same call. */
MUST_USE int op_limit(struct turn *t, const char *key, int max, size_t slice, bool *more,
                      struct err *err);

/* What an operator does to a queue as a whole. A pause is a limit of 0 that remembers the one
 * before it; a limit that is set meanwhile is the one that comes back. */
enum queue_verb { QUEUE_SET, QUEUE_PAUSE, QUEUE_RESUME };
struct queue_action {
    enum queue_verb verb;
    const char *queue;
    int max;                 /* of QUEUE_SET; < 0: no limit */
    const char *by, *reason; /* NULL: not told */
    size_t slice;
    bool is_continuation; /* a slice after the first */

    /* out */
    bool more;   /* to be done by another turn with the same order */
    bool paused; /* whether the queue is paused after this turn */
};
/* E_INVALID: to resume what is not paused. */
MUST_USE int op_change_queue(struct turn *t, struct queue_action *q, struct err *err);

/* What was asked last of a queue or a schedule as a whole; at 0: nothing that is kept. */
struct last_audit {
    int64_t at;
    enum audit_action action;
    const char *by, *reason; /* NULL: not told */
    const char *data;        /* JSON: {"limit": 2}; NULL: nothing */
};

#endif
