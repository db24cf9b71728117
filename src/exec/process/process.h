/* process.h - the executor that runs commands as processes which outlive the worker: each below a
 * pawl-shim of its own, in a folder of its own (attempt.h). Commands in containers are run by the
 * same, with the engine's client as the process (container.h). */
#ifndef EXEC_PROCESS_PROCESS_H
#define EXEC_PROCESS_PROCESS_H

#include "base/buf.h"
#include "exec/container/container.h"
#include "exec/executor.h"

struct process_options {
    const char *key;  /* NULL: "process" */
    const char *dir;  /* where the attempts have their folders; made if it is not there */
    const char *shim; /* NULL: beside this program, else $PAWL_SHIM, else in libexec */
    int slots;        /* attempts at once; 0: the number of processors */
    struct env *env;  /* outlives it; NULL: none */

    int64_t lease; /* µs, how long leases are: with less than half of one left nothing is begun;
                      0: 30 s */
    int64_t fence; /* µs after the end of the lease when the work is killed; 0: never */
    int64_t grace; /* µs between TERM and KILL for tasks that name none; 0: 10 s; < 0: none */
    int64_t log_head, log_tail; /* bytes of output that are kept; both 0: 512 kB each */

    const char *const *allow; /* variables that tasks get of the worker's environment; NULL: PATH
                                 HOME LANG LC_ALL LC_CTYPE TZ TMPDIR USER LOGNAME SHELL; in a
                                 container LANG LC_ALL LC_CTYPE TZ */
    const struct spec_pair *extra; /* variables for every task */
    size_t nextra;

    /* Appends the value of a secret; NULL: the worker's environment, else the file of that name in
     * `secrets`, which nobody else may read. */
    int (*resolve_secret)(void *arg, const char *name, struct buf *out, struct err *err);
    void *secret_arg;
    const char *secrets; /* a folder; NULL: none */

    const struct container_options *container; /* commands run in containers; NULL: they don't */
};

/* Starts the helper. Call it before a database is opened: it costs less then. */
MUST_USE int process_new(const struct process_options *options, struct executor **out,
                         struct err *err);

/* Whether there is a shim, this one or one that is found (see `shim` above). */
bool process_has_shim(const char *given);

/* Whether a shim is at work on that attempt. */
bool process_probe(const char *dir, int64_t execution, int attempt);

#endif
