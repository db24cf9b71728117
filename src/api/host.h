/* host.h - one host beside the database: what is in its state folder, and whether that fits. */
#ifndef API_HOST_H
#define API_HOST_H

#include "engine/state_folder.h"
#include "store/verify/verify.h"

#include <sys/types.h>

/* ---- host.c: what is there ---- */

struct host_worker {
    int64_t id;
    bool alive;         /* its lock is held */
    int64_t foreground; /* the tree that it works on alone; 0: none */
    int64_t age;        /* µs since its file was written */
};

struct host_attempt {
    int64_t execution;
    int attempt;
    bool old;          /* of an earlier generation of the database */
    bool folder;       /* it has one */
    bool shim, tree;   /* its locks are held: a shim is at work, something that it started lives */
    int64_t ended_ago; /* µs since its exit was written; -1: it was not */
    pid_t process;     /* one that says it is of it; 0: none */
};

struct host {
    VEC(struct host_worker) workers;
    VEC(struct host_attempt) attempts;
};

/* Reads what `dir`, the folder of one world (state_folder_path), and those of its earlier
 * generations have; nothing is there if it is not. */
MUST_USE int host_inspect(const char *dir, struct host *out, struct err *err);
void host_release(struct host *h);

/* ---- host_verify.c: whether it fits ---- */

struct host_options {
    const char *state; /* the state folder */
    int64_t grace;     /* µs; what a worker should have settled by then */
    void (*report)(void *arg, const struct breach *b);
    void *arg;
};

struct host_result {
    size_t checks, breaches;
    int64_t attempts, workers; /* that were there */
};

/* 0 also when breaches were found: the result counts them. What looks wrong is looked at twice, so
 * that work that goes on meanwhile is not taken for a breach. */
MUST_USE int host_verify(struct store *s, const struct host_options *o, struct host_result *out,
                         struct err *err);

extern const struct invariant host_invariants[];
extern const size_t host_invariant_count;

#endif
