/* clang-format off */
/* engine_internal.h - the engine's structures and internal functions, for the files of src/engine.
 *
 * Which file does what:
 *
 *   engine.c            the step: sleep, handle events, call the parts below; submit; stop
 *   open.c              open and close
 *   turn/               one turn, from plan to commit; turn/plan.h shows the order of the calls
 *   handover.c          both directions between the engine and the dispatcher (see below)
 *   leased_jobs.c       the table of attempts (dispatch/attempts.h): the jobs that this worker has leased
 *   heartbeat.c         renews leases and the worker's row
 *   connections.c       opens the connections of an engine
 *   wakes.c             wake-ups to and from other processes, through the heartbeats' connection
 *   db_clock.c          compares the database's clock with ours
 *   maintenance/        timers, schedules, reaping, dead workers, retention, SQL submissions
 *   worker_row.c        the worker's row in the database
 *   state_folder.h      the state folder and the locks of its workers
 *
 * Where a claim is made: claim_jobs (turn/claim_jobs.c) calls op_claim (store/ops/claim.c)
 * inside the turn. After the commit engine_hand_over_job enters the job into the table and calls
 * dispatch_start, or dispatch_reattach for an adopted job.
 *
 * What runs when a job ends: dispatch_poll calls engine_report, which puts the outcome into its
 * loop's list `ended`. The next turn of that loop writes it (op_settle) and, in the same
 * transaction, makes the followers ready (op_advance, store/workflow/advance.c). After the commit,
 * plan_commit_done calls dispatch_settled and the on_end callback, and removes the job from the
 * table.
 *
 * Unless noted otherwise, times are in µs on the clock of engine_now, and everything belongs to the
 * engine's thread. */
/* clang-format on */
#ifndef ENGINE_ENGINE_INTERNAL_H
#define ENGINE_ENGINE_INTERNAL_H

#include "base/idmap.h"
#include "base/start_marks.h"
#include "engine/bisect.h"
#include "engine/engine.h"
#include "engine/state_folder.h"
#include "store/driver/wake_queue.h"
#include "store/generation.h"

#include <pthread.h>

/* A job whose lease this worker holds: an entry in the table of attempts. */
struct leased_job {
    /* Must be first: pointers to it are cast. An ended job is in its loop's list `ended`, unless it
     * is lost. */
    struct attempt a;
    int64_t parent, workflow;
    const char *lane, *queue, *concurrency;
    bool is_capped; /* the job counts against queue.cap */
    struct retry_policy retry;
    struct arena own; /* holds the strings and the codes of `retry` */
    int64_t until;    /* the end of the lease, by engine_now */
    bool adopted;
    bool cancel_sent;      /* the executor was asked to cancel the job */
    bool lost;             /* another worker may have the job: the next turn readopts or forgets
                              it */
    bool settling;         /* a turn under way writes the job's outcome */
    bool dropped;          /* removed from the table while settling: freed after that turn */
    bool outcome_replaced; /* the outcome could not be stored; a failure was put in its place */
    int times_locked;      /* how many turns skipped the job because its tree was locked */
    /* A lost job that another turn has locked is readopted only until this time; 0 before the first
     * try. */
    int64_t readopt_until;
    struct outcome outcome; /* valid if the attempt has ended; owns its strings */
};

struct pending_start {
    int64_t execution, root;
    int attempt, epoch;
    bool adopted;
    int64_t at; /* when the attempt started */
};

struct pending_log {
    int64_t execution;
    int attempt, epoch;
    char *bytes;
    size_t len;
    int64_t offset, dropped;
};

struct pending_submit {
    struct submission s; /* the strings are in the same allocation, after this struct */
    int64_t number;      /* 1 for this engine's first submission, and so on */
    int times_locked;    /* how many turns skipped the submission because its parent's tree was
                            locked */
    engine_submitted *done;
    void *arg;
};

/* One heartbeat and its result. */
struct heartbeat_result {
    int64_t sent_at, answered_at;
    VEC(struct lease_ref) leases; /* the leases that were sent, with their results */
    struct tick tick;
    int rc;
};

