/* query.h - reading the store: every question by index, in a snapshot of its own, without locks.
 * A reader may use a store of its own; nothing here writes. */
#ifndef STORE_QUERY_QUERY_H
#define STORE_QUERY_QUERY_H

#include "base/buf.h"
#include "store/operator.h"
#include "store/store.h"

/* What an execution's history tells beyond its row. */
struct execution_history {
    const char *outcome;                /* JSON: how its last attempt ended; NULL: none did yet */
    int64_t worker;                     /* the last that worked on it; 0: none yet */
    int64_t due_at;                     /* held for a delay: when that ends; 0: it is not */
    const char *definition, *variables; /* of a workflow: the hash, JSON; NULL: it is none */
    const char *pause; /* of a paused workflow: JSON with who did it and why; NULL: it is not */
};

/* A list of executions and everything they point to; past[i] belongs to at[i]. */
struct execution_list {
    struct execution *at;
    struct execution_history *history;
    size_t n;
    struct arena arena;
};
void execution_list_release(struct execution_list *l);

MUST_USE int query_set_not_found(int64_t id, struct err *err); /* -E_NOT_FOUND */
/* -E_NOT_FOUND, with a sentence that tells what is known of that id: it may have been submitted.
 * -E_BUSY: that submission was taken at this moment, and the execution is there. */
MUST_USE int query_explain_missing(struct store *s, int64_t id, struct err *err);

MUST_USE int query_execution(struct store *s, int64_t id, struct execution_list *out,
                             struct err *err); /* E_NOT_FOUND */
MUST_USE int query_parent(struct store *s, int64_t id, struct execution_list *out, struct err *err);
MUST_USE int query_children(struct store *s, int64_t id, struct execution_list *out,
                            struct err *err);
/* The whole tree below id, id first, then by depth, requested_at, id: one query at any depth. */
MUST_USE int query_tree(struct store *s, int64_t id, struct execution_list *out, struct err *err);
/* A line of a tree as views show it; the execution has no input, result or spec. */
struct outline_row {
    struct execution execution;
    int64_t ready_at;       /* when it could be claimed first; 0: never yet */
    int64_t worker, due_at; /* as in struct execution_history */
    const char *reason;     /* JSON: why it was skipped or cancelled; NULL: nobody said */
    int64_t items[S_COUNT]; /* of a fan-out: how many have that status */
    int64_t nitems;         /* of a fan-out: how many there will be; -1: not known, or it is none */
};
struct outline {
    struct outline_row *at;
    size_t n;
    int64_t now;
    struct arena arena;
};
void outline_release(struct outline *o);
/* As query_tree, but of the items of a fan-out only max_items that run, and as many that failed. */
MUST_USE int query_outline(struct store *s, int64_t id, size_t max_items, struct outline *out,
                           struct err *err);
/* Tasks of a workflow execution: its own, and the items of its fan-outs; not those of nested
 * workflows. */
MUST_USE int query_tasks(struct store *s, int64_t workflow, struct execution_list *out,
                         struct err *err);
/* The workflow that it is a task of; empty: it is none. */
MUST_USE int query_workflow(struct store *s, int64_t id, struct execution_list *out,
                            struct err *err);

/* The definition that a workflow execution runs by, as its text. E_NOT_FOUND; E_INVALID: it is no
 * workflow. */
MUST_USE int query_definition(struct store *s, int64_t id, struct buf *out, struct err *err);

/* A task of a workflow that was begun, or ended without that. */
struct task_name {
    int64_t workflow;
    const char *name;
    int status;
};
struct task_name_list {
    struct task_name *at;
    size_t n;
    struct arena arena;
};
void task_name_list_release(struct task_name_list *l);
/* Those of several workflows, each one's together and in the order of its file; a fan-out is one of
 * them, its items are not. */
MUST_USE int query_task_names(struct store *s, const int64_t *workflows, size_t n,
                              struct task_name_list *out, struct err *err);
/* Which executions a list has; all 0: those without a parent. */
struct list_filter {
    int64_t parent;    /* right below it; 0: not asked for */
    bool all;          /* at any depth, instead of those without a parent */
    uint64_t statuses; /* 1 << status of each that is wanted; 0: any */
    int kind;          /* 0: any */
    const char *name;  /* a glob with * and ? on the full name; NULL: any. The others, too */
    const char *queue;
    const char *workflow; /* of a workflow of that name, and its tasks */
};
#define LIST_SCAN 100000 /* rows that are looked at for a page */

