/* play.c - see play.h. */
#include "play.h"

#include "../fixture.h"
#include "flow/workflow.h"
#include "model.h"
#include "snapshot.h"
#include "store/query.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HELD_MAX 64
#define BATCH    6
#define RERUNS   3

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
    struct snapshots snapshots;
};

/* What a power cut would leave is none of this test's business. */
static struct store *open_store(void)
{
    struct store_options options = {.env = fixture_env()};
    struct err err = ERR_INIT;
    struct store *s = NULL;
    char url[4200];

    snprintf(url, sizeof(url), "%s%s", fixture_url(),
             strcmp(test_db(), "sqlite") ? "" : "?synchronous=normal");
    CHECK_OK_ERR(store_open(url, fixture_tenant(), &options, &s, &err), &err);
    return s;
}

static struct store *some_store(struct player *p)
{
    return p->ground->stores[plan_below(&p->rng, PLAY_STORES)];
}

static bool is_wrong(const struct player *p)
{
    return p->out->wrong.len > 0;
}

/* ---- the tree, by paths ---- */

struct place {
    int64_t id, parent;
    char path[120];
    int status, attempts;
};

struct tree {
    struct place *at;
    size_t n;
};

static int by_id(const void *a, const void *b)
{
    const struct place *x = a, *y = b;

    return (x->id > y->id) - (x->id < y->id);
}

static void name_place(struct tree *t, struct place *at, const char *task, int item)
{
    struct place key = {.id = at->parent};
    const struct place *up = bsearch(&key, t->at, t->n, sizeof(*t->at), by_id);

    if (!up)
        snprintf(at->path, sizeof(at->path), "w");
    else if (item >= 0)
        snprintf(at->path, sizeof(at->path), "%.100s[%d]", up->path, item);
    else
        snprintf(at->path, sizeof(at->path), "%.80s/%.20s", up->path, task);
}

/* Children have higher ids than their parents. */
static struct tree tree_of(struct player *p)
{
    struct execution_list l = {0};
    struct err err = ERR_INIT;
    struct tree t = {0};
    size_t i, k;

    CHECK_OK_ERR(query_tree(some_store(p), p->out->root, &l, &err), &err);
    t.at = calloc(l.n + 1, sizeof(*t.at));
    for (t.n = l.n, i = 0; i < l.n; i++)
        t.at[i] = (struct place){.id = l.at[i].id,
                                 .parent = l.at[i].parent,
                                 .status = l.at[i].status,
                                 .attempts = l.at[i].attempts};
    qsort(t.at, t.n, sizeof(*t.at), by_id);
    for (i = 0; i < t.n; i++)
        for (k = 0; k < l.n; k++)
            if (l.at[k].id == t.at[i].id)
                name_place(&t, &t.at[i], l.at[k].task_name, l.at[k].task_index);
    execution_list_release(&l);
    return t;
}

static const struct place *find_path(const struct tree *t, const char *path)
{
    size_t i;

    for (i = 0; i < t->n; i++)
        if (!strcmp(t->at[i].path, path))
            return &t->at[i];
    return NULL;
}

/* ---- one turn ---- */

enum verb { NOTHING, CANCEL, LET_FINISH, PAUSE, RESUME, SKIP, APPROVE, REJECT, RERUN };

static int operate_body(struct turn *t, enum verb verb, struct request *q, size_t slice,
                        struct err *err)
{
    bool more = false;
    int rc = 0;

    q->let_finish = verb == LET_FINISH;
    q->goes_on = false;
    do {
        if (verb == CANCEL || verb == LET_FINISH)
            return op_cancel(t, q, 1, 1000, &more, err);
        if (verb == SKIP)
            return op_skip(t, q, 1, err);
        if (verb == APPROVE || verb == REJECT)
            return op_approve(t, q, 1, verb == APPROVE, err);
        rc = verb == PAUSE ? op_pause(t, q, 1, slice, &more, err)
                           : op_resume(t, q, 1, slice, &more, err);
        q->goes_on = true;
    } while (!rc && !q->rc && more);
    return rc;
}

struct act {
    struct player *p;
    struct settlement settle[BATCH];
    size_t nsettle;
    enum verb verb; /* what an operator asks for */
    struct request request;
    struct rerun rerun;   /* of RERUN */
    struct adoption take; /* claim.max 0: nothing is claimed */
    bool adopt, crash;