/* Heartbeats: sent by the engine's thread on SQLite, by a thread with its own connection on
 * PostgreSQL. That thread does not wait for the engine: it replaces results that the engine has not
 * read yet with those of the next heartbeat, which report lost leases and cancels again.
 *
 * Its connection also receives and sends wake-ups. Heartbeats come first: a wake-up neither waits
 * for its lock beyond the next heartbeat nor reconnects. */
struct heartbeat {
    struct store *store;      /* NULL to use the engine's store */
    struct listener *channel; /* used by the thread alone; NULL on SQLite */
    pthread_t thread;
    bool threaded;
    pthread_mutex_t lock;    /* protects engine.leased_jobs and the fields below */
    int requests;            /* eventfd: readable when the thread has something to do */
    int fd;                  /* eventfd: readable when results are available */
    bool now, closing;       /* set to ask the thread to send at once, to end */
    struct wake_queue wakes; /* wake-ups that the thread sends; after the thread's end, engine_close
                                does */
    int64_t wakes_retry_at;  /* when to send again after a failure, by clock_boot_us */
    unsigned received;       /* wake-ups that the engine has not read yet */
    int poll_ms;             /* the poll_ms of the channel */

    struct heartbeat_result current, last;
    bool done;            /* `last` has results that the engine has not read */
    int64_t next;         /* when the thread sends again */
    int failures;         /* heartbeats that failed in a row */
    int64_t last_success; /* when the last successful heartbeat was sent */
};

/* The parts of a turn, in the order in which bisect_turn tries them: each list of commands, and the
 * jobs that it adopts and claims. */
enum turn_part { PART_STARTS, PART_LOGS, PART_OUTCOMES, PART_SUBMITS, PART_CLAIMS, TURN_PARTS };

/* The jobs that a turn adopted and claimed, in that order; used to bisect a turn that failed. */
struct claimed_jobs {
    struct rows_seen seen;
    bool adopted; /* whether the first of these jobs was adopted */
};

/* The difference between the database's clock and engine_now; see db_clock.c. */
struct db_clock {
    int64_t ahead_min, ahead_max; /* bounds of the difference, as of the last heartbeat */
    int64_t set, set_at; /* by how much the database's clock was recently set forward, and when */
};

/* A loop makes turns: it has the commands that wait for its next turn, a connection, and the turn
 * under way. All commands of a tree go to the same loop, so two turns of this process never compete
 * for a tree. Everything belongs to the engine's thread, except `plan` while the loop's thread
 * executes it. */
struct loop {
    struct engine *e;
    struct store *store;
    VEC(struct leased_job *) ended;
    VEC(struct pending_start) starts;
    VEC(struct pending_log) logs;
    VEC(struct pending_submit *) submits;
    int64_t starts_due; /* when the waiting starts must be written; 0 if there are none */
    int64_t retry_at;   /* after a failed turn: make no other turn before then */
    int failures;       /* turns that failed in a row */
    struct claimed_jobs claimed_jobs; /* the jobs of the last turn that failed */
    struct bisect_state bisect[TURN_PARTS];
    struct plan *plan; /* the turn under way; NULL if none */
    bool has_waited;   /* the loop had work when the turn of another loop ended */

    bool threaded;
    pthread_t thread;
    pthread_cond_t wakeup;
    bool has_turn, done; /* [loop_threads.lock] has_turn: the thread must execute a turn; done: it
                            has executed the turn */
    int rc;              /* the result of the turn */
    struct err err;
};

/* State that the loops' threads share with the engine's thread. */
struct loop_threads {
    size_t n;             /* number of loops with a thread; 0: the engine's thread makes turns */
    pthread_mutex_t lock; /* protects loop.has_turn, loop.done and `closing` */
    pthread_cond_t ended;
    int fd; /* eventfd: readable when a turn has ended */
    bool closing;
};

struct engine {
    struct engine_options o;
    struct arena own; /* holds the strings of the options */
    struct env *env, own_env;
    struct store *store;
    struct dispatch *dispatch;
    struct state_folder *state_folder;
    struct start_marks *start_marks; /* the start marks in this worker's file */
    struct listener *listener;
    struct worker row;
    int epoll;
    bool server;            /* PostgreSQL: workers on other hosts may exist */
    int64_t generation;     /* FIRST_GENERATION if the database was never fenced */
    bool no_fenced_trees;   /* all foreground trees of earlier generations have ended */
    size_t lanes_announced; /* number of lanes in the worker's row */

