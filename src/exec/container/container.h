/* container.h - runs commands in containers: finds the engine and builds the command lines of its
 * client.
 *
 * The engine's client runs under a shim like any command, so everything that applies to processes
 * applies here: output, timeout, cancel, adoption, the exit record. But the container itself is a
 * child of its engine. Its name and labels let the lease holder of the attempt find it, and the
 * undo command (undo_write) removes it. The shim, or the worker that finds the shim dead, runs that
 * command and makes sure that the container is gone before the attempt counts as ended. */
#ifndef EXEC_CONTAINER_CONTAINER_H
#define EXEC_CONTAINER_CONTAINER_H

#include "base/err.h"
#include "base/mem.h"
#include "exec/executor.h"

struct container_options {
    const char *client; /* path of the engine's client */
    bool docker;        /* else podman */
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
 * unless it has a handler; an init passes the signal on. */
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
/* Frees all strings, after wiping them: they may contain secrets. */
void container_command_release(struct container_command *w);

#endif
