/* engine.h - the engine: the loop that makes a process a worker. It claims jobs, hands them to
 * executors, renews their leases, settles their outcomes and adopts orphans.
 *
 * engine_step runs one iteration, in this order:
 *
 *   1. sleep until an event or a deadline, then handle it (engine.c): executors report what their
 *      attempts did, heartbeats return, other processes notify, a worker of this state folder dies;
 *   2. send a heartbeat if one is due (heartbeat.c; on PostgreSQL a thread does this);
 *   3. make a turn if there is something to write, adopt or claim (turn/, see turn/plan.h);
 *   4. do the maintenance that is due: timers, schedules, reaping, retention (maintenance/).
 *
 * A turn is one transaction: it writes the reports and submissions that have come in since the last
 * one, adopts orphans, and claims as many jobs as the executors have capacity for. Submitters are
 * answered and jobs are handed to the dispatcher only after the commit.
 *
 * With several loops, several turns run at once, each on its own thread and connection
 * (turn/threads.c). The engine's thread still plans them and handles their results.
 *
 * An engine belongs to one thread. It sleeps in its own epoll descriptor, so a caller with its own
 * event loop polls engine_fd and calls engine_step. Time comes from the environment (base/env.h): a
 * test that moves the clock moves leases, heartbeats and timers together. */
#ifndef ENGINE_ENGINE_H
#define ENGINE_ENGINE_H

#include "dispatch/dispatch.h"
#include "store/store.h"

struct engine;

struct engine_options {
    const char *url, *tenant;
    bool is_checked;           /* as in struct store_options */
    struct db *share;          /* as in struct store_options */
    struct env *env;           /* NULL for the real clock, without notes */
    const char *state;         /* the state folder */
    const char *const *queues; /* ends with NULL; NULL for "default" */
    const char *host, *version;
    bool foreground; /* work only on the tree that this process submits, in its private queue */
    int64_t tree;    /* with foreground: continue this existing foreground tree; 0 if none */
    bool no_push;    /* hand no job over by push: jobs that become ready always go through the
                        outbox */
    int loops; /* number of turns at once, each on its own connection; more than 1 needs PostgreSQL;
                  0 means 1 */
    int64_t lease;      /* µs; 0 for 30 s */
    int64_t heartbeat;  /* µs between renewals; 0 for a third of the lease */
    int64_t host_grace; /* µs; 0 for 5 min */
    /* Which old executions and logs to remove if the database has no retention setting. If NULL,
     * this engine removes nothing, even if there is a setting. Must outlive the engine. */
    const struct retention_policy *retention;
};

/* Passed by engine_open to its callback `make_dispatch`. */
struct engine_dispatch_setup {
    const char *dir;             /* the parent of the attempt folders */
    const char *const *old_dirs; /* folders of earlier generations, whose attempts must be ended */
    int64_t lease;
    int64_t fence;             /* end a process this many µs after its lease ran out; 0 if never */
    struct start_marks *marks; /* where executors that write start marks write them */
    struct dispatch_options dispatch; /* the dispatcher's options, without `slots` */
};
/* Opens the database and the state folder and registers the worker. `make_dispatch` creates the
 * dispatcher once the location of the attempt folders is known, because the process executor
 * starts its helper there. The engine owns the dispatcher from then on. */
MUST_USE int engine_open(const struct engine_options *options,
                         int (*make_dispatch)(void *arg, const struct engine_dispatch_setup *setup,
                                              struct dispatch **out, struct err *err),
                         void *arg, struct engine **out, struct err *err);
/* Closes the engine. Attempts that outlive the worker keep running. Removes the worker's row if the
 * database can be reached. */
void engine_close(struct engine **e);

/* Sends wake-ups (enum wake) to other processes; for store_set_wake. PostgreSQL only. May be called
 * by any thread. */
void engine_wake(void *engine, unsigned what);
int64_t engine_worker(const struct engine *e);
/* Calls `each` for every store on which turns are made. Call it before the first step. */
void engine_each_store(struct engine *e, void (*each)(void *arg, struct store *s), void *arg);
struct dispatch *engine_dispatch(struct engine *e);

/* One iteration: sleeps until there is something to do, at most `timeout` µs (< 0: no limit), and
 * does it. After an error the engine can't continue and must be closed. */
MUST_USE int engine_step(struct engine *e, int64_t timeout, struct err *err);
int engine_fd(const struct engine *e);          /* call engine_step when this descriptor is
                                                   readable */
int64_t engine_timeout(const struct engine *e); /* µs until engine_step is due even without an
                                                   event */

/* engine_submit submits in the next turn. `done` is called with the submission, in which op_submit
 * has set the result. Strings are copied. */
typedef void engine_submitted(void *arg, const struct submission *s);
void engine_submit(struct engine *e, const struct submission *s, engine_submitted *done, void *arg);

/* Sets the callback for attempts that this engine has settled, NULL for none. It is called after
 * the commit, with the status that the execution then has. */
void engine_on_end(struct engine *e,
                   void (*ended)(void *arg, int64_t execution, int status, const struct outcome *o),
                   void *arg);

/* Sets the callback for output that this engine has stored, NULL for none. It is called after the
 * commit. */
void engine_on_log(struct engine *e, void (*logged)(void *arg, int64_t execution), void *arg);

/* Stops claiming, returns jobs that have not started to their queues, and leaves attempts that
 * outlive the worker to other workers. Functions continue; if `now` is set, they are asked to stop.
 * Call engine_step until engine_is_idle. */
void engine_stop(struct engine *e, bool now);
/* The request that this worker drains, if the engine has begun to: it claims and adopts nothing
 * more, has returned jobs that have not started to their queues, and runs the others until they
 * end. NULL if it does not drain. A foreground engine never does. */
const struct worker_drain *engine_drain_request(const struct engine *e);
bool engine_is_idle(const struct engine *e); /* has no leased job and nothing to write */
bool engine_is_drained(struct engine *e);    /* idle, and the last claim found nothing */
/* Sets *open to whether a job in the engine's queues is running on any worker or waits for a timer,
 * or an SQL submission waits. A foreground engine ignores SQL submissions. */
MUST_USE int engine_has_open_work(struct engine *e, bool *open, struct err *err);

#endif
