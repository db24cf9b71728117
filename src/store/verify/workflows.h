/* workflows.h - a workflow or fan-out with what is below it, as verify looks at it: filled by
 * workflows.c, which walks through all of them, judged by graph_rules.c, which knows what may
 * be. */
#ifndef STORE_VERIFY_WORKFLOWS_H
#define STORE_VERIFY_WORKFLOWS_H

#include "store/verify/verify_internal.h"
#include "store/workflow/workflow.h"

/* A task or an item, as its row says. id 0: there is none. */
struct checked_child {
    int64_t id;
    int status, held, needs_left, cursor, flags;
    int index; /* of an item; -1: it is none */
    bool started;
    const char *name; /* borrowed */
};

struct checked_parent {
    int64_t id;
    int kind, status, cursor, flags;
    int from; /* the status before its last event */
    bool cancel_requested;
    bool retaining; /* retention has begun to take its tree away, from below */
    const char *error, *list;
    char hash[WORKFLOW_HASH_SIZE]; /* "": a tree without a definition */
};

/* What is kept of one flow while its children come; the buffers serve the next one too. */
struct graph_check {
    struct verify *v;
    struct checked_parent f;
    const struct definition *def;
    int will_continue; /* 1, 0; -1: not asked yet */

    VEC(struct checked_child) tasks; /* of a workflow: by their index in the definition */
    VEC(unsigned char) seen;         /* of a fan-out: a bit for each item */
    VEC(struct graph_need) needs;    /* of one task */
    size_t items;                    /* different ones */
    int items_flags;                 /* what they leave in the bits of their fan-out */
};

/* Whether there is anything to judge in it: it has a definition, and it ran. */
bool graph_check_applies(const struct checked_parent *f);
void graph_check_start(struct graph_check *j);
MUST_USE int graph_check_child(struct graph_check *j, const struct checked_child *c,
                               struct err *err);
MUST_USE int graph_check_end(struct graph_check *j, struct err *err);
void graph_check_release(struct graph_check *j);

/* workflows.c: asked for only when they matter. */
MUST_USE int graph_check_will_continue(struct graph_check *j, bool *out, struct err *err);
/* Whether a timer of this execution itself goes on with large work. */
MUST_USE int graph_check_has_timer(struct graph_check *j, int64_t id, bool *out, struct err *err);
/* How many items its list has; -1: it can't be read. */
MUST_USE int graph_check_list_size(struct graph_check *j, int64_t *out, struct err *err);

#endif
