/* engine_internal.h - the engine's own structure, for the files of src/engine. */
#ifndef ENGINE_ENGINE_INTERNAL_H
#define ENGINE_ENGINE_INTERNAL_H

#include "base/idmap.h"
#include "core/time_buckets.h"
#include "engine/engine.h"
#include "engine/state_folder.h"

#include <pthread.h>

/* A job that this worker holds. */
struct leased_job {
    int64_t execution, root, parent, workflow;
    int attempt, epoch;
    char *lane, *queue, *concurrency;
    struct retry_policy retry; /* its codes live in `own` */
    struct arena own;
    int64_t until; /* engine_now: the lease may be counted on so long */
    bool adopted;
    bool cancel_sent; /* the executor knows that it is to end */
    bool lost;        /* another may have it; to be taken back in the next turn, or forgotten */
    bool ended;       /* it has its outcome: in the list of what is to be settled, unless lost */
    bool settling;    /* a turn that is under way writes its outcome */
    bool dropped;     /* forgotten meanwhile: goes when that turn has ended */
    bool outcome_replaced; /* its outcome can't be stored: this one says so */
    int times_locked;      /* how often its tree was locked by others */
    int64_t
        readopt_until; /* lost: so long another turn may be at it (engine_now); 0: none was yet */
    struct outcome outcome; /* if ended; its texts are ours */
    struct metrics *metrics;
};

/* What is counted for one queue and executor. */
struct metrics {
    char *queue, *executor;
    int64_t attempts, outcomes[8];
    int64_t wait[TIME_BUCKETS], wait_sum, run[TIME_BUCKETS], run_sum;
};

struct pending_start {
    int64_t execution, root;
    int attempt, epoch;
    bool adopted;
    int64_t at; /* engine_now when the work began */
};

struct pending_log {
    int64_t execution;
    int attempt, epoch;
    char *bytes;
    size_t len;
    int64_t offset, dropped;
};

struct pending_submit {
    struct submission s; /* its texts stand behind it */
    int times_locked;    /* how often its parent's tree was locked by others */
    engine_submitted *done;
    void *arg;
};

/* One heartbeat and what came of it. */
struct heartbeat_result {
    int64_t sent_at, answered_at; /* engine_now */
    VEC(struct lease_ref) leases; /* as sent, with their results */
    struct tick tick;
    int rc;
};

/* Heartbeats: by the loop on SQLite, by a thread with its own connection on PostgreSQL. The thread
 * waits for nobody: results that the loop has not taken are replaced by those of the next one,
 * which say the same of what is lost or to be cancelled. */
struct heartbeat {
    struct store *store; /* NULL: the engine's own */
    pthread_t thread;
    bool threaded;
    pthread_mutex_t lock; /* of the engine's table of held jobs, and of what is below */
    pthread_cond_t changed;
    int fd; /* eventfd: results are there */
    bool now, closing;

    struct heartbeat_result current, last;
    bool sending; /* `going`, and with it the counters, are in use without the lock */
    bool done;    /* `last` is there, to be taken by the loop */
    int64_t next; /* engine_now when the thread sends again */
    VEC(struct counter) counters; /* to be added with the next beat */
    struct arena counter_texts;
    int64_t uncertain_turn; /* the number of a turn that may have added them; 0: none */
    int64_t last_success;   /* engine_now when the last good one was sent */
};

/* How far a fault was narrowed down; see bisect_rows.c. */
struct bisect_state {
    int64_t failed; /* the row that has failed alone; 0: none */
    bool more_rows; /* there is more to be done at once */
};

/* What a turn took: orphans, and then from the outbox. */
struct claimed_jobs {
    size_t n;
    int64_t first;
    bool adopted; /* the first was */
};

/* The database's clock, as this host sees it; see db_clock.c. */
struct db_clock {
    int64_t ahead_min,
        most;            /* its time minus engine_now, by the last heartbeat: at least, at most */
    int64_t set, set_at; /* by how much it was set forward of late, and when (engine_now) */
};

