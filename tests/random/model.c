/* model.c - see model.h. This file creates nodes, starts them, and decides when everything has
 * ended. */
#include "model_inner.h"

#include "base/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const model_words[M_STATUSES] = {"none",      "pending",   "ready",
                                             "running",   "succeeded", "failed",
                                             "timed_out", "cancelled", "skipped"};

bool model_ended(enum model_status s)
{
    return s >= M_SUCCEEDED;
}

bool model_has_failed(const struct model_node *n)
{
    return n->status == M_FAILED || n->status == M_TIMED_OUT;
}

struct model_node *model_find(struct model *m, const char *path)
{
    struct model_node *n;

    for (n = m->all; n && strcmp(n->path, path) != 0;)
        n = n->next;
    return n;
}

/* ---- creating ---- */

static void name_node(const struct model_node *parent, int index, char out[120])
{
    char name[16];

    if (!parent)
        snprintf(out, 120, "w");
    else if (parent->kind == M_FAN_OUT)
        snprintf(out, 120, "%.100s[%d]", parent->path, index);
    else
        snprintf(out, 120, "%.100s/%s", parent->path, plan_name(parent->workflow, index, name));
}

/* Reuses a node that an earlier run created. */
static struct model_node *make(struct model *m, struct model_node *parent, int index,
                               enum model_kind kind)
{
    struct model_node *n;
    char path[120];

    name_node(parent, index, path);
    n = model_find(m, path);
    if (n) {
        model_renew(n);
        return parent->children[index] = n;
    }
    n = mem_zalloc(sizeof(*n));
    memcpy(n->path, path, sizeof(path));
    n->status = M_PENDING;
    n->kind = kind;
    n->item = parent && parent->kind == M_FAN_OUT ? index : -1;
    n->parent = parent;
    n->next = m->all;
    m->all = n;
    if (parent) {
        n->in = n->item >= 0 ? parent->in : parent->workflow;
        n->task = n->item >= 0 ? parent->task : &n->in->tasks[index];
        parent->children[index] = n;
    }
    if (kind == M_WORKFLOW)
        n->workflow = &m->plan->workflows[parent ? n->task->nested : 0];
    return n;
}

static struct model_node *make_task(struct model *m, struct model_node *workflow, int index)
{
    const struct plan_task *t = &workflow->workflow->tasks[index];

    return make(m, workflow, index,
                t->each != PLAN_ONE ? M_FAN_OUT
                : t->nested         ? M_WORKFLOW
                                    : M_JOB);
}

/* ---- starting ---- */

/* A fan-out asks for approval once, not for each item. */
bool model_is_approved(const struct model_node *n)
{
    return !n->task || !n->task->approval || n->item >= 0 || n->approved;
}

bool model_is_paused(const struct model_node *n)
{
    for (; n; n = n->parent)
        if (n->paused)
            return true;
    return false;
}

bool model_awaits_approval(const struct model_node *n)
{
    return !model_is_approved(n) &&
           (n->kind == M_JOB ? n->status == M_READY : n->status == M_PENDING && n->waits);
}

static void have_children(struct model_node *n, int all)
{
    free(n->children);
    n->children = mem_zalloc(((size_t)all + 1) * sizeof(*n->children));
    n->nchildren = all;
}

void model_go(struct model *m, struct model_node *n)
{
    const struct plan_task *t = n->task;
    char path[120];
    int i;

    switch (n->kind) {
    case M_JOB:
        n->status =
            n->item >= 0 && t->each == PLAN_LIST && t->bad >> n->item & 1 ? M_FAILED : M_READY;
        break;
    case M_WORKFLOW:
        have_children(n, n->workflow->ntasks + 2);
        for (i = 0; n->only_failed && i < n->workflow->ntasks; i++) {
            name_node(n, i, path);
            n->children[i] = model_find(m, path);
        }
        if (n->only_failed) {
            model_go_failed(m, n);
            break;
        }
        n->status = M_RUNNING;
        model_set_timeout(m, n);
        for (i = 0; i < n->workflow->ntasks; i++)
            make_task(m, n, i);
        break;
    case M_FAN_OUT:
        n->status = M_RUNNING;
        if (t->each != PLAN_LISTED)
            have_children(n, t->items);
        else if (model_has_outputs(model_sibling(n, t->listed_by)))
            have_children(n, model_sibling(n, t->listed_by)->list);
        else
            n->status = M_FAILED;
        break;
    }
}

/* A job becomes ready and is held if it must wait; a workflow or fan-out does not start then. */
void model_begin(struct model *m, struct model_node *n)
{
    n->waits = n->kind != M_JOB && (!model_is_approved(n) || model_is_paused(n) || n->delayed ||
                                    (n->kind == M_WORKFLOW && n->workflow->max && !n->has_permits));
    if (!n->waits)
        model_go(m, n);
}

