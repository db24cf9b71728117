/* host.h - inspects the state folder of a host, and checks it against the database. */
#ifndef API_HOST_H
#define API_HOST_H

#include "engine/state_folder.h"
#include "store/verify/verify.h"

#include <sys/types.h>

/* ---- host.c: inspect ---- */

struct host_worker {
    int64_t id;
    bool alive;         /* its worker holds the lock of the file */
    int64_t foreground; /* the root of the worker's foreground run; 0 if none */
    int64_t age;        /* µs since the worker's file was written */
};

struct host_attempt {
    int64_t execution;
    int attempt;
    bool old;          /* belongs to an earlier generation of the database */
    bool folder;       /* the attempt has a folder */
    bool shim, tree;   /* locks of the attempt that are held: by its shim; by a process of its
                          task */
    int64_t ended_ago; /* µs since the exit record was written; -1 if there is none */
    pid_t process;     /* a process whose environment names the attempt; 0 if none */
};

struct host {
    VEC(struct host_worker) workers;
    VEC(struct host_attempt) attempts;
};

/* Inspects `dir`, the part of the state folder that belongs to one database (state_folder_path),
 * and the folders of its earlier generations. A folder that does not exist counts as empty. The
 * caller releases *out, even after an error. */
MUST_USE int host_inspect(const char *dir, struct host *out, struct err *err);
void host_release(struct host *h);

/* ---- host_verify.c: verify ---- */

struct host_options {
    const char *state; /* the state folder */
    int64_t grace; /* µs within which a live worker must settle an attempt that has ended on the
                      host */
    void (*report)(void *arg, const struct violation *b);
    void *arg;
};

struct host_result {
    size_t checks, violations;
    int64_t attempts, workers; /* numbers of attempts and workers found on the host */
};

/* Returns 0 even if violations were found: the result counts them. A finding counts only if it is
 * made twice, so that changes made during the check are not reported as violations. */
MUST_USE int host_verify(struct store *s, const struct host_options *o, struct host_result *out,
                         struct err *err);

extern const struct invariant host_invariants[];
extern const size_t host_invariant_count;

#endif
