/* query.h - read-only queries on the store. Each query uses an index, reads one snapshot and takes
 * no locks. A reader may open a separate store; nothing here writes. */
#ifndef STORE_QUERY_QUERY_H
#define STORE_QUERY_QUERY_H

#include "base/buf.h"
#include "core/attempt_counts.h"
#include "core/input_filter.h"
#include "store/operator.h"
#include "store/store.h"

/* Facts about an execution that come from its events, not from its row. */
struct execution_history {
    const char *outcome; /* JSON: how the last attempt ended; NULL if none has ended yet */
    int64_t worker;      /* the last worker that ran it; 0 if none yet */
    const char *host;    /* that worker's host; NULL if none yet, or unknown */
    const char *request; /* JSON: who requested it; NULL if unknown, and for a task of a workflow */
    int64_t due_at;      /* when its delay ends; 0 if it is not held for a delay */
    const char *definition, *variables; /* hash and JSON of a workflow; NULL for other kinds */
    const char *pause; /* JSON: who paused the workflow and why; NULL if it is not paused */
};

/* A list of executions and everything they point to; history[i] belongs to at[i]. */
STORE_LIST(execution_list, struct execution, struct execution_history *history)

MUST_USE int query_set_not_found(int64_t id, struct err *err); /* -E_NOT_FOUND */
/* Returns -E_NOT_FOUND with a message that explains why execution `id` does not exist: the id may
 * belong to an SQL submission. Returns -E_BUSY if that submission was taken in the meantime, so
 * that the execution now exists. */
MUST_USE int query_explain_missing(struct store *s, int64_t id, struct err *err);

MUST_USE int query_execution(struct store *s, int64_t id, struct execution_list *out,
                             struct err *err); /* E_NOT_FOUND */
MUST_USE int query_parent(struct store *s, int64_t id, struct execution_list *out, struct err *err);
MUST_USE int query_children(struct store *s, int64_t id, struct execution_list *out,
                            struct err *err);
/* The execution `id` and all its descendants, ordered by depth, requested_at and id. One query at
 * any depth. */
MUST_USE int query_tree(struct store *s, int64_t id, struct execution_list *out, struct err *err);
/* One line of a tree as views show it; the execution has no input, result or spec. */
struct outline_row {
    struct execution execution;
    int64_t ready_at;       /* when it first became ready; 0 if not yet */
    int64_t worker, due_at; /* as in struct execution_history */
    const char *reason;     /* JSON: why it was skipped or cancelled; NULL if no reason was given */
    int64_t items[S_COUNT]; /* fan-out: number of items by status */
    int64_t nitems;         /* fan-out: total number of items; -1 if unknown, or not a fan-out */
};
STORE_LIST(outline, struct outline_row, int64_t now)
/* Like query_tree, but lists at most max_items running and max_items failed items per fan-out. */
MUST_USE int query_outline(struct store *s, int64_t id, size_t max_items, struct outline *out,
                           struct err *err);
/* The tasks of a workflow, by id, as its graph shows them: only the execution's state and the items
 * are set. An empty list if there is no such execution. */
MUST_USE int query_graph(struct store *s, int64_t workflow, struct outline *out, struct err *err);
/* The tasks of a workflow execution and the items of its fan-outs, without the tasks of nested
 * workflows. */
MUST_USE int query_tasks(struct store *s, int64_t workflow, struct execution_list *out,
                         struct err *err);
/* The workflow that the execution is a task of; an empty list if it is not a task. */
MUST_USE int query_workflow(struct store *s, int64_t id, struct execution_list *out,
                            struct err *err);

/* Appends the canonical text of a workflow execution's definition. E_NOT_FOUND if the execution
 * does not exist, E_INVALID if it is not a workflow. */
MUST_USE int query_definition(struct store *s, int64_t id, struct buf *out, struct err *err);

/* A task of a workflow that is no longer pending. */
struct task_name {
    int64_t workflow;
    const char *name;
    int status;
};
STORE_LIST(task_name_list, struct task_name)
/* The tasks of several workflows, grouped by workflow and in the order of its file. A fan-out is
 * listed as one task, without its items. */
MUST_USE int query_task_names(struct store *s, const int64_t *workflows, size_t n,
                              struct task_name_list *out, struct err *err);
/* Which executions to list. If all fields are 0: those without a parent. */
struct list_filter {
    int64_t parent;       /* only children of this execution; 0 for no restriction */
    bool all;             /* at any depth, instead of only those without a parent */
    uint64_t statuses;    /* 1 << status for each wanted status; 0 for any */
    int kind;             /* 0 for any */
    int64_t since, until; /* µs: since <= requested_at < until; 0 for no bound */
    int64_t worker;       /* the last worker that ran it; 0 for any */
    /* Each of these is NULL for any. */
    const char *name;     /* a glob with * and ? for the full name */
    const char *queue;    /* exact name */
    const char *workflow; /* exact name: workflows of this name, and their tasks */
    const char *host;     /* the host of the last worker */
    const char *by;       /* a glob for the requester, as `requested_by` in the JSON */
    const struct input_filter *input;
};
#define LIST_SCAN 100000 /* rows read for one page */

