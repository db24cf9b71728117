/* plan_smaller.c - reduces a plan, one thing at a time, to find the smallest one that still fails.
 */
#include "plan.h"

#include <string.h>

static bool refers_to(const struct plan_task *t, int name)
{
    int i;

    for (i = 0; i < t->nconds; i++)
        if ((t->conds[i].op == PLAN_STATUS || t->conds[i].op == PLAN_OUTPUT ||
             t->conds[i].op == PLAN_GONE || t->conds[i].op == PLAN_ITEM) &&
            t->conds[i].task == name)
            return true;
    return false;
}

static void drop_need(struct plan_task *t, int nth)
{
    memmove(t->needs + nth, t->needs + nth + 1, sizeof(*t->needs) * (size_t)(t->nneeds - nth - 1));
    t->nneeds--;
    if (t->join > t->nneeds)
        t->join = t->nneeds;
    t->nconds = 0; /* its conditions may refer to tasks reached through that need */
    if (t->each == PLAN_LISTED)
        t->each = PLAN_NUMBER;
}

static void drop_task(struct plan_workflow *f, int index)
{
    int name = f->tasks[index].name, i, k;

    for (i = index + 1; i < f->ntasks; i++) {
        struct plan_task *t = &f->tasks[i];

        for (k = t->nneeds - 1; k >= 0; k--)
            if (t->needs[k] == name)
                drop_need(t, k);
        if (refers_to(t, name))
            t->nconds = 0;
    }
    memmove(f->tasks + index, f->tasks + index + 1,
            sizeof(*f->tasks) * (size_t)(f->ntasks + 1 - index));
    f->ntasks--;
}

static bool is_nth(int *nth)
{
    return (*nth)-- == 0;
}

static bool simpler(struct plan_task *t, int *nth)
{
    int i;

#define SIMPLER(member, value)                 \
    if (t->member != (value) && is_nth(nth)) { \
        t->member = (value);                   \
        return true;                           \
    }
    SIMPLER(nested, 0)
    SIMPLER(each, PLAN_ONE)
    SIMPLER(nconds, 0)
    SIMPLER(join, 0)
    SIMPLER(retries, 0)
    SIMPLER(allow_failure, false)
    SIMPLER(approval_timeout, 0)
    SIMPLER(approval, false)
    SIMPLER(delay, 0)
    SIMPLER(timeout, 0)
    SIMPLER(key, 0)
    SIMPLER(fail_fast, false)
    SIMPLER(max_parallel, 0)
    SIMPLER(bad, 0)
#undef SIMPLER
    if (t->each != PLAN_ONE && t->items > 1 && is_nth(nth)) {
        t->items--;
        return true;
    }
    for (i = 0; i < t->nneeds; i++)
        if (is_nth(nth)) {
            drop_need(t, i);
            return true;
        }
    return false;
}

/* Removes many at once while there are many. */
static bool half(struct plan_workflow *f, int *nth)
{
    int keep = f->ntasks / 2;

    if (f->ntasks < 6 || !is_nth(nth))
        return false;
    while (f->ntasks > keep)
        drop_task(f, f->ntasks - 1);
    return true;
}

static bool smaller_workflow(struct plan_workflow *f, int *nth)
{
    int i;

    if (half(f, nth))
        return true;
    for (i = f->ntasks - 1; i >= 0 && f->ntasks > 1; i--)
        if (is_nth(nth)) {
            drop_task(f, i);
            return true;
        }
    if (f->on_failure && is_nth(nth)) {
        f->on_failure = false;
        return true;
    }
    if (f->on_exit && is_nth(nth)) {
        f->on_exit = false;
        return true;
    }
    if (f->timeout && is_nth(nth)) {
        f->timeout = 0;
        return true;
    }
    if (f->max && is_nth(nth)) {
        f->max = 0;
        return true;
    }
    for (i = 0; i < f->ntasks + 2; i++)
        if (simpler(&f->tasks[i], nth))
            return true;
    return false;
}

bool plan_smaller(struct plan *p, int nth)
{
    unsigned *rates[] = {&p->crashes, &p->operates, &p->batches,
                         &p->passes,  &p->reruns,   &p->notify_max};
    bool *also[] = {&p->cancels, &p->limits};
    int i;

    for (i = 0; i < 6; i++)
        if (*rates[i] && is_nth(&nth)) {
            *rates[i] = 0;
            return true;
        }
    for (i = 0; i < 2; i++)
        if (*also[i] && is_nth(&nth)) {
            *also[i] = false;
            return true;
        }
    for (i = 0; i < p->nworkflows; i++)
        if (smaller_workflow(&p->workflows[i], &nth))
            return true;
    return false;
}
