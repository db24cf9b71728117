/* verify_flow.h - a workflow or fan-out with what is below it, as verify looks at it: filled by
 * verify_flow.c, which walks through all of them, judged by verify_graph.c, which knows what may
 * be. */
#ifndef STORE_VERIFY_FLOW_H
#define STORE_VERIFY_FLOW_H

#include "store/flow.h"
#include "store/verify_internal.h"

/* A task or an item, as its row says. id 0: there is none. */
struct flow_child {
    int64_t id;
    int status, held, needs_left, cursor, bits;
    int index; /* of an item; -1: it is none */
    bool started;
    const char *name; /* borrowed */
};

struct flow_image {
    int64_t id;
    int kind, status, cursor, bits;
    int from; /* the status before its last event */
    bool cancel_requested;
    bool retaining; /* retention has begun to take its tree away, from below */
    const char *error, *list;
    char hash[WORKFLOW_HASH_SIZE]; /* "": a tree without a definition */
};

/* What is kept of one flow while its children come; the buffers serve the next one too. */
struct flow_judge {
    struct verify *v;
    struct flow_image f;
    const struct definition *def;
    int goes_on; /* 1, 0; -1: not asked yet */

    VEC(struct flow_child) tasks; /* of a workflow: by their index in the definition */
    VEC(unsigned char) seen;      /* of a fan-out: a bit for each item */
    VEC(struct graph_need) needs; /* of one task */
    size_t items;                 /* different ones */
    int items_bits;               /* what they leave in the bits of their fan-out */
};

/* Whether there is anything to judge in it: it has a definition, and it ran. */
bool flow_is_judged(const struct flow_image *f);
void judge_begin(struct flow_judge *j);
MUST_USE int judge_child(struct flow_judge *j, const struct flow_child *c, struct err *err);
MUST_USE int judge_end(struct flow_judge *j, struct err *err);
void judge_release(struct flow_judge *j);

/* verify_flow.c: asked for only when they matter. */
MUST_USE int flow_goes_on(struct flow_judge *j, bool *out, struct err *err);
/* Whether a timer of this execution itself goes on with large work. */
MUST_USE int flow_has_timer(struct flow_judge *j, int64_t id, bool *out, struct err *err);
/* How many items its list has; -1: it can't be read. */
MUST_USE int flow_list_size(struct flow_judge *j, int64_t *out, struct err *err);

#endif