/* Lists at most max (> 0) executions with an id below *before (any id if that is 0), newest first,
 * and sets *before to the start of the next page, or to 0 after the last page. A page reads at most
 * LIST_SCAN rows, so it may be short, even empty, before the end. since and until restrict the ids
 * that are read. */
MUST_USE int query_list(struct store *s, const struct list_filter *f, int64_t *before, size_t max,
                        struct execution_list *out, struct err *err);

/* An execution in a list, without its texts and history. */
struct found_execution {
    int64_t id, root;
    int kind, status, flags;
    bool cancel_requested;
    bool is_submission; /* an SQL submission that no worker has taken yet */
    const char *name, *queue;
};
STORE_LIST(found_list, struct found_execution)
/* Like query_list, but reads only a few columns. */
MUST_USE int query_find(struct store *s, const struct list_filter *f, int64_t *before, size_t max,
                        struct found_list *out, struct err *err);

/* Reads the statuses of executions again, by now; one that no longer exists keeps its own. */
MUST_USE int query_found_statuses(struct store *s, struct found_execution *list, size_t n,
                                  struct err *err);

struct event_row {
    int64_t sequence_num, root, execution, worker, created_at;
    int seq, attempt, epoch, type, from, to;
    const char *data;
    const char *host; /* the worker's host; NULL if none, or unknown */
};
STORE_LIST(event_list, struct event_row)

/* Events of one execution with a seq above after_seq, in order. */
MUST_USE int query_execution_events(struct store *s, int64_t execution, int after_seq, size_t max,
                                    struct event_list *out, struct err *err);

/* Which events to read. If all fields are 0: every event. */
struct event_filter {
    int64_t since, until; /* µs: since <= created_at < until; 0 for no bound */
    uint64_t types;       /* EVENT_BIT of each wanted type; 0 for all */
};
#define EVENT_BIT(type) ((uint64_t)1 << (type))

/* Events of an execution and its descendants with after < sequence_num <= upto (0: no bound), by
 * sequence_num. Each call reads the history of the whole subtree, so use large pages. */
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
    int64_t time, sequence_num; /* both 0 to start at the newest event */
    bool end;                   /* out: no older events are left */
};
/* Reads at most max events from *cursor on, newest first by time and number, and moves *cursor past
 * them. Reads a bounded number of rows, so a page may be short, even empty, before the end. */
MUST_USE int query_events(struct store *s, const struct event_filter *f, size_t max,
                          struct event_cursor *cursor, struct event_list *out, struct err *err);

/* Follows events without missing one that commits late: the returned events are complete up to
 * `seen`. Initialize with {0} to follow new events only, or set `started` and `seen` to continue
 * after a known number. */
struct event_follower {
    int64_t execution; /* only this execution and its descendants; 0 for all */
    struct event_filter filter;
    int64_t seen; /* every event up to this number has been returned */
    bool started;
    /* The history up to it is complete once the transactions in `writers` have ended. */
    int64_t horizon;
    char *writers; /* the database's names of open transactions; NULL if none are left */
};
MUST_USE int query_follow(struct store *s, struct event_follower *f, size_t max,
                          struct event_list *out, struct err *err);
void event_follower_release(struct event_follower *f);

struct queue_row {
    const char *name;
    int64_t ready, held, running;
    int64_t submitted;       /* SQL submissions that wait, counted up to SUBMISSION_TOTAL_MOST */
    int64_t oldest_ready_at; /* µs; 0 if no job waits */
    int64_t limit_max, limit_used; /* limit_max is -1 without a limit */

    bool paused;
    int64_t resume_max; /* the limit that applies again after the pause; -1 if none */
    int64_t paused_at;
    const char *paused_by, *pause_reason; /* NULL if not given */
    struct last_audit last;
};
STORE_LIST(queue_list, struct queue_row, int64_t now)
MUST_USE int query_queues(struct store *s, struct queue_list *out, struct err *err);

