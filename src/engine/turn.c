/* turn.c - one turn of the loop: everything that waits is written, orphans are adopted, jobs are
 * claimed; one commit. What can't be written is narrowed down until the culprit is alone. */
#include "engine/plan.h"

#include <stdlib.h>
#include <string.h>

#define WAIT_AFTER 3 /* a tree that was locked so often is waited for, alone */

/* The groups of lanes, a bit each, in which another job can be run. */
static uint64_t groups_with_room(struct engine *e)
{
    size_t n, i;
    const struct lane_group *groups = dispatch_lanes(e->dispatch, &n);
    int slots = dispatch_room(e->dispatch);
    uint64_t some = 0;

    for (i = 0; i < n; i++)
        if (lane_group_room(&groups[i], slots) > 0 && (groups[i].begin || !e->slot_wanted))
            some |= group_bit(i);
    return some;
}

bool turn_is_needed(struct engine *e)
{
    int64_t now = engine_now(e);

    if (e->retry_at > now)
        return false;
    return e->ended.n || e->submits.n || e->logs.n || (e->starts_due && e->starts_due <= now) ||
           (e->adopt && !e->stopping) || (!e->stopping && (e->hungry & groups_with_room(e)));
}

/* ---- inside of the transaction ---- */

/* What runs belongs to the generation in which it was begun. If that is over, so is this worker:
 * the next one ends what is left of it, and then adopts. */
int check_generation(const struct engine *e, int64_t now, struct err *err)
{
    if (now == e->generation)
        return 0;
    return err_set(err, E_CONFLICT,
                   "the database was fenced (generation %lld, this worker has %lld): start the "
                   "worker again",
                   (long long)now, (long long)e->generation);
}

static int adopt(struct turn *t, struct plan *p, struct err *err)
{
    struct job_list jobs;
    size_t i;
    int rc = op_adopt(t, &p->adoption, &jobs, err);

    for (i = 0; !rc && i < jobs.n; i++)
        *vec_add(&p->adopted) = jobs.at[i];
    p->more_orphans = !rc && jobs.n == p->adoption.claim.max;
    return rc;
}

/* Adopts and claims: nobody does of another generation. */
static int take_jobs(struct turn *t, struct plan *p, struct err *err)
{
    int rc;

    rows_release(&p->generation);
    if (!p->adopt && !p->ask)
        return 0;
    if ((rc = turn_ask_generation(t, &p->generation, err)) ||
        (p->adopt && (rc = adopt(t, p, err))) || (p->ask && (rc = plan_claim(t, p, err))))
        return rc;
    return p->adopted.n || p->claimed.n
               ? check_generation(p->e, turn_generation(&p->generation), err)
               : 0;
}

/* Whoever finds us dead must find our tree by our file: so it is written before the tree can be
 * there. A name that leads nowhere does no harm. */
static int note_here(struct plan *p, struct err *err)
{
    size_t i;
    int rc = 0;

    for (i = 0; !rc && p->e->o.here && i < p->nsubmits; i++)
        if (!p->submissions[i].rc && !p->submissions[i].existed)
            rc = folder_set_here(p->e->folder, p->submissions[i].id, err);
    return rc;
}

/* Its tree was locked when its start was to be written: that comes first, in another turn. */
static bool start_waits(const struct plan *p, int64_t execution)
{
    size_t i;

    for (i = 0; p->busy_starts && i < p->nstarts; i++)
        if (p->starts[i].lease.rc == -E_BUSY && p->starts[i].lease.execution == execution)
            return true;
    return false;
}

static int settle(struct turn *t, struct plan *p, struct err *err)
{
    struct settlement *now = arena_alloc(&p->texts, (p->nsettles + 1) * sizeof(*now));
    size_t i, n = 0;
    int rc;

    for (p->busy_starts = false, i = 0; i < p->nstarts; i++)
        p->busy_starts |= p->starts[i].lease.rc == -E_BUSY;
    for (i = 0; i < p->nsettles; i++)
        if (start_waits(p, p->settles[i].lease.execution))
            p->settles[i].lease.rc = -E_BUSY;
        else {
            p->settles[i].lease.rc = 0;
            now[n++] = p->settles[i];
        }
    rc = op_settle(t, p->e->row.id, now, n, err);
    for (i = p->nsettles; !rc && i-- > 0;)
        if (p->settles[i].lease.rc != -E_BUSY)
            p->settles[i] = now[--n];
    return rc;
}

