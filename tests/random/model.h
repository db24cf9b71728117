/* model.h - the rules of a workflow, as simple as possible: after each event everything is computed
 * again from the start. Written from the documents (docs/WORKFLOWS.md); it shares nothing with
 * src/core and src/store, not even words, so that an error there is not repeated here.
 *
 * Everything in one turn happens at once: first all events are recorded, then model_work_out visits
 * each task after its needs and each workflow after its tasks. */
#ifndef TESTS_RANDOM_MODEL_H
#define TESTS_RANDOM_MODEL_H

#include "plan.h"

enum model_status {
    M_NONE,
    M_PENDING,
    M_READY,
    M_RUNNING,
    M_SUCCEEDED, /* this and all following statuses are final */
    M_FAILED,
    M_TIMED_OUT,
    M_CANCELLED,
    M_SKIPPED,
    M_STATUSES,
};
extern const char *const model_words[M_STATUSES];

enum model_kind { M_JOB, M_WORKFLOW, M_FAN_OUT };

struct model_node {
    char path[120]; /* w/t1/t2[0] */
    struct model_node *parent, *next;
    const struct plan_workflow *in; /* the workflow of its task; NULL for the root */
    const struct plan_task *task;   /* NULL for the root */
    enum model_kind kind;
    enum model_status status;
    int item; /* -1 if it is not an item */

    bool paused;      /* an operator paused this node: neither it nor its descendants start */
    bool waits;       /* M_WORKFLOW, M_FAN_OUT: it may start, but something holds it */
    bool approved;    /* if it requires an approval */
    bool has_permits; /* M_WORKFLOW with a key */
    bool cancel_asked;
    bool finishing;          /* a job: it may finish, but is not retried */
    bool by_operator;        /* if skipped */
    bool skipped_by_failure; /* if skipped */
    bool delayed;            /* its delay has not passed */
    bool timed_out;          /* M_WORKFLOW: its timeout has passed */
    int64_t delay_due;       /* when its delay ends; 0 for never, like the next two */
    int64_t approval_due;    /* when its approval times out */
    int64_t timeout_due;     /* M_WORKFLOW: when it times out */
    int tries;               /* attempts that count against the maximum */
    int starts;              /* attempts over all runs */
    bool runs;               /* it has started in this run and not ended, as of model_note_times */
    int64_t since;           /* if it runs: when it started */
    int64_t ran;             /* how long its ended runs took, from their starts to their ends */
    int list;                /* length of the list among its outputs, if it succeeded */

    const struct plan_workflow *workflow; /* M_WORKFLOW */
    int made;                             /* M_FAN_OUT: items created */
    bool stopped;                         /* M_FAN_OUT: by fail_fast */
    bool only_failed; /* M_FAN_OUT, or M_WORKFLOW that waits: finished children do not run again */
    int had;          /* M_FAN_OUT: how many items the previous run created */
    struct model_node **children; /* tasks by index, or items; NULL if not created in this run */
    int nchildren;
};

struct model {
    const struct plan *plan;
    struct model_node *root, *all; /* `all` is linked by next, newest first */
    int64_t now;                   /* µs since the start */
    int limit;                     /* how many jobs may run at once; < 0 for no limit */
};

struct model *model_new(const struct plan *p);
void model_free(struct model *m);

bool model_ended(enum model_status s);
/* The status that a workflow or fan-out ends with, after the descendants that it has now. */
enum model_status model_end_status(const struct model_node *n);
struct model_node *model_find(struct model *m, const char *path);

/* Whether a ready job may be started. */
bool model_may_start(const struct model *m, const struct model_node *job);
/* Whether the node is part of this run: a node that an earlier run created may not be. */
bool model_is_current(const struct model_node *n);
/* Whether the node's approval is pending. */
bool model_awaits_approval(const struct model_node *n);

/* Whether a workflow waits only for a permit. The store decides which one gets it. */
bool model_waits_for_permit(const struct model_node *n);
/* Gives the workflow a permit; false if none is free. */
bool model_permit(const struct model *m, struct model_node *n);
/* Whether more executions of some workflow exist, or run, than may run at a time. */
bool model_some_crowded(const struct model *m);
bool model_some_exceeded(const struct model *m);

/* Events of jobs; call model_work_out after the events of one turn. The caller makes sure that the
 * job's status allows the event. */
void model_start(struct model_node *job);
void model_end(struct model_node *job, enum plan_end end, int list);
void model_cancel(struct model_node *n, bool let_finish);
void model_work_out(struct model *m);

/* A timer of a node fires; it may be ahead of `now` by this much. False if it is too early. Call
 * model_work_out afterwards. */
enum model_timer { M_DELAY, M_TIMEOUT };
bool model_fire(struct model *m, struct model_node *n, enum model_timer kind, int64_t ahead);
int64_t model_next_due(const struct model *m); /* 0 if no timer is set */

/* Records which nodes have started and ended since the last call. Call it after jobs were started
 * and before `now` changes. */
void model_note_times(struct model *m);

/* Operator requests; false if refused. */
bool model_pause(struct model_node *n);
bool model_resume(struct model_node *n);
bool model_skip(struct model_node *n);
bool model_approve(struct model_node *n, bool yes);
/* `task` is the one for M_FROM, by its index in the file. */
enum model_again { M_WHOLE, M_ONLY_FAILED, M_FROM };
bool model_rerun(struct model *m, struct model_node *n, enum model_again what, int task);

#endif