    struct idmap leased_jobs; /* execution -> struct leased_job */
    /* loops[0] uses the engine's connection. If no loop has a thread, it makes all turns. Otherwise
     * it makes only the turns that adopt, because adopting needs the table of leased jobs. */
    struct loop *loops;
    size_t nloops;
    struct loop_threads threads;
    size_t submit_to;   /* the loop that gets the next submissions */
    int64_t submits;    /* number of submissions so far */
    struct err failure; /* fatal error of a turn that turn_finish waited for */
    VEC(struct lane_group) capacity;
    /* The queues that this worker serves. The first `own_queues` are permanent; the rest belong to
     * dead workers' trees. */
    VEC(const char *) queues;

    uint64_t groups_to_poll; /* a bit for each lane group that may have jobs in the outbox */
    int64_t poll_groups_at; /* when to poll again for locked jobs that a claim skipped; 0 if none */
    int skipped_locked;     /* how many claims in a row skipped locked jobs */
    bool slot_wanted;  /* a job waits for a slot, so the executors' own queues must not be filled */
    bool adopt;        /* there may be jobs to adopt */
    int64_t adopt_at;  /* do not adopt before this time */
    bool reap;         /* leases have run out, and this worker may reap them */
    int64_t reaped_to; /* the lease of this execution can't be cleared: reap only leases that follow
                          it; 0 if none */
    bool next_due_unknown;       /* timer_due and schedule_due must be read again */
    bool dead_workers_unchecked; /* finish_dead_workers must run */
    bool submissions;            /* SQL submissions may wait */
    bool unresponsive;           /* a function ignores its cancel flag: this worker must end */
    bool drain_requested;        /* an operator requests that this worker drains */
    bool draining; /* claims and adopts nothing more; the attempts that it runs continue */
    bool stopping, closing;
    /* This worker leaves running attempts, or its foreground tree, which others find through its
     * file: keep the file. */
    bool left_work;
    size_t own_queues;
    int64_t foreground_root;     /* root of the tree of a foreground engine; 0 if none yet */
    int64_t database_gone_since; /* 0 if the database's file exists, or is not checked */
    int64_t heartbeat_due;       /* SQLite: when the next heartbeat is due */
    int64_t timer_due;           /* 0 if none */
    int64_t schedule_due;        /* 0 if none */
    bool check_schedules;        /* check the schedules whose last check is later than now */
    int64_t wall_ahead;          /* the wall clock of the database minus engine_now; 0 at first */
    int64_t last_poll_at;        /* when jobs and timers were last polled without a notification */
    int64_t healthy_since;       /* the time since which no heartbeat was late or failed; see
                                    may_reap */
    int64_t last_tick;
    bool has_ticked;
    struct db_clock db_clock;
    struct quarantine quarantined;        /* executions that can't be claimed or adopted */
    struct quarantine quarantined_timers; /* timers that can't be fired, by timer_id */
    struct bisect_state timers, schedules, leases, old_trees;
    struct bisect_state bisect_submissions; /* for SQL submissions */
    int64_t retention_check_at; /* when to ask again whether this engine should run retention */
    int64_t cleanup_at;         /* when to check again for leftovers of attempts on the disk */
    struct retention retention; /* the retention run under way, if retention.max_trees is set */
    int retention_failures;     /* trees that the retention run under way could not remove */

    struct heartbeat heartbeat;
    void (*on_end)(void *arg, int64_t execution, int status, const struct outcome *o);
    void *on_end_arg;
    void (*on_log)(void *arg, int64_t execution);
    void *on_log_arg;
};

/* The bit of the nth lane group; groups from the 64th on share the last bit. */
static inline uint64_t group_bit(size_t nth)
{
    return (uint64_t)1 << (nth < 63 ? nth : 63);
}

