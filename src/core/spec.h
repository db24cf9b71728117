/* spec.h - how a job is run: what `executions.spec` holds, as JSON, from the submission to the last
 * attempt. It says nothing about where or when; that are queue, lane, priority and timers.
 *
 * Exactly one of run and argv is there for lanes that start commands, neither for functions. */
#ifndef CORE_SPEC_H
#define CORE_SPEC_H

#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"

#include <stdbool.h>
#include <stdint.h>

/* Which attempts are tried again, and when. How many is executions.max_attempts. */
struct retry_policy {
    int64_t delay;     /* µs before the second attempt; 0: 1 s */
    double backoff;    /* the delay grows by this factor with each attempt; 0: 2 */
    int64_t max_delay; /* µs; 0: 5 min */
    double jitter;     /* 0..1: the part of the delay that is random; < 0: 0.1 */
    const int *codes;  /* only these exit codes are retried; none: all */
    size_t ncodes;
};

struct spec_pair {
    const char *key, *value;
};

struct spec {
    const char *run;         /* shell text, for /bin/sh -c; NULL: argv */
    const char *const *argv; /* ends with NULL */
    size_t argc;
    const char *cwd;   /* absolute; NULL: the attempt's own folder */
    const char *input; /* standard input; NULL: /dev/null */
    const char *user;  /* name or number; NULL: the worker's own */
    const struct spec_pair *env;
    size_t nenv;
    const char *const *secrets; /* names, ends with NULL */
    size_t nsecrets;
    const char *const *outputs; /* names that count, ends with NULL; none: all */
    size_t noutputs;

    int64_t timeout; /* µs per attempt; 0: none */
    int64_t grace;   /* µs between TERM and KILL; 0: 10 s */
    struct {
        int64_t memory; /* bytes; 0: no limit, as for the others */
        int64_t cpu;    /* µs of processor time */
        int files;      /* open descriptors */
        int pids;       /* processes */
    } limits;
    const char *container; /* the JSON object of a container, as it is; NULL: none */
    struct retry_policy retry;
};

/* Reads the JSON; NULL is an empty one. Unknown keys and wrong types are errors. Texts live in the
 * arena. */
MUST_USE int spec_parse(const char *json, struct arena *arena, struct spec *out, struct err *err);
/* Writes what differs from the defaults. */
void spec_write(const struct spec *s, struct buf *out);

struct outcome;
/* µs until the next try after `attempt` (from 1) ended so, or -1: not again. `random` is in [0, 1).
 * Does not look at how many attempts are left. */
int64_t retry_delay(const struct retry_policy *p, const struct outcome *o, int attempt,
                    double random);

#endif
