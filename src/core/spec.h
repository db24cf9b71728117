/* spec.h - how a job is run: the JSON in `executions.spec`, from the submission to the last
 * attempt. It does not say where or when the job runs; queue, lane, priority and timers decide
 * that.
 *
 * A command has exactly one of run and argv; a function and a task of a custom executor have
 * neither. */
#ifndef CORE_SPEC_H
#define CORE_SPEC_H

#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"

#include <stdbool.h>
#include <stdint.h>

/* Decides which attempts are retried, and when. */
struct retry_policy {
    /* Retries after the first attempt; -1 for the configured default. Stored as
     * executions.max_attempts, not in the spec. */
    int max;
    int64_t delay;     /* µs before the second attempt; 0 for 1 s */
    double backoff;    /* factor by which the delay grows with each attempt; 0 for 2 */
    int64_t max_delay; /* µs: no delay is longer; 0 for 5 min */
    double jitter;     /* the fraction of the delay that is random, from 0 to 1; negative for 0.1 */
    const int *codes;  /* only these exit codes are retried; all codes if the list is empty */
    size_t ncodes;
};

struct spec_pair {
    const char *key, *value;
};

struct texts {
    const char *const *at; /* a list of n values that ends with NULL, unless n is 0 */
    size_t n;
};

struct pairs {
    const struct spec_pair *at;
    size_t n;
};

/* Limits of a command. Each is 0 if there is no limit. */
struct spec_limits {
    int64_t memory; /* bytes */
    int64_t cpu;    /* µs of processor time */
    int files;      /* open descriptors */
    int pids;       /* processes */
};

struct spec {
    const char *run;          /* a shell script; NULL if argv is set */
    const char *const *shell; /* the shell and its options, see spec_argv; ends with NULL */
    size_t nshell;            /* number of words in `shell`; 0 for /bin/sh -c */
    /* The program and its arguments; ends with NULL; NULL if `run` is set. */
    const char *const *argv;
    size_t argc;
    const char *cwd;   /* working folder, absolute; NULL for the attempt folder */
    const char *input; /* standard input; NULL for /dev/null */
    const char *user;  /* name or number of the user to run as; NULL for the worker's user */
    const struct spec_pair *env;
    size_t nenv;
    const struct spec_pair *files; /* of each file: the variable with its path; its content */
    size_t nfiles;
    const char *const *secrets; /* names of secrets; ends with NULL */
    size_t nsecrets;
    /* Names of the outputs to keep, ends with NULL; all outputs if the list is empty. */
    const char *const *outputs;
    size_t noutputs;

    int64_t timeout; /* µs that an attempt may take; 0 if not limited */
    int64_t grace;   /* µs between SIGTERM and SIGKILL; 0 for 10 s */
    struct spec_limits limits;
    const char *container; /* the JSON object of the container, unchanged; NULL if none */
    struct retry_policy retry;
};

/* Whether the script or an argument refers to this environment variable: $NAME or ${NAME…}. */
bool spec_mentions(const struct spec *s, const char *name);
/* Whether one of the pairs has this key. */
bool pairs_have(const struct spec_pair *pairs, size_t n, const char *name);

/* Whether s is a valid name of an output. A command sets outputs by lines KEY=VALUE. */
bool spec_is_output(const char *s);

/* Parses the JSON of a spec. NULL stands for an empty object. Unknown keys and wrong types are
 * errors. Strings are in the arena. */
MUST_USE int spec_parse(const char *json, struct arena *arena, struct spec *out, struct err *err);
/* Appends the JSON of all fields that differ from the defaults. */
void spec_write(const struct spec *s, struct buf *out);
/* The program of a command and its arguments, as a list that ends with NULL and lives as long as
 * the spec and the arena. NULL if the spec has no command. */
const char *const *spec_argv(const struct spec *s, struct arena *arena);

struct outcome;
/* µs until the next attempt after `attempt` (counted from 1) ended with outcome `o`, or -1 for no
 * retry. `random` is in [0, 1). Does not check how many attempts are left. */
int64_t retry_delay(const struct retry_policy *p, const struct outcome *o, int attempt,
                    double random);

#endif
