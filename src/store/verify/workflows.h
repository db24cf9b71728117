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
    int index; /* index of an item; -1 for other executions */
    bool started;
    const char *name; /* borrowed */
};

struct checked_parent {
    int64_t id;
    int kind, status, children_made, flags;
    int from; /* status before the last event */
    bool cancel_requested;
    bool retaining; /* whether retention has started to delete its tree, deepest rows first */
    const char *error, *list;
    char hash[WORKFLOW_HASH_SIZE]; /* hash of the definition; "" if the execution has none */
};

/* The check of one workflow or fan-out, filled in while its children are read. The buffers are
 * reused for the next workflow or fan-out. */
struct graph_check {
    struct verify *v;
    struct checked_parent f;
    const struct definition *def;
    int will_continue; /* whether the work will continue: 1 or 0; -1 if not read yet */

    VEC(struct checked_child) tasks; /* the tasks of a workflow, by their index in the definition */
    VEC(unsigned char) seen;         /* the items of a fan-out that were seen, one bit each */
    VEC(struct graph_need) needs;    /* needs of the task that is being checked */
    size_t items;                    /* number of distinct items that were seen */
    int items_flags;                 /* flags that the ended items add to their fan-out */
};

/* Whether the rules apply, because the execution has a definition and has run. */
bool graph_check_applies(const struct checked_parent *f);
void graph_check_start(struct graph_check *j);
MUST_USE int graph_check_child(struct graph_check *j, const struct checked_child *c,
                               struct err *err);
MUST_USE int graph_check_end(struct graph_check *j, struct err *err);
void graph_check_release(struct graph_check *j);

/* workflows.c: facts that are read only when a rule needs them */
/* Reads whether a timer or the end of a hold, of this execution or an ancestor, will continue the
 * work. */
MUST_USE int graph_check_will_continue(struct graph_check *j, bool *out, struct err *err);
/* Reads whether the execution `id` has a timer of its own that continues large work. */
MUST_USE int graph_check_has_timer(struct graph_check *j, int64_t id, bool *out, struct err *err);
/* Reads the number of items in the fan-out's list; -1 if the list can't be read. */
MUST_USE int graph_check_list_size(struct graph_check *j, int64_t *out, struct err *err);

#endif
