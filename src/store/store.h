/* store.h - what the rest of Pawl sees of the store: a handle, turns, and the operations of a turn.
 *
 * All changes happen in turns. A turn is one transaction: its body calls operations, the store
 * flushes what they decided through the door and commits once. The body may be run again (a
 * deadlock, a lost connection, a locked root), so it must depend on its arguments alone.
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
#include "core/spec.h"
#include "store/execution.h"

struct buf;
struct store;
struct turn;

struct store_options {
    bool no_migrate;  /* do not create or upgrade the schema: E_SCHEMA if that is needed */
    struct env *env;  /* NULL: nothing is traced, the clock is the database's */
    int64_t patience; /* µs to go on trying while the database is away; 0: 30 s */
};

MUST_USE int store_open(const char *url, const char *tenant, const struct store_options *options,
                        struct store **out, struct err *err);
void store_close(struct store **s);
struct db *store_db(struct store *s); /* for readers: queries, verify */
const struct db_url *store_url(const struct store *s);
struct env *store_env(struct store *s);
/* -E_UNAVAILABLE: the database's file was removed, or another one is in its place. */
MUST_USE int store_check_present(struct store *s, struct err *err);
void store_set_patience(struct store *s, int64_t us); /* of a turn under way, too; any thread */

MUST_USE int store_turn(struct store *s, int (*body)(struct turn *, void *, struct err *),
                        void *arg, struct err *err);
/* The same, but waits for what others have locked: for one command that was skipped three times. */
MUST_USE int store_turn_waiting(struct store *s, int (*body)(struct turn *, void *, struct err *),
                                void *arg, struct err *err);
/* The same without a number of its own, for what may be repeated harmlessly: heartbeats, ticks. */
MUST_USE int store_light_turn(struct store *s, int (*body)(struct turn *, void *, struct err *),
                              void *arg, struct err *err);
/* Whether the last turn with a number is stored, whose commit got no answer (-E_COMMIT_UNKNOWN) for
 * as long as it was asked for. That it was the last can be seen by the number. */
MUST_USE int store_last_turn_is_stored(struct store *s, bool *stored, struct err *err);
int64_t store_last_turn_number(const struct store *s);
/* The same with the time limits of long work: retention. */
MUST_USE int store_long_turn(struct store *s, int (*body)(struct turn *, void *, struct err *),
                             void *arg, struct err *err);
/* What workflows need of the engine that advances them. */
struct store_workflow_options {
    /* The executor of a command by its full name; NULL: "process", or "container". Lives as long as
     * the arena. */
    const char *(*route)(void *arg, const char *name, bool container, struct arena *arena);
    void *arg;
    int default_attempts; /* of tasks that say nothing of retries; 0: 1 */
    struct spec defaults; /* their timeout and retry policy */
    uint32_t notify_max;  /* ends that one turn tells to those behind them; 0: 4,000 */
    uint32_t slice; /* of large work, in one turn; 0: 1,000. Its other bounds shrink with this */
};
void store_set_workflow_options(struct store *s, const struct store_workflow_options *o);

int64_t turn_now(const struct turn *t); /* the database's time, after the locks of this turn */
/* What the last turn had to wake others for (enum wake): who made it may have use for that too. */
unsigned store_last_wake(const struct store *s);
/* The time on the wall, by which schedules go: the database's, but on SQLite, whose time never
 * falls back, that of the machine. */
int64_t turn_wall_time(const struct turn *t);
/* When the earliest timer is due, and a schedule to be looked at; 0: there is none. */
struct next_due {
    int64_t timer;
    int64_t schedule, wall; /* by turn_wall_time, as it is now */
    bool submissions;       /* some wait to be taken (sql_submissions.h) */
};
/* A read, outside of turns. */
MUST_USE int store_next_due(struct store *s, struct next_due *out, struct err *err);

/* Limits on what enters, so that a turn can't fail on it later. */
#define STORE_MAX_INPUT  (1024 * 1024)
#define STORE_MAX_SPEC   (256 * 1024)
#define STORE_MAX_RESULT (1024 * 1024)
#define STORE_MAX_ERROR  8192
#define STORE_MAX_NAME   200
#define STORE_MAX_QUEUE  64
#define STORE_MAX_LANE   128
#define STORE_MAX_DELAY                                                        \
    (100LL * 365 * 86400 * 1000000) /* µs: a time beyond it may not be stored \
                                     */
#define STORE_MAX_BATCH 10000       /* submissions in one turn */
#define STORE_MAX_KEY   200

/* ---- submit -------------------------------------------------------------------------------------
 */

