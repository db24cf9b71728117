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

/* Defines the structure of a list that a query returns, and the function that releases the list
 * with all memory that its entries point to. Further members of the structure may follow the type
 * of the entries. */
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
    /* If true, opening returns -E_SCHEMA instead of creating or upgrading the schema. */
    bool no_migrate;
    /* Whether this process has already opened a store of this URL, so that the schema is
     * checked. */
    bool is_checked;
    struct env *env;  /* clock and callbacks; NULL for the defaults */
    int64_t patience; /* µs to retry if the database is unavailable; 0 for 30 s */
    /* µs to wait while the server is not accepting connections, before -E_UNAVAILABLE is returned.
     * If 0, -E_BUSY is returned at once. */
    int64_t wait_to_connect;
    /* A connection to use. It belongs to the same thread and must stay open longer than the store.
     * NULL to open a new one. */
    struct db *share;
};

MUST_USE int store_open(const char *url, const char *tenant, const struct store_options *options,
                        struct store **out, struct err *err);
void store_close(struct store **s);
/* The store's connection, for code that only reads, such as queries and verify. */
struct db *store_db(struct store *s);
const struct db_url *store_url(const struct store *s);
/* Returns -E_UNAVAILABLE if the database's file was removed or replaced by another file. */
MUST_USE int store_check_present(struct store *s, struct err *err);
/* Sets store_options.patience. Takes effect at once, even for a turn in progress. May be called
 * from any thread. */
void store_set_patience(struct store *s, int64_t us);
/* Makes the store call `wake` after each turn, with the turn's wake-ups (enum wake), instead of
 * sending them. With NULL, the store sends them again. */
void store_set_wake(struct store *s, void (*wake)(void *arg, unsigned what), void *arg);

enum turn_mode {
    TURN_PLAIN,
    /* Waits for locks of other transactions instead of skipping locked rows. For a command that was
     * skipped three times because its rows were locked. */
    TURN_WAITING,
    /* Has no number, so the turn is simply repeated if its commit outcome is unknown. For work that
     * may be done twice, such as heartbeats and ticks. */
    TURN_LIGHT,
    TURN_LONG, /* has long time limits, for retention */
};
MUST_USE int store_run_turn(struct store *s, enum turn_mode mode,
                            int (*body)(struct turn *, void *, struct err *), void *arg,
                            struct err *err);
#define store_turn(s, ...)         store_run_turn(s, TURN_PLAIN, __VA_ARGS__)
#define store_turn_waiting(s, ...) store_run_turn(s, TURN_WAITING, __VA_ARGS__)
#define store_light_turn(s, ...)   store_run_turn(s, TURN_LIGHT, __VA_ARGS__)
#define store_long_turn(s, ...)    store_run_turn(s, TURN_LONG, __VA_ARGS__)
/* Settings of an engine for the workflows that it advances. */
struct store_workflow_options {
    int default_attempts; /* attempts of a task that has no retry settings; 0 for 1 */
    struct spec defaults; /* timeout and retry policy of tasks that do not set them */
    uint32_t notify_max;  /* how many followers one turn notifies of an end at most; 0 for 4,000 */
    /* queue.cap: how many jobs may run at once if queues are disabled; 0 if queues are enabled. */
    int cap;
    /* Factor for the size of slices, in thousandths; 0 for 1,000, which does not change them. */
    uint32_t slice;
};
void store_set_workflow_options(struct store *s, const struct store_workflow_options *o);

/* The database's time, taken after the turn's locks were acquired. */
int64_t turn_now(const struct turn *t);
/* The wake-ups that the last turn sent (enum wake). The caller of the turn may have to react to
 * them, too. */
unsigned store_last_wake(const struct store *s);
/* The time that schedules use. On PostgreSQL it is the database's time; on SQLite, whose database
 * time never runs backwards, it is the machine's wall clock. */
