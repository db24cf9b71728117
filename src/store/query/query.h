/* query.h - read-only queries on the store. Each query uses an index, reads one snapshot and takes
 * no locks. A program that only reads may open a store of its own. */
#ifndef STORE_QUERY_QUERY_H
#define STORE_QUERY_QUERY_H

#include "base/buf.h"
#include "core/attempt_counts.h"
#include "core/input_filter.h"
#include "store/operator.h"
#include "store/store.h"

/* Facts about an execution that come from its events, not from its row. */
struct execution_history {
    /* JSON that tells how the last attempt ended; NULL if no attempt has ended yet. */
    const char *outcome;
    int64_t worker;   /* the last worker that ran the execution; 0 if none yet */
    const char *host; /* host of that worker; NULL if none yet, or unknown */
    /* JSON that tells who requested the execution; NULL if unknown, and for tasks of a workflow. */
    const char *request;
    int64_t due_at; /* when the delay ends; 0 if the execution is not held for a delay */
    /* For a workflow: hash of its definition, and params and vars as JSON; NULL for other kinds. */
    const char *definition, *variables;
    /* JSON that tells who paused the workflow and why; NULL if it is not paused. */
    const char *pause;
};

/* A list of executions, which owns all texts in it; history[i] belongs to at[i]. */
STORE_LIST(execution_list, struct execution, struct execution_history *history)

MUST_USE int query_set_not_found(int64_t id, struct err *err); /* -E_NOT_FOUND */
/* Returns -E_NOT_FOUND with a message that explains why execution `id` does not exist: the id may
 * belong to a SQL submission. Returns -E_BUSY if that submission has just been taken, so that the
 * execution exists now. */
MUST_USE int query_explain_missing(struct store *s, int64_t id, struct err *err);

MUST_USE int query_execution(struct store *s, int64_t id, struct execution_list *out,
                             struct err *err); /* -E_NOT_FOUND */
MUST_USE int query_parent(struct store *s, int64_t id, struct execution_list *out, struct err *err);
MUST_USE int query_children(struct store *s, int64_t id, struct execution_list *out,
                            struct err *err);
/* Reads the execution `id` and all its descendants, ordered by depth, requested_at and id. One
 * query reads all levels. */
MUST_USE int query_tree(struct store *s, int64_t id, struct execution_list *out, struct err *err);
/* Counts an execution and its descendants, up to `most`. */
MUST_USE int query_tree_size(struct store *s, int64_t id, int64_t most, int64_t *n,
                             struct err *err);
/* One line of a tree in the form that views show; the execution has no input, result or spec. */
struct outline_row {
    struct execution execution;
    int64_t ready_at;       /* when the execution first became ready; 0 if not yet */
    int64_t worker, due_at; /* as in struct execution_history */
    /* JSON that tells why the execution was skipped or cancelled; NULL if no reason was given. */
    const char *reason;
    int64_t items[S_COUNT]; /* for a fan-out: number of items by status */
    /* For a fan-out: total number of items; -1 if unknown, or for other kinds. */
    int64_t nitems;
};
STORE_LIST(outline, struct outline_row, int64_t now)
/* Like query_tree, but lists at most max_items running and max_items failed items per fan-out. */
MUST_USE int query_outline(struct store *s, int64_t id, size_t max_items, struct outline *out,
                           struct err *err);
/* Reads the tasks of a workflow, by id, for its graph: of each, only the execution's state and the
 * items are set. The list is empty if the workflow does not exist. */
MUST_USE int query_graph(struct store *s, int64_t workflow, struct outline *out, struct err *err);
/* Reads the tasks of a workflow execution and the items of its fan-outs, without the tasks of
 * nested workflows. */
MUST_USE int query_tasks(struct store *s, int64_t workflow, struct execution_list *out,
                         struct err *err);
/* Reads the workflow that an execution is a task of. The list is empty if the execution is not a
 * task. */
MUST_USE int query_workflow(struct store *s, int64_t id, struct execution_list *out,
                            struct err *err);

struct stored_definition {
    const char *hash;
    const char *definition; /* canonical text */
    const char *source;     /* the text that it was applied from; NULL if unknown */
    struct arena arena;
};
/* Reads the definition of a workflow execution. -E_NOT_FOUND if the execution does not exist,
 * -E_INVALID if it is not a workflow. */
MUST_USE int query_definition(struct store *s, int64_t id, struct stored_definition *out,
                              struct err *err);
void stored_definition_release(struct stored_definition *d);

