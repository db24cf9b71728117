/* store.h - the store's interface for the rest of Pawl: a handle, turns, and the operations of a
 * turn.
 *
 * All changes happen in turns. A turn is one transaction: its body calls operations, the store
 * writes their changes through the door and commits once. The body may be run again (after a
 * deadlock, a lost connection or a locked root), so it must depend only on its arguments.
 *
 *     static int body(struct turn *t, void *arg, struct err *err) { return op_settle(t, …, err); }
 *     rc = store_turn(s, body, &args, &err);
 *
 * A store belongs to one thread. Several may be open in one process. */
#ifndef STORE_STORE_H
#define STORE_STORE_H

#include "base/mem.h"
#include "base/quarantine.h"
#include "core/outcome.h"
#include "core/retention.h"
#include "core/spec.h"
#include "store/execution.h"

struct buf;
struct store;
struct turn;

/* Defines the list that a query returns, with everything that its entries point to, and the
 * function that releases it. More members may follow the type of the entries. */
#define STORE_LIST(list, entry, ...)                  \
    struct list {                                     \
        entry *at;                                    \
        size_t n;                                     \
        __VA_OPT__(__VA_ARGS__;)                      \
        struct arena arena;                           \
    };                                                \
    static inline void list##_release(struct list *l) \
    {                                                 \
        arena_release(&l->arena);                     \
        *l = (struct list){0};                        \
    }

struct store_options {
    bool no_migrate; /* do not create or upgrade the schema: E_SCHEMA if that is needed */
    /* This process has already opened a store of this URL, which checked the schema. */
    bool is_checked;
    struct env *env;  /* NULL for no trace and the database's own clock */
    int64_t patience; /* µs to retry while the database is unavailable; 0 for 30 s */
    /* µs to wait while the server is not accepting connections; then E_UNAVAILABLE. If it is 0,
     * E_BUSY is returned at once. */
    int64_t wait_to_connect;
    /* Use this connection, which belongs to the same thread and outlives the store; NULL to open
     * one. */
    struct db *share;
};

MUST_USE int store_open(const char *url, const char *tenant, const struct store_options *options,
                        struct store **out, struct err *err);
void store_close(struct store **s);
struct db *store_db(struct store *s); /* for code that only reads: queries, verify */
const struct db_url *store_url(const struct store *s);
/* -E_UNAVAILABLE if the database's file was removed or replaced by another one. */
MUST_USE int store_check_present(struct store *s, struct err *err);
/* Takes effect at once, even for a turn in progress. May be called from any thread. */
void store_set_patience(struct store *s, int64_t us);
/* After each turn, calls `wake` with the turn's wake-ups (enum wake) instead of sending them. With
 * NULL, the store sends them again. */
void store_set_wake(struct store *s, void (*wake)(void *arg, unsigned what), void *arg);

enum turn_mode {
    TURN_PLAIN,
    /* Waits for locks of other transactions instead of skipping locked rows: for a command that was
     * skipped three times because its rows were locked. */
    TURN_WAITING,
    /* Has no number, so it is simply repeated if its commit outcome is unknown: for idempotent work
     * such as heartbeats and ticks. */
    TURN_LIGHT,
    TURN_LONG, /* has long time limits: for retention */
};
MUST_USE int store_run_turn(struct store *s, enum turn_mode mode,
                            int (*body)(struct turn *, void *, struct err *), void *arg,
                            struct err *err);
#define store_turn(s, ...)         store_run_turn(s, TURN_PLAIN, __VA_ARGS__)
#define store_turn_waiting(s, ...) store_run_turn(s, TURN_WAITING, __VA_ARGS__)
#define store_light_turn(s, ...)   store_run_turn(s, TURN_LIGHT, __VA_ARGS__)
#define store_long_turn(s, ...)    store_run_turn(s, TURN_LONG, __VA_ARGS__)
/* Settings of the engine that advances workflows. */
struct store_workflow_options {
    int default_attempts; /* attempts of a task without retry settings; 0 for 1 */
    struct spec defaults; /* timeout and retry policy of such tasks */
    uint32_t notify_max;  /* how many followers one turn notifies at most; 0 for 4,000 */
    /* How many jobs run at once if queues are disabled (queue.cap); 0 if queues are enabled. */
    int cap;
    uint32_t slice; /* scales the slices of large work, in thousandths; 0 for 1,000: no scaling */
};
void store_set_workflow_options(struct store *s, const struct store_workflow_options *o);