int64_t turn_wall_time(const struct turn *t);
struct next_due {
    int64_t timer;    /* when the earliest timer is due; 0 if none */
    int64_t schedule; /* when the next schedule must be checked, by turn_wall_time; 0 if none */
    int64_t wall;     /* turn_wall_time now */
    bool submissions; /* whether there are SQL submissions to process (sql_submissions.h) */
};
/* Reads the next due times, outside a turn. */
MUST_USE int store_next_due(struct store *s, struct next_due *out, struct err *err);

/* Limits on stored values, checked before a value is stored: one that is too large is refused, or
 * fails its execution, and never the turn. Errors are cut, and retry delays lowered, to the limit.
 */
#define STORE_MAX_INPUT  (1024 * 1024)
#define STORE_MAX_SPEC   (1024 * 1024)
#define STORE_MAX_RESULT (1024 * 1024)
#define STORE_MAX_ERROR  8192
#define STORE_MAX_NAME   200
#define STORE_MAX_QUEUE  64
#define STORE_MAX_LANE   128
/* µs; a time that is further away may not be storable. */
#define STORE_MAX_DELAY  (100LL * 365 * 86400 * 1000000)
/* Number of submissions in one turn. */
#define STORE_MAX_BATCH  10000
#define STORE_MAX_KEY    200
#define STORE_MAX_BY     1000

/* ---- submit ---- */

struct submission {
    /* The kind: KIND_EXEC or KIND_TASK for a job. KIND_WORKFLOW and KIND_FOREACH start at once. */
    int kind;
    int64_t parent;    /* parent execution; 0 for the root of a new tree */
    const char *name;  /* full name */
    const char *queue; /* queue; NULL for "default" */
    /* For a job: the lane, which a worker must offer; NULL if the routes choose it. */
    const char *lane;
    /* Concurrency key: at most concurrency_max executions with this key run at once; NULL if
     * none. */
    const char *concurrency;
    const char *task_name;
    const char *input;   /* whether the input is known to fit the params of the workflow */
    bool params_checked; /* the input is known to fit the params of the workflow */
    /* The canonical text of a workflow (core/workflow/model.h), which is started with the input as
     * its params; kind and name are taken from the text. NULL if not submitted by text. */
    const char *definition;
    /* For a rerun of a workflow: which tasks of the earlier execution run again, {"from": TASK} or
     * {"failed": true}. The rerun reuses the others. NULL if it reuses none. */
    const char *reuse;
    int64_t rerun_of; /* the earlier execution of a rerun; 0 for other submissions */
    /* The hash of a stored definition, given instead of its text; NULL if none. */
    const char *hash;
    const char *by;     /* user who requests the execution, for its first event; NULL if unknown */
    const char *origin; /* JSON for the first event, instead of `by`; NULL if none */
    int64_t due;        /* due time of the schedule that starts it; 0 if none does */
    const char *spec;   /* how the job is run, as JSON (core/spec.h); NULL if not given */
    const char *key;    /* idempotency key; NULL if none */
    int task_index;     /* position of an item in its fan-out; -1 for other executions */
    int priority;
    int max_attempts; /* number of attempts allowed; 0 for 1 */
    /* Limit of the concurrency key; 0 for 1; used only when the key is seen for the first time. */
    int concurrency_max;
    int64_t delay; /* µs until the job may be claimed */
    /* For a SQL submission: the id that pawl_submit() returned, and when it was called; 0 for other
     * submissions. A delay counts from that call. Both are ignored when the bodies of two
     * submissions with the same key are compared. */
    int64_t promised_id, requested_at;
    bool only_create; /* if true, the workflow does not start in this turn: the caller cancels it */
    bool paused;      /* whether the execution is paused from the start */
    /* If true, store nothing and return -E_REFUSED if a limit would hold the job. */
    bool refuse;
    /* If true, the job does not count against the cap: the submitting job waits for it and lends
     * it its slot. */
    bool shares_slot;

    /* out */
    int64_t id;
    /* Result: the idempotency key was used before, and id is the execution created then. */
    bool existed;
    /* Result: 0, -E_INVALID, -E_CONFLICT, -E_NOT_FOUND (no such parent), -E_BUSY or -E_REFUSED. */
    int rc;
    struct err err; /* result: the message, if rc is not 0 */
};

