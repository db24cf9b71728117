/* play.h - runs a plan through the store as engines would: several workers on several connections
 * claim, settle, cancel and crash in random order, and each step is applied to the model when it is
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
    struct buf trace; /* one line per step */
    struct buf wrong; /* differences; empty if none */
    int64_t root;     /* the execution; 0 if the plan is invalid */
};
void play(struct playground *g, const struct plan *p, struct played *out);
void played_release(struct played *out);

#endif
