/* function.h - the executor that runs C functions on threads of this process.
 *
 * A job of the lane function:NAME is run by the function that was added under NAME. Threads are
 * made as they are needed, up to a number, and end when they have had nothing to do for a while. A
 * few more jobs than there are threads wait here, so that a thread that is done has its next one at
 * once.
 *
 * A function can't be ended from outside. It is told to stop (its cancel flag), and keeps its
 * thread until it returns; one that does not for longer than its grace is deaf, and the worker
 * should claim nothing more, drain and exit. */
#ifndef EXEC_FUNCTION_FUNCTION_H
#define EXEC_FUNCTION_FUNCTION_H

#include "exec/executor.h"

/* ---- what a function sees; laid out as struct pawl_call and its operations in pawl.h ---- */

struct function_call;

/* All of it for the function's own thread, while it runs. */
struct function_call_ops {
    /* It should return soon: a cancel, its deadline, a lost lease or the worker's stop. */
    bool (*cancelled)(const struct function_call *c);
    int64_t (*remaining)(const struct function_call *c); /* µs to its deadline; INT64_MAX: none */
    /* One output, or the whole result, as JSON; the last value of a key counts. What can't be
     * taken (no JSON, too large, both of them) is -E_INVALID, and fails the attempt. */
    int (*set_output)(struct function_call *c, const char *key, const char *json);
    int (*set_result)(struct function_call *c, const char *json);
    void (*log)(struct function_call *c, const char *text); /* a line end is added if missing */
    /* It has failed, and this is why; what it returns is the exit code (0: 1). */
    void (*fail)(struct function_call *c, const char *message);
    /* If it returns 0 now: it is not done, and wants to be run again so many µs later. */
    void (*defer)(struct function_call *c, int64_t delay);
};

struct function_call {
    const struct function_call_ops *ops;
    const char *name;  /* the job's full name */
    const char *input; /* JSON; NULL: none */
    int64_t execution, root;
    int attempt, max_attempts;
};

/* 0: done. Anything else: failed, with that exit code. */
typedef int function_fn(struct function_call *c, void *arg);

/* ---- the executor ---- */

struct functions;

struct function_options {
    const char *key; /* NULL: "function" */
    int threads;     /* at most; 0: 4 */
    int queue; /* so many more may wait here; 0: four times the threads, at most 500; < 0: none */
    int64_t idle;    /* µs after which a thread without work ends; 0: 10 s */
    struct env *env; /* outlives it */
};

MUST_USE int function_new(const struct function_options *o, struct functions **out,
                          struct err *err);
/* The executor that it is; freed with its `free` slot. That tells all functions to stop and waits
 * for them; after the longest grace it leaves the deaf ones alone, and the last of those that
 * returns some day frees the rest. */
struct executor *function_executor(struct functions *f);
struct functions *function_from_executor(struct executor *x); /* NULL: another kind */

/* Names are letters, digits and _ - . : /, at most 100. E_CONFLICT: there is one already. */
MUST_USE int function_add(struct functions *f, const char *name, function_fn *fn, void *arg,
                          struct err *err);
/* "function:NAME" of each, sorted; valid until the next one is added. */
const char *const *function_lanes(const struct functions *f, size_t *n);
bool function_has(const struct functions *f, const char *name);

/* How many run at once at most, and how many more would begin at once; others wait in its queue. */
int function_max_threads(const struct functions *f);
int function_free_threads(struct functions *f);

/* How many were told to stop longer ago than their grace. */
int function_count_unresponsive(struct functions *f);
/* What runs in this process now, also what was forgotten. */
void function_running(struct functions *f, void (*each)(void *arg, int64_t execution, int attempt),
                      void *arg);

/* ---- plugins; laid out as in pawl.h ---- */

#define FUNCTION_PLUGIN_ABI 1

struct function_plugin_host {
    int abi; /* of the host */
    /* 0, or what pawl_plugin_init should return: the plugin is not loaded then. */
    int (*add)(const struct function_plugin_host *host, const char *name, function_fn *fn,
               void *arg);
    void *data; /* the host's */
};

/* Loads a shared object that has
 *     const int pawl_plugin_abi = FUNCTION_PLUGIN_ABI;
 *     int pawl_plugin_init(const struct function_plugin_host *host);
 * All of its functions are added, or with an error none. */
MUST_USE int function_load_plugin(struct functions *f, const char *path, struct err *err);

#endif