/* A setting that all processes share; see op_change_setting. Starts as {0}. */
struct setting {
    const char *value; /* JSON; NULL if the database has none */
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
/* Running jobs with their leases, ordered by id, with an id above `after`. Unless `worker` is 0,
 * only the leases that it holds, and the orphans that it held last. */
MUST_USE int query_leases(struct store *s, int64_t worker, int64_t after, size_t max,
                          struct execution_list *out, struct err *err);

/* ---- counters of attempts ---- */

struct queue_attempts {
    const char *queue,
        *executor; /* "here" for all foreground queues; "function" for all functions */
    struct attempt_counts counts;
};
STORE_LIST(attempt_list, struct queue_attempts)
struct worker_outcome {
    const char *host; /* "" if unknown */
    int64_t worker;   /* 0 for all workers of the host that are gone */
    int outcome;      /* enum outcome_kind */
    int64_t n;
};
STORE_LIST(worker_outcome_list, struct worker_outcome)

/* A running job as views show it. */
struct running_row {
    int64_t id, root, worker; /* worker is 0 for an orphan that waits for adoption */
    int attempts, max_attempts;
    const char *name, *queue, *lane;
    int64_t since;         /* when its attempt was claimed */
    const char *last_line; /* last line of its newest stored output; NULL if none yet */
};
/* Queues, workers, running jobs and outcomes, in one snapshot. */
struct overview {
    struct queue_list queues;
    struct worker_list workers;
    struct running_row *running; /* sorted by id */
    size_t nrunning;
    struct attempt_list attempts;
    int64_t now;
    struct arena arena;
};
void overview_release(struct overview *o);
/* Lists at most max running jobs whose name or queue contains `part`; NULL for all. */
MUST_USE int query_overview(struct store *s, const char *part, size_t max, struct overview *out,
                            struct err *err);

/* ---- why an execution waits ---- */

#define WHY_MAX_OTHERS 5    /* executions that are named; there may be more */
#define WHY_MAX_AHEAD  1000 /* jobs that are counted; there may be more */
#define WHY_EVENTS     500  /* newest events that are read */
#define WHY_WINDOW     1000 /* maximum number of open items of a fan-out */

/* Everything needed to explain the state of one execution, in one snapshot. */
struct why {
    struct execution execution;
    struct execution_history history;
    int64_t now;
    struct event_list events; /* newest first */

    /* Jobs ahead of this one. If this job is claimable, jobs of its lane and queue count; if it is
     * held for a limit, executions that wait for the same limit. */
    int64_t before;

    /* If it is held for a limit. */
    int64_t limit_max, limit_used;
    bool limit_is_cap; /* the limit is queue.cap */
    bool queue_paused;
    int64_t paused_at;
    const char *paused_by, *pause_reason;

    /* If held for a limit: the executions that have its permits. For a running workflow or fan-out:
     * its open children. */
    struct why_execution {
        int64_t id;
        int status;
        const char *name;
    } others[WHY_MAX_OTHERS];
    size_t nothers;

    /* The nearest paused execution: this one or an ancestor. id is 0 if none is paused. */
    struct {
        int64_t id, at;
        const char *name, *data; /* data is JSON with by and reason; NULL if not given */
    } pause;

    /* If it is a task that waits for its needs, or was skipped because of them. */
    bool has_task; /* whether join, condition and needs are set */
    int join;      /* number of needs that must succeed; 0 if all must end */
    const char *condition;
    struct why_need {
        const char *name;
        int64_t id; /* 0 if not created yet */
        int status;
    } * needs;
    size_t nneeds;

    /* If it is a running fan-out. */
    int64_t items;    /* total number of items; -1 if unknown */
    int max_parallel; /* 0 if not given */

    struct arena arena;
};
MUST_USE int query_why(struct store *s, int64_t id, struct why *out, struct err *err);
void why_release(struct why *w);

/* How many executions have not ended, among this one and its descendants. */
MUST_USE int query_open(struct store *s, int64_t id, int64_t *n, struct err *err);

/* The number of attempts of an execution, and its status. */
MUST_USE int query_attempts(struct store *s, int64_t id, int *attempts, int *status,
                            struct err *err);

struct lease_totals {
    int64_t all, orphans;
};
MUST_USE int query_lease_totals(struct store *s, struct lease_totals *out, struct err *err);

/* ---- logs ---- */

struct log_position {
    int64_t execution;
    int attempt;  /* 0 for the last one */
    int64_t from; /* an offset in its output; dropped bytes count, too */
};
/* A section of output without gaps. */
struct log_page {
    int attempt;     /* the attempt that wrote it; 0 if no attempt was ever started */
    int64_t from;    /* start offset: as requested, or later if bytes are missing there */
    int64_t next;    /* start offset of the next page */
    int64_t dropped; /* number of bytes dropped right before this page */
    bool more;       /* another page is already stored */
};
/* Appends at most max bytes to `out`. A page may be short before the end. An attempt without output
 * has an empty page. E_NOT_FOUND if the execution does not exist. */
MUST_USE int query_log(struct store *s, const struct log_position *at, size_t max, struct buf *out,
                       struct log_page *page, struct err *err);

/* Attempts by queue and executor, and outcomes by worker. */
MUST_USE int query_attempt_counts(struct store *s, struct attempt_list *out,
                                  struct worker_outcome_list *by_worker, struct err *err);

/* The definition, {"params", "vars"}, queue and priority that a workflow was started with. Texts
 * are in the arena. E_NOT_FOUND if the execution is not a workflow. */
struct workflow_start_info {
    const char *definition, *variables, *queue;
    int priority;
    int64_t parent;
};
MUST_USE int query_workflow_start_info(struct store *s, int64_t id, struct arena *arena,
                                       struct workflow_start_info *out, struct err *err);

#endif