struct submission {
    int kind;                /* KIND_EXEC, KIND_TASK; KIND_WORKFLOW, KIND_FOREACH start at once */
    int64_t parent;          /* 0: a tree of its own */
    const char *name;        /* full name */
    const char *queue;       /* NULL: "default" */
    const char *lane;        /* what a worker must have; jobs only; NULL: "process" */
    const char *concurrency; /* NULL: none; at most concurrency_max of that key at once */
    const char *task_name;
    const char *input; /* JSON or NULL */
    /* The canonical text of a workflow (core/workflow/model.h): it is begun with the input as its
     * params; kind and name are taken from it. NULL: it is none. */
    const char *definition;
    /* A workflow that runs anew what another did: what it takes over of that, {"from": TASK} or
     * {"failed": true}; NULL: nothing. */
    const char *reuse;
    int64_t rerun_of;   /* 0: it is no rerun */
    const char *hash;   /* the same by the hash of a stored definition; NULL: it is none */
    const char *origin; /* what its first event tells, JSON; NULL: nothing */
    int64_t due;        /* of a schedule's run: the time that it was due; 0: it is none */
    const char *spec;   /* how it is run (core/spec.h), JSON or NULL */
    const char *key;    /* idempotency key or NULL */
    int task_index;     /* -1: not an item */
    int priority;
    int max_attempts;    /* 0: 1 */
    int concurrency_max; /* 0: 1; taken when the key is seen for the first time */
    int64_t delay;       /* µs until it may be claimed */
    int64_t waited;      /* how much of that is over; no part of what a key stands for */
    int64_t promised_id; /* the id, out of the sequence, that was promised for it; 0: a fresh one */
    bool paused;         /* held from the start */
    bool refuse;         /* -E_REFUSED, and nothing stored, where it would be held for a limit */

    /* out */
    int64_t id;
    bool existed;   /* the key was known: id is that execution */
    int rc;         /* 0, -E_INVALID, -E_CONFLICT, -E_NOT_FOUND (parent), -E_BUSY, -E_REFUSED */
    struct err err; /* the sentence, if rc */
};

/* What its submitter runs itself has a queue of its own, named by its id; QUEUE_FOREGROUND as the
 * queue of a submission asks for that. */
#define QUEUE_FOREGROUND      "here:"
#define QUEUE_FOREGROUND_SIZE 32
const char *queue_foreground(int64_t id, char out[QUEUE_FOREGROUND_SIZE]);

/* Notes the limits that these submissions will need, before others of the turn are locked: all of a
 * turn are locked at once, in order. */
void op_note_submit_limits(struct turn *t, const struct submission *list, size_t n);

/* Checks one submission's texts and sizes without a database. */
MUST_USE int submission_check(const struct submission *s, struct err *err);
MUST_USE int op_submit(struct turn *t, struct submission *list, size_t n, struct err *err);

/* Everything that follows from what ended in this turn so far; else it is done before the commit.
 */
MUST_USE int op_advance(struct turn *t, struct err *err);
/* Permits that become free in this turn are not handed on by it, but offered by timers that are due
 * at once: so it fails for none of those who wait. */
void op_offer_permits_later(struct turn *t);

/* ---- claim, adopt, reap, heartbeat ---- */

struct lane_queue {
    const char *lane, *queue;
};

struct claim {
    int64_t worker;
    const char *folder;              /* the worker's state folder's id */
    int64_t lease;                   /* µs */
    const struct lane_queue *serves; /* index probes: one each */
    size_t nserves;
    size_t max;     /* at most so many */
    bool push;      /* jobs that this turn made ready are claimed with it, if nothing else waits */
    bool exhausted; /* that nothing else waits there is known, from an earlier claim of this turn */
    const struct quarantine *quarantined; /* executions that are not taken; NULL: none */
};

/* A claimed or adopted job: the image after the claim, and its input. Lives until the store's next
 * turn. If it failed, those are told that it was done with up to then. */
struct job_list {
    struct execution **at;
    size_t n;
    bool exhausted;      /* fewer waited there than were asked for: nothing is left of them */
    bool skipped_locked; /* others hold some of them: whether those are taken shows only later */
};

/* Claims from the outbox: priority, then age. Every claim is a new attempt and a new epoch. With
 * push, what this turn made ready is not in the outbox yet: it is claimed only if there is room
 * left, so nothing that waited before is overtaken, and never gets an outbox row. */
MUST_USE int op_claim(struct turn *t, const struct claim *c, struct job_list *out, struct err *err);

/* Whether this turn made a job ready that nobody has claimed yet. */
bool op_has_made_ready(const struct turn *t);