/* A task of a workflow that is no longer pending. */
struct task_name {
    int64_t workflow;
    const char *name;
    int status;
};
STORE_LIST(task_name_list, struct task_name)
/* Lists the tasks of several workflows, grouped by workflow, in the order of the workflow's file. A
 * fan-out is listed as one task, without its items. */
MUST_USE int query_task_names(struct store *s, const int64_t *workflows, size_t n,
                              struct task_name_list *out, struct err *err);
/* A filter for executions. If all members are 0, it selects those without a parent. */
struct list_filter {
    int64_t parent;       /* only children of this execution; 0 for no restriction */
    bool all;             /* at any depth; otherwise only those without a parent */
    uint64_t statuses;    /* bits 1 << status of the wanted statuses; 0 for any */
    int kind;             /* kind; 0 for any */
    int64_t since, until; /* µs: selects since <= requested_at < until; 0 for no bound */
    int64_t worker;       /* last worker that ran the execution; 0 for any */
    /* Each member below is NULL if it does not restrict the list. */
    const char *name;     /* glob with * and ? for the full name */
    const char *queue;    /* exact name */
    const char *workflow; /* exact name: selects workflows of this name, and their tasks */
    const char *host;     /* host of the last worker */
    const char *by;       /* glob for the requester, which is `requested_by` in the JSON */
    const struct input_filter *input;
};
#define LIST_SCAN 100000 /* number of rows that are read for one page */

/* Lists at most max (> 0) executions with an id below *before (with any id if *before is 0), newest
 * first, and sets *before to the start of the next page, or to 0 after the last page. A page reads
 * at most LIST_SCAN rows, so it may be short, even empty, before the end. since and until restrict
 * the ids that are read. */
MUST_USE int query_list(struct store *s, const struct list_filter *f, int64_t *before, size_t max,
                        struct execution_list *out, struct err *err);

/* An execution in a list, without its texts and history. */
struct found_execution {
    int64_t id, root;
    int kind, status, flags;
    bool cancel_requested;
    bool is_submission; /* whether it is a SQL submission that no worker has taken yet */
    const char *name, *queue;
};
STORE_LIST(found_list, struct found_execution)
/* Like query_list, but reads only a few columns. */
MUST_USE int query_find(struct store *s, const struct list_filter *f, int64_t *before, size_t max,
                        struct found_list *out, struct err *err);

/* Replaces the statuses in the list by the present ones. An execution that no longer exists keeps
 * its status. */
MUST_USE int query_found_statuses(struct store *s, struct found_execution *list, size_t n,
                                  struct err *err);

struct event_row {
    int64_t sequence_num, root, execution, worker, created_at;
    int seq, attempt, epoch, type, from, to;
    const char *data;
    const char *host; /* host of the worker; NULL if none or unknown */
};
STORE_LIST(event_list, struct event_row)

/* Reads events of one execution whose seq is greater than after_seq, in order. */
MUST_USE int query_execution_events(struct store *s, int64_t execution, int after_seq, size_t max,
                                    struct event_list *out, struct err *err);

/* A filter for events. If all members are 0, it selects every event. */
struct event_filter {
    int64_t since, until; /* µs: selects since <= created_at < until; 0 for no bound */
    uint64_t types;       /* EVENT_BIT of each wanted type; 0 for all types */
};
#define EVENT_BIT(type) ((uint64_t)1 << (type))

/* The events of an execution and its descendants with after < sequence_num <= upto (0 for no
 * bound), by sequence_num. Each call reads the history of the whole subtree, so use large pages. */
struct event_range {
    int64_t after, upto;
    size_t max;
};
MUST_USE int query_events_below(struct store *s, int64_t execution, const struct event_filter *f,
                                const struct event_range *range, struct event_list *out,
                                struct err *err);

/* A position for paging backwards through the history: the next page holds events older than
 * (time, sequence_num). */
struct event_cursor {
    int64_t time, sequence_num; /* both 0 for the newest event */
    bool end;                   /* result: no older events are left */
};
/* Reads at most max events, starting at *cursor, newest first by time and number, and moves *cursor
 * past them. The number of rows that are read is bounded, so a page may be short, even empty,
 * before the end. */
MUST_USE int query_events(struct store *s, const struct event_filter *f, size_t max,
                          struct event_cursor *cursor, struct event_list *out, struct err *err);

