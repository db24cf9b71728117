/* model_rerun.c - reruns in place. First decides whether the rerun is allowed; then resets the
 * requested tasks and their followers as if they had not run, and reopens their ancestors. */
#include "model_inner.h"

#include <stdlib.h>
#include <string.h>

void model_renew(struct model_node *n)
{
    free(n->children);
    n->children = NULL;
    n->nchildren = n->made = n->had = n->tries = 0;
    n->status = M_PENDING;
    n->paused = false; /* the end of a node ends its pause */
    n->waits = n->approved = n->cancel_asked = n->finishing = false;
    n->by_operator = n->skipped_by_failure = n->stopped = n->only_failed = false;
    n->delayed = n->timed_out = n->has_permits = false;
}

/* ---- the tasks of a workflow that run again ---- */

struct marks {
    bool first[PLAN_TASKS + 2],
        follower[PLAN_TASKS + 2]; /* has a marked task among its needs, directly or not */
};

static bool is_marked(const struct marks *k, int i)
{
    return k->first[i] || k->follower[i];
}

/* Tasks are ordered after their needs. */
static void mark_followers(const struct plan_workflow *f, struct marks *k)
{
    int i, j;

    for (i = 0; i < f->ntasks; i++)
        for (j = 0; j < f->tasks[i].nneeds; j++)
            k->follower[i] |= is_marked(k, plan_index(f, f->tasks[i].needs[j]));
}

static bool mark_failed(const struct model_node *workflow, struct marks *k)
{
    bool any = false;
    int i;

    memset(k, 0, sizeof(*k));
    for (i = 0; workflow->children && i < workflow->workflow->ntasks; i++) {
        const struct model_node *c = workflow->children[i];

        k->first[i] = c->status == M_CANCELLED || (model_has_failed(c) && !c->task->allow_failure);
        any |= k->first[i];
    }
    mark_followers(workflow->workflow, k);
    return any;
}

static void mark_from(const struct plan_workflow *f, int task, struct marks *k)
{
    memset(k, 0, sizeof(*k));
    k->first[task] = true;
    mark_followers(f, k);
}

/* ---- reopening ---- */

/* Finished items stay; the others, and those never created, run within the fan-out's window. */
static void reopen_items(struct model_node *n)
{
    n->had = n->only_failed && n->had > n->made ? n->had : n->made;
    n->only_failed = true;
    n->made = 0;
    memset(n->children, 0, (size_t)n->nchildren * sizeof(*n->children));
    n->status = M_RUNNING;
    n->paused = n->cancel_asked = n->stopped = false;
}

/* The workflow's on_failure and on_exit run again. A workflow that had ended gets its whole timeout
 * again. */
static void open_workflow(const struct model *m, struct model_node *n)
{
    if (n->status != M_RUNNING) {
        model_set_timeout(m, n);
        n->paused = false;
    }
    n->status = M_RUNNING;
    n->cancel_asked = n->timed_out = false;
    n->children[n->workflow->ntasks] = n->children[n->workflow->ntasks + 1] = NULL;
}

/* `deeper`: of a failed node, only its failed descendants run again. `wait`: nested workflows wait
 * for their permits. */
static void reopen(struct model *m, struct model_node *workflow, const struct marks *k, bool deeper,
                   bool wait)
{
    int i;

    open_workflow(m, workflow);
    for (i = 0; i < workflow->workflow->ntasks; i++) {
        struct model_node *c = workflow->children[i];
        bool below = deeper && !k->follower[i] && c->children;

        if (!is_marked(k, i) || !model_ended(c->status))
            continue;
        if (below && c->kind == M_FAN_OUT)
            reopen_items(c);
        else if (!below || !model_reopen_failed(m, c, wait))
            model_renew(c);
    }
}

bool model_reopen_failed(struct model *m, struct model_node *n, bool wait)
{
    struct marks k;

    if (n->kind != M_WORKFLOW || !mark_failed(n, &k))
        return false;
    if (wait && n->workflow->max) { /* its tasks are part of it again when it starts */
        free(n->children);
        n->children = NULL;
        n->nchildren = 0;
        n->status = M_PENDING;
        n->only_failed = true;
        n->paused = n->cancel_asked = n->timed_out = n->has_permits = false;
        model_begin(m, n);
    } else {
        reopen(m, n, &k, true, wait);
    }
    return true;
}

