/* turns.c - when the loops make their turns, and what follows one that failed (culprit.c). */
#include "engine/plan.h"

#include <stdlib.h>
#include <string.h>

#define WAIT_AFTER 3  /* a tree that was locked so often is waited for, alone */
#define ENOUGH     32 /* commands for a turn beside another one */

/* ---- when ---- */

static bool has_commands(const struct loop *l, int64_t now)
{
    return l->ended.n || l->submits.n || l->logs.n || (l->starts_due && l->starts_due <= now);
}

/* Something is to be done that it can do. */
static bool has_work(const struct loop *l)
{
    struct engine *e = l->e;
    int64_t now = engine_now(e);

    if (l->plan || l->retry_at > now)
        return false;
    return has_commands(l, now) ||
           (!e->stopping && ((e->adopt && e->adopt_at <= now && loop_adopts(l)) ||
                             (e->hungry && loop_claims(l) && (e->hungry & groups_with_room(e)))));
}

static bool is_any_under_way(const struct engine *e)
{
    size_t i;

    for (i = 0; i < e->nloops; i++)
        if (e->loops[i].plan)
            return true;
    return false;
}

/* Beside another turn one is worth its commit only for many commands; few wait until that one has
 * ended, as they would if there were one loop, and so come in larger sets. */
static bool is_needed(const struct loop *l)
{
    return has_work(l) &&
           (l->waited || !l->threaded || loop_commands(l) >= ENOUGH || !is_any_under_way(l->e));
}

bool turn_is_needed(struct engine *e)
{
    size_t i;

    for (i = 0; i < e->nloops; i++)
        if (is_needed(&e->loops[i]))
            return true;
    return false;
}

/* ---- one turn ---- */

static struct plan *begin(struct loop *l, struct manner m)
{
    struct plan *p = mem_alloc(sizeof(*p));

    env_point(l->e->env, "engine:turn");
    plan_make(l, p, m);
    l->waited = false;
    return l->plan = p;
}

/* Those who have waited for a turn have done so for long enough. */
static void wait_no_longer(struct engine *e)
{
    size_t i;

    for (i = 0; i < e->nloops; i++)
        e->loops[i].waited |= has_work(&e->loops[i]);
}

/* What came of it is `rc`, which is returned. */
static int end(struct loop *l, int rc, const struct err *err)
{
    struct plan *p = l->plan;
    size_t i;

    if (rc)
        plan_undo(l->e, p);
    else
        plan_answer(l->e, p);
    for (i = 0; rc == -E_COMMIT_UNKNOWN && i < p->nsubmits; i++)
        refuse_submission(l, err); /* they may be stored: never is the opposite said */
    l->plan = NULL;                /* not before what it claimed is counted by the dispatcher */
    wait_no_longer(l->e);
    plan_release(p);
    free(p);
    return rc;
}

int turn_run(struct loop *l, struct manner m, struct err *err)
{
    int rc = plan_do(begin(l, m), err);

    return end(l, rc, err);
}

/* ---- after it ---- */

static struct manner manner_of(const struct loop *l)
{
    if ((l->ended.n && l->ended.at[0]->busy >= WAIT_AFTER) ||
        (l->submits.n && l->submits.at[0]->busy >= WAIT_AFTER))
        return (struct manner){.most = 1, .wait = true};
    return (struct manner){.most = TURN_MAX};
}

/* What was waited for in vain comes back to that after some more turns. */
static void let_others_go_first(struct loop *l)
{
    if (l->ended.n) {
        struct held *h = l->ended.at[0];

        drop_first(&l->ended);
        *vec_add(&l->ended) = h;
        h->busy = 0;
    }
    if (l->submits.n)
        l->submits.at[0]->busy = 0;
}

/* After a turn that ended with `rc`: an error is one that this engine can't go on with. */
static int look_after(struct loop *l, struct manner m, int rc, struct err *err)
{
    struct engine *e = l->e;

    if (rc && !m.wait && !is_hopeless(rc))
        rc = find_culprit(l, m.most, rc, err);
    e->left_some |= rc == -E_COMMIT_UNKNOWN; /* perhaps: then others find it by our file */
    if (!rc) {
        l->failures = 0;
        l->retry_at = 0;
        return 0;
    }
    if (m.wait && (rc == -E_BUSY || !is_hopeless(rc))) { /* in another turn it is narrowed down */
        let_others_go_first(l);
        return 0;
    }
    l->retry_at = engine_now(e) + back_off(l->failures++, 10000, 1000000);
    engine_note(e, err->msg);
    return is_for_later(rc) ? 0 : rc;
}

int turns_make(struct engine *e, struct err *err)
{
    size_t i;
    int rc = 0;

    for (i = 0; !rc && i < e->nloops; i++) {
        struct loop *l = &e->loops[i];
        struct manner m = manner_of(l);

        if (!is_needed(l))
            continue;
        if (l->threaded) {
            begin(l, m);
            loop_give(l);
        } else {
            rc = look_after(l, m, turn_run(l, m, err), err);
        }
    }
    return rc;
}

static int finish(struct loop *l, struct err *err)
{
    struct manner m = l->plan->manner;

    *err = l->err;
    return look_after(l, m, end(l, l->rc, err), err);
}

void turn_finish(struct loop *l)
{
    struct err err = ERR_INIT;

    if (!l->plan)
        return;
    loop_await(l);
    if (finish(l, &err))
        l->e->failure = err;
}

int turns_end(struct engine *e, struct err *err)
{
    size_t i;
    int rc = 0;

    for (i = 0; !rc && i < e->nloops; i++)
        if (e->loops[i].plan && loop_take(&e->loops[i]))
            rc = finish(&e->loops[i], err);
    if (!rc && e->failure.code) {
        *err = e->failure;
        rc = -(int)err->code;
    }
    return rc;
}
