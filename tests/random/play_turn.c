/* play_turn.c - one turn, as an engine makes it; see play_inner.h. */
#include "play_inner.h"

#include "store/turn.h"

#include <stdlib.h>

static int operate_body(struct turn *t, enum verb verb, struct request *q, size_t slice,
                        struct err *err)
{
    bool more = false;
    int rc = 0;

    q->let_finish = verb == LET_FINISH;
    q->is_continuation = false;
    do {
        if (verb == CANCEL || verb == LET_FINISH)
            return op_cancel(t, q, 1, 1000, &more, err);
        if (verb == SKIP)
            return op_skip(t, q, 1, err);
        if (verb == APPROVE || verb == REJECT)
            return op_approve(t, q, 1, verb == APPROVE, err);
        rc = verb == PAUSE ? op_pause(t, q, 1, slice, &more, err)
                           : op_resume(t, q, 1, slice, &more, err);
        q->is_continuation = true;
    } while (!rc && !q->rc && more);
    return rc;
}

/* All slices at once. */
static int change_limit(struct turn *t, int max, struct err *err)
{
    struct limit_change l = {.key = "queue:default", .max = max, .slice = 3, .more = true};
    int rc = 0;

    while (!rc && l.more)
        rc = limit_body(t, &l, err);
    return rc;
}

/* Fires only the first timer that is due, so that the caller knows which one fired. */
static int timer_body(struct turn *t, struct act *a, struct err *err)
{
    struct rows r = ROWS_INIT;
    int rc;

    a->due = 0;
    if ((rc = turn_sync(t, err)))
        return rc;
    args_begin(&t->args, Q_TIMERS_DUE);
    args_int(&t->args, t->now);
    args_int(&t->args, 1);
    if (!(rc = turn_query(t, &t->args, &r, err)) && r.n) {
        a->due = rows_int(&r, 0, 0);
        a->due_kind = (enum timer_kind)rows_int(&r, 0, 1);
        a->due_root = rows_int(&r, 0, 2);
    }
    rows_release(&r);
    return rc || !a->due ? rc : op_fire_timers(t, &(struct timer_slice){.max = 1}, err);
}

static int act_body(struct turn *t, void *arg, struct err *err)
{
    struct act *a = arg;
    struct job_list jobs = {0};
    size_t i;
    int rc = 0;

    if (a->nsettle)
        rc = op_settle(t, a->take.claim.worker, a->settle, a->nsettle, err);
    if (!rc && a->verb == RERUN)
        rc = op_rerun(t, &a->rerun, err);
    else if (!rc && a->verb == LIMIT)
        rc = change_limit(t, a->max, err);
    else if (!rc && a->verb == TIMER)
        rc = timer_body(t, a, err);
    else if (!rc && a->verb)
        rc = operate_body(t, a->verb, &a->request, 1 + plan_below(&a->p->rng, 20), err);
    if (!rc)
        rc = op_advance(t, err);
    if (!rc && a->take.claim.max)
        rc = a->adopt ? op_adopt(t, &a->take, &jobs, err) : op_claim(t, &a->take.claim, &jobs, err);
    for (a->ngot = 0, i = 0; !rc && i < jobs.n; i++) {
        const struct execution *e = jobs.at[i];

        if (e->root == a->p->out->root) /* a failed play may have left other jobs */
            a->got[a->ngot++] = (struct held_job){.id = e->id,
                                                  .root = e->root,
                                                  .worker = e->worker,
                                                  .epoch = e->epoch,
                                                  .attempt = e->attempts};
    }
    return rc || !a->crash ? rc : err_set(err, E_INVALID, "the engine is gone");
}

static int continue_slices_body(struct turn *t, void *arg, struct err *err)
{
    struct timer_slice r = {.max = 1000};
    int rc = op_fire_timers(t, &r, err);

    *(size_t *)arg = r.n;
    return rc;
}

