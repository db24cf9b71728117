/* spawn.h - starts a program that is detached from this process. */
#ifndef EXEC_SPAWN_H
#define EXEC_SPAWN_H

#include "base/err.h"

#include <spawn.h>
#include <sys/types.h>

/* Starts the program in a new session, so that signals of this process's terminal do not reach it,
 * and with default signal handlers and an empty signal mask. It inherits the descriptors and the
 * working directory of this process as changed by `files`, and its environment if env is NULL.
 * Returns 0, or an errno with *pid set to 0. */
MUST_USE int spawn_detached(const char *path, char *const *argv, char *const *env,
                            const posix_spawn_file_actions_t *files, pid_t *pid);

#endif
