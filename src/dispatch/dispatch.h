/* dispatch.h - the dispatcher, between an engine's loop and its executors: it limits how many
 * attempts run at once, and forwards the executors' reports. It does not know the database. All
 * calls are made on one thread.
 *
 * The engine calls it in this order:
 *
 *   dispatch_lane_groups      when a turn is planned: how many jobs of which lanes to claim
 *   dispatch_free_slots       when a turn is planned: how many of them may start
 *   (the turn claims jobs and commits)
 *   dispatch_start            for each claimed job: hands it to the executor of its lane
 *   dispatch_reattach         for each adopted job: finds its process or container
 *   dispatch_poll             when dispatch_fd is readable: executors report here
 *   dispatch_renewed          while the attempt runs: its lease was renewed
 *   dispatch_cancel           while the attempt runs: a cancel was requested
 *   (the report REPORT_ENDED arrives; a turn settles the attempt and commits)
 *   dispatch_settled          the executor may remove what the attempt left on the disk
 *   dispatch_forget           instead, if the lease was lost: another worker may own the attempt
 *
 * Attempts are found in the engine's table (attempts.h). An attempt that an executor has accepted
 * is reported as ended exactly once, unless it is forgotten first. The report callback may start,
 * cancel, forget and settle attempts. */
#ifndef DISPATCH_DISPATCH_H
#define DISPATCH_DISPATCH_H

#include "dispatch/attempts.h"
#include "exec/executor.h"

struct dispatch;

struct dispatch_options {
    /* How many attempts may run at once, over all executors; 0 if only the executors limit it. */
    int slots;
    const struct idmap *attempts; /* the engine's table; outlives the dispatcher */
    /* Called from dispatch_poll and dispatch_stop, for attempts that have not ended. Before a call
     * with REPORT_ENDED, a->ended is set. */
    void (*report)(void *arg, struct attempt *a, const struct report *r);
    void *arg;
};

MUST_USE int dispatch_new(const struct dispatch_options *o, struct dispatch **out, struct err *err);
void dispatch_free(struct dispatch *d); /* also frees its executors; d may be NULL */

/* Adds an executor, which the dispatcher owns from then on unless this fails. It runs at most
 * `slots` attempts at once; 0 if only the executor itself limits this. */
MUST_USE int dispatch_add_executor(struct dispatch *d, struct executor *x, int slots,
                                   struct err *err);
/* Returns -E_CONFLICT if an executor with this key exists already. */
MUST_USE int dispatch_check_key(const struct dispatch *d, const char *key, struct err *err);

/* ---- what to claim ---- */

/* Lanes that share one executor, and how many attempts that executor can take, which may be none
 * (adopting needs no capacity). Each attempt that starts also needs one of the worker's slots; one
 * that waits in the executor's own queue gets the slot of the attempt before it. */
struct lane_group {
    const char *executor;
    const char *const *lanes;
    size_t nlanes;
    int can_start; /* how many more attempts can start */
    int can_queue; /* how many more can wait in the executor's own queue when can_start is 0 */
};
/* Returns one group per executor; valid until an executor or a function is added. */
const struct lane_group *dispatch_lane_groups(struct dispatch *d, size_t *n);
/* How many of the worker's slots are free. */
int dispatch_free_slots(const struct dispatch *d);
/* How many attempts fit into a group if `slots` slots are free. */
int lane_group_capacity(const struct lane_group *g, int slots);
/* The group that has this lane; NULL if none. */
struct lane_group *lane_group_of(struct lane_group *groups, size_t n, const char *lane);
/* How many attempts can run at once; *ahead is how many more may be claimed to wait in the
 * executors' own queues. Attempts that were adopted beyond these limits are not counted. */
int dispatch_total_capacity(const struct dispatch *d, int *ahead);
/* How many attempts the nth executor of dispatch_lane_groups can run at once. */
int dispatch_executor_capacity(const struct dispatch *d, size_t nth);

/* Whether attempts of this lane continue when the worker that started them ends; false if this
 * worker does not serve the lane. */
bool dispatch_outlives(const struct dispatch *d, const char *lane);
/* Whether the executor of this lane writes start marks itself; false if this worker does not serve
 * the lane. */
bool dispatch_marks_starts(const struct dispatch *d, const char *lane);

/* ---- attempts ---- */

/* Hands over a claimed job, which is in the table. Returns 0 if its end will be reported. Otherwise
 * *failed is its outcome, with err's text: failed, or refused with a delay during which its
 * executor is offered no jobs. A job is also refused if this worker does not serve its lane.
 * job.function is taken from the lane. */
MUST_USE int dispatch_start(struct dispatch *d, const char *lane, const struct job *j,
                            struct outcome *failed, struct err *err);
/* Hands over an adopted job, or one that this worker already runs under an older epoch. Returns 0
 * if its end was or will be reported. -E_REFUSED: its executor can't search for the attempt now;
 * settle nothing, forget the attempt and let the lease run out. Any other error: the attempt has
 * failed. */
MUST_USE int dispatch_reattach(struct dispatch *d, const char *lane, const struct job *j,
                               struct err *err);
/* dispatch_cancel, _renewed, _forget and _settled do what executor.h says of the operation with
 * that name, and nothing for an attempt that no executor runs. */
void dispatch_cancel(struct dispatch *d, int64_t execution, int attempt, enum outcome_kind why);
void dispatch_renewed(struct dispatch *d, int64_t execution, int attempt, int64_t until);
void dispatch_forget(struct dispatch *d, int64_t execution, int attempt);
void dispatch_settled(struct dispatch *d, int64_t execution, int attempt);
/* Calls `each` for every attempt that left files on the disk and is not run by this worker. `each`
 * must not change anything. Executors that share a folder report the same attempt twice. */
void dispatch_leftovers(const struct dispatch *d,
                        void (*each)(void *arg, int64_t execution, int attempt), void *arg);
/* Removes the leftovers of an attempt whose end is stored. */
void dispatch_cleanup(struct dispatch *d, int64_t execution, int attempt);
/* Accepts no more jobs, and reports those that have not started as refused. All other attempts
 * continue, and report their end. */
void dispatch_drain(struct dispatch *d);
/* Accepts no more jobs. Attempts that outlive the worker are dropped at once. All other attempts
 * still report their end: poll until none is in flight. Call again with `now` set to ask them to
 * stop. */
void dispatch_stop(struct dispatch *d, bool now);

/* Readable when dispatch_poll has something to do. A poll may free capacity. */
int dispatch_fd(const struct dispatch *d);
void dispatch_poll(struct dispatch *d);

/* ---- state ---- */

size_t dispatch_in_flight(const struct dispatch *d); /* accepted attempts that have not ended */

/* Counts the functions that have ignored their cancel flag for longer than their grace. If there
 * are any, the worker should stop claiming, drain, and exit. */
int dispatch_count_unresponsive(const struct dispatch *d);

#endif
