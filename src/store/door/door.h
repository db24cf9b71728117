/* door.h - the door: the only module that changes a status.
 *
 * door_move checks a move against the table of legal moves (core/transitions.h), changes the image
 * and records the event. door_flush writes the difference between the stored and the wanted image:
 * the execution, its events, and all rows that are derived from its state:
 *
 *   an outbox row iff ready and not held          a timer while a delay runs
 *   a lease row iff running                       a row in limit_waits iff held for a limit
 *   a permit of each limit iff claimable or running       a timer while an approval may time out
 *   the queue's counters                          the counters of attempts
 *
 * Because these rows are derived, a caller can't forget them, and they can't contradict the status.
 */
#ifndef STORE_DOOR_DOOR_H
#define STORE_DOOR_DOOR_H

#include "store/turn.h"

/* A move's worker, and the values that its event records besides the move itself. */
struct move_note {
    int64_t worker;   /* the worker that makes the move; 0 if none */
    const char *data; /* event data as JSON, which lives as long as the turn; NULL if none */
    /* The outcome of the attempt that this move ends; NULL if it ends no attempt. */
    const struct outcome *outcome;

    /* for claimed, resumed and adopted: when the new lease runs out */
    int64_t until;
    const char *folder;
    /* for held */
    enum hold why;
    const char *held_key;
    int64_t due_at;     /* when the delay ends, even while another hold takes precedence */
    int64_t timeout_at; /* when the approval times out; 0 if never */
    /* for cancel_requested */
    bool let_finish; /* running jobs finish, but no follower starts */
    /* for the rerun of a job */
    int attempts; /* how many more attempts the job may make */
};

/* Makes the row of a new execution and its `created` event. The caller has set id, root, kind, name
 * and the other fixed fields in the image. */
MUST_USE int door_create(struct turn *t, const struct execution *e, const char *data,
                         struct row **out, struct err *err);
MUST_USE int door_move(struct turn *t, struct row *r, enum event_action action, enum status to,
                       const struct move_note *note, struct err *err);

/* Admits an execution that is ready (or a workflow that is about to start) and has no other hold:
 * takes its permits or, if a limit has no free permit, holds the execution for the first such
 * limit. All limits of the row must have been fetched. */
MUST_USE int door_admit(struct turn *t, struct row *r, struct err *err);

/* Marks a row whose counters or flags changed without a move, so that it is written without an
 * event. */
void door_mark_changed(struct turn *t, struct row *r);

/* Sets the result and error of an execution. Called with the move that ends an attempt. */
void door_set_outcome(struct row *r, const char *result, const char *error);

/* Writes all changes of the turn and offers freed permits to waiting executions. */
MUST_USE int door_flush(struct turn *t, struct err *err);
/* Writes all changes of the turn, so that later statements see them, but does not offer freed
 * permits yet, because this turn may be about to cancel or pause an execution that waits for a
 * permit. */
MUST_USE int door_write(struct turn *t, struct err *err);

/* attempts.c: counts a move. `since` is the time of the execution's event before it. */
void attempts_count_move(struct turn *t, const struct execution *e, enum event_action action,
                         const struct move_note *note, int64_t since);
/* Counts an outcome that was refused because the worker had lost the lease. */
void attempts_count_refused(struct turn *t, const struct execution *e, int64_t worker);
/* Writes the counts of the turn, before its commit. */
MUST_USE int attempts_write(struct turn *t, struct err *err);

/* limits.c: limits_note records that the limits of this row are needed; limits_fetch reads and
 * locks all recorded limits. */
void limits_note(struct turn *t, const struct execution *e);
MUST_USE int limits_fetch(struct turn *t, struct err *err);
/* Runs a statement that finds and locks rows, reads these rows and notes their limits. */
MUST_USE int limits_note_rows(struct turn *t, struct args *a, struct rows *r, struct row ***rows,
                              struct err *err);
/* The two steps of limits_fetch: the first queues the statement, the second reads its rows after a
 * flush. */
MUST_USE int limits_send(struct turn *t, struct rows *locked, struct err *err);
void limits_receive(struct turn *t, const struct rows *locked);
/* At most this many limits apply to an execution: that of its queue, that of its concurrency key,
 * and the cap. */
#define LIMITS_MAX 3
size_t limits_find(struct turn *t, const struct execution *e, struct limit *out[LIMITS_MAX]);
struct limit *limit_get(struct turn *t, char kind, const char *name);

/* The cap: the limit of all jobs with FLAG_CAPPED. Its maximum is the queue.cap of the process that
 * applied it last. A turn that submits applies its cap at once, but not below the permits in use: a
 * lower cap is reached as jobs end, and until then no permit is given out. */
bool limit_is_cap(const struct limit *l);
struct limit *limit_get_cap(struct turn *t);
void limit_apply_cap(struct turn *t);                     /* called before jobs are admitted */
void limit_lower_to_cap(struct turn *t, struct limit *l); /* called after a permit was released */
/* Offers freed permits to the executions that wait for them. The rows of executions that take a
 * permit become dirty; the caller writes them and calls again until no row is dirty. */
MUST_USE int limits_offer_permits(struct turn *t, struct err *err);

#endif
