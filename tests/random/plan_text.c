/* plan_text.c - a plan as text: conditions, lists, workflow files. */
#include "base/buf.h"
#include "model.h"

#include <stdio.h>

static void item(const struct plan_task *t, int nth, struct buf *out)
{
    if (t->each == PLAN_LIST)
        buf_addf(out, "{'%s': %d}", t->bad >> nth & 1 ? "b" : "a", nth);
    else
        buf_addf(out, "%d", nth);
}

static void condition(const struct plan_workflow *f, const struct plan_task *t, int nth,
                      struct buf *out)
{
    const struct plan_cond *c = &t->conds[nth];

    switch (c->op) {
    case PLAN_SUCCESS:
        buf_addstr(out, "success()");
        break;
    case PLAN_FAILURE:
        buf_addstr(out, "failure()");
        break;
    case PLAN_CANCELLED:
        buf_addstr(out, "cancelled()");
        break;
    case PLAN_ALWAYS:
        buf_addstr(out, "always()");
        break;
    case PLAN_STATUS:
        buf_addf(out, "tasks.t%d.status == '%s'", c->task, model_words[c->word]);
        break;
    case PLAN_OUTPUT:
        buf_addf(out, "tasks.t%d.outputs.n == 1", c->task);
        break;
    case PLAN_GONE:
        buf_addf(out, "tasks.t%d.outputs.gone == 1", c->task);
        break;
    case PLAN_ITEM:
        buf_addf(out, "tasks.t%d.outputs[%d].status == '%s' && ", c->task, c->item,
                 model_words[c->word]);
        buf_addf(out, "tasks.t%d.outputs[%d].item == ", c->task, c->item);
        item(&f->tasks[plan_index(f, c->task)], c->item, out);
        break;
    case PLAN_NOT:
        buf_addstr(out, "!(");
        condition(f, t, c->left, out);
        buf_addstr(out, ")");
        break;
    case PLAN_AND:
    case PLAN_OR:
        buf_addstr(out, "(");
        condition(f, t, c->left, out);
        buf_addstr(out, c->op == PLAN_AND ? ") && (" : ") || (");
        condition(f, t, c->right, out);
        buf_addstr(out, ")");
        break;
    }
}

void plan_condition(const struct plan_workflow *f, const struct plan_task *t, struct buf *out)
{
    condition(f, t, t->nconds - 1, out);
}

void plan_foreach(const struct plan_task *t, struct buf *out)
{
    int i;

    if (t->each == PLAN_NUMBER) {
        buf_addf(out, "%d", t->items);
    } else if (t->each == PLAN_LISTED) {
        buf_addf(out, "\"${{ tasks.t%d.outputs.list }}\"", t->listed_by);
    } else {
        buf_addstr(out, "[");
        for (i = 0; i < t->items; i++)
            buf_addf(out, "%s{\"%s\": %d}", i ? ", " : "", t->bad >> i & 1 ? "b" : "a", i);
        buf_addstr(out, "]");
    }
}

static void task(const struct plan *p, const struct plan_workflow *f, int index, struct buf *out)
{
    const struct plan_task *t = &f->tasks[index];
    int i;

    if (t->nested)
        buf_addf(out, "{workflow: w%d.flow.yaml", t->nested);
    else if (index >= f->ntasks) /* see play_final.c */
        buf_addstr(out, "{run: x, env: {TASKS: \"${{ toJSON(tasks) }}\", "
                        "WORKFLOW: \"${{ workflow.status }}\"}");
    else
        buf_addstr(out, t->each == PLAN_LIST ? "{argv: [x, \"${{ item.a }}\"]" : "{run: x");
    for (i = 0; i < t->nneeds; i++)
        buf_addf(out, "%st%d", i ? ", " : ", needs: [", t->needs[i]);
    if (t->nneeds)
        buf_addstr(out, "]");
    if (t->join)
        buf_addf(out, ", join: %d", t->join);
    if (t->nconds) {
        buf_addstr(out, ", if: \"");
        plan_condition(f, t, out);
        buf_addstr(out, "\"");
    }
    if (t->each != PLAN_ONE) {
        buf_addstr(out, ", foreach: ");
        plan_foreach(t, out);
        if (t->max_parallel)
            buf_addf(out, ", max_parallel: %d", t->max_parallel);
        if (t->fail_fast)
            buf_addstr(out, ", fail_fast: true");
    }
    if (t->allow_failure)
        buf_addstr(out, ", allow_failure: true");
    if (t->approval_timeout)
        buf_addf(out, ", approval: {timeout: %dh}", t->approval_timeout);
    else if (t->approval)
        buf_addstr(out, ", approval: true");
    if (t->delay)
        buf_addf(out, ", delay: %dh", t->delay);
    if (t->timeout && t->nested)
        buf_addf(out, ", timeout: %dh", t->timeout);
    if (t->key && !t->nested) /* a key of this run alone */
        buf_addf(out, ", concurrency: {key: \"k%d-${{ execution.root }}\", max: %d}", t->key,
                 p->key_max[t->key]);
    if (t->retries)
        buf_addf(out, ", retry: %d", t->retries);
    buf_addstr(out, "}\n");
}

void plan_yaml(const struct plan *p, int workflow, struct buf *out)
{
    const struct plan_workflow *f = &p->workflows[workflow];
    int stride = f->ntasks > 2 ? f->ntasks - 1 : 1, at = (int)(p->seed % (unsigned)f->ntasks), i;
    char name[16];

    /* not in the order of their needs: backwards from a random task */
    buf_addf(out, "name: w%d\n", workflow);
    if (f->timeout)
        buf_addf(out, "timeout: %dh\n", f->timeout);
    if (f->max)
        buf_addf(out, "concurrency: {key: \"w%d-${{ execution.root }}\", max: %d}\n", workflow,
                 f->max);
    buf_addstr(out, "tasks:\n");
    for (i = 0; i < f->ntasks; i++, at = (at + stride) % f->ntasks) {
        buf_addf(out, "  %s: ", plan_name(f, at, name));
        task(p, f, at, out);
    }
    if (f->on_failure) {
        buf_addstr(out, "on_failure: ");
        task(p, f, f->ntasks, out);
    }
    if (f->on_exit) {
        buf_addstr(out, "on_exit: ");
        task(p, f, f->ntasks + 1, out);
    }
}