/* The database's time, taken after the turn's locks were acquired. */
int64_t turn_now(const struct turn *t);
/* The wake-ups that the last turn sent (enum wake): its caller may need to react to them too. */
unsigned store_last_wake(const struct store *s);
/* The wall clock, which schedules use: on PostgreSQL the database's time; on SQLite, where the
 * database's time never runs backwards, the machine's. */
int64_t turn_wall_time(const struct turn *t);
struct next_due {
    int64_t timer;    /* when the earliest timer is due; 0 if none */
    int64_t schedule; /* when the next schedule must be checked, by turn_wall_time; 0 if none */
    int64_t wall;     /* turn_wall_time now */
    bool submissions; /* there are SQL submissions to process (sql_submissions.h) */
};
/* Reads the next due times, outside a turn. */
MUST_USE int store_next_due(struct store *s, struct next_due *out, struct err *err);

/* Limits on stored values, checked on entry so that a later turn can't fail because of them. */
#define STORE_MAX_INPUT  (1024 * 1024)
#define STORE_MAX_SPEC   (1024 * 1024)
#define STORE_MAX_RESULT (1024 * 1024)
#define STORE_MAX_ERROR  8192
#define STORE_MAX_NAME   200
#define STORE_MAX_QUEUE  64
#define STORE_MAX_LANE   128
#define STORE_MAX_DELAY  (100LL * 365 * 86400 * 1000000) /* µs; later times may not be storable */
#define STORE_MAX_BATCH  10000                           /* submissions in one turn */
#define STORE_MAX_KEY    200
#define STORE_MAX_BY     1000

/* ---- submit ---- */

struct submission {
    /* KIND_EXEC or KIND_TASK; KIND_WORKFLOW and KIND_FOREACH start at once. */
    int kind;
    int64_t parent;          /* 0 for the root of a new tree */
    const char *name;        /* full name */
    const char *queue;       /* NULL for "default" */
    const char *lane;        /* what a worker must offer; for jobs only; NULL to use the routes */
    const char *concurrency; /* at most concurrency_max executions with this key run at once; NULL
                                if none */
    const char *task_name;
    const char *input;   /* JSON or NULL */
    bool params_checked; /* the input is known to fit the params of the workflow */
    /* The canonical text of a workflow (core/workflow/model.h), which is started with the input as
     * its params; kind and name are taken from the text. NULL if not submitted by text. */
    const char *definition;
    /* The tasks of the earlier execution that a rerun of a workflow runs again, {"from": TASK} or
     * {"failed": true}; it reuses the others. NULL if it reuses none. */
    const char *reuse;
    int64_t rerun_of; /* the earlier execution; 0 if this is not a rerun */
    /* The hash of a stored definition, given instead of its text; NULL if none. */
    const char *hash;
    const char *by;     /* who requests the execution, for its first event; NULL if unknown */
    const char *origin; /* JSON for its first event, instead of `by`; NULL if none */
    int64_t due;        /* when its schedule was due; 0 if no schedule started it */
    const char *spec;   /* how it is run (core/spec.h), JSON or NULL */
    const char *key;    /* idempotency key or NULL */
    int task_index;     /* -1 if not an item */
    int priority;
    int max_attempts;    /* 0 for 1 */
    int concurrency_max; /* 0 for 1; used only when the key is seen for the first time */
    int64_t delay;       /* µs until it may be claimed */
    /* For an SQL submission: the id that pawl_submit() returned, and when it was called; 0 for
     * other submissions. A delay counts from that call. Both are ignored when the bodies of two
     * submissions with the same key are compared. */
    int64_t promised_id, requested_at;
    bool only_create; /* the workflow does not start in this turn: the caller cancels it */
    bool paused;      /* held by a pause from the start */
    bool refuse;      /* store nothing and return -E_REFUSED if a limit would hold it */
    bool shares_slot; /* the submitting job waits for it and lends it its slot: it does not count
                         against the cap */

    /* out */
    int64_t id;
    bool existed;   /* the key was already used: id is that execution */
    int rc;         /* 0, -E_INVALID, -E_CONFLICT, -E_NOT_FOUND (parent), -E_BUSY, -E_REFUSED */
    struct err err; /* the message, if rc is not 0 */
};

/* The concurrency key of the limit as which the cap (struct store_workflow_options) is stored. It
 * must never change, because databases contain it. */
#define LIMIT_CAP             "pawl:here"
/* An execution that its submitter runs itself (foreground) has its own queue, named after its id. A
 * submission with the queue QUEUE_FOREGROUND requests that. */
