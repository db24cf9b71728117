/* play_time.c - the clock, and the timers that are due; see play_inner.h.
 *
 * The model's time is the time that the test lets pass. The store's clock also advances a little by
 * itself, so no timer may be due within that margin: the test then lets time pass until after it.
 */
#include "play_inner.h"

#include "base/env.h"

#include <stdlib.h>

#define A_LITTLE (300 * SECOND)

/* Fires the first timer that is due; false if none is. */
static bool fire(struct player *p)
{
    static const char *const words[] = {[M_DELAY] = "delay", [M_TIMEOUT] = "timeout"};
    struct act a = new_act(p, 1, 0);
    const struct tree_row *at;
    struct model_node *n;
    enum model_timer kind;
    struct tree t;

    a.verb = TIMER;
    do_turn(p, &a);
    if (a.due_root != p->out->root || (a.due_kind != TIMER_DELAY && a.due_kind != TIMER_TIMEOUT)) {
        work_out(p);
        return a.due != 0;
    }
    kind = a.due_kind == TIMER_DELAY ? M_DELAY : M_TIMEOUT;
    t = tree_of(p);
    at = find_id(&t, a.due);
    n = at ? model_find(p->model, at->path) : NULL;
    buf_addf(&p->out->trace, "the %s of %s is over\n", words[kind], at ? at->path : "?");
    if (!n || !model_fire(p->model, n, kind, clock_boot_us() - p->begun))
        buf_addf(&p->out->wrong, "the %s of %s was over too early\n", words[kind],
                 at ? at->path : "?");
    work_out(p);
    free(t.at);
    return true;
}

size_t pass(struct player *p, int64_t us)
{
    int64_t due;
    size_t n = 0;

    model_note_times(p->model);
    while ((due = model_next_due(p->model)) && due > p->model->now + us &&
           due <= p->model->now + us + A_LITTLE)
        us = due - p->model->now;
    clock_advance(us);
    p->model->now += us;
    while (!is_wrong(p) && fire(p))
        n++;
    due = model_next_due(p->model);
    if (!is_wrong(p) && due && due <= p->model->now)
        buf_addstr(&p->out->wrong, "something is due, and was not done\n");
    return n;
}

bool pass_until_due(struct player *p)
{
    int64_t due = model_next_due(p->model);

    if (!due)
        return false;
    buf_addstr(&p->out->trace, "time passes\n");
    pass(p, due - p->model->now);
    return true;
}

void pass_somehow(struct player *p)
{
    if (plan_chance(&p->rng, 50) && pass_until_due(p))
        return;
    buf_addstr(&p->out->trace, "some time passes\n");
    pass(p, (int64_t)plan_below(&p->rng, 7200) * SECOND);
}
