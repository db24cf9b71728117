/* folders.c - lists the attempts in a folder, and kills a shim, see attempt.h. */
#include "base/fd.h"
#include "exec/attempt/attempt.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/pidfd.h>
#include <unistd.h>

int attempt_each(const char *dir,
                 int (*each)(void *arg, int64_t execution, int attempt, bool locked), void *arg,
                 struct err *err)
{
    DIR *d = opendir(dir);
    struct dirent *e;
    int rc = 0;

    if (!d && errno == ENOENT)
        return 0;
    if (!d)
        return err_set(err, E_UNAVAILABLE, "the folder %s can't be read: %s", dir, strerror(errno));
    while (!rc && (e = readdir(d)) != NULL) {
        AUTO_FD at = -1;
        int64_t execution;
        int attempt;

        if (attempt_parse_name(e->d_name, &execution, &attempt) &&
            (at = attempt_open_folder(dirfd(d), execution, attempt)) >= 0)
            rc = each(arg, execution, attempt, attempt_is_locked(at, ATTEMPT_LOCK));
    }
    closedir(d);
    return rc;
}

int attempt_kill_any_shim(int at)
{
    struct attempt_shim s;
    int known = record_read(at, &RECORD_SHIM, &s);
    AUTO_FD pidfd = known == 1 ? attempt_shim_pidfd(&s) : -1;

    /* The task may have removed or replaced the lock or the record: search for the shim instead. */
    if (pidfd < 0 || !attempt_is_locked(at, ATTEMPT_LOCK)) {
        fd_close(&pidfd);
        pidfd = attempt_find_shim(at, known == 1 ? &s : NULL);
    }
    return pidfd < 0 ? -1 : pidfd_send_signal(pidfd, SIGKILL, NULL, 0);
}

int attempt_kill_shim(int at, int64_t epoch)
{
    AUTO_FD lock = attempt_lock_lease(at);

    return lock >= 0 && attempt_epoch(at) <= epoch ? attempt_kill_any_shim(at) : -1;
}