/* The concurrency key under which the cap (struct store_workflow_options) is stored as a limit. It
 * must never change, because databases contain it. */
#define LIMIT_CAP             "pawl:here"
/* An execution that its submitter runs itself (foreground) has its own queue, named after its id. A
 * submission with the queue QUEUE_FOREGROUND requests such a queue. */
#define QUEUE_FOREGROUND      "here:"
#define QUEUE_FOREGROUND_SIZE 32
const char *queue_foreground(int64_t id, char out[QUEUE_FOREGROUND_SIZE]);

/* Notes the limits that these submissions will need. Called before other operations of the turn
 * lock limits, because all limits of a turn are locked at once, in order. */
void op_note_submit_limits(struct turn *t, const struct submission *list, size_t n);

/* Checks the texts and sizes of one submission, without the database. */
MUST_USE int submission_check(const struct submission *s, struct err *err);
MUST_USE int op_submit(struct turn *t, struct submission *list, size_t n, struct err *err);

/* Makes all changes that follow from the ends of executions in this turn so far. Without this call,
 * they are made before the commit. */
MUST_USE int op_advance(struct turn *t, struct err *err);
/* Makes this turn set timers, due at once, for the permits that it frees, instead of offering the
 * permits itself, so that no waiting job can make this turn fail. */
void op_offer_permits_later(struct turn *t);

/* ---- claim, adopt, reap, heartbeat ---- */

struct lane_queue {
    const char *lane, *queue;
};

struct claim {
    int64_t worker;
    const char *folder; /* id of the worker's state folder */
    int64_t lease;      /* µs */
    /* Lanes and queues to claim from; each entry costs one index probe. */
    const struct lane_queue *serves;
    size_t nserves;
    size_t max; /* how many jobs to claim at most */
    /* Whether to claim jobs that this turn made ready, too, if no other job waits. */
    bool push;
    bool exhausted; /* whether an earlier claim of this turn found that no other job waits */
    const struct quarantine *quarantined; /* executions to skip; NULL if none */
};

/* Claimed or adopted jobs: their images after the claim, with input. The list lives until the
 * store's next turn. If the operation failed, the list has the jobs that were handled before the
 * error. */
struct job_list {
    struct execution **at;
    size_t n;
    bool exhausted;      /* fewer jobs than requested were found: nothing is left to claim */
    bool skipped_locked; /* other turns hold locks on some jobs, which may become claimable later */
};

/* Claims jobs from the outbox, by priority, then age. Every claim is a new attempt and a new epoch.
 * With `push`, if fewer than max jobs were found in the outbox, jobs that this turn made ready are
 * claimed, too. They overtake no waiting job and never get an outbox row. */
MUST_USE int op_claim(struct turn *t, const struct claim *c, struct job_list *out, struct err *err);

/* Whether this turn made a job ready that has not been claimed yet. */
bool op_has_made_ready(const struct turn *t);

/* Whether the outbox has a job for one of these lanes in one of their queues. */
MUST_USE int op_outbox_has_jobs(struct turn *t, const struct lane_queue *where, size_t n,
                                bool *some, struct err *err);

/* A lease, as its holder identifies it. */
struct lease_ref {
    int64_t execution;
    int64_t root;
    int epoch;

    /* out */
    /* Result: 0; -E_LEASE_LOST if the worker must leave the attempt alone; -E_BUSY if it must
     * try again in the next turn. */
    int rc;
    bool cancel_requested;
};

struct adoption {
    /* The queues in `serves` are ignored, because orphans of any queue are adopted. */
    struct claim claim;
    int64_t
        host_grace; /* µs after expired_at before orphans of other state folders may be adopted */
    /* If this time is earlier than the database's time, host_grace is compared with this time
     * instead; 0 if none. */
    int64_t latest;
    /* Dead workers of this state folder, whose leases are adopted without waiting for the
     * reaper. */
    const int64_t *dead_workers;
    size_t ndead_workers;
    /* Returns whether to adopt this job, last held by last_worker (0 if unknown). NULL to adopt all
     * jobs. */
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
    int64_t after; /* handle only leases of executions with a greater id */
    /* Returns whether leases may be reaped at this database time. NULL if always. */
    bool (*may_reap)(void *arg, int64_t now);
    void *arg;