/* Whether something waits in the outbox there. */
MUST_USE int op_outbox_has_jobs(struct turn *t, const struct lane_queue *where, size_t n,
                                bool *some, struct err *err);

/* One lease, as its holder knows it. */
struct lease_ref {
    int64_t execution;
    int64_t root;
    int epoch;

    /* out */
    int rc; /* 0, -E_LEASE_LOST: touch nothing; -E_BUSY: again in the next turn */
    bool cancel_requested;
};

struct adoption {
    struct claim claim; /* serves: only the lanes count, orphans of any queue are taken */
    int64_t host_grace; /* µs after expired_at when another state folder's orphans are free */
    int64_t latest;     /* for that it is not later than this; 0: the database's time */
    const int64_t
        *dead_workers; /* workers of this folder whose lock is free: no wait for the reaper */
    size_t ndead_workers;
    /* Whether to take this one, which that worker held last (0: not known); NULL: all. */
    bool (*wanted)(void *arg, const struct execution *e, int64_t last_worker);
    void *arg;
};
MUST_USE int op_adopt(struct turn *t, const struct adoption *a, struct job_list *out,
                      struct err *err);

/* Of leases that were lost and that op_adopt did not get back: rc is -E_BUSY if nobody else has
 * taken it either, as another turn was at it just then, and -E_LEASE_LOST if it is another's, or
 * over. */
MUST_USE int op_check_lost_leases(struct turn *t, struct lease_ref *list, size_t n,
                                  struct err *err);

struct reap_slice {
    size_t max;    /* leases in this turn */
    int64_t after; /* only those of executions behind this one */
    /* Whether it may be judged at all, now that it is so late; NULL: it may. */
    bool (*may_reap)(void *arg, int64_t now);
    void *arg;

    /* out */
    size_t found; /* that had run out, also if the turn failed; fewer than max: there are no more */
    int64_t first; /* the execution of the first of them */
    size_t n;      /* cleared */
};
/* Clears leases that nobody renewed; status stays running. */
MUST_USE int op_reap(struct turn *t, struct reap_slice *r, struct err *err);

/* Renews exactly the named leases, in one statement; those lost have rc = -E_LEASE_LOST. */
MUST_USE int op_heartbeat(struct turn *t, int64_t worker, int64_t lease, struct lease_ref *list,
                          size_t n, struct err *err);

/* ---- started, settle ---- */

/* Writes that the work began, `ago` µs before now. Of an adopted attempt it may have been told by
 * the one who had it before: then it is not told again. */
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
    int status; /* out: the execution's status afterwards (ready = it will be tried again) */

    /* What its holder knows of it, see op_prefetch; 0 and NULL: nothing. */
    int64_t parent, workflow;
    const char *queue, *concurrency;
};
/* Fetches what settling these is going to ask for, all in one round trip to a server. Nothing
 * depends on it: what is missing, or not as the holder knew it, is asked for when it is needed. */
MUST_USE int op_prefetch(struct turn *t, const struct settlement *list, size_t n, struct err *err);
/* A `started` of the same attempt in the same turn comes before. Frees limits' permits and hands
 * them on. */
MUST_USE int op_settle(struct turn *t, int64_t worker, struct settlement *list, size_t n,
                       struct err *err);

/* ---- flows, timers ---- */

/* Ends a workflow or foreach below which everything is terminal. */
MUST_USE int op_flow_end(struct turn *t, int64_t execution, const struct outcome *o,
                         struct err *err);

struct timer_ref {
    int64_t execution;
    enum timer_kind kind;
};
/* Its id, where one is wanted; there are few kinds. */
static inline int64_t timer_id(int64_t execution, int64_t kind)
{
    return execution * 16 + kind;
}
struct timer_slice {
    size_t max; /* timers in this turn */
    const struct quarantine
        *quarantine; /* by timer_id, which are as if they were not there; NULL: none */

    /* out */
    size_t found;           /* that were due, also if the turn failed */
    struct timer_ref first; /* of them */
    size_t n;               /* done; the trees of the others are locked */
    int64_t next;           /* when the earliest of the rest is due; 0: none */
};
/* Does what is due. */
MUST_USE int op_fire_timers(struct turn *t, struct timer_slice *r, struct err *err);

/* ---- workers ---- */

