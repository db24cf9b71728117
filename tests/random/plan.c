/* plan.c - creates plans and decides how their tasks end; see plan.h. */
#include "plan_inner.h"

#include "base/mem.h"
#include "model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- random numbers ---- */

uint64_t plan_mix(uint64_t a, uint64_t b)
{
    uint64_t x = a * 0x9E3779B97F4A7C15u + b + 0x632BE59BD9B4E019u;

    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9u;
    x = (x ^ x >> 27) * 0x94D049BB133111EBu;
    return x ^ x >> 31;
}

uint64_t plan_random(struct plan_rng *r)
{
    return plan_mix(r->state++, 1);
}

unsigned plan_below(struct plan_rng *r, unsigned n)
{
    return (unsigned)(plan_random(r) >> 11) % n;
}

bool plan_chance(struct plan_rng *r, unsigned percent)
{
    return plan_below(r, 100) < percent;
}

static int one_of(struct plan_rng *r, const int *list, int n)
{
    return list[plan_below(r, (unsigned)n)];
}

/* ---- tasks ---- */

int plan_index(const struct plan_workflow *f, int name)
{
    int i;

    for (i = 0; i < f->ntasks; i++)
        if (f->tasks[i].name == name)
            return i;
    return -1;
}

const char *plan_name(const struct plan_workflow *f, int index, char out[16])
{
    if (index >= f->ntasks)
        return index == f->ntasks ? "on_failure" : "on_exit";
    snprintf(out, 16, "t%d", f->tasks[index].name);
    return out;
}

static int nodes_of_workflow(const struct plan *p, int workflow);

static int nodes_of(const struct plan *p, const struct plan_task *t)
{
    int one = t->nested ? nodes_of_workflow(p, t->nested) : 1;

    return t->each == PLAN_ONE ? one : 1 + one * (t->each == PLAN_LISTED ? 3 : t->items);
}

static int nodes_of_workflow(const struct plan *p, int workflow)
{
    const struct plan_workflow *f = &p->workflows[workflow];
    int n = 1, i;

    for (i = 0; i < f->ntasks + 2; i++)
        n += nodes_of(p, &f->tasks[i]);
    return n;
}

int plan_nodes(const struct plan *p)
{
    return nodes_of_workflow(p, 0);
}

static void make_needs(struct plan_rng *r, struct plan_task *t, int index)
{
    int wanted = plan_chance(r, 15) ? 0 : 1 + (int)plan_below(r, PLAN_NEEDS), i;

    for (; wanted > 0 && index > 0; wanted--) {
        /* mostly the tasks right before it, so that graphs get deep, too */
        int back = 1 + (int)plan_below(r, plan_chance(r, 70) ? 4 : (unsigned)index);
        int name = back > index ? 0 : index - back;

        for (i = 0; i < t->nneeds && t->needs[i] != name; i++)
            ;
        if (i == t->nneeds)
            t->needs[t->nneeds++] = name;
    }
    if (t->nneeds > 1 ? plan_chance(r, 40) : t->nneeds && plan_chance(r, 5))
        t->join = 1 + (int)plan_below(r, (unsigned)t->nneeds);
}

/* A task that this task needs, directly or through other tasks. */
static int some_need(struct plan_rng *r, const struct plan_workflow *f, const struct plan_task *t)
{
    int need = one_of(r, t->needs, t->nneeds);

    while (f->tasks[need].nneeds && plan_chance(r, 25))
        need = one_of(r, f->tasks[need].needs, f->tasks[need].nneeds);
    return need;
}

/* A task without outputs must not be referred to. */
static bool has_outputs(const struct plan_workflow *f, int task)
{
    return f->tasks[task].each == PLAN_ONE && !f->tasks[task].nested;
}

static int make_condition(struct plan_rng *r, const struct plan_workflow *f, struct plan_task *t,
                          int depth)
{
    struct plan_cond c = {0};
    unsigned what = plan_below(r, 100);
    bool leaf = depth >= 2 || plan_chance(r, 45);

    if (!leaf) {
        c.op = what < 25 ? PLAN_NOT : what < 60 ? PLAN_AND : PLAN_OR;
        c.left = make_condition(r, f, t, depth + 1);
        c.right = c.op == PLAN_NOT ? 0 : make_condition(r, f, t, depth + 1);
    } else if (!t->nneeds || what < 60) {
        c.op = what < 12   ? PLAN_ALWAYS
               : what < 25 ? PLAN_CANCELLED
               : what < 42 ? PLAN_FAILURE
                           : PLAN_SUCCESS;
    } else {
        c.op = what < 92 ? PLAN_STATUS : what < 97 ? PLAN_OUTPUT : PLAN_GONE;
        c.task = some_need(r, f, t);
        if (!has_outputs(f, c.task))
            c.op =
                f->tasks[c.task].each != PLAN_ONE && plan_chance(r, 60) ? PLAN_ITEM : PLAN_STATUS;
        c.item = (int)plan_below(r, PLAN_MAX_ITEMS / 2);
        c.word = plan_chance(r, 80) ? M_SUCCEEDED + (int)plan_below(r, 5)
                                    : M_PENDING + (int)plan_below(r, 3);
    }
    t->conds[t->nconds] = c;
    return t->nconds++;
}