/* Only retry delays are due here: all other timers are applied to the model. */
void continue_slices(struct player *p)
{
    struct err err = ERR_INIT;
    size_t n = p->plan->notify_max || p->plan->keyed;

    while (n)
        CHECK_OK_ERR(store_turn(play_store(p), continue_slices_body, &n, &err), &err);
}

int try_turn(struct player *p, struct act *a, struct err *err)
{
    int rc;

    if (plan_chance(&p->rng, p->plan->crashes)) {
        a->crash = true;
        rc = store_turn(play_store(p), act_body, a, err);
        CHECK(rc == -E_INVALID || rc == -E_REFUSED); /* a rerun that has no permit */
        *err = (struct err)ERR_INIT;
        a->crash = false;
    }
    rc = store_turn(play_store(p), act_body, a, err);
    if (!rc && a->verb != TIMER)
        continue_slices(p);
    return rc;
}

void do_turn(struct player *p, struct act *a)
{
    struct err err = ERR_INIT;

    CHECK_OK_ERR(try_turn(p, a, &err), &err);
}

/* Grants permits in the model to workflows that have started in the store and only wait for a
 * permit in the model. The next one may get it when another has ended. Those that have ended in the
 * store come first: the others still have their permits. */
static bool give_permits(struct player *p, bool ended, const struct model_node **without)
{
    struct tree t = tree_of(p);
    struct model_node *n;
    bool any = false;

    if (ended)
        *without = NULL;
    for (n = p->model->all; n; n = n->next) {
        const struct tree_row *at = model_waits_for_permit(n) ? find_path(&t, n->path) : NULL;

        if (!at || at->status < M_RUNNING || at->status > M_TIMED_OUT ||
            (at->status > M_RUNNING) != ended)
            continue;
        if (model_permit(p->model, n)) {
            buf_addf(&p->out->trace, "%s gets its permit\n", n->path);
            model_work_out(p->model);
            any = true;
        } else {
            *without = n;
        }
    }
    free(t.at);
    return any;
}

void work_out(struct player *p)
{
    const struct model_node *without = NULL;

    model_work_out(p->model);
    while (p->plan->keyed && (give_permits(p, true, &without) || give_permits(p, false, &without)))
        ;
    if (without)
        buf_addf(&p->out->wrong, "%s has begun without a permit\n", without->path);
}

void note_claims(struct player *p, struct act *a)
{
    struct tree t = {0};
    size_t i;

    if (a->ngot)
        t = tree_of(p);
    for (i = 0; i < a->ngot && !is_wrong(p); i++) {
        const struct tree_row *at = find_id(&t, a->got[i].id);
        struct model_node *n = at ? model_find(p->model, at->path) : NULL;

        buf_addf(&p->out->trace, "%s %s by %lld\n", a->adopt ? "adopt" : "start",
                 at ? at->path : "?", (long long)a->got[i].worker);
        if (!n || (a->adopt ? n->status != M_RUNNING : !model_may_start(p->model, n)))
            buf_addf(&p->out->wrong, "%s was %s, which is %s in the model\n", at ? at->path : "?",
                     a->adopt ? "adopted" : "started",
                     !n                     ? "not there"
                     : n->status == M_READY ? "held"
                                            : model_words[n->status]);
        else if (!a->adopt)
            model_start(n);
        if (n && !a->adopt && !is_wrong(p))
            compare_final_task(p, a->got[i].id, n);
        p->held[p->nheld++] = (struct running){a->got[i], n};
    }
    model_note_times(p->model);
    free(t.at);
}

struct act new_act(struct player *p, int64_t worker, size_t max)
{
    static const struct lane_queue serves[] = {{"process", "default"}};
    struct act a = {.p = p};

    a.take =
        (struct adoption){.claim = {.worker = worker,
                                    .folder = "here",
                                    .lease = LEASE,
                                    .serves = serves,
                                    .nserves = 1,
                                    .max = max + p->nheld > HELD_MAX ? HELD_MAX - p->nheld : max,
                                    .push = plan_chance(&p->rng, 50)},
                          .host_grace = 300 * SECOND};
    return a;
}
