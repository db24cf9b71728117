/* engine.h - the loop that makes a process a worker: it claims, runs, renews, settles and takes
 * over, one transaction a turn.
 *
 * A turn is: gather what the executors reported and what was submitted; write it through the store;
 * adopt orphans; claim as much as there is room for; commit once; then answer the submitters and
 * hand the claimed jobs to the dispatcher. Nothing is answered or begun before its commit.
 *
 * With several loops as many turns are under way at once, each on a connection and a thread of its
 * own (threads.c); they are planned and answered here all the same.
 *
 * An engine belongs to one thread. It sleeps in its own epoll descriptor, so a caller with a loop
 * of its own polls engine_fd and steps. Time comes from the environment (base/env.h): a test that
 * moves it moves leases, heartbeats and timers alike. */
#ifndef ENGINE_ENGINE_H
#define ENGINE_ENGINE_H

#include "dispatch/dispatch.h"
#include "store/store.h"

struct engine;

struct engine_options {
    const char *url, *tenant;
    struct env *env;           /* NULL: the machine's own clock, nothing is said */
    const char *state;         /* the state folder */
    const char *const *queues; /* ends with NULL; NULL: "default" */
    const char *host, *version;
    bool foreground;    /* works on the tree that it is given alone, in a queue of its own */
    int64_t tree;       /* with here: goes on with this one, which was begun so before; 0: none */
    bool no_push;       /* no push: what becomes ready goes through the outbox */
    int loops;          /* turns at once, each on a connection of its own; PostgreSQL alone has
                           more than one; 0: 1 */
    int64_t lease;      /* µs; 0: 30 s */
    int64_t heartbeat;  /* µs between renewals; 0: a third of the lease */
    int64_t host_grace; /* µs; 0: 5 min */
    int64_t retention;  /* µs after its end when a tree is removed; 0: never by this engine */
    int64_t logs;       /* the same for its logs alone, if that is sooner; 0: with the rest */
};

/* Opens the database and the state folder and registers the worker. The dispatcher is made by
 * `make`, once it is known where attempts have their folders: the process executor starts its
 * helper there. It belongs to the engine from then on. */
struct engine_dispatch_setup {
    const char *dir;             /* of attempts */
    const char *const *old_dirs; /* those of other generations: what runs there is to be ended */
    int64_t lease;
    int64_t fence; /* µs after `until` when a process must have ended; 0: no fence */
    /* to be given to the dispatcher */
    void (*report)(void *arg, const struct report *r);
    void *arg;
};
MUST_USE int engine_open(const struct engine_options *options,
                         int (*make_dispatch)(void *arg, const struct engine_dispatch_setup *setup,
                                              struct dispatch **out, struct err *err),
                         void *arg, struct engine **out, struct err *err);
/* Leaves what outlives the worker running, says goodbye if it can. */
void engine_close(struct engine **e);

int64_t engine_worker(const struct engine *e);
struct store *engine_store(struct engine *e); /* for readers between steps */
/* All that turns are made on, before the first step. */
void engine_each_store(struct engine *e, void (*each)(void *arg, struct store *s), void *arg);
struct dispatch *engine_dispatch(struct engine *e);

/* One round: sleeps until there is something to do, at most so long (µs; < 0: for as long as it
 * takes), and does it. An error means that this engine can't go on. */
MUST_USE int engine_step(struct engine *e, int64_t timeout, struct err *err);
int engine_fd(const struct engine *e);          /* readable: step */
int64_t engine_timeout(const struct engine *e); /* µs until it wants to step by itself */

/* Submits with the next turn; `done` is told what became of each: the submission as op_submit left
 * it. Texts are copied. */
typedef void engine_submitted(void *arg, const struct submission *s);
void engine_submit(struct engine *e, const struct submission *s, engine_submitted *done, void *arg);

/* How the end of an execution that this engine settled is told; status as it is then. NULL: nobody
 * wants to know. */
void engine_on_end(struct engine *e,
                   void (*ended)(void *arg, int64_t execution, int status, const struct outcome *o),
                   void *arg);

/* The same for output, once it is stored. */
void engine_on_log(struct engine *e, void (*logged)(void *arg, int64_t execution), void *arg);

/* Claims nothing more, gives back what has not begun, and leaves to others what outlives the
 * worker; functions go on, with `now` they are told to stop. engine_is_idle is true once nothing is
 * held. */
void engine_stop(struct engine *e, bool now);
bool engine_is_idle(const struct engine *e); /* holds nothing, and has nothing to write */
bool engine_is_drained(struct engine *e);    /* idle, and the last claim found nothing */
/* Whether something in its queues runs, with whomever, or waits for its time. */
MUST_USE int engine_has_open_work(struct engine *e, bool *open, struct err *err);

#endif