struct worker {
    int64_t id;
    const char *host, *folder, *version;
    const char *serves; /* serves_to_json, for `why`; NULL: not told */
    int pid, capacity;
    int64_t started_at, seen_at; /* out */
};
/* {"process": ["default", "mail"]}: the queues by lane. Equal lanes stand side by side. */
void serves_to_json(const struct lane_queue *serves, size_t n, struct buf *out);
/* Whether it serves the lane, in that queue (NULL: in any). One that did not say is believed to. */
bool worker_serves(const struct worker *w, const char *lane, const char *queue);
/* Adds its row, or renews it with another room and what it serves. */
MUST_USE int op_worker_register(struct turn *t, const struct worker *w, struct err *err);
MUST_USE int op_worker_unregister(struct turn *t, int64_t worker, struct err *err);

struct tick {
    int64_t expired, orphans; /* leases to reap, leases to adopt, of anybody's */
    int64_t next_timer;       /* when it is due; 0: there is none */
    int64_t now;              /* the database's time */
    int64_t generation;
    int64_t next_schedule; /* when one is to be looked at, by turn_wall_time; 0: there is none */
    int64_t wall;          /* turn_wall_time */
    bool waiting;          /* a job may be claimed, by whoever can run it */
    bool submissions;      /* some wait to be taken */
};
/* An idle worker's one statement: renews its row, and looks for what there is to do. */
MUST_USE int op_worker_tick(struct turn *t, const struct worker *w, struct tick *out,
                            struct err *err);

/* ---- retention ---- */

struct retention {
    int64_t older_than; /* µs since the end of a tree */
    size_t max_trees;   /* looked at in this turn */
    size_t
        max_rows; /* executions deleted in this turn; a larger tree goes over several; 0: 5,000 */
    bool dry_run;
    bool logs_only; /* of op_retain_logs: they may have a shorter age */
    int64_t after;  /* the root, or execution, up to which it looked; start with 0 */

    int64_t trees, executions, events; /* added up over the slices */
    bool more;
};
/* Whether the caller is to remove what is old now: once a day somebody is. */
MUST_USE int op_retention_due(struct turn *t, bool *due, struct err *err);
/* Does one slice and tells in *to where the next one goes on from. */
MUST_USE int op_retain(struct turn *t, const struct retention *from, struct retention *to,
                       struct err *err);
/* The same for the logs alone, of executions that ended so long ago, in trees that did: max_trees
 * executions that still have logs are looked at. It counts those whose logs went. */
MUST_USE int op_retain_logs(struct turn *t, const struct retention *from, struct retention *to,
                            struct err *err);

/* ---- logs of attempts ---- */

#define STORE_MAX_LOG_CHUNK 65536 /* bytes in a row; longer ones are split */

/* A piece of an attempt's kept output. Those of an attempt come in order; one at an offset that was
 * stored before replaces everything from there on. Whoever takes an attempt over, with a new epoch,
 * begins at 0 again: what came before is no longer shown. */
struct log_chunk {
    struct lease_ref lease; /* rc 0: it is stored; -E_LEASE_LOST: it may not be, drop it */
    int attempt;
    const char *bytes; /* any bytes; may be none */
    size_t len;
    int64_t offset;  /* of the first byte */
    int64_t dropped; /* how many were left out before it, since the beginning */
};
/* Fenced by the leases, so before the op_settle of the same attempts. */
MUST_USE int op_store_logs(struct turn *t, int64_t worker, struct log_chunk *list, size_t n,
                           struct err *err);

/* ---- what workers count ---- */

struct counter {
    const char *metric;
    const char *labels; /* as Prometheus writes them: queue="default",executor="process"; or "" */
    int64_t add;
};
MUST_USE int op_add_counters(struct turn *t, int64_t worker, const struct counter *list, size_t n,
                             struct err *err);

/* ---- identity ---- */

#define STORE_ID_SIZE 33

/* What tells this database from others, and what was started in it before a restored backup from
 * what is started since. */
MUST_USE int store_identity(struct store *s, char id[STORE_ID_SIZE], int64_t *generation,
                            struct err *err);

struct rows;
/* The generation as this turn sees it: asked for before other queries, it costs no round trip of
 * its own, and is there after one of them. */
MUST_USE int turn_send_generation(struct turn *t, struct rows *answer, struct err *err);
int64_t turn_read_generation(const struct rows *answer);

/* After a backup was restored: raises the generation and makes orphans of all running jobs. */
struct fence {
    size_t slice; /* leases looked at in this turn */

    int64_t generation; /* the new one; start with 0, as with those below */
    int64_t after;      /* the execution up to which it is done */
    int64_t expired;    /* added up over the slices */
    bool more;
};
/* Does one slice and tells in *to where the next one goes on from. */
MUST_USE int op_fence(struct turn *t, const struct fence *from, struct fence *to, struct err *err);

#endif