/* Newest first: at most max (> 0) below *before (0: all), which is moved on to where the next page
 * begins; 0: there is none. After LIST_SCAN rows a page is short, perhaps empty, before the end. */
MUST_USE int query_list(struct store *s, const struct list_filter *f, int64_t *before, size_t max,
                        struct execution_list *out, struct err *err);

struct event_row {
    int64_t sequence_num, root, execution, worker, created_at;
    int seq, attempt, epoch, type, from, to;
    const char *data;
};
struct event_list {
    struct event_row *at;
    size_t n;
    struct arena arena;
};
void event_list_release(struct event_list *l);

/* Events of one execution, after a seq, in order. */
MUST_USE int query_execution_events(struct store *s, int64_t execution, int after_seq, size_t max,
                                    struct event_list *out, struct err *err);

/* Which events: of a time, of some types. All 0: any. */
struct event_filter {
    int64_t since, until; /* µs; since <= created_at < until; 0: open */
    uint64_t types;       /* EVENT_BIT of each that is wanted; 0: all */
};
#define EVENT_BIT(type) ((uint64_t)1 << (type))

/* Events of the subtree of an execution by sequence_num, after one and up to another (0: no bound).
 * Each call reads the history of the whole subtree, so ask for large pages. */
struct event_range {
    int64_t after, upto;
    size_t max;
};
MUST_USE int query_events_below(struct store *s, int64_t execution, const struct event_filter *f,
                                const struct event_range *range, struct event_list *out,
                                struct err *err);

/* A place in the history for paging back through it: what is older than (time, sequence_num). */
struct event_cursor {
    int64_t time, sequence_num; /* both 0: before the newest */
    bool end;                   /* out: nothing older is left */
};
/* Newest first, by time and number: at most max events from *place on, which is moved past them.
 * Looks at a bounded number of rows, so a page may be short, even empty, before the end. */
MUST_USE int query_events(struct store *s, const struct event_filter *f, size_t max,
                          struct event_cursor *cursor, struct event_list *out, struct err *err);

/* Follows events without missing one that commits late: what is returned is complete up to
 * follower.seen. Start with {0} for "from now on", or with begun and the last number that was seen.
 */
struct event_follower {
    int64_t execution; /* only of its subtree; 0: all */
    struct event_filter filter;
    int64_t seen; /* everything up to this number was returned */
    bool started;
    int64_t horizon; /* complete once the writers of that moment have ended */
    char *writers;   /* the database's names of them; NULL: none is left */
};
MUST_USE int query_follow(struct store *s, struct event_follower *f, size_t max,
                          struct event_list *out, struct err *err);
void event_follower_release(struct event_follower *f);

struct queue_row {
    const char *name;
    int64_t ready, held, running;
    int64_t oldest_ready_at;       /* µs; 0: none waits */
    int64_t limit_max, limit_used; /* limit_max -1: no limit */

    bool paused;
    int64_t resume_max; /* the limit that comes back; -1: none */
    int64_t paused_at;
    const char *paused_by, *pause_reason; /* NULL: not told */
    struct last_audit last;
};
struct queue_list {
    struct queue_row *at;
    size_t n;
    int64_t now;
    struct arena arena;
};
void queue_list_release(struct queue_list *l);
MUST_USE int query_queues(struct store *s, struct queue_list *out, struct err *err);

struct worker_row {
    struct worker worker;
    int64_t leases;
};
struct worker_list {
    struct worker_row *at;
    size_t n;
    int64_t now;
    struct arena arena;
};
void worker_list_release(struct worker_list *l);
MUST_USE int query_workers(struct store *s, struct worker_list *out, struct err *err);
/* Whether a job of this queue runs, or waits for a time that will come. */
MUST_USE int query_queue_open(struct store *s, const char *queue, bool *open, struct err *err);
/* Running jobs with their leases, of one worker (0: all), by id after `after`. */
MUST_USE int query_leases(struct store *s, int64_t worker, int64_t after, size_t max,
                          struct execution_list *out, struct err *err);

