/* workflows.h - a workflow or fan-out and its children, as verify checks them. workflows.c walks
 * through all of them and fills in these structs; graph_rules.c has the rules. */
#ifndef STORE_VERIFY_WORKFLOWS_H
#define STORE_VERIFY_WORKFLOWS_H

#include "store/verify/verify_internal.h"
#include "store/workflow/workflow.h"

/* The row of a task or an item; id is 0 if it does not exist. */
struct checked_child {
    int64_t id;
    int status, held, needs_left, needs_succeeded, notify_left, flags;
    int index; /* the index of an item; -1 if it is not an item */
    bool started;
    const char *name; /* borrowed */
};

struct checked_parent {
    int64_t id;
    int kind, status, children_made, flags;
    int from; /* the status before its last event */
    bool cancel_requested;
    bool retaining; /* retention has started to delete its tree, deepest rows first */
    const char *error, *list;
    char hash[WORKFLOW_HASH_SIZE]; /* "" if it has no definition */
};

/* The check of one workflow or fan-out, filled in while its children are read. The buffers are
 * reused for the next one. */
struct graph_check {
    struct verify *v;
    struct checked_parent f;
    const struct definition *def;
    int will_continue; /* whether it will continue, 1 or 0; -1 if not read yet */

    VEC(struct checked_child) tasks; /* a workflow's tasks, by index in the definition */
    VEC(unsigned char) seen;         /* a fan-out's items, one bit each */
    VEC(struct graph_need) needs;    /* the needs of the task that is checked */
    size_t items;                    /* distinct items seen */
    int items_flags;                 /* flags that the ended items add to their fan-out */
};

/* Whether the rules apply: the execution has a definition and has run. */
bool graph_check_applies(const struct checked_parent *f);
void graph_check_start(struct graph_check *j);
MUST_USE int graph_check_child(struct graph_check *j, const struct checked_child *c,
                               struct err *err);
MUST_USE int graph_check_end(struct graph_check *j, struct err *err);
void graph_check_release(struct graph_check *j);

/* workflows.c: facts that are read only when a rule needs them */
/* Whether a timer, or the end of a hold, of this execution or an ancestor continues the work. */
MUST_USE int graph_check_will_continue(struct graph_check *j, bool *out, struct err *err);
/* Whether a timer of the execution `id` itself continues large work. */
MUST_USE int graph_check_has_timer(struct graph_check *j, int64_t id, bool *out, struct err *err);
/* The number of items in its list; -1 if the list can't be read. */
MUST_USE int graph_check_list_size(struct graph_check *j, int64_t *out, struct err *err);

#endif