#define QUEUE_FOREGROUND      "here:"
#define QUEUE_FOREGROUND_SIZE 32
const char *queue_foreground(int64_t id, char out[QUEUE_FOREGROUND_SIZE]);

/* Notes the limits that these submissions will need. Called before other operations of the turn
 * lock limits: all limits of a turn are locked at once, in order. */
void op_note_submit_limits(struct turn *t, const struct submission *list, size_t n);

/* Checks the texts and sizes of one submission; needs no database. */
MUST_USE int submission_check(const struct submission *s, struct err *err);
MUST_USE int op_submit(struct turn *t, struct submission *list, size_t n, struct err *err);

/* Makes all changes that follow from executions that ended in this turn so far. Without this call
 * they are made before the commit. */
MUST_USE int op_advance(struct turn *t, struct err *err);
/* Permits that become free in this turn are not offered by the turn itself but by timers that are
 * due at once, so that no waiting job can make this turn fail. */
void op_offer_permits_later(struct turn *t);

/* ---- claim, adopt, reap, heartbeat ---- */

struct lane_queue {
    const char *lane, *queue;
};

struct claim {
    int64_t worker;
    const char *folder;              /* the id of the worker's state folder */
    int64_t lease;                   /* µs */
    const struct lane_queue *serves; /* each entry costs one index probe */
    size_t nserves;
    size_t max;     /* at most this many jobs */
    bool push;      /* also claim jobs that this turn made ready, if no other job waits */
    bool exhausted; /* an earlier claim of this turn already found that no other job waits */
    const struct quarantine *quarantined; /* executions to leave out; NULL if none */
};

/* Claimed or adopted jobs: their images after the claim, with input. The list lives until the
 * store's next turn. If the operation failed, it has the jobs that were handled before the
 * error. */
struct job_list {
    struct execution **at;
    size_t n;
    bool exhausted;      /* found fewer jobs than requested: nothing is left to claim */
    bool skipped_locked; /* other turns hold locks on some jobs; those may still be free later */
};

/* Claims jobs from the outbox, by priority, then age. Every claim is a new attempt and a new epoch.
 * With push, jobs that this turn made ready, which are not in the outbox yet, are claimed if fewer
 * than max were found there: they overtake no waiting job and never get an outbox row. */
MUST_USE int op_claim(struct turn *t, const struct claim *c, struct job_list *out, struct err *err);

/* Whether this turn made a job ready that is not claimed yet. */
bool op_has_made_ready(const struct turn *t);

/* Whether the outbox has a job for one of these lanes and queues. */
MUST_USE int op_outbox_has_jobs(struct turn *t, const struct lane_queue *where, size_t n,
                                bool *some, struct err *err);

/* A lease, as its holder identifies it. */
struct lease_ref {
    int64_t execution;
    int64_t root;
    int epoch;

    /* out */
    int rc; /* 0; -E_LEASE_LOST: leave the attempt alone; -E_BUSY: try again in the next turn */
    bool cancel_requested;
};

struct adoption {
    struct claim claim; /* the queues in `serves` are ignored: orphans of any queue are adopted */
    int64_t
        host_grace; /* µs after expired_at until orphans of other state folders may be adopted */
    /* If this time is earlier than the database's, host_grace is compared with it instead; 0 if
     * none. */
    int64_t latest;
    /* Workers of this state folder whose lock is free; their leases are adopted without waiting for
     * the reaper. */
    const int64_t *dead_workers;
    size_t ndead_workers;
    /* Whether to adopt this job, last held by last_worker (0 if unknown); NULL to adopt all. */
    bool (*wanted)(void *arg, const struct execution *e, int64_t last_worker);
    void *arg;
};
MUST_USE int op_adopt(struct turn *t, const struct adoption *a, struct job_list *out,
                      struct err *err);

/* Checks lost leases that op_adopt did not get back. Sets rc to -E_BUSY if the job still has no
 * worker, because another turn had it locked; to -E_LEASE_LOST if another worker has the job, or it
 * has ended. */
MUST_USE int op_check_lost_leases(struct turn *t, struct lease_ref *list, size_t n,
                                  struct err *err);

struct reap_slice {
    size_t max;    /* how many leases this turn handles at most */
    int64_t after; /* only leases of executions with a larger id */
    /* Whether leases may be reaped at this database time; NULL if always. */
    bool (*may_reap)(void *arg, int64_t now);
    void *arg;

    /* out */
    /* Expired leases, set even if the turn failed; if fewer than max, none are left. */
    size_t found;
    int64_t first; /* the execution of the first of them */
    size_t n;      /* leases cleared */
};
/* Clears leases that were not renewed; the status stays running. */
MUST_USE int op_reap(struct turn *t, struct reap_slice *r, struct err *err);

