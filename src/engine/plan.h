/* plan.h - one turn of the engine, from what waits to what was decided: plan.c makes it, turn.c
 * does it in a transaction (claim.c takes the jobs), answer.c tells and hands out what came of it.
 */
#ifndef ENGINE_PLAN_H
#define ENGINE_PLAN_H

#include "engine/internal.h"
#include "store/db.h"

#define TURN_MAX 500 /* settles, submits and starts each: some thousand transitions, some 50 ms */

/* What a turn does. Its body may run several times, so it fills in only what it is asked for. */
struct plan {
    struct engine *e;
    struct start *starts;
    struct settlement *settles;
    struct log_chunk *logs;
    size_t nstarts, nsettles, nlogs, nsubmits;
    struct submission *submissions; /* copies, in a row */
    bool adopt;
    struct adoption adoption;
    struct rows generation; /* of the database, as the turn sees it */

    int64_t taken_at; /* engine_now before the leases were taken */
    struct arena texts;
    VEC(struct held *) refused; /* whose outcomes were not taken */
    VEC(struct execution *) adopted;
    VEC(struct execution *) claimed;
    bool more_orphans;
    bool busy_starts;   /* some starts wait for the tree of another turn */
    bool slot_wanted;   /* something waits that lacks only a slot */
    bool bare;          /* takes no new work, whatever there is */
    uint64_t ask;       /* which groups of lanes to claim from */
    uint64_t exhausted; /* those in which less waited than there was room for */
    uint64_t dry;       /* those of which nothing is left in the outbox */
};

void plan_make(struct engine *e, struct plan *p, size_t most); /* at most so many commands */
void plan_release(struct plan *p);
MUST_USE int plan_claim(struct turn *t, struct plan *p, struct err *err);
void plan_answer(struct engine *e, struct plan *p); /* after its commit */

/* Takes the first n off a list. */
#define drop_first(v, n_)                                                         \
    do {                                                                          \
        if (n_) {                                                                 \
            memmove((v)->at, (v)->at + (n_), ((v)->n - (n_)) * sizeof(*(v)->at)); \
            (v)->n -= (n_);                                                       \
        }                                                                         \
    } while (0)

#endif
