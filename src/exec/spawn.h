/* spawn.h - a program that is started apart from us. */
#ifndef EXEC_SPAWN_H
#define EXEC_SPAWN_H

#include "base/err.h"

#include <spawn.h>
#include <sys/types.h>

/* In a session of its own, as what a terminal sends to us is not meant for it, and with every
 * signal as a new program expects it. What it has open, and its folder, is what `files` makes of
 * ours. env: NULL: ours. Returns 0, or an errno, and *pid is 0 then. */
MUST_USE int spawn_detached(const char *path, char *const *argv, char *const *env,
                            const posix_spawn_file_actions_t *files, pid_t *pid);

#endif
