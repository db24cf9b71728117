/* dispatch.h - between an engine's loop and the executors: who runs what, how much at once, and who
 * said what about which attempt. One thread.
 *
 *     lane = dispatch_route(d, …)                     when a task becomes ready
 *     groups = dispatch_lane_groups(d, &n)                  claim so many jobs of these lanes,
 * commit, and dispatch_start(d, lane, &task)                  hand each over poll(dispatch_fd(d)) …
 * dispatch_poll(d)         reports come in here dispatch_settled(d, execution, attempt) when the
 * end is committed
 *
 * Every attempt that was handed over is held until it is settled or forgotten; of each that is
 * held, exactly one REPORT_ENDED comes. Reports may start, cancel, forget and settle. */
#ifndef DISPATCH_DISPATCH_H
#define DISPATCH_DISPATCH_H

#include "core/route.h"
#include "exec/executor.h"

struct dispatch;

struct dispatch_options {
    struct env *env;            /* outlives it */
    int slots;                  /* attempts that run at once, over all executors; 0: as many as
                                   they can take */
    const struct route *routes; /* copied */
    size_t nroutes;
    const char *command;   /* the executor of commands that no route is for; NULL: "process" */
    const char *container; /* of those in a container; NULL: "container" */
    /* Called from dispatch_poll only. The epoch is the one that the attempt is held under. */
    void (*report)(void *arg, const struct report *r);
    void *arg;
};

MUST_USE int dispatch_new(const struct dispatch_options *o, struct dispatch **out, struct err *err);
void dispatch_free(struct dispatch *d); /* its executors too; NULL is fine */

/* Adds an executor, which belongs to the dispatcher from then on (with an error it does not). At
 * most `slots` attempts at once; 0: as many as it can take. */
MUST_USE int dispatch_add_executor(struct dispatch *d, struct executor *x, int slots,
                                   struct err *err);
/* Routes may also name this one: it is added later, or others have it. */
void dispatch_add_known_key(struct dispatch *d, const char *key);
/* When all are added: do routes and defaults name executors that there are? */
MUST_USE int dispatch_check_routes(const struct dispatch *d, struct err *err);

/* ---- what to claim ---- */

/* The lane for a task; see routes_lane. Never fails: a lane that nobody here serves may be served
 * elsewhere. */
const char *dispatch_route(const struct dispatch *d, const struct route_query *q,
                           struct arena *arena);

/* Lanes that share one executor, and what it can take itself (perhaps nothing: what is adopted
 * needs no room). Each that begins also needs a slot of the worker; one that waits gets that of the
 * one before it. */
struct lane_group {
    const char *executor;
    const char *const *lanes;
    size_t nlanes;
    int can_start; /* so many more can begin */
    int can_queue; /* and so many more wait in the executor's own queue, once no other can begin */
};
/* One group per executor; valid until one, or a function, is added. */
const struct lane_group *dispatch_lane_groups(struct dispatch *d, size_t *n);
/* How many of the worker's slots are free. */
int dispatch_free_slots(const struct dispatch *d);
/* How many attempts fit into a group when so many slots are free. */
int lane_group_capacity(const struct lane_group *g, int slots);
/* The one that has this lane; NULL: none. */
struct lane_group *lane_group_of(struct lane_group *groups, size_t n, const char *lane);
/* How many attempts it can have in hand without adopted ones. */
int dispatch_total_capacity(const struct dispatch *d);

/* Whether work of this lane goes on without the worker that began it; of a lane that is not served
 * here: no. */
bool dispatch_outlives(const struct dispatch *d, const char *lane);

/* ---- attempts ---- */

/* Hands over a claimed job. If its executor does not take it, that is reported as well: refused,
 * with a back-off during which the executor is offered nothing (the same for a lane that nobody
 * serves), or failed. task.function is taken from the lane. */
void dispatch_start(struct dispatch *d, const char *lane, const struct task *t);
/* Hands over an adopted job, or one that is held already under a new epoch (if its end was reported
 * before, no other report comes: settle it under the new one). -E_REFUSED: nobody here can look for
 * it now; settle nothing, and let the lease run out. Other failures are reported. */
MUST_USE int dispatch_reattach(struct dispatch *d, const char *lane, const struct task *t,
                               struct err *err);
/* As in executor.h. Attempts that are not held are ignored. */
void dispatch_cancel(struct dispatch *d, int64_t execution, int attempt, enum outcome_kind why);
void dispatch_renewed(struct dispatch *d, int64_t execution, int attempt, int64_t until);
void dispatch_forget(struct dispatch *d, int64_t execution, int attempt);
void dispatch_settled(struct dispatch *d, int64_t execution, int attempt);
/* What attempts left on the disk that nobody here holds, and what to do about it. `each` must not
 * change anything; executors that share a folder tell of the same. */
void dispatch_leftovers(const struct dispatch *d,
                        void (*each)(void *arg, int64_t execution, int attempt), void *arg);
void dispatch_cleanup(struct dispatch *d, int64_t execution, int attempt); /* its end is stored */
/* Takes nothing more. What outlives the worker is let go at once; of the rest the ends are still
 * reported: turn until nothing is in flight, and call it again with `now`, which tells that to
 * stop, when patience ends. */
void dispatch_stop(struct dispatch *d, bool now);

/* Readable when a turn would find something to do. After a turn there may be more room. */
int dispatch_fd(const struct dispatch *d);
void dispatch_poll(struct dispatch *d);

/* ---- what it knows ---- */

struct held_attempt {
    int64_t execution, root;
    int attempt, epoch;
    bool ended; /* reported, and not yet settled */
    const char *executor;
};
/* All that are held; `each` must not change that. */
void dispatch_each(const struct dispatch *d, void (*each)(void *arg, const struct held_attempt *a),
                   void *arg);
size_t dispatch_in_flight(const struct dispatch *d); /* held, and not ended */

/* Of the executor with this index; NULL: there are no more. */
const char *dispatch_stats(const struct dispatch *d, size_t index, struct executor_stats *out);

/* Functions that were told to stop longer ago than their grace: claim no more, drain, exit. */
int dispatch_count_unresponsive(const struct dispatch *d);
/* The functions that run in this process now. */
void dispatch_functions(const struct dispatch *d,
                        void (*each)(void *arg, int64_t execution, int attempt), void *arg);

#endif
