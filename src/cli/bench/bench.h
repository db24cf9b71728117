/* bench.h - what `pawl bench` measures: measure.c does, cmd_bench.c makes the place for it, and
 * says what came out. */
#ifndef CLI_BENCH_BENCH_H
#define CLI_BENCH_BENCH_H

#include "base/mem.h"
#include "cli/cli.h"

struct bench_times {
    VEC(int64_t) us; /* sorted once it was measured */
};
int64_t times_at(const struct bench_times *t, int percent); /* 0: nothing was measured */

struct bench {
    struct pawl_options options; /* of the scratch tenant */
    const char *state, *disk;    /* folders; disk NULL: the database's is elsewhere */
    int64_t span;                /* µs for each part */
    int signals;

    struct bench_times read, sync, submit, start; /* each by itself */
    double submits, runs, lives;                  /* per second */
    double busy;                                  /* of a processor, while it ran */
    int signal;                                   /* that ended it */
};
/* All parts, one after the other; b->signal set: it was told to end. */
MUST_USE int bench_run(struct bench *b, struct pawl_error *err);
void bench_release(struct bench *b);

#endif