/* The position of a reader that follows events. It misses no event, even if its transaction commits
 * late: all events up to `seen` have been returned. Initialize with {0} to follow new events only,
 * or set `started` and `seen` to continue after a known number. */
struct event_follower {
    int64_t execution; /* follow only this execution and its descendants; 0 for all */
    struct event_filter filter;
    int64_t seen; /* every event up to this number has been returned */
    bool started; /* whether `seen` is set */
    /* The history up to this number is complete once the transactions in `writers` have ended. */
    int64_t horizon;
    /* The database's names of transactions that are still open; NULL if none are left. */
    char *writers;
};
MUST_USE int query_follow(struct store *s, struct event_follower *f, size_t max,
                          struct event_list *out, struct err *err);
void event_follower_release(struct event_follower *f);

struct queue_row {
    const char *name;
    int64_t ready, held, running;
    int64_t submitted;       /* waiting SQL submissions, counted up to SUBMISSION_TOTAL_MOST */
    int64_t oldest_ready_at; /* µs; 0 if no job is waiting */
    int64_t limit_max, limit_used; /* limit_max is -1 if the queue has no limit */

    bool paused;
    int64_t resume_max; /* the limit that applies again after a pause; -1 if none */
    int64_t paused_at;
    const char *paused_by, *pause_reason; /* user and reason; NULL if not given */
    struct last_audit last;
};
STORE_LIST(queue_list, struct queue_row, int64_t now)
MUST_USE int query_queues(struct store *s, struct queue_list *out, struct err *err);

/* A setting that all processes share; see op_change_setting. Starts as {0}. */
struct setting {
    const char *value; /* value as JSON; NULL if the database has none */
    struct last_audit last;
    struct arena arena;
};
MUST_USE int query_setting(struct store *s, const char *name, struct setting *out, struct err *err);
static inline void setting_release(struct setting *s)
{
    arena_release(&s->arena);
}

struct worker_row {
    struct worker worker;
    int64_t leases;
};
STORE_LIST(worker_list, struct worker_row, int64_t now)
MUST_USE int query_workers(struct store *s, struct worker_list *out, struct err *err);
/* Sets *open to whether a job of this queue is running or waits for a timer. */
MUST_USE int query_queue_open(struct store *s, const char *queue, bool *open, struct err *err);
/* Lists running jobs with their leases, ordered by id, with an id greater than `after`. If `worker`
 * is not 0, lists only jobs whose lease this worker holds, and orphans whose lease it held last. */
MUST_USE int query_leases(struct store *s, int64_t worker, int64_t after, size_t max,
                          struct execution_list *out, struct err *err);

/* ---- counters of attempts ---- */

struct queue_attempts {
    const char *queue,
        *executor; /* the value is "here" for all foreground queues, "function" for all functions */
    struct attempt_counts counts;
};
STORE_LIST(attempt_list, struct queue_attempts)
struct worker_outcome {
    const char *host; /* host of the worker; "" if unknown */
    int64_t worker;   /* the worker; 0 for all workers of the host that are gone */
    int outcome;      /* enum outcome_kind */
    int64_t n;
};
STORE_LIST(worker_outcome_list, struct worker_outcome)

/* A running job of the overview. */
struct running_row {
    int64_t id, root, worker; /* worker is 0 if the job is an orphan that waits for adoption */
    int attempts, max_attempts;
    const char *name, *queue, *lane;
    int64_t since;         /* when its present attempt was claimed */
    const char *last_line; /* last line of the newest stored output; NULL if there is none yet */
};
/* Queues, workers, running jobs and outcomes, in one snapshot. */
struct overview {
    struct queue_list queues;
    struct worker_list workers;
    struct running_row *running; /* running jobs, sorted by id */
    size_t nrunning;
    struct attempt_list attempts;
    int64_t now;
    struct arena arena;
};
void overview_release(struct overview *o);
/* Reads the overview. Lists at most max running jobs whose name or queue contains `part`; NULL for
 * any. */
MUST_USE int query_overview(struct store *s, const char *part, size_t max, struct overview *out,
                            struct err *err);

/* ---- why an execution waits ---- */

#define WHY_MAX_OTHERS 5    /* how many executions are listed; others may exist */
#define WHY_MAX_AHEAD  1000 /* how many jobs are counted; others may exist */
#define WHY_EVENTS     500  /* how many of the newest events are read */
#define WHY_WINDOW     1000 /* how many open items of a fan-out may exist at once */

/* Everything needed to explain the state of one execution, in one snapshot. */
struct why {
    struct execution execution;
    struct execution_history history;
    int64_t now;
    struct event_list events; /* newest first */

