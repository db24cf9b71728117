/* door.h - the one door: the only module that changes a status.
 *
 * door_move checks a move against the table of legal moves (core/transitions.h), changes the image
 * and notes the event. door_flush writes the difference between stored and wanted images: the
 * execution, its events, and everything that follows from its state:
 *
 *   an outbox row iff ready and not held          a timer while a delay runs
 *   a lease row iff running                       a row in limit_waits iff held for a limit
 *   a permit of each limit iff claimable or running       a timer while an approval may time out
 *   the queue's counters
 *
 * So none of these can be forgotten, or disagree with the status. */
#ifndef STORE_DOOR_DOOR_H
#define STORE_DOOR_DOOR_H

#include "store/turn.h"

/* Who moves, and what the event tells beyond the move itself. */
struct move_note {
    int64_t worker;   /* 0: none */
    const char *data; /* JSON, lives as long as the turn; NULL: nothing */

    /* claimed, resumed, adopted: the new lease */
    int64_t until;
    const char *folder;
    /* held */
    enum hold why;
    const char *held_key;
    int64_t due_at;     /* when a delay ends, also one that goes on under another hold */
    int64_t timeout_at; /* of an approval: when nobody waits for it any longer; 0: never */
    /* cancel_requested */
    bool let_finish; /* what runs goes on, but nothing comes after it */
};

/* Makes the row of a new execution and its `created` event. The image has id, root, kind, name …
 * set. */
MUST_USE int door_create(struct turn *t, const struct execution *e, const char *data,
                         struct row **out, struct err *err);
MUST_USE int door_move(struct turn *t, struct row *r, enum event_action action, enum status to,
                       const struct move_note *note, struct err *err);

/* For a row that is ready (a workflow: about to begin) and that nothing else holds: takes its
 * permits, or holds it for the first limit without room. All limits of the row must have been
 * fetched. */
MUST_USE int door_admit(struct turn *t, struct row *r, struct err *err);

/* Counters of the row changed without a move: they are written, with no event. */
void door_mark_changed(struct turn *t, struct row *r);

/* Sets result and error with the move that ends an attempt. */
void door_set_outcome(struct row *r, const char *result, const char *error);

MUST_USE int door_flush(struct turn *t, struct err *err);
/* The same for statements that are to see what this turn did so far, but permits that became free
 * are not handed on yet: who waits for one may be about to be cancelled or paused by this very
 * turn.
 */
MUST_USE int door_write(struct turn *t, struct err *err);

/* limits.c: notes that this row's limits are needed, then looks up and locks all that were noted.
 */
void limits_note(struct turn *t, const struct execution *e);
MUST_USE int limits_fetch(struct turn *t, struct err *err);
/* Reads the rows that a statement finds and locks, and notes their limits. */
MUST_USE int limits_note_rows(struct turn *t, struct args *a, struct rows *r, struct row ***rows,
                              struct err *err);
/* limits_fetch in two steps. */
MUST_USE int limits_send(struct turn *t, struct rows *locked, struct err *err);
void limits_receive(struct turn *t, const struct rows *locked);
/* The limits that a job falls under and that exist; at most 2. */
size_t limits_find(struct turn *t, const struct execution *e, struct limit *out[2]);
struct limit *limit_get(struct turn *t, char kind, const char *name);
/* Hands freed permits to those who wait; writes through the door until nothing moves. */
MUST_USE int limits_offer_permits(struct turn *t, struct err *err);

#endif