    struct held_job got[HELD_MAX];
    size_t ngot;
};

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
    else if (!rc && a->verb)
        rc = operate_body(t, a->verb, &a->request, 1 + plan_below(&a->p->rng, 20), err);
    if (!rc)
        rc = op_advance(t, err);
    if (!rc && a->take.claim.max)
        rc = a->adopt ? op_adopt(t, &a->take, &jobs, err) : op_claim(t, &a->take.claim, &jobs, err);
    for (a->ngot = 0, i = 0; !rc && i < jobs.n; i++) {
        const struct execution *e = jobs.at[i];

        if (e->root == a->p->out->root) /* a play that went wrong may have left others */
            a->got[a->ngot++] = (struct held_job){.id = e->id,
                                                  .root = e->root,
                                                  .worker = e->worker,
                                                  .epoch = e->epoch,
                                                  .attempt = e->attempts};
    }
    return rc || !a->crash ? rc : err_set(err, E_INVALID, "the engine is gone");
}

/* The engine that does it may die before its commit; then another does it. */
static int try_turn(struct player *p, struct act *a, struct err *err)
{
    if (plan_chance(&p->rng, p->plan->crashes)) {
        a->crash = true;
        CHECK_EQ(store_turn(some_store(p), act_body, a, err), -E_INVALID);
        *err = (struct err)ERR_INIT;
        a->crash = false;
    }
    return store_turn(some_store(p), act_body, a, err);
}

static void do_turn(struct player *p, struct act *a)
{
    struct err err = ERR_INIT;

    CHECK_OK_ERR(try_turn(p, a, &err), &err);
}

static void note_claims(struct player *p, struct act *a)
{
    struct tree t = {0};
    size_t i;

    if (a->ngot)
        t = tree_of(p);
    for (i = 0; i < a->ngot && !is_wrong(p); i++) {
        struct place key = {.id = a->got[i].id};
        const struct place *at = bsearch(&key, t.at, t.n, sizeof(*t.at), by_id);
        struct model_node *n = at ? model_find(p->model, at->path) : NULL;

        buf_addf(&p->out->trace, "%s %s by %lld\n", a->adopt ? "adopt" : "start",
                 at ? at->path : "?", (long long)a->got[i].worker);
        if (!n || (a->adopt ? n->status != M_RUNNING : !model_may_start(n)))
            buf_addf(&p->out->wrong, "%s was %s, which is %s in the model\n", at ? at->path : "?",
                     a->adopt ? "adopted" : "started",
                     !n                     ? "not there"
                     : n->status == M_READY ? "held"
                                            : model_words[n->status]);
        else if (!a->adopt)
            model_start(n);
        p->held[p->nheld++] = (struct running){a->got[i], n};
    }
    free(t.at);
}

static struct act new_act(struct player *p, int64_t worker, size_t max)
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

/* ---- what may happen ---- */

static size_t claim(struct player *p)
{
    struct act a = new_act(p, 1 + plan_below(&p->rng, 3), 1 + plan_below(&p->rng, 8));

    do_turn(p, &a);
    note_claims(p, &a);
    return a.ngot;
}

static void fill_settlement(struct player *p, const struct running *r, struct settlement *s)
{
    static const enum outcome_kind kinds[] = {[PLAN_OK] = OUTCOME_OK,
                                              [PLAN_FAIL] = OUTCOME_FAILED,
                                              [PLAN_TIMEOUT] = OUTCOME_TIMED_OUT,
                                              [PLAN_CANCEL] = OUTCOME_CANCELLED,
                                              [PLAN_LOST] = OUTCOME_LOST,
                                              [PLAN_DEFER] = OUTCOME_DEFERRED,
                                              [PLAN_REFUSE] = OUTCOME_REFUSED};
    static const char *const results[] = {"{\"n\":1,\"list\":[]}", "{\"n\":1,\"list\":[0]}",
                                          "{\"n\":1,\"list\":[0,1]}", "{\"n\":1,\"list\":[0,1,2]}"};
    enum plan_end end = plan_end(p->plan, r->node->path, r->j.attempt);

    *s = (struct settlement){
        .lease = {.execution = r->j.id, .root = r->j.root, .epoch = r->j.epoch},
        .outcome = {.kind = kinds[end],
                    .error = end == PLAN_OK ? NULL : "it was made to fail",
                    .result = end == PLAN_OK
                                  ? results[plan_leaves(p->plan, r->node->path, r->j.attempt)]
                                  : NULL,
                    .duration = 1,
                    .retry_delay = plan_chance(&p->rng, 30) ? SECOND : 0}};
}

