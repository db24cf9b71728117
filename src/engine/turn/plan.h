/* plan.h - one turn of the engine, from what waits to what was decided: plan.c makes it, run.c
 * does it in a transaction (claim.c takes the jobs), commit_done.c tells and hands out what came of
 * it.
 */
#ifndef ENGINE_TURN_PLAN_H
#define ENGINE_TURN_PLAN_H

#include "engine/engine_internal.h"
#include "store/driver/db.h"

#define TURN_MAX 500 /* settles, submits and starts each: some thousand transitions, some 50 ms */

/* How much may be claimed: of each group of lanes what its executor can take, and how many of the
 * worker's slots are free. */
struct capacity {
    struct lane_group *groups;
    size_t n;
    int slots;
};

/* How a turn is made. */
struct turn_options {
    size_t batch;           /* outcomes, and as many submissions */
    size_t starts_and_logs; /* starts, and as many pieces of output; 0: all */
    bool wait_for_locks;    /* for locks */
    bool commands_only; /* takes no new work, and leaves the permits that it frees to other turns */
    bool no_submits, no_logs;
    size_t max_claims; /* so many orphans and jobs at most; 0: as there is room */
};

struct attempt_ref {
    int64_t execution;
    int attempt;
};

/* What a turn does. Its body may run several times, so it fills in only what it is asked for. It
 * may run on a thread of its own: of the engine it then looks only at what never changes. */
struct plan {
    const struct engine *e;
    struct loop *l;
    struct turn_options turn_options;
    struct capacity capacity;  /* that others do not count on meanwhile */
    const char *const *queues; /* served */
    size_t nqueues;
    struct start *starts;
    struct settlement *settles;
    struct log_chunk *logs;
    size_t nstarts, nsettles, nlogs, nsubmits;
    struct submission *submissions; /* copies, in a row */
    bool adopt;
    struct adoption adoption;
    VEC(struct lease_ref) lost; /* what is to be got back by that, if nobody has it yet */
    struct rows generation;     /* of the database, as the turn sees it */

    int64_t claimed_at; /* engine_now before the leases were taken */
    struct arena texts;
    VEC(struct attempt_ref) refused; /* whose outcomes were not taken */
    VEC(struct execution *) adopted;
    VEC(struct execution *) claimed;
    struct claimed_jobs claimed_jobs; /* all of them, who are gone when the turn fails */
    struct quarantine quarantined;    /* copied: it changes meanwhile */
    bool more_orphans;
    bool busy_starts;        /* some starts wait for the tree of another turn */
    bool slot_wanted;        /* something waits that lacks only a slot */
    uint64_t lanes_polled;   /* the groups of lanes that were hungry when it was made */
    uint64_t lanes_to_claim; /* which to claim from */
    uint64_t lanes_done;     /* those in which less waited than there was room for */
    uint64_t exhausted;      /* those of which nothing is left in the outbox */
    bool skipped_locked;     /* others hold something that waited there */
};

void plan_make(struct loop *l, struct plan *p, struct turn_options m);
void plan_capacity(struct plan *p); /* capacity.c: its share of what is left */
void plan_release(struct plan *p);
MUST_USE int plan_execute(struct plan *p, struct err *err); /* in a transaction */
void plan_count_claimed(struct plan *p, int64_t execution, bool adopted);
MUST_USE int plan_claim(struct turn *t, struct plan *p, struct err *err);
void plan_commit_done(struct engine *e, struct plan *p);   /* after its commit */
void plan_commit_failed(struct engine *e, struct plan *p); /* without one */

/* schedule.c */
MUST_USE int turn_run(struct loop *l, struct turn_options m, struct err *err); /* here and now */

/* bisect_turn.c */
/* Nobody is to blame: it may go well later, it may be stored, or this worker was fenced. */
bool is_not_row_fault(int rc);
/* Of a turn of this loop that failed so. 0: it is found, or the next turn looks on. Otherwise it is
 * none of what waits here. */
MUST_USE int bisect_turn(struct loop *l, size_t batch, int rc, struct err *err);
/* quarantine.c: the same of a turn that had nothing to write. */
MUST_USE int bisect_claims(struct loop *l, int rc, struct err *err);
/* The first one that waits is told that it was not taken, and why. */
void refuse_submission(struct loop *l, const struct err *err);

/* Takes those from one place up to another off a list. */
#define drop_between(v, from, to)                                                          \
    do {                                                                                   \
        if ((to) > (from)) {                                                               \
            memmove((v)->at + (from), (v)->at + (to), ((v)->n - (to)) * sizeof(*(v)->at)); \
            (v)->n -= (to) - (from);                                                       \
        }                                                                                  \
    } while (0)
#define drop_first(v) drop_between(v, (size_t)0, (size_t)1)

#endif
