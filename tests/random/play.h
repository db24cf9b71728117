/* play.h - plays a plan through the store, as engines would: several workers on several connections
 * claim, settle, cancel and crash in random order, and the model is told each step as it is
 * committed. */
#ifndef TESTS_RANDOM_PLAY_H
#define TESTS_RANDOM_PLAY_H

#include "base/buf.h"
#include "plan.h"

#define PLAY_STORES 3

struct store;

struct playground {
    struct store *stores[PLAY_STORES];
};
void playground_open(struct playground *g);
void playground_close(struct playground *g);

struct played {
    struct buf trace; /* what was done, a line each */
    struct buf wrong; /* what differs; empty: nothing */
    int64_t root;     /* the execution; 0: the plan is none */
};
void play(struct playground *g, const struct plan *p, struct played *out);
void played_release(struct played *out);

#endif
