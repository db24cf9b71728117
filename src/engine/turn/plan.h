/* plan.h - one turn of the engine, from planning to the work after its commit.
 *
 *   turns_start                 turns.c        decides which loops make a turn now
 *     plan_make                 plan.c         collects starts, logs, settles and submits that fit
 *       plan_adoption           adopt.c        decides whom to adopt from
 *       plan_capacity           capacity.c     decides how much to claim
 *     plan_execute              run.c          one transaction, on the loop's thread if it has one
 *       op_prefetch             store/ops/     loads the rows of the settles
 *       op_record_starts, op_store_logs        writes what the executors reported
 *       op_settle                              writes outcomes
 *       op_submit                              creates executions
 *       op_advance                             advances the trees: makes followers ready
 *       adopt_orphans, op_adopt adopt.c        takes over orphans
 *       claim_jobs, op_claim    claim_jobs.c   claims jobs: each gets a new attempt and lease
 *     plan_commit_done          commit_done.c  after the commit, on the engine's thread:
 *       dispatch_settled, engine.on_end        for each attempt that was settled
 *       engine_hand_over_job                   hands claimed and adopted jobs to the dispatcher
 *       pending_submit.done                    answers the submitters
 *     plan_commit_failed        plan.c         instead, if the turn failed: keeps all commands
 *       bisect_turn             bisect_turn.c  finds the command or job that makes turns fail
 *
 * For a loop with a thread (threads.c), turns_start returns after plan_make, and turns_finish does
 * the rest when the thread has executed the plan. */
#ifndef ENGINE_TURN_PLAN_H
#define ENGINE_TURN_PLAN_H

#include "engine/engine_internal.h"
#include "store/driver/db.h"

/* At most this many settles, submits and starts each: a few thousand transitions, about 50 ms. */
#define TURN_MAX 500

/* How much may be claimed: what the executor of each lane group can take, and the worker's free
 * slots. */
struct capacity {
    struct lane_group *groups;
    size_t n;
    int slots;
};

struct turn_options {
    /* At most this many rows of each part. If it is 0 for PART_CLAIMS, the turn also leaves the
     * permits that it frees to other turns. */
    size_t max[TURN_PARTS];
    bool wait_for_locks; /* wait for locked trees instead of skipping them */
};

struct attempt_ref {
    int64_t execution;
    int attempt;
};

/* One turn. The transaction's body may run several times, so it writes only to the output fields
 * and resets them first. It may run on the loop's thread: there it reads only those fields of the
 * engine that never change. */
struct plan {
    const struct engine *e;
    struct loop *l;
    struct turn_options turn_options;
    struct capacity capacity;  /* reserved for this turn: other turns do not use it until this one
                                  ends */
    const char *const *queues; /* the queues that this worker serves */
    size_t nqueues;
    struct start *starts;
    struct settlement *settles;
    struct log_chunk *logs;
    size_t nstarts, nsettles, nlogs, nsubmits;
    struct submission *submissions; /* copies of the submissions that this turn creates */
    bool adopt;
    struct adoption adoption;
    /* Adopted attempts that may have started. This turn has written their start marks. */
    VEC(struct attempt_ref) marked;
    VEC(struct lease_ref) lost; /* lost leases of this worker, to be readopted if still orphaned */
    struct rows generation;     /* the database's generation, as the turn sees it */

    int64_t claimed_at; /* engine_now before the leases were taken */
    struct arena texts;
    VEC(struct attempt_ref) refused; /* attempts whose outcomes the store refused */
    VEC(struct execution *) adopted;
    VEC(struct execution *) claimed;
    VEC(int64_t) unstarted;           /* adopted attempts that their dead worker never started */
    struct claimed_jobs claimed_jobs; /* first `adopted`, then `claimed`; valid even if the turn
                                         fails */
    struct quarantine quarantined;    /* a copy of engine.quarantined, which may change during the
                                         turn */
    bool more_orphans;
    bool busy_starts;         /* some starts were skipped because their tree was locked */
    bool slot_wanted;         /* a job waits that needs only a slot */
    uint64_t groups_polled;   /* engine.groups_to_poll when the plan was made */
    uint64_t groups_to_claim; /* lane groups to claim from */
    uint64_t groups_drained;  /* lane groups that had fewer jobs than the turn asked for */
    uint64_t exhausted;       /* lane groups with nothing left in the outbox */
    bool skipped_locked;      /* jobs were skipped because other turns had locked them */
};

void plan_make(struct loop *l, struct plan *p, struct turn_options m);
void plan_capacity(struct plan *p); /* reserves the plan's share of the capacity that is left */
/* Drops the marks of attempts that the turn did not adopt after all. If it is unknown whether the
 * turn was committed, the marks stay: the database may name this worker as the holder. */
void plan_drop_unused_marks(struct plan *p, int rc);
void plan_release(struct plan *p);
MUST_USE int plan_execute(struct plan *p, struct err *err);
/* adopt.c */
void plan_adoption(struct engine *e, struct plan *p);
MUST_USE int adopt_orphans(struct turn *t, struct plan *p, struct err *err);
/* claim_jobs.c */
void plan_count_claimed(struct plan *p, int64_t execution, bool adopted);
MUST_USE int claim_jobs(struct turn *t, struct plan *p, struct err *err);
void plan_commit_done(struct engine *e, struct plan *p);
void plan_commit_failed(struct engine *e, struct plan *p);

/* turns.c */
/* Plans, executes and finishes one turn on the calling thread. */
MUST_USE int turn_run(struct loop *l, struct turn_options m, struct err *err);

/* bisect_turn.c */
/* Finds the command or job that makes the loop's turns fail with `rc`. Returns 0 if the cause was
 * found or the next turn continues the search; otherwise no row is the cause. */
MUST_USE int bisect_turn(struct loop *l, int rc, struct err *err);
/* Counts the waiting commands of this part; for PART_CLAIMS, the jobs that the last failed turn
 * claimed. */
size_t loop_count_part(const struct loop *l, enum turn_part part);
/* Refuses the loop's first submission with `err`. */
void refuse_submission(struct loop *l, const struct err *err);

/* Removes the elements from..to-1 of a VEC. */
#define drop_between(v, from, to)                                                          \
    do {                                                                                   \
        if ((to) > (from)) {                                                               \
            memmove((v)->at + (from), (v)->at + (to), ((v)->n - (to)) * sizeof(*(v)->at)); \
            (v)->n -= (to) - (from);                                                       \
        }                                                                                  \
    } while (0)
#define drop_first(v) drop_between(v, (size_t)0, (size_t)1)

#endif