static void note_settled(struct player *p, const struct running *r, const struct settlement *s)
{
    static const char *const words[] = {"ok",   "failed",   "timed out", "cancelled",
                                        "lost", "deferred", "refused"};
    enum plan_end end = plan_end(p->plan, r->node->path, r->j.attempt);

    buf_addf(&p->out->trace, "end %s: %s\n", r->node->path, words[end]);
    if (s->lease.rc)
        buf_addf(&p->out->wrong, "%s could not be settled: %d\n", r->node->path, s->lease.rc);
    model_end(r->node, end, plan_leaves(p->plan, r->node->path, r->j.attempt));
    if (s->status != (int)r->node->status)
        buf_addf(&p->out->wrong, "%s was settled as %d, which is %s in the model\n", r->node->path,
                 s->status, model_words[r->node->status]);
}

/* Some jobs of one worker at once; it may claim in the same turn. */
static void settle(struct player *p)
{
    size_t first = plan_below(&p->rng, (unsigned)p->nheld), i, k;
    int64_t worker = p->held[first].j.worker;
    size_t max = plan_chance(&p->rng, p->plan->batches) ? 1 + plan_below(&p->rng, BATCH) : 1;
    struct act a = new_act(p, worker, plan_chance(&p->rng, 50) ? 1 + plan_below(&p->rng, 4) : 0);
    struct running done[BATCH];

    for (i = first; i < p->nheld && a.nsettle < max; i++)
        if (p->held[i].j.worker == worker) {
            fill_settlement(p, &p->held[i], &a.settle[a.nsettle]);
            done[a.nsettle++] = p->held[i];
            p->held[i].node = NULL;
        }
    do_turn(p, &a);
    for (i = 0; i < a.nsettle; i++)
        note_settled(p, &done[i], &a.settle[i]);
    if (a.nsettle > 1)
        buf_addf(&p->out->trace, "(these %zu at once)\n", a.nsettle);
    for (k = i = 0; i < p->nheld; i++)
        if (p->held[i].node)
            p->held[k++] = p->held[i];
    p->nheld = k;
    model_work_out(p->model);
    note_claims(p, &a);
}

static struct model_node *some_open(struct player *p)
{
    struct model_node *n, *chosen = p->model->root;
    unsigned seen = 0;

    for (n = plan_chance(&p->rng, 90) ? p->model->all : NULL; n; n = n->next)
        if (!model_ended(n->status) && !plan_below(&p->rng, ++seen))
            chosen = n;
    return chosen;
}

static bool tell_model(struct model_node *n, enum verb verb)
{
    switch (verb) {
    case CANCEL:
    case LET_FINISH:
        model_cancel(n, verb == LET_FINISH);
        return true;
    case PAUSE:
        return model_pause(n);
    case RESUME:
        return model_resume(n);
    case SKIP:
        return model_skip(n);
    default:
        return model_approve(n, verb == APPROVE);
    }
}

static void operate(struct player *p, struct model_node *n, enum verb verb)
{
    static const char *const words[] = {[CANCEL] = "cancel", [LET_FINISH] = "cancel --let-finish",
                                        [PAUSE] = "pause",   [RESUME] = "resume",
                                        [SKIP] = "skip",     [APPROVE] = "approve",
                                        [REJECT] = "reject"};
    struct tree t = tree_of(p);
    const struct place *at = find_path(&t, n->path);
    struct act a = new_act(p, 1, 0);
    bool taken;

    if (!at) {
        buf_addf(&p->out->wrong, "%s is not there, and %s in the model\n", n->path,
                 model_words[n->status]);
    } else {
        a.verb = verb;
        a.request = (struct request){.execution = at->id, .by = "a test", .reason = "chance"};
        do_turn(p, &a);
        taken = tell_model(n, verb);
        buf_addf(&p->out->trace, "%s %s%s\n", words[verb], n->path, taken ? "" : " (refused)");
        if (a.request.rc != (taken ? 0 : -E_INVALID))
            buf_addf(&p->out->wrong, "%s of %s gave %d\n", words[verb], n->path, a.request.rc);
        model_work_out(p->model);
    }
    free(t.at);
}

static void operate_somehow(struct player *p)
{
    static const enum verb mild[] = {PAUSE, PAUSE, RESUME, SKIP, APPROVE, REJECT};
    enum verb verb = mild[plan_below(&p->rng, 6)];
    struct model_node *n = some_open(p), *other;

    if (p->plan->cancels && plan_chance(&p->rng, 35))
        verb = plan_chance(&p->rng, 50) ? CANCEL : LET_FINISH;
    for (other = p->model->all; other && plan_chance(&p->rng, 97); other = other->next)
        if (verb == RESUME ? other->paused && !model_ended(other->status) : model_asks(other))
            n = verb == RESUME || verb == APPROVE || verb == REJECT ? other : n;
    operate(p, n, verb);
}