/* engine.c */
/* The engine's clock: CLOCK_BOOTTIME, moved by tests together with the database's clock. */
int64_t engine_now(const struct engine *e);
/* Adds fd to the engine's epoll. Ignores fd < 0 and descriptors that were added before. */
MUST_USE int engine_watch(struct engine *e, int fd, struct err *err);
/* How long to wait after `failures` failures in a row: `first` doubled each time, at most `most`,
 * with jitter. */
int64_t back_off(int failures, int64_t first, int64_t most);

/* worker_row.c */
MUST_USE int worker_row_register(struct engine *e, struct err *err);
/* Writes the lanes that this worker serves: at the first step, when all functions are known, and
 * when they change; none when it drains or stops. */
MUST_USE int worker_row_announce_lanes(struct engine *e, struct err *err);
void worker_row_remove(struct engine *e);

/* leased_jobs.c */
struct leased_job *leased_job_get(const struct engine *e, int64_t execution);
/* Adds a job to the table; its lease runs out at `until`. */
struct leased_job *leased_job_add(struct engine *e, const struct execution *x,
                                  const struct spec *spec, int64_t until);
/* Removes the job from the table and frees it; a job that a turn is settling is freed when that
 * turn ends. */
void leased_job_remove(struct engine *e, struct leased_job *h);
/* Like leased_job_remove, but also removes an ended job from its loop's `ended` list. */
void leased_job_drop(struct engine *e, struct leased_job *h);
void leased_job_free(struct leased_job *h); /* other files call this only if `dropped` is set */
/* Queues the outcome of a job for settling; strings are copied. */
void leased_job_set_outcome(struct engine *e, struct leased_job *h, const struct outcome *o);

/* handover.c */
/* The dispatcher's report callback: queues the report for the next turn. */
void engine_report(void *arg, struct attempt *a, const struct report *r);
enum handover {
    HANDOVER_CLAIMED,
    HANDOVER_ADOPTED,
    HANDOVER_UNSTARTED, /* adopted, and proved that its last worker never started it */
};
/* Hands a claimed or adopted job to the dispatcher, after the commit. `claimed_at` is a time
 * shortly before the lease was taken. */
void engine_hand_over_job(struct engine *e, const struct execution *x, enum handover how,
                          int64_t claimed_at);

/* turn/threads.c */
MUST_USE int loops_open(struct engine *e, struct err *err);    /* does not connect */
MUST_USE int loops_connect(struct engine *e, struct err *err); /* connects all loops, or none;
                                                                  -E_BUSY as for store_open */
void loops_disconnect(struct engine *e);                       /* call it only before loops_start */
MUST_USE int loops_start(struct engine *e, struct err *err);
void loops_close(struct engine *e); /* waits for the turns under way and handles their results */
void loops_release(struct engine *e);
void loops_set_patience(struct engine *e, int64_t us);
/* The loop that gets the commands of this tree. */
struct loop *loop_of(const struct engine *e, int64_t root);
size_t loop_count_commands(const struct loop *l); /* number of settles and submits of the loop,
                                                     waiting or in a turn */
bool loop_may_claim(const struct loop *l);        /* whether the loop's turns may claim, from the
                                                     outbox and by push */
bool loop_may_adopt(const struct loop *l);
bool loops_are_idle(const struct engine *e); /* no command waits and no turn is under way */
void loop_start_turn(struct loop *l);        /* hands the loop's plan to its thread */
void loop_wait_turn(struct loop *l);         /* waits until the thread has executed the plan */
bool loop_poll_turn(struct loop *l);         /* whether the thread has executed the plan; does not
                                                wait */

/* turn/run.c */
/* -E_CONFLICT if the database's generation `now` is not the generation of this worker. */
MUST_USE int check_generation(const struct engine *e, int64_t now, struct err *err);

/* turn/turns.c */
bool turn_is_needed(struct engine *e); /* whether a loop without a turn under way should start
                                          one */
MUST_USE int turns_start(struct engine *e, struct err *err);
MUST_USE int turns_finish(struct engine *e, struct err *err); /* handles the ended turns */
void turn_finish(struct loop *l); /* waits for the turn under way and handles its result */

