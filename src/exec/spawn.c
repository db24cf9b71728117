/* spawn.c - starts a program that is detached from this process; see spawn.h. */
#include "exec/spawn.h"

#include <signal.h>
#include <unistd.h>

int spawn_detached(const char *path, char *const *argv, char *const *env,
                   const posix_spawn_file_actions_t *files, pid_t *pid)
{
    posix_spawnattr_t attr;
    sigset_t none, all;
    int rc;

    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_init(&attr);
    posix_spawnattr_setflags(&attr,
                             POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    posix_spawnattr_setsigmask(&attr, &none);
    posix_spawnattr_setsigdefault(&attr, &all);
    rc = posix_spawn(pid, path, files, &attr, argv, env ? env : environ);
    posix_spawnattr_destroy(&attr);
    if (rc)
        *pid = 0;
    return rc;
}