    /* Number of executions ahead of this one: if it is claimable, jobs of its lane and queue; if it
     * is held for a limit, executions that wait for the same limit. */
    int64_t before;

    /* The limit, if the execution is held for one. */
    int64_t limit_max, limit_used;
    bool limit_is_cap; /* whether the limit is queue.cap */
    bool queue_paused;
    int64_t paused_at;
    const char *paused_by, *pause_reason;

    /* If the execution is held for a limit: the executions that have its permits. If it is a
     * running workflow or fan-out: its open children. */
    struct why_execution {
        int64_t id;
        int status;
        const char *name;
    } others[WHY_MAX_OTHERS];
    size_t nothers;

    /* The nearest paused execution, which is this one or an ancestor. `id` is 0 if none is
     * paused. */
    struct {
        int64_t id, at;
        const char *name, *data; /* data is JSON with the user and reason; NULL if not given */
    } pause;

    /* Set for a task that waits for its needs, or was skipped because of them. */
    bool has_task; /* whether the members below are set */
    int join;      /* number of needs that must succeed; 0 if the task waits for all needs to end */
    const char *condition;
    struct why_need {
        const char *name;
        int64_t id; /* id of the need; 0 if it is not created yet */
        int status;
    } * needs;
    size_t nneeds;

    /* Set for a running fan-out. */
    int64_t items;    /* total number of items; -1 if unknown */
    int max_parallel; /* items that may run at once; 0 if not limited */

    /* Set for a workflow or fan-out that failed: the first job that failed in it, at any depth.
     * `id` is 0 if no failed job with an attempt explains the failure. */
    struct why_failed {
        int64_t id;
        const char *name;
        bool is_only; /* whether nothing else failed on the way to it */
    } failed;

    /* Set for a running workflow or fan-out: the first ready execution in it, at any depth, unless
     * one of its jobs runs on the way to it. NULL if none. */
    struct why *ready;

    struct arena arena;
};
MUST_USE int query_why(struct store *s, int64_t id, struct why *out, struct err *err);
void why_release(struct why *w);

/* Counts the executions that have not ended: this one and its descendants. */
MUST_USE int query_open(struct store *s, int64_t id, int64_t *n, struct err *err);

/* Finds the only execution in this subtree that waits for an approval. *id is 0 if none does, or
 * several; *name is allocated in `arena`. */
MUST_USE int query_only_approval(struct store *s, int64_t top, struct arena *arena, int64_t *id,
                                 const char **name, struct err *err);

/* Reads the number of attempts of an execution, and its status. */
MUST_USE int query_attempts(struct store *s, int64_t id, int *attempts, int *status,
                            struct err *err);

struct lease_totals {
    int64_t all, orphans;
};
MUST_USE int query_lease_totals(struct store *s, struct lease_totals *out, struct err *err);

/* ---- logs ---- */

struct log_position {
    int64_t execution;
    int attempt;  /* number of the attempt; 0 for the last one */
    int64_t from; /* an offset in the attempt's output; dropped bytes count, too */
};
/* A section of output without gaps. */
struct log_page {
    int attempt;     /* the attempt that wrote the output; 0 if no attempt was ever started */
    int64_t from;    /* start offset; greater than the requested one if bytes are missing there */
    int64_t next;    /* start offset of the next page */
    int64_t dropped; /* number of bytes dropped right before this page */
    bool more;       /* whether another page is already stored */
};
/* Appends a page of the output, at most max bytes, to `out`. A page may be short before the end. An
 * attempt without output has an empty page. -E_NOT_FOUND if the execution does not exist. */
MUST_USE int query_log(struct store *s, const struct log_position *at, size_t max, struct buf *out,
                       struct log_page *page, struct err *err);

/* Reads the counters of attempts: by queue and executor, and outcomes by worker. */
MUST_USE int query_attempt_counts(struct store *s, struct attempt_list *out,
                                  struct worker_outcome_list *by_worker, struct err *err);

/* How a workflow was started: its definition, {"params", "vars"}, queue and priority. Texts are in
 * the arena. -E_NOT_FOUND if the execution is not a workflow. */
struct workflow_start_info {
    const char *definition, *variables, *queue;
    int priority;
    int64_t parent;
};
MUST_USE int query_workflow_start_info(struct store *s, int64_t id, struct arena *arena,
                                       struct workflow_start_info *out, struct err *err);

#endif
