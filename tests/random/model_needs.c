/* model_needs.c - decides from the needs of a task whether it runs, is skipped, or waits. */
#include "model_inner.h"

static bool is_success(const struct model_node *n)
{
    return n->status == M_SUCCEEDED || (model_has_failed(n) && n->task->allow_failure) ||
           (n->status == M_SKIPPED && n->by_operator);
}

static bool is_failure(const struct model_node *n)
{
    return (model_has_failed(n) && !n->task->allow_failure) ||
           (n->status == M_SKIPPED && n->skipped_by_failure);
}

struct model_node *model_sibling(const struct model_node *n, int name)
{
    return n->parent->children[plan_index(n->in, name)];
}

struct needs {
    int all, ended, succeeded;
    bool failure, cancelled;
};

static struct needs needs_of(const struct model_node *n)
{
    struct needs f = {.all = n->task->nneeds};
    int i;

    for (i = 0; i < f.all; i++) {
        const struct model_node *need = model_sibling(n, n->task->needs[i]);

        f.ended += model_ended(need->status);
        f.succeeded += is_success(need);
        f.failure |= is_failure(need);
        f.cancelled |= need->status == M_CANCELLED;
    }
    return f;
}

enum truth { NO, YES, ERROR };

bool model_has_outputs(const struct model_node *n)
{
    return n->kind == M_JOB && n->status == M_SUCCEEDED;
}

/* Items that were not created, because the fan-out was stopped or cancelled, count as cancelled. */
static enum truth item_has_status(const struct model_node *n, int item, int word)
{
    if (!model_ended(n->status) || !n->children || item >= n->nchildren)
        return ERROR;
    return (n->children[item] ? n->children[item]->status : M_CANCELLED) == (enum model_status)word;
}

static enum truth evaluate(const struct model_node *n, const struct needs *f, int nth)
{
    const struct plan_cond *c = &n->task->conds[nth];
    enum truth left;

    switch (c->op) {
    case PLAN_SUCCESS: /* a join is evaluated only after enough needs have succeeded */
        return n->task->join || f->succeeded == f->all;
    case PLAN_FAILURE:
        return f->failure;
    case PLAN_CANCELLED:
        return f->cancelled;
    case PLAN_ALWAYS:
        return YES;
    case PLAN_STATUS:
        return model_sibling(n, c->task)->status == (enum model_status)c->word;
    case PLAN_OUTPUT:
        return model_has_outputs(model_sibling(n, c->task)) ? YES : ERROR;
    case PLAN_GONE:
        return ERROR;
    case PLAN_ITEM:
        return item_has_status(model_sibling(n, c->task), c->item, c->word);
    case PLAN_NOT:
        left = evaluate(n, f, c->left);
        return left == ERROR ? ERROR : left == YES ? NO : YES;
    case PLAN_AND:
        left = evaluate(n, f, c->left);
        return left == YES ? evaluate(n, f, c->right) : left;
    case PLAN_OR:
        left = evaluate(n, f, c->left);
        return left == NO ? evaluate(n, f, c->right) : left;
    }
    return ERROR;
}

/* Whether a condition calls success(), failure(), cancelled() or always(). */
static bool calls_status(const struct plan_task *t, int nth)
{
    const struct plan_cond *c = &t->conds[nth];

    if (c->op == PLAN_NOT)
        return calls_status(t, c->left);
    if (c->op == PLAN_AND || c->op == PLAN_OR)
        return calls_status(t, c->left) || calls_status(t, c->right);
    return c->op <= PLAN_ALWAYS;
}

void model_decide(struct model *m, struct model_node *n)
{
    const struct plan_task *t = n->task;
    struct needs f = needs_of(n);
    enum truth runs = t->join || f.succeeded == f.all;

    if (t->join && f.succeeded < t->join) {
        if (f.succeeded + f.all - f.ended >= t->join)
            return;
        runs = NO;
    } else if (!t->join && f.ended < f.all) {
        return;
    } else if (t->nconds && (runs == YES || calls_status(t, t->nconds - 1))) {
        runs = evaluate(n, &f, t->nconds - 1);
    }
    if (runs == ERROR) {
        n->status = M_FAILED;
    } else if (runs == NO) {
        n->status = M_SKIPPED;
        n->skipped_by_failure = f.failure;
    } else {
        model_be_ready(m, n);
    }
}