/* turn/commit_done.c */
/* Forgets lost jobs. p is the turn that tried to readopt them; NULL if no turn will try. */
void forget_lost_jobs(struct engine *e, const struct plan *p);

/* turn/capacity.c */
/* The lane groups, one bit each, in which another job can be claimed. */
uint64_t groups_with_capacity(struct engine *e);

/* turn/bisect_turn.c */
void release_quarantined_jobs(struct engine *e); /* releases the jobs whose quarantine is over */

/* db_clock.c */
/* Notes the time `db_now` that the database answered to a query which was sent at `from` and
 * answered at `to`. */
void db_clock_observe(struct engine *e, int64_t db_now, int64_t from, int64_t to);
/* The database's time for deciding about leases of other hosts: never later than it would be if
 * nobody had set the database's clock. */
int64_t db_clock_latest(const struct engine *e);
/* Whether `db_now`, the database's time now, shows that its clock was set forward since the last
 * heartbeat. */
bool db_clock_was_set(const struct engine *e, int64_t db_now);

/* heartbeat.c */
MUST_USE int heartbeat_open(struct engine *e, struct err *err);
void heartbeat_close(struct engine *e);
MUST_USE int heartbeat_if_due(struct engine *e, struct err *err); /* SQLite only */
void heartbeat_send_soon(struct engine *e);                       /* because a cancel may wait for
                                                                     the next heartbeat */
/* Wakes the heartbeat thread, which then handles the requests to it. Called with the lock held. */
void heartbeat_call(struct heartbeat *b);
MUST_USE int heartbeat_take_results(struct engine *e, struct err *err); /* applies the results that
                                                                           the heartbeat thread has
                                                                           left */

/* connections.c */
/* Opens the connections of the loops and of heartbeats and wake-ups, or none of them. Waits while
 * the server is not accepting connections. */
MUST_USE int connections_open(struct engine *e, struct err *err);

/* wakes.c */
MUST_USE int wakes_open(struct engine *e, struct err *err); /* -E_BUSY as for driver.listen */
void wakes_close(struct engine *e);
/* wakes_receive and wakes_send are called by the heartbeat thread, on its channel, with the lock
 * held, and release the lock while they wait. The first receives wake-ups until there is a request
 * to the thread or `us` have passed; the second sends those that may be sent now. */
void wakes_receive(struct engine *e, int64_t us);
void wakes_send(struct engine *e);
int64_t wakes_due(const struct heartbeat *b); /* µs until wakes_send is due; INT64_MAX if never */
void wakes_send_last(struct engine *e);       /* called by engine_close, after the last turn */

/* maintenance/due.c: timers, schedules and SQL submissions */
/* Makes this engine poll for what a turn has changed. `woke` has the turn's WAKE_ bits: jobs became
 * ready, a timer is due earlier, … */
void apply_wake(struct engine *e, unsigned woke);
void set_schedule_due(struct engine *e, int64_t due, int64_t wall);
MUST_USE int refresh_next_due(struct engine *e, struct err *err);
MUST_USE int fire_timers(struct engine *e, struct err *err);
MUST_USE int fire_schedules(struct engine *e, struct err *err);
MUST_USE int accept_submissions(struct engine *e, struct err *err);

/* maintenance/maintenance.c: reaping, dead workers, retention */
MUST_USE int run_maintenance(struct engine *e, struct err *err);
void maintenance_after_tick(struct engine *e, const struct tick *tick);
void stop_serving_dead_trees(struct engine *e);    /* foreground trees of dead workers */
bool tree_is_open(struct engine *e, int64_t root); /* also true if the tree can't be read */
/* Reads the status of an execution; *status is 0 if it does not exist. */
MUST_USE int read_status(struct engine *e, int64_t execution, int *status, struct err *err);

/* maintenance/cleanup.c */
MUST_USE int cleanup_if_due(struct engine *e, struct err *err);

/* owner_check.c: refuses a state folder that other users can change; warns about a database that
 * they can change. */
MUST_USE int engine_check_owners(const struct engine *e, struct err *err);

/* Reports a sentence to the operator as a note. */
static inline void engine_note(const struct engine *e, const char *sentence)
{
    env_note(e->env, "%s", sentence);
}

#endif
