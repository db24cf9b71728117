/* function.h - the executor that runs C functions on threads of this process.
 *
 * A job of the lane function:NAME is run by the function that was added under NAME. Threads are
 * created on demand, up to a maximum, and end after some idle time.
 *
 * While functions are short, a few more jobs than threads are claimed and wait in a local queue, so
 * that a thread that finishes a job has the next one at once. The queue is offered only as many
 * jobs as are likely to start within 100 ms, by the run times of the functions that have ended, and
 * none before the first function has ended. A job that still waits after `patience` is returned to
 * its queue: it is not running, and another worker may have a thread for it.
 *
 * A function can't be ended from outside. Its cancel flag asks it to stop, and it keeps its thread
 * until it returns. A function that ignores the flag for longer than its grace is unresponsive;
 * then the worker should claim nothing more, drain and exit. */
#ifndef EXEC_FUNCTION_FUNCTION_H
#define EXEC_FUNCTION_FUNCTION_H

#include "base/start_marks.h"
#include "exec/executor.h"

/* ---- the call as a function sees it; same layout as struct pawl_call in pawl.h ---- */

struct function_call;

/* To be called on the function's own thread, while the function runs. */
struct function_call_ops {
    /* True if the function should return soon: because of a cancel, its deadline, a lost lease or
     * the stop of the worker. */
    bool (*cancelled)(const struct function_call *c);
    int64_t (*remaining)(const struct function_call *c); /* µs to the deadline; INT64_MAX if none */
    /* Sets one output, or the whole result, as JSON; the last value of a key counts. -E_INVALID if
     * the value is not JSON or is too large, or if a function sets both single outputs and the
     * whole result; the attempt fails then. */
    int (*set_output)(struct function_call *c, const char *key, const char *json);
    int (*set_result)(struct function_call *c, const char *json);
    void (*log)(struct function_call *c, const char *text); /* a line end is added if missing */
    /* Fails the attempt with this message; the return value of the function is the exit code, or 1
     * if it returns 0. */
    void (*fail)(struct function_call *c, const char *message);
    /* If the function then returns 0, it has not finished and is run again after `delay` µs. */
    void (*defer)(struct function_call *c, int64_t delay);
};

struct function_call {
    const struct function_call_ops *ops;
    const char *name;  /* the job's full name */
    const char *input; /* JSON; NULL if none */
    int64_t execution, root;
    int attempt, max_attempts;
};

/* Returns 0 on success; any other value is the exit code of a failure. */
typedef int function_fn(struct function_call *c, void *arg);

/* ---- the executor ---- */

struct functions;

struct function_options {
    const char *key; /* NULL means "function" */
    int threads;     /* the maximum number; 0 means 4 */
    int queue;       /* the most jobs that may wait for a thread; 0 means four times the threads, at
                        most 500; < 0 means none */
    int64_t patience; /* µs after which a job that waits for a thread is returned to its queue; 0
                         means 250 ms */
    int64_t idle;     /* µs after which an idle thread ends; 0 means 10 s */
    struct start_marks *marks; /* where starts are recorded; outlives the executor; NULL if
                                  nowhere */
    struct env *env;           /* must outlive the executor */
};

MUST_USE int function_new(const struct function_options *o, struct functions **out,
                          struct err *err);
/* The executor interface. Its `free` operation stops the functions first and abandons those that
 * are unresponsive; the last of them to return frees the memory and unloads the plugins. */
struct executor *function_executor(struct functions *f);
/* Asks all functions to stop and waits for them, at most for the longest grace. Afterwards only
 * `free` may be called. Plugins stay loaded until then, so that the executors that they added can
 * be freed first. */
void function_stop(struct functions *f);
struct functions *function_from_executor(struct executor *x); /* NULL if x is of another kind */

/* Names consist of letters, digits and _ - . : /, at most 100 bytes. -E_CONFLICT if the name is
 * taken. */
MUST_USE int function_add(struct functions *f, const char *name, function_fn *fn, void *arg,
                          struct err *err);
/* The lane function:NAME of each function, sorted; valid until another function is added. */
const char *const *function_lanes(const struct functions *f, size_t *n);
bool function_has(const struct functions *f, const char *name);

/* How many functions can run at a time. */
int function_max_threads(const struct functions *f);
int function_max_queue(const struct functions *f); /* the most that may wait for a thread */
int function_free_threads(struct functions *f);

/* How many functions were asked to stop longer ago than their grace. */
int function_count_unresponsive(struct functions *f);

/* ---- plugins; same layout as in pawl.h ---- */

#define FUNCTION_PLUGIN_ABI     2
#define FUNCTION_PLUGIN_ABI_MIN 1 /* version 1 had neither add_executor nor report */

/* Executors are defined by pawl.h, which is above this layer. */
struct pawl_executor;
struct pawl_report_ops;

struct function_plugin_host {
    int abi; /* the version of this interface that the plugin was built for */
    /* Adds a function. An error is for pawl_plugin_init to return; then the plugin is not
     * loaded. */
    int (*add)(const struct function_plugin_host *host, const char *name, function_fn *fn,
               void *arg);
    void *data; /* for the host's own use */
    int (*add_executor)(const struct function_plugin_host *host, const struct pawl_executor *x);
    const struct pawl_report_ops *report;
};

/* Receives the executors that a plugin adds. */
struct function_plugin_executors {
    /* Notes an executor; returns an error if it can't be added. */
    int (*note)(void *arg, const struct pawl_executor *x, struct err *err);
    /* The plugin can't be loaded: frees the executors that were noted, before their code is
     * unloaded. */
    void (*drop)(void *arg);
    void *arg;
    const struct pawl_report_ops *report; /* the functions by which a plugin's executor reports */
};

/* Loads a shared object that has
 *     const int pawl_plugin_abi = FUNCTION_PLUGIN_ABI;
 *     int pawl_plugin_init(const struct function_plugin_host *host);
 * Adds all of its functions, or none on an error. The object stays loaded until the executor of the
 * functions is freed. */
MUST_USE int function_load_plugin(struct functions *f, const char *path,
                                  const struct function_plugin_executors *executors,
                                  struct err *err);

#endif
