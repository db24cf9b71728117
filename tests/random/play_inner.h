/* play_inner.h - shared by the files that run a plan:
 *
 *   play_tree.c      the rows of the store, by the paths of the model
 *   play_turn.c      one turn: settle, operate, advance, claim; it may be lost before its commit
 *   play_final.c     what on_failure and on_exit know about the tasks and their workflow
 *   play_work.c      workers: they claim, settle, are lost and come back
 *   play_operate.c   operators: cancel, pause, skip, approve, limit, rerun
 *   play_time.c      the clock, and the timers that are due
 *   play.c           the whole run, from start to end */
#ifndef TESTS_RANDOM_PLAY_INNER_H
#define TESTS_RANDOM_PLAY_INNER_H

#include "play.h"

#include "../fixture.h"
#include "model.h"
#include "snapshot.h"

#define HELD_MAX 64
#define BATCH    6  /* jobs settled in one turn */
#define BATCHES  24 /* in plans in which many workflows end and others start in one turn */

/* A job that a worker runs. */
struct running {
    struct held_job j;
    struct model_node *node;
};

struct player {
    struct playground *ground;
    const struct plan *plan;
    struct plan_rng rng, inspect_rng; /* inspect_rng is separate, so that inspections do not change
                                         the play */
    struct model *model;
    struct played *out;
    struct running held[HELD_MAX];
    size_t nheld;
    struct held_job stale; /* a job whose worker lost its lease */
    int64_t begun;         /* by this machine's clock */
    struct snapshots snapshots;
};

struct store *playground_store(void);       /* opens a new one */
struct store *play_store(struct player *p); /* one of the open stores */
static inline bool is_wrong(const struct player *p)
{
    return p->out->wrong.len > 0;
}

/* ---- play_tree.c ---- */

struct tree_row {
    int64_t id, parent;
    char path[120];
    int status, attempts;
};

struct tree {
    struct tree_row *at; /* by id; the caller frees it */
    size_t n;
};
struct tree tree_of(struct player *p);
const struct tree_row *find_id(const struct tree *t, int64_t id); /* NULL if not found */
const struct tree_row *find_path(const struct tree *t, const char *path);
/* Compares the store with the model. */
void compare(struct player *p);
/* Compares how long each execution ran; call it when all have ended. */
void compare_durations(struct player *p);

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
    enum verb verb; /* an operator's request, or a timer */
    struct request request;
    struct rerun rerun;   /* for RERUN */
    int max;              /* for LIMIT */
    struct adoption take; /* nothing is claimed if claim.max is 0 */
    bool adopt, crash;

    struct held_job got[HELD_MAX];
    size_t ngot;
    int64_t due, due_root; /* for TIMER: whose timer was due, 0 if none */
    enum timer_kind due_kind;
};
struct act new_act(struct player *p, int64_t worker, size_t max);
/* Makes a turn. Its engine may die before the commit; then another engine repeats it. */
int try_turn(struct player *p, struct act *a, struct err *err);
void do_turn(struct player *p, struct act *a);
/* Continues sliced work until it is done, if the plan has any. */
void continue_slices(struct player *p);
/* Applies the consequences of the recorded events to the model, with the permits that the store
 * granted. */
void work_out(struct player *p);
/* Records claims and adoptions in the model. */
void note_claims(struct player *p, struct act *a);

/* ---- play_final.c ---- */

/* Compares the variables of a started job with the model, if it is on_failure or on_exit. */
void compare_final_task(struct player *p, int64_t id, const struct model_node *n);

/* ---- possible steps ---- */

size_t claim(struct player *p);
void settle(struct player *p);
void crash(struct player *p);

void operate_somehow(struct player *p);
void rerun_somehow(struct player *p);
/* Called when everything waits for an operator: makes a request that continues the run. False if
 * nothing waits. */
bool unblock_run(struct player *p);
void remove_limit(struct player *p);

/* Lets this much time pass, a little more if something is due soon after, and does everything that
 * is due; returns how much that was. */
size_t pass(struct player *p, int64_t us);
/* Lets time pass until the model's next timer is due. False if it has none. */
bool pass_until_due(struct player *p);
void pass_somehow(struct player *p);

#endif