/* Renews exactly these leases, in one statement; rc of a lost one is -E_LEASE_LOST. */
MUST_USE int op_heartbeat(struct turn *t, int64_t worker, int64_t lease, struct lease_ref *list,
                          size_t n, struct err *err);

/* ---- started, settle ---- */

/* Records that the work of an attempt started, `ago` µs before now. The earlier holder of an
 * adopted attempt may have recorded it already: then it is not recorded again. */
struct start {
    struct lease_ref lease;
    int64_t ago;
    bool adopted;
};
MUST_USE int op_record_starts(struct turn *t, int64_t worker, struct start *list, size_t n,
                              struct err *err);

struct settlement {
    struct lease_ref lease;
    struct outcome outcome;
    int status; /* out: the execution's status afterwards (ready if it will be retried) */

    /* Hints from the holder of the lease, for op_prefetch; 0 or NULL if unknown. */
    int64_t parent, workflow;
    const char *queue, *concurrency;
    bool is_capped;
};
/* Loads the rows that settling these attempts will need, in one round trip to a server. This is
 * only an optimization: rows that are missing, or differ from the hints, are loaded when they are
 * needed. */
MUST_USE int op_prefetch(struct turn *t, const struct settlement *list, size_t n, struct err *err);
/* Writes the outcomes of attempts. op_record_starts of the same attempts in the same turn must come
 * before it. Frees the permits of limits and offers them to waiting jobs. */
MUST_USE int op_settle(struct turn *t, int64_t worker, struct settlement *list, size_t n,
                       struct err *err);

/* ---- timers ---- */

struct timer_ref {
    int64_t execution;
    enum timer_kind kind;
};
/* An id for a timer; there are fewer than 16 kinds. */
static inline int64_t timer_id(int64_t execution, int64_t kind)
{
    return execution * 16 + kind;
}
struct timer_slice {
    size_t max;                          /* how many timers this turn fires at most */
    const struct quarantine *quarantine; /* timers to leave alone, by timer_id(); NULL if none */

    /* out */
    size_t found;           /* timers that were due; set even if the turn failed */
    struct timer_ref first; /* the first of them */
    size_t n;               /* timers fired; those left out have a locked tree */
    int64_t next;           /* when the next timer is due; 0 if none */
};
/* Fires the timers that are due. */
MUST_USE int op_fire_timers(struct turn *t, struct timer_slice *r, struct err *err);

/* ---- workers ---- */

struct worker {
    int64_t id;
    const char *host, *folder, *version;
    const char *serves; /* the queues by lane, as serves_to_json writes them; NULL if unknown */
    /* How many jobs each executor may hold: {"process": 4}; NULL if unknown. */
    const char *executors;
    int pid, capacity;
    int claim_ahead; /* how many more jobs it may claim ahead, to wait until others end */
    int64_t started_at, seen_at; /* out */
};
/* Writes the queues by lane: {"process": ["default", "mail"]}. Equal lanes must be adjacent. */
void serves_to_json(const struct lane_queue *serves, size_t n, struct buf *out);
/* Whether the worker serves the lane in this queue (NULL for any queue); true if its `serves` is
 * unknown. */
bool worker_serves(const struct worker *w, const char *lane, const char *queue);
/* Inserts the worker's row, or updates its capacity and what it serves. */
MUST_USE int op_worker_register(struct turn *t, const struct worker *w, struct err *err);
MUST_USE int op_worker_unregister(struct turn *t, int64_t worker, struct err *err);

struct tick {
    int64_t expired, orphans; /* leases to reap and to adopt, of all workers */
    int64_t next_timer;       /* when the next timer is due; 0 if none */
    int64_t now;              /* the database's time */
    int64_t generation;
    int64_t minimum_schema; /* the `minimum` of store_check_schema */
    int64_t
        next_schedule; /* when the next schedule must be checked, by turn_wall_time; 0 if none */
    int64_t wall;      /* turn_wall_time */
    bool waiting;      /* the outbox has a job, for this or another worker */
    bool submissions;  /* there are SQL submissions to process */
};
/* E_SCHEMA if a newer program has upgraded the schema to a version that this one can't use. */
MUST_USE int store_check_schema(const struct store *s, int64_t minimum, struct err *err);
/* The one statement of an idle worker: renews its row and finds out whether there is work. */
MUST_USE int op_worker_tick(struct turn *t, const struct worker *w, struct tick *out,
                            struct err *err);

