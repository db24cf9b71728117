/* plan_nest.c - plans with nested fan-outs: many items, each a workflow with its own fan-outs. More
 * of them start in one turn than a store caches lists for between turns. */
#include "plan_inner.h"

#include "base/mem.h"

#define MOST_ITEMS 24

static struct plan_workflow *new_workflow(struct plan_rng *r, struct plan *p, int workflow,
                                          int ntasks)
{
    struct plan_workflow *f = &p->workflows[workflow];
    int i;

    f->ntasks = ntasks;
    f->tasks = mem_zalloc(((size_t)ntasks + 2) * sizeof(*f->tasks));
    f->on_failure = plan_chance(r, 20);
    f->on_exit = plan_chance(r, 20);
    for (i = 0; i < ntasks + 2; i++)
        f->tasks[i].name = i;
    return f;
}

/* The innermost workflow: several short lists that start together. */
static void make_inner(struct plan_rng *r, struct plan *p, int workflow)
{
    struct plan_workflow *f = new_workflow(r, p, workflow, 1 + (int)plan_below(r, 4));
    int i;

    for (i = 0; i < f->ntasks; i++) {
        struct plan_task *t = &f->tasks[i];

        t->each = PLAN_NUMBER;
        t->items = (int)plan_below(r, 3);
        t->max_parallel = plan_chance(r, 20);
        t->fail_fast = plan_chance(r, 20);
        if (i && plan_chance(r, 15))
            t->needs[t->nneeds++] = i - 1;
    }
}

/* The workflows above it: lists of workflows. */
static void make_outer(struct plan_rng *r, struct plan *p, int workflow, int ntasks, int least,
                       int most)
{
    struct plan_workflow *f = new_workflow(r, p, workflow, ntasks);
    int i;

    for (i = 0; i < ntasks; i++) {
        struct plan_task *t = &f->tasks[i];

        t->each = PLAN_NUMBER;
        t->items = least + (int)plan_below(r, (unsigned)(most - least + 1));
        t->nested = workflow + 1;
        if (plan_chance(r, 70))
            t->max_parallel = 2 + (int)plan_below(r, 12);
        t->fail_fast = plan_chance(r, 20);
    }
}

static void fit(struct plan *p)
{
    struct plan_workflow *f = p->workflows;
    int i;

    while (plan_nodes(p) > PLAN_NODES)
        for (i = 0; i < f->ntasks; i++)
            f->tasks[i].items -= f->tasks[i].items > 1;
}

bool plan_nest(struct plan *p)
{
    struct plan_rng r = {plan_mix(p->seed, 16)};

    p->nests = plan_chance(&r, 6);
    if (!p->nests)
        return false;
    p->batches = 50;
    p->nworkflows = plan_chance(&r, 30) ? 3 : 2;
    make_inner(&r, p, p->nworkflows - 1);
    if (p->nworkflows == 3)
        make_outer(&r, p, 1, 1, 1, 3);
    make_outer(&r, p, 0, 1 + (int)plan_below(&r, 2), MOST_ITEMS / 3, MOST_ITEMS);
    fit(p);
    return true;
}