/* A job that runs, for a view. */
struct running_row {
    int64_t id, root, worker; /* worker 0: it has none, and waits for adoption */
    int attempts, max_attempts;
    const char *name, *queue, *lane;
    int64_t since;         /* its attempt was claimed */
    const char *last_line; /* that it wrote, of the newest piece that is stored; NULL: none yet */
};
/* What goes on everywhere, in one snapshot. */
struct overview {
    struct queue_list queues;
    struct worker_list workers;
    struct running_row *running; /* by id */
    size_t nrunning;
    struct outcome_row {
        const char *labels; /* queue, executor, outcome */
        int64_t n;
    } * outcomes; /* of attempts that ended, as workers counted them */
    size_t noutcomes;
    int64_t now;
    struct arena arena;
};
void overview_release(struct overview *o);
/* `part`: of the name or queue of what runs; NULL: any. At most max of those. */
MUST_USE int query_overview(struct store *s, const char *part, size_t max, struct overview *out,
                            struct err *err);

/* ---- why something waits ---- */

#define WHY_MAX_OTHERS 5    /* named; there may be more */
#define WHY_MAX_AHEAD  1000 /* counted; there may be more */
#define WHY_EVENTS     500  /* the newest */
#define WHY_WINDOW     1000 /* items of a fan-out that are open at once, at most */

/* What there is to say about one execution, in one snapshot. */
struct why {
    struct execution execution;
    struct execution_history history;
    int64_t now;
    struct event_list events; /* newest first */

    int64_t before; /* claimable: of its lane and queue, held for a limit: of that, go before it */

    /* held for a limit */
    int64_t limit_max, limit_used;
    bool queue_paused;
    int64_t paused_at;
    const char *paused_by, *pause_reason;

    /* held for a limit: who has its permits; a flow that runs: what is open below it */
    struct why_execution {
        int64_t id;
        int status;
        const char *name;
    } others[WHY_MAX_OTHERS];
    size_t nothers;

    /* the nearest at or above it that somebody paused; id 0: none */
    struct {
        int64_t id, at;
        const char *name, *data; /* JSON: by, reason; NULL: not told */
    } pause;

    /* a task that waits for others, or that the graph skipped */
    bool has_task; /* its definition is known */
    int join;      /* so many needs must have succeeded; 0: all must have ended */
    const char *condition;
    struct why_need {
        const char *name;
        int64_t id; /* 0: not made yet */
        int status;
    } * needs;
    size_t nneeds;

    /* a fan-out that runs */
    int64_t items;    /* how many there will be; -1: not known */
    int max_parallel; /* 0: not said */

    struct arena arena;
};
MUST_USE int query_why(struct store *s, int64_t id, struct why *out, struct err *err);
void why_release(struct why *w);

/* How many executions have not ended, of this one and all below it. */
MUST_USE int query_open(struct store *s, int64_t id, int64_t *n, struct err *err);

/* How many attempts it had, and its status: all that a reader of logs needs to know of it. */
MUST_USE int query_attempts(struct store *s, int64_t id, int *attempts, int *status,
                            struct err *err);

struct lease_totals {
    int64_t all, orphans;
};
MUST_USE int query_lease_totals(struct store *s, struct lease_totals *out, struct err *err);

/* ---- logs ---- */

struct log_position {
    int64_t execution;
    int attempt;  /* 0: the last */
    int64_t from; /* an offset in its kept output */
};
/* A stretch of output in which nothing is missing. */
struct log_page {
    int attempt;     /* whose it is; 0: nothing was ever started */
    int64_t from;    /* where it begins: as asked for, or later, if something is missing there */
    int64_t next;    /* where the next one begins */
    int64_t dropped; /* how many bytes were left out right before it */
    bool more;       /* there is another one by now */
};
/* Adds at most max bytes to `out`. A page may be short before the end. E_NOT_FOUND: no such
 * execution; an attempt without output has an empty page. */
MUST_USE int query_log(struct store *s, const struct log_position *at, size_t max, struct buf *out,
                       struct log_page *page, struct err *err);

/* ---- what workers counted ---- */

struct counter_row {
    int64_t worker; /* 0: of all workers, or of those that are gone */
    const char *metric, *labels;
    int64_t value;
};
struct counter_list {
    struct counter_row *at;
    size_t n;
    struct arena arena;
};
void counter_list_release(struct counter_list *l);
/* By metric and labels: the sums over all workers, or those of each. */
MUST_USE int query_counters(struct store *s, bool by_worker, struct counter_list *out,
                            struct err *err);

/* How a workflow was begun: its definition, {"params", "vars"}, queue and priority. In the arena.
 * E_NOT_FOUND: it is no workflow. */
struct workflow_start_info {
    const char *definition, *variables, *queue;
    int priority;
    int64_t parent;
};
MUST_USE int query_workflow_start_info(struct store *s, int64_t id, struct arena *arena,
                                       struct workflow_start_info *out, struct err *err);

#endif
