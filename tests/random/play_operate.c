/* play_operate.c - operators: their requests for one node or for the queue; see play_inner.h. */
#include "play_inner.h"

#include <stdlib.h>

static struct model_node *some_open(struct player *p)
{
    struct model_node *n, *chosen = p->model->root;
    unsigned seen = 0;

    for (n = plan_chance(&p->rng, 90) ? p->model->all : NULL; n; n = n->next)
        if (!model_ended(n->status) && !plan_below(&p->rng, ++seen))
            chosen = n;
    return chosen;
}

static bool apply_to_model(struct model_node *n, enum verb verb)
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
    const struct tree_row *at = find_path(&t, n->path);
    struct act a = new_act(p, 1, 0);
    bool taken;

    if (!at) {
        buf_addf(&p->out->wrong, "%s is not there, and %s in the model\n", n->path,
                 model_words[n->status]);
    } else {
        a.verb = verb;
        a.request = (struct request){.execution = at->id, .by = "a test", .reason = "chance"};
        do_turn(p, &a);
        taken = apply_to_model(n, verb);
        buf_addf(&p->out->trace, "%s %s%s\n", words[verb], n->path, taken ? "" : " (refused)");
        if (a.request.rc != (taken ? 0 : -E_INVALID))
            buf_addf(&p->out->wrong, "%s of %s gave %d\n", words[verb], n->path, a.request.rc);
        work_out(p);
    }
    free(t.at);
}

/* ---- the queue ---- */

static void limit(struct player *p, int max)
{
    struct act a = new_act(p, 1, 0);

    a.verb = LIMIT;
    a.max = p->model->limit = max;
    do_turn(p, &a);
    buf_addf(&p->out->trace, "at most %d at once\n", max);
}

void remove_limit(struct player *p)
{
    if (p->model->limit >= 0)
        limit(p, -1);
}

/* ---- reruns ---- */

static void rerun(struct player *p, struct model_node *n, enum model_again what, int task)
{
    static const char *const words[] = {
        [M_WHOLE] = "rerun", [M_ONLY_FAILED] = "rerun --failed", [M_FROM] = "rerun --from"};
    static const enum rerun_scope verbs[] = {
        [M_WHOLE] = RERUN_WHOLE, [M_ONLY_FAILED] = RERUN_ONLY_FAILED, [M_FROM] = RERUN_FROM_TASK};
    struct tree t = tree_of(p);
    const struct tree_row *at = find_path(&t, n->path);
    struct act a = new_act(p, 1, 0);
    struct err err = ERR_INIT;
    char from[16] = "";
    bool taken;
    int rc;

    a.verb = RERUN;
    a.rerun = (struct rerun){.request = {.execution = at ? at->id : 0, .by = "a test"},
                             .what = verbs[what],
                             .from = what == M_FROM ? plan_name(n->workflow, task, from) : NULL};
    model_note_times(p->model);
    clock_advance(1); /* no two turns have the same time, except when the clock stands still */
    p->model->now++;
    rc = try_turn(p, &a, &err);
    rerun_release(&a.rerun);
    if (rc == -E_REFUSED && model_some_crowded(p->model)) {
        buf_addf(&p->out->trace, "%s %s %s (no permit)\n", words[what], from, n->path);
        free(t.at);
        return;
    }
    taken = model_rerun(p->model, n, what, task);
    buf_addf(&p->out->trace, "%s %s %s%s\n", words[what], from, n->path, taken ? "" : " (refused)");
    if (rc != (taken ? 0 : -E_INVALID))
        buf_addf(&p->out->wrong, "%s of %s gave %d: %s\n", words[what], n->path, rc, err.msg);
    if (taken && model_some_exceeded(p->model))
        buf_addf(&p->out->wrong, "%s of %s went on without a permit\n", words[what], n->path);
    work_out(p);
    free(t.at);
    if (!is_wrong(p))
        compare(p);
}

/* An ended node: mostly of the last run, or of an earlier one, for which the request is refused. */
static struct model_node *some_ended(struct player *p)
{
    struct model_node *n, *chosen = p->model->root;
    bool current = plan_chance(&p->rng, 85);
    unsigned seen = 0;

    for (n = plan_chance(&p->rng, 70) ? p->model->all : NULL; n; n = n->next)
        if (model_ended(n->status) && model_is_current(n) == current &&
            !plan_below(&p->rng, ++seen))
            chosen = n;
    return chosen;
}

void rerun_somehow(struct player *p)
{
    struct model_node *n = some_ended(p);
    enum model_again what = n->kind == M_WORKFLOW ? plan_below(&p->rng, 3) : M_WHOLE;

    rerun(p, n, what, what == M_FROM ? (int)plan_below(&p->rng, (unsigned)n->workflow->ntasks) : 0);
}

bool unblock_run(struct player *p)
{
    struct model_node *n;

    for (n = p->model->all; n; n = n->next)
        if (!model_ended(n->status) && (n->paused || model_awaits_approval(n))) {
            operate(p, n, n->paused ? RESUME : APPROVE);
            return true;
        }
    if (p->model->limit < 0)
        return false;
    remove_limit(p);
    return true;
}

/* ---- one random request ---- */

void operate_somehow(struct player *p)
{
    static const enum verb mild[] = {PAUSE, PAUSE, RESUME, SKIP, APPROVE, REJECT};
    enum verb verb = mild[plan_below(&p->rng, 6)];
    struct model_node *n = some_open(p), *other;

    if (p->plan->limits && plan_chance(&p->rng, 20)) {
        limit(p, (int)plan_below(&p->rng, 5) - 1);
        return;
    }
    if (p->plan->reruns && plan_chance(&p->rng, 20)) {
        rerun_somehow(p);
        return;
    }
    if (p->plan->cancels && plan_chance(&p->rng, 35))
        verb = plan_chance(&p->rng, 50) ? CANCEL : LET_FINISH;
    for (other = p->model->all; other && plan_chance(&p->rng, 97); other = other->next)
        if (verb == RESUME ? other->paused && !model_ended(other->status)
                           : model_awaits_approval(other))
            n = verb == RESUME || verb == APPROVE || verb == REJECT ? other : n;
    operate(p, n, verb);
}
