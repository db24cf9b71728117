/* interpret_definition.c - the workflows of a plan as definitions of src/core, without a file in
 * between. */
#include "interpret_inner.h"

#include "base/buf.h"
#include "base/mem.h"
#include "core/expr/expr.h"

#include <string.h>

static const char *keep_text(struct interpreter *in, struct buf *b)
{
    const char *s = arena_strdup(&in->arena, buf_cstr(b));

    buf_release(b);
    return s;
}

/* The condition as the parser stores it, with success() added if it calls no status function. */
static const char *complete_condition(struct interpreter *in, const char *condition)
{
    struct expr_text text = {.at = condition, .len = strlen(condition)};
    struct expr_fault fault;
    const struct expr *e;
    const char *full = NULL;

    if (expr_parse_condition(&text, &in->arena, &e, &fault))
        (void)!expr_fault_err(&fault, &in->err);
    else
        full = expr_complete_condition(e, &in->arena);
    return full ? full : condition;
}

static void define_task(struct interpreter *in, const struct plan_workflow *f, int index,
                        struct workflow_task *out)
{
    const struct plan_task *t = &f->tasks[index];
    uint32_t *needs = arena_alloc(&in->arena, sizeof(*needs) * PLAN_NEEDS);
    struct buf condition = BUF_INIT, list = BUF_INIT;
    char name[16];
    int i;

    for (i = 0; i < t->nneeds; i++)
        needs[i] = (uint32_t)plan_index(f, t->needs[i]);
    if (t->nconds)
        plan_condition(f, t, &condition);
    if (t->each != PLAN_ONE)
        plan_foreach(t, &list);
    *out = (struct workflow_task){
        .name = arena_strdup(&in->arena, plan_name(f, index, name)),
        .index = (uint32_t)index,
        .nested = t->nested ? in->workflows[t->nested] : NULL,
        .needs = needs,
        .nneeds = (uint32_t)t->nneeds,
        .condition = t->nconds ? complete_condition(in, keep_text(in, &condition)) : NULL,
        .join = t->join,
        .foreach = t->each != PLAN_ONE ? keep_text(in, &list) : NULL,
        .max_parallel = t->max_parallel,
        .fail_fast = t->fail_fast,
        .allow_failure = t->allow_failure,
        .command = {.run = t->nested ? NULL : "x", .retry = {.max = t->retries}}};
    if (t->each == PLAN_LIST && !t->nested) { /* items that can't be resolved */
        const char **argv = arena_zalloc(&in->arena, 2 * sizeof(*argv));

        argv[0] = "${{ item.a }}";
        out->command.argv = argv;
        out->command.argc = 1;
        out->command.run = NULL;
    }
}

static void define_workflow(struct interpreter *in, const struct plan *p, int workflow)
{
    const struct plan_workflow *f = &p->workflows[workflow];
    struct workflow *w = arena_zalloc(&in->arena, sizeof(*w));
    int i;

    w->name = "w";
    w->tasks = arena_zalloc(&in->arena, sizeof(*w->tasks) * (size_t)(f->ntasks + 2));
    w->ntasks = (uint32_t)f->ntasks;
    for (i = 0; i < f->ntasks + 2; i++)
        define_task(in, f, i, &w->tasks[i]);
    w->on_failure = f->on_failure ? &w->tasks[f->ntasks] : NULL;
    w->on_exit = f->on_exit ? &w->tasks[f->ntasks + 1] : NULL;
    workflow_link(w, &in->arena);
    in->workflows[workflow] = w;
}

void interpreter_define(struct interpreter *in, const struct plan *p)
{
    int i;

    for (i = p->nworkflows - 1; i >= 0; i--) /* nested workflows come later in a plan */
        define_workflow(in, p, i);
}