/* Makes turns: what waits for the next one, its connection, and the one that is under way. The
 * commands of a tree are always those of the same loop, so that its turns find no other of this
 * process there. All of it belongs to the engine's thread, but for `plan` while the loop's own
 * thread is at it. */
struct loop {
    struct engine *e;
    struct store *store;
    VEC(struct leased_job *) ended;
    VEC(struct pending_start) starts;
    VEC(struct pending_log) logs;
    VEC(struct pending_submit *) submits;
    int64_t starts_due;               /* when starts are written at the latest; 0: there are none */
    int64_t retry_at;                 /* after a turn that failed: not before */
    int failures;                     /* turns in a row that failed */
    struct claimed_jobs claimed_jobs; /* by the last turn that failed */
    struct plan *plan;                /* the turn that is under way; NULL: none */
    bool has_waited;                  /* what it has to do was there when another turn ended */

    bool threaded;
    pthread_t thread;
    pthread_cond_t wakeup;
    bool has_turn, done; /* under the lock of the engine's threads: to be run; has been */
    int rc;              /* of the turn that was done */
    struct err err;
};

/* Where the loops' own threads meet the engine's. */
struct loop_threads {
    size_t n;             /* how many loops have one; 0: turns are made by the engine's own */
    pthread_mutex_t lock; /* of given and done */
    pthread_cond_t ended;
    int fd; /* eventfd: a turn has ended */
    bool closing;
};

struct engine {
    struct engine_options o;
    struct arena own; /* the options' texts */
    struct env *env, own_env;
    struct store *store;
    struct dispatch *dispatch;
    struct state_folder *state_folder;
    struct listener *listener;
    struct worker row;
    int epoll;
    bool server; /* PostgreSQL: other hosts may be there */
    int64_t generation;
    size_t lanes_announced; /* how many lanes the worker's row tells of */

    struct idmap leased_jobs; /* execution -> struct leased_job */
    /* The first uses the engine's own connection. It makes all turns, or, where loops have threads,
     * adopts: that needs the table of held jobs. */
    struct loop *loops;
    size_t nloops;
    struct loop_threads threads;
    size_t submit_to;   /* which loop takes the next submissions */
    struct err failure; /* of a turn that another had to wait for: the engine can't go on */
    VEC(struct lane_group) capacity;
    VEC(const char *) queues; /* served; the trees of dead ones come and go at its end */
    VEC(struct metrics *) all_metrics;
    int64_t leases_lost, refused_outcomes, adoptions; /* to be counted */

    uint64_t
        lanes_to_poll; /* groups of lanes, a bit each, in which something may wait in the outbox */
    int64_t
        poll_lanes_at; /* others held what waited: all groups again by then (engine_now); 0: none */
    int skipped_locked;    /* how often in a row */
    bool slot_wanted;      /* something waits for a slot: executors' own queues are not filled */
    bool adopt;            /* something may wait to be adopted */
    int64_t adopt_at;      /* not before (engine_now) */
    bool reap;             /* leases have run out, and we may judge */
    int64_t reaped_to;     /* the last of whom it can't be said; the rest is behind it; 0: none */
    bool next_due_unknown; /* one came nearer */
    bool dead_workers_unchecked; /* of those who died */
    bool submissions;            /* some by SQL may wait to be taken */
    bool unresponsive;           /* a function does not obey: this worker must end */
    bool stopping, closing;
    bool left_work;          /* work that others are to find by our file */
    size_t own_queues;       /* the first so many of queues are not those of the dead */
    int64_t foreground_root; /* the tree that it works on alone; 0: none yet */
    int64_t
        database_gone_since; /* engine_now; 0: the database is there, or that is not looked at */
    int64_t heartbeat_due;   /* SQLite: when to renew */
    int64_t timer_due;       /* engine_now; 0: none */
    int64_t schedule_due;    /* the same of schedules */
    int64_t last_poll_at;    /* for jobs and timers, the last time without being called */
    int64_t healthy_since;   /* nobody is reaped by one who was away himself */
    int64_t last_tick;
    struct db_clock db_clock;
    struct quarantine quarantined;        /* executions; see quarantine.c */
    struct quarantine quarantined_timers; /* by timer_id, which can't be fired; see due.c */
    struct bisect_state timers, schedules, leases,
        bisect_submissions;     /* the last: submissions by SQL */
    int64_t retention_check_at; /* when to ask next whether it is our turn to remove what is old */
    int64_t cleanup_at;         /* when to look next for what attempts left on the disk */
    struct retention retention; /* while it goes on: retention.max_trees is set */
    int retention_failures;     /* how many could not be removed in this round */

