/* turns.c - decides when each loop makes a turn, runs it, and handles its result. A turn that
 * failed because of its data goes to bisect_turn.c. */
#include "engine/turn/plan.h"

#include <stdlib.h>
#include <string.h>

#define WAIT_AFTER_TIMES_LOCKED 3  /* after that, a command gets a turn that waits for locks */
#define COMMANDS_ENOUGH         32 /* enough for a turn although another loop has one under way */

/* ---- when ---- */

static bool has_commands(const struct loop *l, int64_t now)
{
    return l->ended.n || l->submits.n || l->logs.n || (l->starts_due && l->starts_due <= now);
}

/* Whether the loop could make a turn now that has something to do. */
static bool has_work(const struct loop *l)
{
    struct engine *e = l->e;
    int64_t now = engine_now(e);

    if (l->plan || l->retry_at > now)
        return false;
    return has_commands(l, now) ||
           (!e->stopping && ((e->adopt && e->adopt_at <= now && loop_may_adopt(l)) ||
                             (e->groups_to_poll && loop_may_claim(l) &&
                              (e->groups_to_poll & groups_with_capacity(e)))));
}

static bool is_any_under_way(const struct engine *e)
{
    for (size_t i = 0; i < e->nloops; i++)
        if (e->loops[i].plan)
            return true;
    return false;
}

/* Whether the loop should make a turn now. While another turn is under way, a further turn is worth
 * its commit only for many commands. A few commands wait until that turn has ended, as they would
 * with one loop, and are then written together. */
static bool is_needed(const struct loop *l)
{
    return has_work(l) && (l->has_waited || !l->threaded ||
                           loop_count_commands(l) >= COMMANDS_ENOUGH || !is_any_under_way(l->e));
}

bool turn_is_needed(struct engine *e)
{
    for (size_t i = 0; i < e->nloops; i++)
        if (is_needed(&e->loops[i]))
            return true;
    return false;
}

/* ---- one turn ---- */

static struct plan *start_turn(struct loop *l, struct turn_options m)
{
    struct plan *p = mem_alloc(sizeof(*p));

    env_point(l->e->env, "engine:turn");
    plan_make(l, p, m);
    l->has_waited = false;
    return l->plan = p;
}

/* Marks the loops that have waited for one turn of another loop: they need not wait for a
 * second. */
static void mark_waiting_loops(struct engine *e)
{
    for (size_t i = 0; i < e->nloops; i++)
        e->loops[i].has_waited |= has_work(&e->loops[i]);
}

/* Finishes the turn under way, whose result is `rc`. Returns rc. */
static int end_turn(struct loop *l, int rc, const struct err *err)
{
    struct plan *p = l->plan;

    if (rc)
        plan_commit_failed(l->e, p);
    else
        plan_commit_done(l->e, p);
    for (size_t i = 0; rc == -E_COMMIT_UNKNOWN && i < p->nsubmits; i++)
        refuse_submission(l, err); /* the submissions may be stored: report that the outcome is
                                      unknown */
    l->plan = NULL; /* cleared only now: the dispatcher counts the jobs that the plan claimed */
    mark_waiting_loops(l->e);
    plan_drop_unused_marks(p, rc);
    plan_release(p);
    free(p);
    return rc;
}

int turn_run(struct loop *l, struct turn_options m, struct err *err)
{
    int rc = plan_execute(start_turn(l, m), err);

    return end_turn(l, rc, err);
}

/* ---- results ---- */

static struct turn_options choose_turn_options(const struct loop *l)
{
    bool wait = (l->ended.n && l->ended.at[0]->times_locked >= WAIT_AFTER_TIMES_LOCKED) ||
                (l->submits.n && l->submits.at[0]->times_locked >= WAIT_AFTER_TIMES_LOCKED);
    size_t batch = wait ? 1 : TURN_MAX;

    return (struct turn_options){.max = {[PART_STARTS] = TURN_MAX,
                                         [PART_LOGS] = TURN_MAX,
                                         [PART_OUTCOMES] = batch,
                                         [PART_SUBMITS] = batch,
                                         [PART_CLAIMS] = SIZE_MAX},
                                 .wait_for_locks = wait};
}

/* Requeues commands whose lock could not be taken; a later turn waits for the lock again. */
static void requeue_first(struct loop *l)
{
    if (l->ended.n) {
        struct leased_job *h = l->ended.at[0];

        drop_first(&l->ended);
        *vec_add(&l->ended) = h;
        h->times_locked = 0;
    }
    if (l->submits.n)
        l->submits.at[0]->times_locked = 0;
}

/* Handles the result `rc` of a turn. An error means that the engine can't continue. */
static int handle_turn_result(struct loop *l, struct turn_options m, int rc, struct err *err)
{
    struct engine *e = l->e;

    if (is_row_fault(rc) && !m.wait_for_locks)
        rc = bisect_turn(l, rc, err);
    /* If the turn was committed, other workers find its tree through this worker's file. */
    e->left_work |= rc == -E_COMMIT_UNKNOWN;
    if (!rc) {
        l->failures = 0;
        l->retry_at = 0;
        return 0;
    }
    if (m.wait_for_locks && (rc == -E_BUSY || is_row_fault(rc))) { /* a later turn bisects the
                                                                      commands */
        requeue_first(l);
        return 0;
    }
    l->retry_at = engine_now(e) + back_off(l->failures++, 10000, 1000000);
    engine_note(e, err->msg);
    return is_transient(rc) ? 0 : rc;
}

int turns_start(struct engine *e, struct err *err)
{
    int rc = 0;

    for (size_t i = 0; !rc && i < e->nloops; i++) {
        struct loop *l = &e->loops[i];
        struct turn_options m = choose_turn_options(l);

        if (!is_needed(l))
            continue;
        if (l->threaded) {
            start_turn(l, m);
            loop_start_turn(l);
        } else {
            rc = handle_turn_result(l, m, turn_run(l, m, err), err);
        }
    }
    return rc;
}

static int handle_ended_turn(struct loop *l, struct err *err)
{
    struct turn_options m = l->plan->turn_options;

    *err = l->err;
    return handle_turn_result(l, m, end_turn(l, l->rc, err), err);
}

void turn_finish(struct loop *l)
{
    struct err err = ERR_INIT;

    if (!l->plan)
        return;
    loop_wait_turn(l);
    if (handle_ended_turn(l, &err))
        l->e->failure = err;
}

int turns_finish(struct engine *e, struct err *err)
{
    int rc = 0;

    for (size_t i = 0; !rc && i < e->nloops; i++)
        if (e->loops[i].plan && loop_poll_turn(&e->loops[i]))
            rc = handle_ended_turn(&e->loops[i], err);
    if (!rc && e->failure.code) {
        *err = e->failure;
        rc = -(int)err->code;
    }
    return rc;
}