static void make_items(struct plan_rng *r, const struct plan_workflow *f, struct plan_task *t)
{
    static const int kinds[] = {PLAN_LIST, PLAN_NUMBER, PLAN_NUMBER, PLAN_LISTED};

    t->each = (enum plan_each)one_of(r, kinds, 4);
    t->items = (int)plan_below(r, PLAN_MAX_ITEMS + 1);
    if (t->each == PLAN_LISTED && t->nneeds)
        t->listed_by = one_of(r, t->needs, t->nneeds);
    if (t->each == PLAN_LISTED && (!t->nneeds || !has_outputs(f, t->listed_by)))
        t->each = PLAN_LIST;
    if (t->each == PLAN_LIST && plan_chance(r, 30))
        t->bad = plan_below(r, 1u << PLAN_MAX_ITEMS);
    if (plan_chance(r, 50))
        t->max_parallel = 1 + (int)plan_below(r, 3);
    t->fail_fast = plan_chance(r, 40);
}

static void make_task(struct plan_rng *r, struct plan *p, int workflow, int index, int budget)
{
    struct plan_workflow *f = &p->workflows[workflow];
    struct plan_task *t = &f->tasks[index];
    bool last = index >= f->ntasks; /* on_failure and on_exit */

    *t = (struct plan_task){.name = index};
    if (!last) {
        make_needs(r, t, index);
        if (plan_chance(r, 40))
            make_condition(r, f, t, 0);
        t->allow_failure = plan_chance(r, 15);
        t->approval = plan_chance(r, 12);
        if (plan_chance(r, 20))
            make_items(r, f, t);
    }
    if (workflow + 1 < p->nworkflows && plan_chance(r, 20))
        t->nested = workflow + 1 + (int)plan_below(r, (unsigned)(p->nworkflows - workflow - 1));
    if (nodes_of(p, t) > budget) {
        t->nested = 0;
        t->each = PLAN_ONE;
    }
    if (!t->nested && plan_chance(r, 25))
        t->retries = 1 + (int)plan_below(r, 2);
}

static void make_workflow(struct plan_rng *r, struct plan *p, int workflow, int ntasks, int nodes)
{
    struct plan_workflow *f = &p->workflows[workflow];
    int i;

    f->ntasks = ntasks;
    f->tasks = mem_zalloc(((size_t)ntasks + 2) * sizeof(*f->tasks));
    f->on_failure = plan_chance(r, 30);
    f->on_exit = plan_chance(r, 30);
    for (i = 0; i < ntasks + 2; i++) {
        make_task(r, p, workflow, i, nodes / 4);
        nodes -= nodes_of(p, &f->tasks[i]) - 1;
    }
}

static void make_workflows(struct plan_rng *r, struct plan *p, int size)
{
    int i;

    p->nworkflows =
        1 + (int)plan_below(r, PLAN_WORKFLOWS < PLAN_DEPTH + 1 ? PLAN_WORKFLOWS : PLAN_DEPTH + 1);
    for (i = p->nworkflows - 1; i > 0; i--)
        make_workflow(r, p, i, 1 + (int)plan_below(r, size < 12 ? 4 : 10), PLAN_NODES >> (i + 1));
    make_workflow(r, p, 0, size, PLAN_NODES - size);
}

struct plan *plan_new(uint64_t seed)
{
    static const int failing[] = {0, 5, 15, 30, 50}, rarely[] = {0, 2, 5, 12, 25};
    static const int sizes[] = {4, 8, 8, 12, 25, 60, 200};
    struct plan *p = mem_zalloc(sizeof(*p));
    struct plan_rng r = {plan_mix(seed, 7)};
    int size = 1 + (int)plan_below(&r, (unsigned)one_of(&r, sizes, 7));

    p->seed = seed;
    p->failing = (unsigned)one_of(&r, failing, 5);
    p->operates = (unsigned)one_of(&r, rarely, 5);
    p->cancels = plan_chance(&r, 60);
    p->crashes = (unsigned)one_of(&r, rarely, 5);
    p->batches = plan_chance(&r, 50) ? 50 : 0;
    if (!plan_nest(p))
        make_workflows(&r, p, size);
    p->reruns = plan_chance(&r, 60) ? 70 : 0;
    plan_add_holds(p);
    plan_add_slices(p);
    return p;
}

struct plan *plan_copy(const struct plan *p)
{
    struct plan *copy = mem_alloc(sizeof(*copy));
    int i;

    *copy = *p;
    for (i = 0; i < p->nworkflows; i++) {
        size_t size = ((size_t)p->workflows[i].ntasks + 2) * sizeof(*p->workflows[i].tasks);

        copy->workflows[i].tasks = memcpy(mem_alloc(size), p->workflows[i].tasks, size);
    }
    return copy;
}

void plan_free(struct plan *p)
{
    int i;

    for (i = 0; i < p->nworkflows; i++)
        free(p->workflows[i].tasks);
    free(p);
}

/* ---- how tasks end ---- */

static uint64_t hash_of(const struct plan *p, const char *path, int attempt)
{
    uint64_t h = plan_mix(p->seed, (uint64_t)attempt);

    for (; *path; path++)
        h = plan_mix(h, (unsigned char)*path);
    return h;
}

enum plan_end plan_end(const struct plan *p, const char *path, int attempt)
{
    uint64_t h = hash_of(p, path, attempt);
    unsigned how = (unsigned)(h >> 20) % 100;

    if ((unsigned)(h >> 40) % 100 >= p->failing)
        return PLAN_OK;
    return how < 55   ? PLAN_FAIL
           : how < 67 ? PLAN_TIMEOUT
           : how < 77 ? PLAN_LOST
           : how < 85 ? PLAN_CANCEL
           : how < 93 ? PLAN_DEFER
                      : PLAN_REFUSE;
}

int plan_list_length(const struct plan *p, const char *path, int attempt)
{
    return (int)(hash_of(p, path, -attempt) >> 30) & 3;
}
