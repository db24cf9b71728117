/* bench.h - the measurements of `pawl bench`: measure.c takes them; cmd_bench.c prepares the
 * tenant and prints the results. */
#ifndef CLI_BENCH_BENCH_H
#define CLI_BENCH_BENCH_H

#include "base/mem.h"
#include "cli/cli.h"

struct bench_times {
    VEC(int64_t) us; /* sorted after the measurement */
};
int64_t times_at(const struct bench_times *t, int percent); /* 0 if nothing was measured */

/* The operations whose latency is measured. */
enum { BENCH_SYNC, BENCH_READ, BENCH_SUBMIT, BENCH_START, BENCH_TIMES };

struct bench {
    struct pawl_options options; /* options for opening the temporary tenant */
    const char *state, *disk;    /* folders; disk is NULL if the database is on a server */
    int64_t span;                /* µs, duration of each part */
    int signals;

    struct bench_times times[BENCH_TIMES];
    double submits, runs, lives; /* per second */
    double busy;                 /* share of a processor that was in use while jobs ran */
    int signal;                  /* the signal that interrupted the benchmark; 0 if none */
};
/* Runs all parts, one after another. If b->signal is set afterwards, a signal interrupted the
 * benchmark. */
MUST_USE int bench_run(struct bench *b, struct pawl_error *err);
void bench_release(struct bench *b);

#endif