    struct heartbeat heartbeat;
    void (*on_end)(void *arg, int64_t execution, int status, const struct outcome *o);
    void *on_end_arg;
    void (*on_log)(void *arg, int64_t execution);
    void *on_log_arg;
};

/* The bit of the nth group of lanes; those beyond share the last. */
static inline uint64_t group_bit(size_t nth)
{
    return (uint64_t)1 << (nth < 63 ? nth : 63);
}

/* engine.c */
/* The engine's clock: CLOCK_BOOTTIME, moved as the environment moves the database's. */
int64_t engine_now(const struct engine *e);
MUST_USE int engine_watch(struct engine *e, int fd, struct err *err); /* < 0: none; twice is fine */

/* worker_row.c: the worker's row */
MUST_USE int worker_row_register(struct engine *e, struct err *err);
/* Tells what we serve: at the first step, when all functions are known, and when that changes. */
MUST_USE int worker_row_announce_lanes(struct engine *e, struct err *err);
void worker_row_remove(struct engine *e); /* with what was counted since the last heartbeat */

/* leased_jobs.c */
struct leased_job *leased_job_get(const struct engine *e, int64_t execution);
/* `until`: engine_now, so long the lease may be counted on. */
struct leased_job *leased_job_add(struct engine *e, const struct execution *x,
                                  const struct spec *spec, int64_t until);
/* And frees it, if no turn that is under way has to do with it; else it goes after that. */
void leased_job_remove(struct engine *e, struct leased_job *h);
/* The same with what is to be said about its end: also one that ended and waits to be settled. */
void leased_job_drop(struct engine *e, struct leased_job *h);
void leased_job_free(struct leased_job *h); /* one that was dropped */
void leased_job_set_outcome(struct engine *e, struct leased_job *h,
                            const struct outcome *o); /* to be settled */

/* executor_reports.c: what executors say */
void engine_report(void *arg, const struct report *r);
/* After the commit; the lease was taken at `claimed_at` (engine_now) or later. */
void engine_start_job(struct engine *e, const struct execution *x, bool adopted,
                      int64_t claimed_at);

/* threads.c */
MUST_USE int loops_open(struct engine *e, struct err *err);
void loops_close(struct engine *e); /* waits for what is under way, and answers it */
void loops_release(struct engine *e);
void loops_set_patience(struct engine *e, int64_t us);
/* Whose commands are those of this tree. */
struct loop *loop_of(const struct engine *e, int64_t root);
size_t loop_count_commands(
    const struct loop *l);                 /* settles and submits that wait, or are under way */
bool loop_may_claim(const struct loop *l); /* and pushes */
bool loop_may_adopt(const struct loop *l);
bool loops_are_idle(const struct engine *e); /* nothing waits, nothing is under way */
void loop_start_turn(struct loop *l);        /* its plan, to its thread */
void loop_wait_turn(struct loop *l);         /* its thread has done it */
bool loop_poll_turn(struct loop *l);         /* the same, without waiting */

/* run.c */
MUST_USE int check_generation(const struct engine *e, int64_t now, struct err *err);

/* schedule.c */
bool turn_is_needed(struct engine *e); /* by one of the loops that can begin one */
MUST_USE int turns_start(struct engine *e, struct err *err);
MUST_USE int turns_finish(struct engine *e, struct err *err); /* answers those that have ended */
void turn_finish(struct loop *l); /* waits for the one that is under way, and answers it */