/* ---- ending ---- */

static int open_below(const struct model_node *n)
{
    int open = 0, i;

    for (i = 0; i < n->nchildren; i++)
        open += n->children[i] && !model_ended(n->children[i]->status);
    return open;
}

static bool failed_below(const struct model_node *n)
{
    bool failed = false;
    int i;

    for (i = 0; i < n->nchildren; i++)
        failed |= n->children[i] && model_has_failed(n->children[i]) &&
                  (n->kind == M_FAN_OUT || !n->children[i]->task->allow_failure);
    return failed;
}

enum model_status model_end_status(const struct model_node *n)
{
    bool cancelled = n->cancel_asked;
    int i;

    for (i = 0; i < n->nchildren; i++)
        cancelled |= n->children[i] && n->children[i]->status == M_CANCELLED;
    return n->timed_out      ? M_TIMED_OUT
           : failed_below(n) ? M_FAILED
           : cancelled       ? M_CANCELLED
                             : M_SUCCEEDED;
}

static void work(struct model *m, struct model_node *n);

/* Runs on_failure or on_exit if it is wanted. True if it has ended or does not run. */
static bool at_the_end(struct model *m, struct model_node *n, int index, bool wanted)
{
    if (!n->children[index]) {
        if (!wanted)
            return true;
        model_be_ready(m, make_task(m, n, index));
    }
    work(m, n->children[index]);
    return model_ended(n->children[index]->status);
}

static void run_workflow_tasks(struct model *m, struct model_node *n)
{
    const struct plan_workflow *f = n->workflow;
    int i;

    for (i = 0; i < f->ntasks; i++) {
        if (n->children[i]->status == M_PENDING && !n->children[i]->waits)
            model_decide(m, n->children[i]);
        work(m, n->children[i]);
    }
    if (open_below(n) && !n->children[f->ntasks] && !n->children[f->ntasks + 1])
        return;
    if (!n->children[f->ntasks + 1] &&
        !at_the_end(m, n, f->ntasks,
                    f->on_failure && (n->timed_out || (failed_below(n) && !n->cancel_asked))))
        return;
    if (!at_the_end(m, n, f->ntasks + 1, f->on_exit))
        return;
    n->status = model_end_status(n);
}

/* Starts the next item; false if an earlier run has finished it. */
static bool next_item(struct model *m, struct model_node *n)
{
    struct model_node *old = NULL;
    char path[120];

    if (n->only_failed && n->made < n->had) {
        name_node(n, n->made, path);
        old = model_find(m, path);
    }
    if (old && (old->status == M_SUCCEEDED || old->by_operator)) {
        n->children[n->made] = old;
        return false;
    }
    if (old && model_reopen_failed(m, old, true))
        n->children[n->made] = old;
    else
        model_begin(m, make(m, n, n->made, n->task->nested ? M_WORKFLOW : M_JOB));
    return true;
}

static void work_each(struct model *m, struct model_node *n)
{
    const struct plan_task *t = n->task;
    bool again = true;
    int i, room;

    while (again) {
        again = false;
        for (i = 0; i < n->made; i++)
            work(m, n->children[i]);
        if (t->fail_fast && !n->stopped && failed_below(n)) {
            again = n->stopped = true;
            for (i = 0; i < n->made; i++)
                model_cancel(n->children[i], false);
        } else if (!n->stopped && !n->cancel_asked && n->made < n->nchildren) {
            room = t->max_parallel ? t->max_parallel - open_below(n) : n->nchildren;
            for (; room > 0 && n->made < n->nchildren; n->made++) {
                again = true;
                room -= next_item(m, n);
            }
        }
    }
    if (!open_below(n) && (n->made == n->nchildren || n->stopped || n->cancel_asked))
        n->status = model_end_status(n);
}

static void work(struct model *m, struct model_node *n)
{
    if (n->status == M_PENDING && n->waits)
        model_begin(m, n);
    if (n->status == M_RUNNING && n->kind == M_WORKFLOW)
        run_workflow_tasks(m, n);
    else if (n->status == M_RUNNING && n->kind == M_FAN_OUT)
        work_each(m, n);
}

void model_work_out(struct model *m)
{
    work(m, m->root);
}

/* ---- the whole model ---- */

struct model *model_new(const struct plan *p)
{
    struct model *m = mem_zalloc(sizeof(*m));

    m->plan = p;
    m->limit = -1;
    m->root = make(m, NULL, 0, M_WORKFLOW);
    model_begin(m, m->root);
    model_work_out(m);
    return m;
}

void model_free(struct model *m)
{
    struct model_node *n, *next;

    for (n = m->all; n; n = next) {
        next = n->next;
        free(n->children);
        free(n);
    }
    free(m);
}