/* ---- running again ---- */

static void rerun(struct player *p, struct model_node *n, enum model_again what, int task)
{
    static const char *const words[] = {
        [M_WHOLE] = "rerun", [M_ONLY_FAILED] = "rerun --failed", [M_FROM] = "rerun --from"};
    static const enum rerun_what verbs[] = {
        [M_WHOLE] = RERUN_WHOLE, [M_ONLY_FAILED] = RERUN_ONLY_FAILED, [M_FROM] = RERUN_FROM_TASK};
    struct tree t = tree_of(p);
    const struct place *at = find_path(&t, n->path);
    struct act a = new_act(p, 1, 0);
    struct err err = ERR_INIT;
    char from[16] = "";
    bool taken;
    int rc;

    a.verb = RERUN;
    a.rerun = (struct rerun){.request = {.execution = at ? at->id : 0, .by = "a test"},
                             .what = verbs[what],
                             .from = what == M_FROM ? plan_name(n->flow, task, from) : NULL};
    clock_advance(1); /* turns are never at the same time, but for a clock that stands */
    rc = try_turn(p, &a, &err);
    rerun_release(&a.rerun);
    taken = model_rerun(p->model, n, what, task);
    buf_addf(&p->out->trace, "%s %s %s%s\n", words[what], from, n->path, taken ? "" : " (refused)");
    if (rc != (taken ? 0 : -E_INVALID))
        buf_addf(&p->out->wrong, "%s of %s gave %d: %s\n", words[what], n->path, rc, err.msg);
    model_work_out(p->model);
    free(t.at);
}

/* What is part of the last run, and has ended. */
static struct model_node *some_ended(struct player *p)
{
    struct model_node *n, *chosen = p->model->root;
    unsigned seen = 0;

    for (n = plan_chance(&p->rng, 70) ? p->model->all : NULL; n; n = n->next)
        if (model_ended(n->status) && model_is_current(n) && !plan_below(&p->rng, ++seen))
            chosen = n;
    return chosen;
}

static void rerun_somehow(struct player *p)
{
    struct model_node *n = some_ended(p);
    enum model_again what = n->kind == M_FLOW ? plan_below(&p->rng, 3) : M_WHOLE;

    rerun(p, n, what, what == M_FROM ? (int)plan_below(&p->rng, (unsigned)n->flow->ntasks) : 0);
}

/* Nothing is left but what waits for somebody. False: nobody is waited for. */
static bool let_go_on(struct player *p)
{
    struct model_node *n;

    for (n = p->model->all; n; n = n->next)
        if (!model_ended(n->status) && (n->paused || model_asks(n))) {
            operate(p, n, n->paused ? RESUME : APPROVE);
            return true;
        }
    return false;
}

/* All workers but one are gone for longer than a lease; another takes over what they ran. */
static void lose_workers(struct player *p)
{
    struct act a;
    size_t i, k;

    if (p->nheld)
        p->stale = p->held[0].j;
    clock_advance(LEASE + SECOND);
    for (k = i = 0; i < p->nheld; i++)
        if (p->held[i].j.worker == 3 && !heartbeat(some_store(p), p->held[i].j))
            p->held[k++] = p->held[i];
    p->nheld = k;
    reap(some_store(p));
    a = new_act(p, 3, HELD_MAX);
    a.adopt = true;
    do_turn(p, &a);
    note_claims(p, &a);
}

static void settle_too_late(struct player *p)
{
    if (p->stale.id && p->stale.worker != 3 &&
        settle_as(some_store(p), p->stale, OUTCOME_OK, -1) != -E_LEASE_LOST)
        buf_addstr(&p->out->wrong, "a worker settled what it had lost\n");
}

static void crash(struct player *p)
{
    struct store **s = &p->ground->stores[plan_below(&p->rng, PLAY_STORES)];

    if (plan_chance(&p->rng, 30)) {
        buf_addstr(&p->out->trace, "an engine starts again\n");
        store_close(s);
        *s = open_store();
    } else {
        buf_addstr(&p->out->trace, "workers are lost\n");
        lose_workers(p);
        settle_too_late(p);
    }
}

/* ---- from the beginning to the end ---- */

static int submit_body(struct turn *t, void *arg, struct err *err)
{
    return op_submit(t, arg, 1, err);
}

static bool write_files(const struct plan *p)
{
    struct buf text = BUF_INIT;
    char path[300];
    FILE *f;
    int i;

    for (i = 0; i < p->nflows; i++) {
        buf_reset(&text);
        plan_yaml(p, i, &text);
        snprintf(path, sizeof(path), "%s/w%d.flow.yaml", test_dir(), i);
        f = fopen(path, "w");
        CHECK(f && fputs(text.ptr, f) >= 0 && !fclose(f));
    }
    buf_release(&text);
    return true;
}

