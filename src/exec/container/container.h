/* container.h - runs commands in containers: finds the engine and builds the command lines of its
 * client.
 *
 * The engine's client runs under a shim like any command, so everything that applies to processes
 * applies here: output, timeout, cancel, adoption, the exit record. But the container itself is a
 * child of its engine. Its name and labels let the lease holder of the attempt find it, and the
 * undo command (undo_write) removes it. The shim runs that command and makes sure that the
 * container is gone before the attempt counts as ended.
 *
 * The container outlives its client and its shim. A worker that finds the shim dead looks the
 * container up: if it runs or has ended, another shim watches it (container_watch_commands), else
 * the worker runs the undo command. */
#ifndef EXEC_CONTAINER_CONTAINER_H
#define EXEC_CONTAINER_CONTAINER_H

#include "base/err.h"
#include "base/mem.h"
#include "exec/executor.h"

struct container_options {
    const char *client; /* path of the engine's client */
    bool docker;        /* false: podman */
    const char *image;  /* for tasks without an image; NULL if every task must name one */
    const char *pull;   /* missing, always, never; NULL means missing */
};

/* The path of $PAWL_OUTPUT inside the container. */
#define CONTAINER_OUTPUT "/run/pawl/output"
#define CONTAINER_VALUES "/run/pawl/values"

/* The path of a client, podman or docker; NULL if it is not installed. The caller frees it. */
MUST_USE char *container_find_client(const char *name);

/* -E_REFUSED if the engine can't be reached now; the message says what to do. */
MUST_USE int container_check(const struct container_options *o, struct err *err);

/* Whether the engine has a small init. Without it, the first process of a container ignores TERM
 * unless it has a handler; an init passes TERM on. */
bool container_has_init(const struct container_options *o);

/* The container settings of a task, with defaults filled in. */
struct container_spec {
    const char *image; /* NULL if neither the task nor the options name one */
    const char *pull, *network;
    const char *const *volumes, *const *options; /* NULL-terminated */
};
/* json: the task's `container` (core/spec.h), or NULL. -E_INVALID if a field is invalid; the
 * message names it. Strings belong to the options or to the arena. */
MUST_USE int container_spec_read(const struct container_options *o, const char *json,
                                 struct arena *arena, struct container_spec *out, struct err *err);

/* All lists are NULL-terminated. */
struct container_command {
    VEC(char *) argv;   /* creates and starts the container and stays attached to it */
    VEC(char *) env;    /* environment of argv: the client's variables, then the task's */
    VEC(char *) undo;   /* removes the container */
    VEC(char *) client; /* environment of undo: the client's variables */
};
/* folder: absolute path of the attempt folder. env: the task's variables, NAME=VALUE,
 * NULL-terminated. */
MUST_USE int container_command(const struct container_options *o, const struct job *t,
                               const char *folder, char *const *env, struct container_command *out,
                               struct err *err);
/* Builds only the undo command, which needs no task. */
void container_undo_command(const struct container_options *o, int64_t execution, int attempt,
                            const char *folder, struct container_command *out);

/* Indexes in the undo command: after `/bin/sh -c SCRIPT pawl` come the script's arguments `$1` to
 * `$4`. */
enum { UNDO_CLIENT = 4, UNDO_OPTIONS, UNDO_NAME, UNDO_LABEL, UNDO_WORDS };

/* How much of the output the engine keeps, in its own format. */
#define CONTAINER_LOG_MB 64

/* An option that keeps podman's own warnings out of the command's output. */
#define CONTAINER_QUIET  "--log-level=error"

/* ---- a container whose shim has died, so that its attempt is resumed ---- */

struct container_target {
    const char *client, *name, *label; /* label: NAME=VALUE */
    bool docker;
};
/* Which container an undo command removes; the strings belong to the command. False if
 * container_undo_command did not build it. */
MUST_USE bool container_target_of(char *const *undo, struct container_target *out);

/* The command whose output container_read_lookup reads. */
void container_lookup_command(const struct container_target *t, const char *argv[8]);

struct container_wanted {
    int64_t execution;
    int attempt;
    const char *key;      /* the attempt's key */
    char *const *secrets; /* their names, NULL-terminated; NULL if none */
};
struct container_secrets {
    char **at;
    size_t n, cap;
};
enum container_found {
    CONTAINER_NO_ANSWER, /* the engine does not answer: the caller asks again */
    CONTAINER_NONE,      /* the container does not exist, never started, or belongs to another
                            attempt */
    CONTAINER_RUNS,
    CONTAINER_ENDED, /* the engine knows its exit code */
};
/* For CONTAINER_RUNS and CONTAINER_ENDED, `out`, which starts zeroed, receives the values of the
 * secrets as the container has them, NULL-terminated. The caller wipes and frees them in any
 * case. */
MUST_USE enum container_found container_read_lookup(const char *answer,
                                                    const struct container_target *t,
                                                    const struct container_wanted *w,
                                                    struct container_secrets *out);

/* The commands that a shim runs to watch a container whose own shim has died. Each ends with
 * NULL. */
struct container_watch {
    const char *follow[10]; /* prints the output and ends with the container's exit code */
    const char *rest[6];    /* prints the same output again, up to its end */
    const char *stop[5];    /* sends TERM to the container */
};
/* since: an option that limits the output to what was printed after a time; NULL for all of it. The
 * strings are those of the arguments, and constants. */
void container_watch_commands(const struct container_target *t, const char *since,
                              struct container_watch *out);

/* Frees all strings, after wiping them: they may contain secrets. */
void container_command_release(struct container_command *w);

#endif
