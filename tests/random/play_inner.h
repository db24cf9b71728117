/* play_inner.h - what the files that play a plan have in common:
 *
 *   play_tree.c      what is in the store, by the paths of the model
 *   play_turn.c      one turn: settle, operate, advance, claim; it may be lost before its commit
 *   play_work.c      workers: they claim, settle, are lost and come back
 *   play_operate.c   operators: cancel, pause, skip, approve, limit, run again
 *   play_time.c      the clock, and what is due
 *   play.c           from the beginning to the end */
#ifndef TESTS_RANDOM_PLAY_INNER_H
#define TESTS_RANDOM_PLAY_INNER_H

#include "play.h"

#include "../fixture.h"
#include "model.h"
#include "snapshot.h"

#define HELD_MAX 64
#define BATCH    6  /* jobs that are settled in one turn, */
#define BATCHES  24 /* and where many workflows are to end, and others to begin, in one */

/* A job that a worker runs. */
struct running {
    struct held_job j;
    struct model_node *node;
};

struct player {
    struct playground *ground;
    const struct plan *plan;
    struct plan_rng rng, look; /* a look must not change what is played */
    struct model *model;
    struct played *out;
    struct running held[HELD_MAX];
    size_t nheld;
    struct held_job stale; /* of a worker that lost it */
    int64_t begun;         /* by the clock of this machine */
    struct snapshots snapshots;
};

struct store *playground_store(void);       /* opens one */
struct store *play_store(struct player *p); /* one of the playground */
static inline bool is_wrong(const struct player *p)
{
    return p->out->wrong.len > 0;
}

/* ---- play_tree.c ---- */

struct place {
    int64_t id, parent;
    char path[120];
    int status, attempts;
};

struct tree {
    struct place *at; /* by id; to be freed */
    size_t n;
};
struct tree tree_of(struct player *p);
const struct place *find_id(const struct tree *t, int64_t id); /* NULL: it is not there */
const struct place *find_path(const struct tree *t, const char *path);
/* Whether all is as in the model. */
void compare(struct player *p);

/* ---- play_turn.c ---- */

enum verb {
    NOTHING,
    CANCEL,
    LET_FINISH,
    PAUSE,
    RESUME,
    SKIP,
    APPROVE,
    REJECT,
    LIMIT,
    RERUN,
    TIMER
};

struct act {
    struct player *p;
    struct settlement settle[BATCHES];
    size_t nsettle;
    enum verb verb; /* what an operator asks for, or the clock */
    struct request request;
    struct rerun rerun;   /* of RERUN */
    int max;              /* of LIMIT */
    struct adoption take; /* claim.max 0: nothing is claimed */
    bool adopt, crash;

    struct held_job got[HELD_MAX];
    size_t ngot;
    int64_t due, due_root; /* of TIMER: whose was due, 0: none */
    enum timer_kind due_kind;
};
struct act new_act(struct player *p, int64_t worker, size_t max);
/* The engine that does it may die before its commit; then another does it. */
int try_turn(struct player *p, struct act *a, struct err *err);
void do_turn(struct player *p, struct act *a);
/* Large work goes on until it is done, if the plan has some. */
void tell_on(struct player *p);
/* The model works out what follows from what it was told, with the permits that the store gave. */
void work_out(struct player *p);
/* Tells the model what was claimed, or adopted. */
void note_claims(struct player *p, struct act *a);

/* ---- what may happen ---- */

size_t claim(struct player *p);
void settle(struct player *p);
void crash(struct player *p);

void operate_somehow(struct player *p);
void rerun_somehow(struct player *p);
/* Nothing is left but what waits for somebody. False: nobody is waited for. */
bool let_go_on(struct player *p);
void remove_limit(struct player *p);

/* Lets so much time pass, a little more where something is due soon after it, and has everything
 * done that is due; how much that was. */
size_t pass(struct player *p, int64_t us);
/* Until the next that the model knows to be due. False: it knows of nothing. */
bool pass_until_due(struct player *p);
void pass_somehow(struct player *p);

#endif