/* False: it is no valid workflow, as a smaller plan may be. */
static bool submit_plan(struct player *p)
{
    struct problems problems = PROBLEMS_INIT;
    struct arena arena = ARENA_INIT;
    struct submission sub = {0};
    struct buf text = BUF_INIT;
    const struct workflow *w;
    struct err err = ERR_INIT;
    char path[300];

    write_files(p->plan);
    snprintf(path, sizeof(path), "%s/w0.flow.yaml", test_dir());
    if (!workflow_load(path, &problems, &arena, &w, &err)) {
        workflow_write(w, &text);
        sub.definition = text.ptr;
        CHECK_OK_ERR(store_turn(some_store(p), submit_body, &sub, &err), &err);
        CHECK_OK_ERR(sub.rc, &sub.err);
    } else {
        buf_addf(&p->out->trace, "%s\n", err.msg);
    }
    p->out->root = sub.id;
    buf_release(&text);
    problems_release(&problems);
    arena_release(&arena);
    return sub.id != 0;
}

static void compare(struct player *p)
{
    struct tree t = tree_of(p);
    struct model_node *n;
    size_t i, nodes = 0;

    for (n = p->model->all; n; n = n->next) {
        const struct place *at = find_path(&t, n->path);

        nodes++;
        if (!at || at->status != (int)n->status)
            buf_addf(&p->out->wrong, "%s is %s, and %s in the model\n", n->path,
                     at ? model_words[at->status] : "not there", model_words[n->status]);
        else if (n->kind == M_JOB && at->attempts != n->starts)
            buf_addf(&p->out->wrong, "%s had %d attempts, and %d in the model\n", n->path,
                     at->attempts, n->starts);
    }
    for (i = 0; i < t.n && nodes < t.n; i++)
        if (!model_find(p->model, t.at[i].path))
            buf_addf(&p->out->wrong, "%s is %s, and not there in the model\n", t.at[i].path,
                     model_words[t.at[i].status]);
    free(t.at);
}

/* False: nothing was left to do. */
static bool step(struct player *p)
{
    if (plan_chance(&p->rng, p->plan->operates))
        operate_somehow(p);
    else if (plan_chance(&p->rng, p->plan->crashes))
        crash(p);
    else if (p->nheld && (p->nheld > HELD_MAX / 2 || plan_chance(&p->rng, 60)))
        settle(p);
    else if (!claim(p) && !p->nheld) {
        clock_advance(2 * SECOND);
        return run_timers(some_store(p)) > 0 || let_go_on(p);
    }
    return true;
}

static void play_to_the_end(struct player *p)
{
    int idle = 0;

    while (!is_wrong(p) && idle < 3 && !model_ended(p->model->root->status)) {
        idle = step(p) ? 0 : idle + 1;
        if (plan_chance(&p->look, 5))
            snapshot_take(&p->snapshots, p->ground->stores[0], p->out->root);
    }
    if (!is_wrong(p) && claim(p))
        buf_addstr(&p->out->wrong, "there are jobs after the end\n");
    compare(p);
}

void play(struct playground *g, const struct plan *plan, struct played *out)
{
    struct player p = {.ground = g,
                       .plan = plan,
                       .rng = {plan_mix(plan->seed, 11)},
                       .look = {plan_mix(plan->seed, 12)},
                       .out = out};
    char codes[200];
    int i;

    *out = (struct played){.trace = BUF_INIT};
    if (!submit_plan(&p))
        return;
    p.model = model_new(plan);
    play_to_the_end(&p);
    for (i = 0; i < RERUNS && !is_wrong(&p) && plan_chance(&p.rng, plan->reruns); i++) {
        rerun_somehow(&p);
        compare(&p);
        if (plan_chance(&p.rng, 10) && verify_count(some_store(&p), codes, sizeof(codes)))
            buf_addf(&out->wrong, "verify finds %s\n", codes);
        play_to_the_end(&p);
    }
    snapshots_compare(&p.snapshots, g->stores[0], &out->wrong);
    model_free(p.model);
}

void played_release(struct played *out)
{
    buf_release(&out->trace);
    buf_release(&out->wrong);
}

void playground_open(struct playground *g)
{
    int i;

    for (i = 0; i < PLAY_STORES; i++)
        g->stores[i] = open_store();
}

void playground_close(struct playground *g)
{
    int i;

    for (i = 0; i < PLAY_STORES; i++)
        store_close(&g->stores[i]);
}