void model_go_failed(struct model *m, struct model_node *n)
{
    struct marks k;

    n->only_failed = false;
    mark_failed(n, &k);
    reopen(m, n, &k, true, true);
}

/* ---- ancestors ---- */

/* Its index among its parent's children; -1 if it is not one of them in this run. */
static int index_of(const struct model_node *n)
{
    int i;

    for (i = 0; i < n->parent->nchildren; i++)
        if (n->parent->children[i] == n)
            return i;
    return -1;
}

bool model_is_current(const struct model_node *n)
{
    for (; n->parent; n = n->parent)
        if (index_of(n) < 0)
            return false;
    return true;
}

static bool may_reopen(const struct model_node *workflow, const struct marks *k);

/* Whether an ended node may be reopened as far as its ancestors allow it. */
static bool may_open_above(const struct model_node *n)
{
    const struct model_node *up = n->parent;
    struct marks k;

    if (!up)
        return true;
    if (up->kind == M_FAN_OUT)
        return model_ended(up->status) ? may_open_above(up) : !up->cancel_asked;
    if (index_of(n) >= up->workflow->ntasks)
        return false;
    mark_from(up->workflow, index_of(n), &k);
    k.first[index_of(n)] = false;
    return may_reopen(up, &k);
}

/* A workflow may not be reopened while it is ending, or while a task runs that would have to run
 * again. */
static bool may_reopen(const struct model_node *workflow, const struct marks *k)
{
    int n = workflow->workflow->ntasks, i;

    if (model_ended(workflow->status))
        return may_open_above(workflow);
    if (workflow->cancel_asked || workflow->children[n] || workflow->children[n + 1])
        return false;
    for (i = 0; i < n; i++) {
        const struct model_node *c = workflow->children[i];

        if (is_marked(k, i) && !model_ended(c->status) && (c->status != M_PENDING || c->waits))
            return false;
    }
    return true;
}

/* `n` had ended and is open again. The failure of another item remains: no more items are created
 * then. */
static void open_above(struct model *m, struct model_node *n)
{
    struct model_node *up = n->parent;
    bool ended = up && model_ended(up->status);
    struct marks k;
    int i;

    if (!up)
        return;
    if (up->kind == M_WORKFLOW) {
        mark_from(up->workflow, index_of(n), &k);
        k.first[index_of(n)] = false;
        reopen(m, up, &k, false, false);
    } else if (ended) {
        up->status = M_RUNNING;
        up->paused = up->cancel_asked = up->only_failed = up->stopped = false;
        for (i = 0; i < up->made; i++)
            up->stopped |= up->task->fail_fast && model_has_failed(up->children[i]);
    }
    if (ended)
        open_above(m, up);
}

/* ---- the request ---- */

static bool rerun_part(struct model *m, struct model_node *workflow, const struct marks *k,
                       bool deeper)
{
    bool ended = model_ended(workflow->status);

    if (!may_reopen(workflow, k))
        return false;
    reopen(m, workflow, k, deeper, false);
    if (ended)
        open_above(m, workflow);
    return true;
}

bool model_rerun(struct model *m, struct model_node *n, enum model_again what, int task)
{
    struct marks k;

    if ((what != M_FROM && !model_ended(n->status)) || !model_is_current(n))
        return false;
    if (what != M_WHOLE) {
        if (n->kind != M_WORKFLOW || !n->children || (what == M_ONLY_FAILED && !mark_failed(n, &k)))
            return false;
        if (what == M_FROM)
            mark_from(n->workflow, task, &k);
        return rerun_part(m, n, &k, what == M_ONLY_FAILED);
    }
    if (n->parent && n->parent->kind == M_WORKFLOW) {
        if (index_of(n) >= n->parent->workflow->ntasks)
            return false;
        mark_from(n->parent->workflow, index_of(n), &k);
        return rerun_part(m, n->parent, &k, false);
    }
    if (!may_open_above(n))
        return false;
    model_renew(n);
    if (!n->parent) {
        model_go(m, n);
        return true;
    }
    open_above(m, n);
    model_begin(m, n);
    return true;
}