/* ---- retention ---- */

struct retention {
    int64_t older_than; /* µs since the end of a tree */
    size_t max_trees;   /* how many trees this turn examines at most */
    /* How many executions this turn deletes at most; 0 for 5,000. A larger tree takes several
     * turns. */
    size_t max_rows;
    bool dry_run;
    bool logs_only; /* set by op_retain_logs: logs may be deleted earlier than executions */
    int64_t after;  /* the last root or execution examined; start with 0 */

    int64_t trees, executions, events; /* totals over the slices */
    bool more;
};
/* Whether the caller must run retention now: one caller per day gets true. */
MUST_USE int op_retention_due(struct turn *t, bool *due, struct err *err);
/* Reads the database's setting of how long executions and logs are kept; *out stays unchanged if
 * there is none. */
MUST_USE int op_retention_policy(struct turn *t, struct retention_policy *out, struct err *err);
/* Does one slice; *to says where the next slice continues. */
MUST_USE int op_retain(struct turn *t, const struct retention *from, struct retention *to,
                       struct err *err);
/* Like op_retain, but deletes only logs: the logs of an execution that ended at least older_than
 * ago, in a tree whose root did, too. Examines max_trees executions that still have logs and counts
 * those whose logs it deleted. */
MUST_USE int op_retain_logs(struct turn *t, const struct retention *from, struct retention *to,
                            struct err *err);

/* ---- logs of attempts ---- */

#define STORE_MAX_LOG_CHUNK 65536 /* bytes per row; longer chunks are split */

/* A chunk of an attempt's stored output. The chunks of an attempt come in order; a chunk at an
 * offset that is already stored replaces everything from that offset on. A worker that adopts an
 * attempt, with a new epoch, starts at 0 again: the chunks of the older epoch are no longer shown.
 */
struct log_chunk {
    struct lease_ref lease; /* rc 0: stored; -E_LEASE_LOST: it must not be stored, drop it */
    int attempt;
    const char *bytes; /* arbitrary bytes; may be empty */
    size_t len;
    int64_t offset;  /* the offset of the first byte; counts only bytes that are kept */
    int64_t dropped; /* how many bytes of the output before it were dropped */
};
/* Fenced by the leases, so it must be called before op_settle of the same attempts. */
MUST_USE int op_store_logs(struct turn *t, int64_t worker, struct log_chunk *list, size_t n,
                           struct err *err);

/* ---- identity ---- */

#define STORE_ID_SIZE    33

#define FIRST_GENERATION 1
/* The id distinguishes this database from others; the generation distinguishes attempts started
 * before a backup was restored from those started since. */
MUST_USE int store_identity(struct store *s, char id[STORE_ID_SIZE], int64_t *generation,
                            struct err *err);

struct rows;
/* The roots of the foreground runs that were open at a fence, each with its status; the status is
 * NULL if the tree was removed since. The process that started such a run can no longer claim,
 * because it belongs to an earlier generation. */
MUST_USE int store_fenced_trees(struct store *s, struct rows *roots, struct err *err);
/* Removes the root of a tree that has ended from that list. If the tree is run again, the new
 * foreground run serves it, like any other tree. */
MUST_USE int op_fenced_tree_end(struct turn *t, int64_t root, struct err *err);
/* Queues the query for the generation, so that it costs no extra round trip: turn_read_generation
 * reads the answer after the next query of the turn. */
MUST_USE int turn_send_generation(struct turn *t, struct rows *answer, struct err *err);
int64_t turn_read_generation(const struct rows *answer);

/* Used after a backup was restored, or a replica promoted that lacked commits: skips the ids that
 * may have been given out in the time whose commits are lost, raises the generation, accepts the
 * server's timeline, and turns all running jobs into orphans. Runs in light turns, because turns of
 * other kinds are refused on a new timeline. */
struct fence {
    size_t slice; /* how many leases this turn examines at most */

    int64_t generation; /* the new generation; start with 0, like the fields below */
    int64_t after;      /* the last execution examined */
    int64_t expired;    /* how many leases were cleared, over all slices */
    bool more;
};
/* Does one slice; *to says where the next slice continues. */
MUST_USE int op_fence(struct turn *t, const struct fence *from, struct fence *to, struct err *err);
/* Accepts the server's timeline without a fence, in a light turn; *timeline is NULL if the database
 * has no timelines; it lives as long as the turn. */
MUST_USE int op_accept_timeline(struct turn *t, const char **timeline, struct err *err);

#endif
