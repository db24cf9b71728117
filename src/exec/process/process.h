/* process.h - the executor that runs commands as processes which outlive the worker: each is run by
 * its own pawl-shim, in its own attempt folder (attempt.h). Commands in containers are run by the
 * same executor, with the container engine's client as the process (container.h). */
#ifndef EXEC_PROCESS_PROCESS_H
#define EXEC_PROCESS_PROCESS_H

#include "base/buf.h"
#include "base/start_marks.h"
#include "exec/container/container.h"
#include "exec/executor.h"

struct process_options {
    const char *key;  /* NULL means "process", or "container" with `container` */
    const char *dir;  /* the folder of the attempt folders; created if missing */
    const char *shim; /* path of pawl-shim; NULL to search for it, see create.c */
    int slots;        /* attempts at a time; 0 means the number of processors */
    struct env *env;  /* must outlive the executor; may be NULL */

    int64_t lease; /* µs, the length of a lease: nothing is started with less than half of it left;
                      0 means 30 s */
    int64_t fence; /* µs after the end of the lease until the attempt is killed; 0 means never */
    int64_t grace; /* µs between TERM and KILL for tasks without `grace`; 0 means 10 s, < 0 none */
    int64_t log_head, log_tail; /* bytes of output to keep; both 0 means 512 kB each */

    const char *const *allow; /* variables of the worker's environment that tasks get; NULL means
                                 PATH HOME LANG LC_ALL LC_CTYPE TZ TMPDIR USER LOGNAME SHELL, in a
                                 container LANG LC_ALL LC_CTYPE TZ */
    const struct spec_pair *extra; /* variables for every task */
    size_t nextra;

    /* Appends the value of a secret. NULL means the worker's environment, or else the file of that
     * name in `secrets`, which only its owner may read. */
    int (*resolve_secret)(void *arg, const char *name, struct buf *out, struct err *err);
    void *secret_arg;
    const char *secrets; /* a folder; NULL if none */

    struct start_marks *marks; /* where starts are recorded; outlives the executor; NULL if
                                  nowhere */

    const struct container_options *container; /* run commands in containers; NULL if not */
};

/* Creates the executor and starts its helper. Call it before a database is opened: forking is
 * cheaper then. */
MUST_USE int process_new(const struct process_options *options, struct executor **out,
                         struct err *err);

/* Whether an executable pawl-shim exists, at `given` or at a default path (see `shim` above). */
bool process_has_shim(const char *given);

#endif
