/* plan_holds.c - adds delays, timeouts and limits, which hold or end tasks independently of the
 * graph, to a plan, and sets its slice sizes. */
#include "plan_inner.h"

static int hours(struct plan_rng *r)
{
    return 1 + (int)plan_below(r, 9);
}

static void add_to_task(struct plan_rng *r, struct plan_task *t, bool last, unsigned timed,
                        unsigned keyed)
{
    if (!last && plan_chance(r, timed))
        t->delay = hours(r);
    if (t->approval && plan_chance(r, 2 * timed))
        t->approval_timeout = hours(r);
    if (t->nested && plan_chance(r, timed))
        t->timeout = hours(r) + hours(r);
    if (!t->nested && plan_chance(r, keyed))
        t->key = 1 + (int)plan_below(r, PLAN_KEYS);
}

/* A workflow keeps its permit while its nested workflows wait for theirs. Each file has its own key
 * and nests only later files, so there is no cycle of waits. */
static void add_keys(struct plan *p)
{
    struct plan_rng r = {plan_mix(p->seed, 15)};
    int i;

    p->keyed = plan_chance(&r, 50);
    for (i = 0; p->keyed && i < p->nworkflows; i++)
        if (plan_chance(&r, 60))
            p->workflows[i].max = 1 + (int)plan_below(&r, 2);
}

int plan_waiting(const struct plan *p)
{
    int n = 0, i, k;

    for (i = 0; i < p->nworkflows; i++)
        for (k = 0; k < p->workflows[i].ntasks; k++) {
            const struct plan_task *t = &p->workflows[i].tasks[k];

            if (t->nested && p->workflows[t->nested].max)
                n += t->each == PLAN_ONE ? 1 : t->items;
        }
    return n;
}

void plan_add_holds(struct plan *p)
{
    struct plan_rng r = {plan_mix(p->seed, 13)};
    unsigned timed = plan_chance(&r, 50) ? 10 + plan_below(&r, 30) : 0;
    unsigned keyed = plan_chance(&r, 40) ? 10 + plan_below(&r, 60) : 0;
    int i, k;

    p->passes = timed ? plan_below(&r, 15) : 0;
    p->limits = plan_chance(&r, 30);
    for (i = 1; i <= PLAN_KEYS; i++)
        p->key_max[i] = 1 + (int)plan_below(&r, 3);
    for (i = 0; i < p->nworkflows; i++) {
        struct plan_workflow *f = &p->workflows[i];

        if (plan_chance(&r, timed))
            f->timeout = hours(&r) + hours(&r);
        for (k = 0; k < f->ntasks + 2; k++)
            add_to_task(&r, &f->tasks[k], k >= f->ntasks, timed, keyed);
    }
    if (!timed) /* a workflow that has its permit may or may not have tasks yet when its timeout
                   fires */
        add_keys(p);
}

/* Followers are notified over several turns. Then the order of these turns decides when a join is
 * decided, and whether fail_fast finds a task pending or already skipped; the model does not know
 * that order. */
void plan_add_slices(struct plan *p)
{
    struct plan_rng r = {plan_mix(p->seed, 14)};
    struct plan_workflow *f = p->workflows;
    int k;

    p->notify_max = plan_chance(&r, 25) ? 1 + plan_below(&r, 3) : 0;
    for (; p->notify_max && f < p->workflows + p->nworkflows; f++)
        for (k = 0; k < f->ntasks; k++) {
            f->tasks[k].join = 0;
            f->tasks[k].fail_fast = false;
        }
}

void plan_only_graph(struct plan *p)
{
    int i, k;

    p->passes = 0;
    p->limits = p->keyed = false;
    for (i = 0; i < p->nworkflows; i++) {
        struct plan_workflow *f = &p->workflows[i];

        f->timeout = f->max = 0;
        for (k = 0; k < f->ntasks + 2; k++) {
            struct plan_task *t = &f->tasks[k];

            t->approval = false;
            t->delay = t->approval_timeout = t->timeout = t->key = 0;
        }
    }
}
