/* model.h - the rules of a workflow, as simply as they can be said: after each event everything is
 * worked out again from the beginning. Written from the documents (docs/WORKFLOWS.md); it shares
 * nothing with src/core and src/store, not even words, so that an error there is not made twice.
 *
 * What happens in one turn happens at once: first all that was told is taken down, then
 * model_work_out looks at each task after its needs and at each workflow after its tasks. */
#ifndef TESTS_RANDOM_MODEL_H
#define TESTS_RANDOM_MODEL_H

#include "plan.h"

enum model_status {
    M_NONE,
    M_PENDING,
    M_READY,
    M_RUNNING,
    M_SUCCEEDED, /* from here on it has ended */
    M_FAILED,
    M_TIMED_OUT,
    M_CANCELLED,
    M_SKIPPED,
    M_STATUSES,
};
extern const char *const model_words[M_STATUSES];

enum model_kind { M_JOB, M_FLOW, M_EACH };

struct model_node {
    char path[120]; /* w/t1/t2[0] */
    struct model_node *parent, *next;
    const struct plan_flow *in;   /* where its task is; NULL: the root */
    const struct plan_task *task; /* NULL: the root */
    enum model_kind kind;
    enum model_status status;
    int item; /* -1: it is none */

    bool paused;      /* itself: nothing of it and below it starts */
    bool waits;       /* of M_FLOW, M_EACH: it is to begin, but something holds it */
    bool approved;    /* if it has an approval */
    bool has_permits; /* of M_FLOW, if it has a key */
    bool cancel_asked;
    bool finishing;      /* of a job: it may finish, but is not tried again */
    bool by_operator;    /* of a skipped one */
    bool failure_behind; /* of a skipped one */
    bool delayed;        /* its delay is not over */
    bool timed_out;      /* of M_FLOW: it took too long */
    int64_t delay_due;   /* the times at which the clock comes to it; 0: never */
    int64_t answer_due;  /* of an approval */
    int64_t timeout_due; /* of M_FLOW */
    int tries;           /* attempts that count */
    int starts;          /* attempts, over all runs */
    int list;            /* items of the list among its outputs, if it succeeded */

    const struct plan_flow *flow; /* of M_FLOW */
    int made;                     /* of M_EACH: items */
    bool stopped;                 /* of M_EACH: by fail_fast */
    bool only_failed;             /* of M_EACH: items that are done do not run again */
    int had;                      /* of those: how many are of the run before */
    struct model_node **children; /* tasks by index, or items; NULL: not made in this run */
    int nchildren;
};

struct model {
    const struct plan *plan;
    struct model_node *root, *all; /* `all` by next, the newest first */
    int64_t now;                   /* µs since it began */
    int limit;                     /* how many jobs may run at once; < 0: any number */
};

struct model *model_new(const struct plan *p);
void model_free(struct model *m);

bool model_ended(enum model_status s);
struct model_node *model_find(struct model *m, const char *path);

/* Whether a ready job may be started. */
bool model_may_start(const struct model *m, const struct model_node *job);
/* Whether it is part of the run: one that an earlier run made may not be. */
bool model_is_current(const struct model_node *n);
/* Whether its approval is asked for. */
bool model_asks(const struct model_node *n);

/* Of a workflow: whether nothing but a permit is missing. Who gets one is the store's choice. */
bool model_queues(const struct model_node *n);
/* It got one; false: there is none. */
bool model_permit(const struct model *m, struct model_node *n);
/* Whether there are more of some workflow than may run at once; or more of them run. */
bool model_some_crowded(const struct model *m);
bool model_some_exceeded(const struct model *m);

/* Events; model_work_out comes after those of one turn. The caller makes sure that a job is in the
 * status for it. */
void model_start(struct model_node *job);
void model_end(struct model_node *job, enum plan_end end, int list);
void model_cancel(struct model_node *n, bool let_finish);
void model_work_out(struct model *m);

/* The clock has come to a node; it may be ahead of `now` by so much. False: it is too early. Then
 * model_work_out. */
enum model_timer { M_DELAY, M_TIMEOUT };
bool model_fire(struct model *m, struct model_node *n, enum model_timer kind, int64_t ahead);
int64_t model_next_due(const struct model *m); /* 0: nothing is */

/* What operators ask for; false: it is refused. */
bool model_pause(struct model_node *n);
bool model_resume(struct model_node *n);
bool model_skip(struct model_node *n);
bool model_approve(struct model_node *n, bool yes);
/* `task` is that of M_FROM, by its place in the file. */
enum model_again { M_WHOLE, M_ONLY_FAILED, M_FROM };
bool model_rerun(struct model *m, struct model_node *n, enum model_again what, int task);

#endif
