/* container.h - commands in containers: which engine there is, and in what words it is asked.
 *
 * The engine's client is run as any command is, below a shim, so that all that holds for processes
 * holds here: output, timeout, cancel, adoption, the exit record. The container itself is a child
 * of its engine, though. It has a name and labels by which whoever holds the attempt finds it, and
 * a command that removes it (undo_write), by which the shim, or who finds the shim dead, makes sure
 * that it is gone before the attempt counts as ended. */
#ifndef EXEC_CONTAINER_CONTAINER_H
#define EXEC_CONTAINER_CONTAINER_H

#include "base/err.h"
#include "base/mem.h"
#include "exec/executor.h"

struct container_options {
    const char *client; /* the engine's, its path */
    bool docker;        /* else podman */
    const char *image;  /* for tasks that name none; NULL: they must */
    const char *pull;   /* missing, always, never; NULL: missing */
};

/* Where $PAWL_OUTPUT is inside. */
#define CONTAINER_OUTPUT "/run/pawl/output"

/* The path of a client, podman or docker, that is installed; NULL: it is not. */
MUST_USE char *container_find_client(const char *name);

/* E_REFUSED if the engine can't be asked now; the sentence says what to do. */
MUST_USE int container_check(const struct container_options *o, struct err *err);

/* The first process of a container hears no TERM that it does not ask for. A small init passes it
 * on, where the engine has one. */
bool container_has_init(const struct container_options *o);

/* What a task says about its container, and what holds where it says nothing. */
struct container_spec {
    const char *image; /* NULL: nobody names one */
    const char *pull, *network;
    const char *const *volumes, *const *options; /* end with NULL */
};
/* json: the task's word (core/spec.h), or NULL. E_INVALID: a field is not what it must be; the
 * sentence names it. Texts are the options' own, or in the arena. */
MUST_USE int container_spec_read(const struct container_options *o, const char *json,
                                 struct arena *arena, struct container_spec *out, struct err *err);

/* Lists end with NULL. */
struct container_command {
    VEC(char *) argv; /* makes the container, and stays with it to its end */
    VEC(char *) env;  /* its environment: the client's own, then the task's */
    VEC(char *) undo; /* what removes it, with the client's own environment: */
    VEC(char *) client;
};
/* folder: of the attempt, an absolute path. env: the task's, NAME=VALUE, ends with NULL. */
MUST_USE int container_command(const struct container_options *o, const struct task *t,
                               const char *folder, char *const *env, struct container_command *out,
                               struct err *err);
/* The same without a task: appends what removes the container of that attempt. */
void container_undo_command(const struct container_options *o, int64_t execution, int attempt,
                            const char *folder, struct container_command *out);
void container_command_release(struct container_command *w); /* wipes them */

#endif