static int body(struct turn *t, void *arg, struct err *err)
{
    struct plan *p = arg;
    int64_t worker = p->e->row.id;
    int rc;

    p->adopted.n = p->claimed.n = 0;
    p->exhausted = p->dry = 0;
    p->slot_wanted = false;
    p->taken_at = engine_now(p->e);
    op_submit_limits(t, p->submissions, p->nsubmits);
    if ((rc = op_foresee(t, p->settles, p->nsettles, err)) ||
        (rc = op_started(t, worker, p->starts, p->nstarts, err)) ||
        (rc = op_log(t, worker, p->logs, p->nlogs, err)) || (rc = settle(t, p, err)) ||
        (rc = op_submit(t, p->submissions, p->nsubmits, err)) || (rc = note_here(p, err)) ||
        (rc = op_advance(t, err)))
        return rc;
    if (!p->bare && !p->e->stopping && !p->e->o.poll && op_made_ready(t))
        p->ask = UINT64_MAX; /* what follows is pushed, also where nothing waited before */
    return take_jobs(t, p, err);
}

/* ---- a turn that fails ---- */

/* What can't be written even alone: a submission is refused, an outcome becomes a failure that says
 * why. Never is a job left running because of it. */
static void give_in(struct engine *e, const struct err *err)
{
    if (e->submits.n) {
        struct pending_submit *s = e->submits.at[0];

        s->s.rc = -(int)err->code;
        s->s.err = *err;
        if (s->done)
            s->done(s->arg, &s->s);
        free(s);
        drop_first(&e->submits, 1);
    } else if (e->ended.n && e->ended.at[0]->busy >= 0) {
        struct held *h = e->ended.at[0];

        free((char *)h->outcome.result);
        free((char *)h->outcome.error);
        h->outcome =
            (struct outcome){.kind = OUTCOME_FAILED,
                             .error = mem_printf("the outcome can't be stored: %s", err->msg),
                             .duration = -1,
                             .retry_delay = -1};
        h->busy = -1; /* if that fails too, the lease runs out */
    } else if (e->ended.n) {
        struct held *h = e->ended.at[0];

        drop_first(&e->ended, 1);
        dispatch_forget(e->dispatch, h->execution, h->attempt);
        held_remove(e, h);
    }
}

/* How a turn is made: of how many commands, and whether it also takes new work and waits. */
struct manner {
    size_t most;
    bool wait, bare;
};

static int run(struct engine *e, struct manner m, struct err *err)
{
    struct plan p;
    int rc;

    env_point(e->env, "engine:turn");
    plan_make(e, &p, m.most);
    if ((p.bare = m.bare)) {
        p.ask = 0;
        p.adopt = false;
    }
    rc = m.wait ? store_turn_waiting(e->store, body, &p, err) : store_turn(e->store, body, &p, err);
    if (!rc)
        plan_answer(e, &p);
    plan_release(&p);
    return rc;
}

/* Halves what fails until the culprit is alone. A turn that may be stored is never repeated: with
 * it this worker ends, and what it may have claimed is found by others. */
static int run_halving(struct engine *e, size_t most, struct err *err)
{
    size_t n = e->ended.n + e->submits.n;
    int rc = run(e, (struct manner){.most = most}, err);
    struct err alone = ERR_INIT;

    if (!rc || is_for_later(rc) || rc == -E_COMMIT_UNKNOWN || rc == -E_CONFLICT || !n)
        return rc;
    if (most > 1)
        return run_halving(e, most / 2, err);
    if (!run(e, (struct manner){.most = 1, .bare = true}, &alone))
        return rc; /* it is not what was to be written, but what was to be claimed */
    give_in(e, &alone);
    return 0;
}

int turn_make(struct engine *e, struct err *err)
{
    bool wait = e->ended.n && e->ended.at[0]->busy >= WAIT_AFTER;
    int rc = wait ? run(e, (struct manner){.most = 1, .wait = true}, err)
                  : run_halving(e, TURN_MAX, err);

    if (!rc) {
        e->failures = 0;
        e->retry_at = 0;
        return 0;
    }
    if (wait && rc == -E_BUSY) { /* the others first; it comes back here after some more turns */
        struct held *h = e->ended.at[0];

        drop_first(&e->ended, 1);
        *vec_add(&e->ended) = h;
        h->busy = 0;
        return 0;
    }
    e->retry_at = engine_now(e) + back_off(e->failures++, 10000, 1000000);
    if (e->env->note)
        e->env->note(e->env->arg, err->msg);
    return is_for_later(rc) ? 0 : rc;
}
