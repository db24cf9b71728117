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
    int max;           /* attempts after the first; -1 for the configured default. Stored as
                          executions.max_attempts, not in the spec */
    int64_t delay;     /* µs before the second attempt; 0 for 1 s */
    double backoff;    /* the delay grows by this factor with each attempt; 0 for 2 */
    int64_t max_delay; /* µs; 0 for 5 min */
    double jitter;     /* 0..1: the fraction of the delay that is random; < 0 for 0.1 */
    const int *codes;  /* only these exit codes are retried; all if the list is empty */
    size_t ncodes;
};

struct spec_pair {
    const char *key, *value;
};

struct texts {
    const char *const *at; /* ends with NULL unless n is 0 */
    size_t n;
};

struct pairs {
    const struct spec_pair *at;
    size_t n;
};

/* Each limit is 0 if there is none. */
struct spec_limits {
    int64_t memory; /* bytes */
    int64_t cpu;    /* µs of processor time */
    int files;      /* open descriptors */
    int pids;       /* processes */
};

struct spec {
    const char *run;          /* a shell script; NULL if argv is set */
    const char *const *shell; /* the shell and its options, see spec_argv; NULL-terminated */
    size_t nshell;            /* 0 for /bin/sh -c */
    const char *const *argv;  /* ends with NULL */
    size_t argc;
    const char *cwd;   /* absolute; NULL for the attempt folder */
    const char *input; /* standard input; NULL for /dev/null */
    const char *user;  /* name or number; NULL for the worker's user */
    const struct spec_pair *env;
    size_t nenv;
    const struct spec_pair *files; /* values that the command gets as files; the variable of that */
    size_t nfiles;                 /* name is the path of a file with the value */
    const char *const *secrets;    /* names, ends with NULL */
    size_t nsecrets;
    const char *const *outputs; /* names to keep, ends with NULL; all if the list is empty */
    size_t noutputs;

    int64_t timeout; /* µs per attempt; 0 if none */
    int64_t grace;   /* µs between TERM and KILL; 0 for 10 s */
    struct spec_limits limits;
    const char *container; /* the JSON object of the container, unchanged; NULL if none */
    struct retry_policy retry;
};

/* Whether the script or an argument refers to this environment variable: $NAME or ${NAME…}. */
bool spec_mentions(const struct spec *s, const char *name);
/* Whether one of the pairs has this key. */
bool pairs_have(const struct spec_pair *pairs, size_t n, const char *name);

/* Whether s can name an output, which is set by a line KEY=VALUE. */
bool spec_is_output(const char *s);

/* Parses the JSON; NULL is an empty object. Unknown keys and wrong types are errors. Strings are in
 * the arena. */
MUST_USE int spec_parse(const char *json, struct arena *arena, struct spec *out, struct err *err);
/* Appends the JSON of all fields that differ from the defaults. */
void spec_write(const struct spec *s, struct buf *out);
/* The program to run and its arguments, as a list that ends with NULL and lives as long as the spec
 * and the arena. NULL if the spec has no command. */
const char *const *spec_argv(const struct spec *s, struct arena *arena);

struct outcome;
/* µs until the next attempt after `attempt` (counted from 1) ended with outcome `o`, or -1 for no
 * retry. `random` is in [0, 1). Does not check how many attempts are left. */
int64_t retry_delay(const struct retry_policy *p, const struct outcome *o, int attempt,
                    double random);

#endif