/* commit_done.c */
/* p: the turn that tried to get them back; NULL: nobody does any more. */
void forget_lost_jobs(struct engine *e, const struct plan *p);

/* capacity.c */
/* The groups of lanes, a bit each, in which another job can be run. */
uint64_t groups_with_capacity(struct engine *e);

/* db_clock.c */
/* The database said that it is `now`, to a question of ours (engine_now: from, to). */
void db_clock_observe(struct engine *e, int64_t now, int64_t from, int64_t to);
/* Its time, for judging those whom we can't see: never later than it would be had nobody set it. */
int64_t db_clock_latest(const struct engine *e);
/* Whether it was set forward since the last heartbeat, if it is that late now. */
bool db_clock_was_set(const struct engine *e, int64_t now);

/* heartbeat.c */
MUST_USE int heartbeat_open(struct engine *e, struct err *err);
void heartbeat_close(struct engine *e);
MUST_USE int heartbeat_if_due(struct engine *e, struct err *err);       /* SQLite */
void heartbeat_send_soon(struct engine *e);                             /* a cancel may wait */
MUST_USE int heartbeat_take_results(struct engine *e, struct err *err); /* results of the thread */

/* bisect_rows.c */
struct rows_seen {
    size_t n;
    int64_t first; /* its id */
};
/* Work of which each turn does many rows. */
struct rows_work {
    size_t max; /* of them */
    /* One turn over at most `max`; which there were is told also if it failed. */
    int (*run_turn)(struct engine *e, void *arg, size_t max, struct rows_seen *seen,
                    struct err *err);
    /* The one that was there in the last turn fails alone. */
    int (*quarantine_row)(struct engine *e, void *arg, const struct err *why, struct err *err);
};
/* A turn, or if it fails because of a row, one of fewer. state->again: it is not all of it. */
MUST_USE int bisect_rows(struct engine *e, const struct rows_work *w, void *arg,
                         struct bisect_state *state, struct err *err);

/* due.c: timers and schedules */
void set_schedule_due(struct engine *e, int64_t due, int64_t wall);
MUST_USE int refresh_next_due(struct engine *e, struct err *err);
MUST_USE int fire_timers(struct engine *e, struct err *err);
MUST_USE int fire_schedules(struct engine *e, struct err *err);

/* maintenance.c: the clock, reaping, the dead, retention */
MUST_USE int run_maintenance(struct engine *e, struct err *err);
void maintenance_after_tick(struct engine *e, const struct tick *tick);
void stop_serving_dead_trees(struct engine *e);    /* no longer the trees of the dead */
bool tree_is_open(struct engine *e, int64_t root); /* also if nobody can tell */

/* quarantine.c */
void release_quarantined_jobs(struct engine *e); /* those whose time is over */

/* sql_submissions.c */
MUST_USE int sql_submissions_take(struct engine *e, struct err *err);

/* sweep.c */
MUST_USE int cleanup_if_due(struct engine *e, struct err *err);

/* metrics.c */
struct metrics *metrics_get(struct engine *e, const char *queue, const char *executor);
void metrics_count_claim(struct engine *e, struct leased_job *h, const struct execution *x);
void metrics_count_outcome(struct leased_job *h, const struct outcome *o);
void metrics_collect(struct engine *e); /* what changed, into beat.counters */
void metrics_release(struct engine *e);

/* An error of the database, not of what was to be written: the same may go well later. */
static inline bool is_transient(int rc)
{
    return rc == -E_UNAVAILABLE || rc == -E_NO_SPACE || rc == -E_BUSY;
}

/* Neither that, nor one that concerns the whole database. */
static inline bool is_row_fault(int rc)
{
    return rc && !is_transient(rc) && rc != -E_COMMIT_UNKNOWN && rc != -E_SCHEMA;
}

/* Says a sentence to the operator. */
static inline void engine_note(const struct engine *e, const char *sentence)
{
    if (e->env->note)
        e->env->note(e->env->arg, sentence);
}

/* After a turn that failed: how long to wait, by the number of failures in a row. */
int64_t back_off(int failures, int64_t first, int64_t most);

#endif