    /* out */
    /* Result: number of expired leases, set even if the turn failed. If it is less than `max`, no
     * others exist. */
    size_t found;
    int64_t first; /* result: the execution of the first expired lease */
    size_t n;      /* leases cleared */
};
/* Clears leases that were not renewed. The status of their jobs stays running. */
MUST_USE int op_reap(struct turn *t, struct reap_slice *r, struct err *err);

/* Renews exactly these leases, in one statement. Sets the rc of a lost lease to -E_LEASE_LOST. */
MUST_USE int op_heartbeat(struct turn *t, int64_t worker, int64_t lease, struct lease_ref *list,
                          size_t n, struct err *err);

/* ---- started, settle ---- */

/* Records that the work of an attempt started, `ago` µs before now. If the attempt was adopted and
 * an earlier holder has recorded the start, it is not recorded again. */
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
    int status; /* result: the execution's status afterwards (ready if it will be retried) */

    /* Hints for op_prefetch from the holder of the lease; 0 or NULL if unknown. */
    int64_t parent, workflow;
    const char *queue, *concurrency;
    bool is_capped;
};
/* Loads the rows that settling these attempts will need, in one round trip to a server. This is
 * only an optimization: rows that it did not load, because a hint was missing or wrong, are loaded
 * when they are needed. */
MUST_USE int op_prefetch(struct turn *t, const struct settlement *list, size_t n, struct err *err);
/* Writes the outcomes of attempts. If the same turn calls op_record_starts for the same attempts,
 * it must do so first. Frees the permits of limits and offers them to waiting jobs. */
MUST_USE int op_settle(struct turn *t, int64_t worker, struct settlement *list, size_t n,
                       struct err *err);

/* ---- timers ---- */

struct timer_ref {
    int64_t execution;
    enum timer_kind kind;
};
/* An id for a timer, which works because there are fewer than 16 kinds. */
static inline int64_t timer_id(int64_t execution, int64_t kind)
{
    return execution * 16 + kind;
}
struct timer_slice {
    size_t max;                          /* how many timers this turn fires at most */
    const struct quarantine *quarantine; /* timers to leave alone, by timer_id(); NULL if none */

    /* out */
    /* Result: number of timers that were due; set even if the turn failed. */
    size_t found;
    struct timer_ref first; /* result: the first timer that was due */
    /* Result: number of timers fired; others that were due are in locked trees. */
    size_t n;
    int64_t next; /* result: when the next timer is due; 0 if none */
};
/* Fires the timers that are due. */
MUST_USE int op_fire_timers(struct turn *t, struct timer_slice *r, struct err *err);

/* ---- workers ---- */

/* An operator's request that a worker drains: that it claims nothing more, finishes the jobs that
 * it runs, and ends. */
struct worker_drain {
    int64_t at;              /* when it was first requested; 0 if nobody has requested it */
    const char *by, *reason; /* user and reason of the last request; NULL if not given */
};

struct worker {
    int64_t id;
    const char *host, *folder, *version;
    const char *serves; /* the lanes and queues as JSON from serves_to_json; NULL if unknown */
    /* How many jobs each executor may run, such as {"process": 4}; NULL if unknown. */
    const char *executors;
    int pid, capacity;
    int claim_ahead;             /* how many further jobs the worker may claim ahead */
    int64_t started_at, seen_at; /* out */
    struct worker_drain drain;   /* written only if the row is inserted: see op_worker_drain */
};
/* Writes the queues of each lane as JSON: {"process": ["default", "mail"]}. Equal lanes must be
 * adjacent. */
void serves_to_json(const struct lane_queue *serves, size_t n, struct buf *out);
/* Whether the worker serves this lane in this queue (NULL for any queue). True if `serves` of the
 * worker is unknown. */
