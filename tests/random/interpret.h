/* interpret.h - the smallest engine around src/core: workflows in memory, without a store. It keeps
 * counts and bits as the store does, and leaves every decision to core. */
#ifndef TESTS_RANDOM_INTERPRET_H
#define TESTS_RANDOM_INTERPRET_H

#include "core/workflow/model.h"
#include "plan.h"

struct node {
    char path[120];
    struct node *parent;
    const struct workflow *in,
        *workflow; /* the workflow of its task; for a workflow: the one it runs */
    const struct workflow_task *task; /* NULL for the root */
    int kind, status, depth, item;
    bool cancel_requested, dirty;
    int needs_left, succeeded, bits, attempts;
    struct node **children; /* tasks by index, or items */
    int nchildren, made;
    int list; /* length of the list among its outputs */
};

struct interpreter {
    struct arena arena;
    struct workflow *workflows[PLAN_WORKFLOWS];
    struct node *root;
    struct node **all, **dirty;
    size_t nall, ndirty;
    struct err err; /* the first error that does not belong to a task; code 0 if none */
};

void interpreter_begin(struct interpreter *in, const struct plan *p);
void interpreter_release(struct interpreter *in);

struct node *interpreter_find(struct interpreter *in, const char *path);

/* Events of jobs; call interpreter_advance after the events of one turn. */
void interpreter_start(struct interpreter *in, struct node *job);
void interpreter_settle(struct interpreter *in, struct node *job, enum plan_end end, int list);
void interpreter_cancel(struct interpreter *in, struct node *n);
void interpreter_skip(struct interpreter *in, struct node *n);
void interpreter_advance(struct interpreter *in);

#endif