bool worker_serves(const struct worker *w, const char *lane, const char *queue);
/* Whether the worker works only on the tree of `pawl run` or `pawl exec`, in a queue of its own. */
bool worker_is_foreground(const struct worker *w);
/* Inserts the worker's row, or updates its capacity, lanes and queues. */
MUST_USE int op_worker_register(struct turn *t, const struct worker *w, struct err *err);
MUST_USE int op_worker_unregister(struct turn *t, int64_t worker, struct err *err);
/* Reads the request that this worker drains; at is 0 if there is none. The strings are valid until
 * the store's next turn. */
MUST_USE int op_worker_drain_request(struct turn *t, int64_t worker, struct worker_drain *out,
                                     struct err *err);

struct tick {
    int64_t expired, orphans; /* number of leases to reap and of orphans to adopt, of all workers */
    int64_t next_timer;       /* when the next timer is due; 0 if none */
    int64_t now;              /* the database's time */
    int64_t generation;
    int64_t minimum_schema; /* argument `minimum` for store_check_schema */
    int64_t
        next_schedule; /* when the next schedule must be checked, by turn_wall_time; 0 if none */
    int64_t wall;      /* turn_wall_time */
    bool waiting;      /* whether the outbox has a job, for this or another worker */
    bool submissions;  /* whether there are SQL submissions to process */
    bool drain;        /* whether this worker was requested to drain */
};
/* Returns -E_SCHEMA if a newer program has upgraded the schema to a version that this program can't
 * use. */
MUST_USE int store_check_schema(const struct store *s, int64_t minimum, struct err *err);
/* The only statement of an idle worker: renews the worker's row and finds out whether there is
 * work. */
MUST_USE int op_worker_tick(struct turn *t, const struct worker *w, struct tick *out,
                            struct err *err);

/* ---- retention ---- */

struct retention {
    int64_t older_than; /* µs: delete trees that ended at least this long ago */
    size_t max_trees;   /* how many trees this turn examines at most */
    /* How many executions this turn deletes at most; 0 for 5,000. Deleting a larger tree takes
     * several turns. */
    size_t max_rows;
    bool dry_run;
    bool logs_only; /* set by op_retain_logs, because logs may be deleted earlier than executions */
    int64_t after;  /* the last root or execution that was examined; start with 0 */

    int64_t trees, executions, events; /* results: totals over all slices */
    bool more;
};
/* Sets *due to whether the caller must run retention now, which is true for one caller per day. */
MUST_USE int op_retention_due(struct turn *t, bool *due, struct err *err);
/* Reads the setting of the database that says how long executions and logs are kept. *out stays
 * unchanged if it is not set. */
MUST_USE int op_retention_policy(struct turn *t, struct retention_policy *out, struct err *err);
/* Handles one slice. *to is the argument for the next slice. */
MUST_USE int op_retain(struct turn *t, const struct retention *from, struct retention *to,
                       struct err *err);
/* Like op_retain, but deletes only logs: those of executions that ended at least older_than ago, in
 * trees whose root also ended at least older_than ago. Examines max_trees executions that still
 * have logs, and counts those whose logs it deleted. */
MUST_USE int op_retain_logs(struct turn *t, const struct retention *from, struct retention *to,
                            struct err *err);

/* ---- logs of attempts ---- */

#define STORE_MAX_LOG_CHUNK 65536 /* bytes per row; longer chunks are split */

/* A chunk of an attempt's stored output. The chunks of an attempt come in order; a chunk at an
 * offset that is already stored replaces everything from that offset on. A worker that adopts an
 * attempt, with a new epoch, starts at 0 again: the chunks of the older epoch are no longer shown.
 */
struct log_chunk {
    /* Result in rc: 0 if stored; -E_LEASE_LOST if the chunk must be dropped. */
    struct lease_ref lease;
    int attempt;
    const char *bytes; /* any bytes; may be empty */
    size_t len;
    int64_t offset;  /* the offset of the first byte; dropped bytes do not count */
    int64_t dropped; /* how many bytes of the output were dropped before this chunk */
};
/* Stores chunks of output. Fenced by the leases, so it must be called before op_settle of the same
 * attempts. */
MUST_USE int op_store_logs(struct turn *t, int64_t worker, struct log_chunk *list, size_t n,
                           struct err *err);

#endif
