/* folders.c - lists and ends all attempts in a folder, see attempt.h. */
#include "base/env.h"
#include "base/fd.h"
#include "base/own_file.h"
#include "exec/attempt/attempt.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/pidfd.h>
#include <unistd.h>

#define POLL_PAUSE 10000 /* µs */

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

/* Kills the shim: a stopped one does not respond, and could be continued later. The caller ends its
 * remains. 0 if the signal was sent; -1 if the shim has ended or can't be identified. */
static int kill_shim(int at)
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

    return lock >= 0 && attempt_epoch(at) <= epoch ? kill_shim(at) : -1;
}

/* Whether a shim runs although we have its lock, or the lock file was replaced: the file may not be
 * the one that the shim locked. If none runs, none can start either, as it could not take the lock.
 */
static bool has_shim_without_lock(int at)
{
    struct attempt_shim s;
    int known = record_read(at, &RECORD_SHIM, &s);
    AUTO_FD pidfd = attempt_find_shim(at, known == 1 ? &s : NULL);

    return pidfd >= 0 || errno != ESRCH;
}

struct end_all {
    int dir;
    int64_t patience;
    struct err *err;
    const char *path;
    int64_t execution; /* the attempt that is being ended */
    int attempt;
};

/* Sends the kill command to the shim; if `late`, kills the shim itself. The caller tries again. */
static bool ask_to_end(int at, bool late)
{
    const struct attempt_control stop = {.epoch = INT64_MAX, .command = COMMAND_KILL};

    return (late ? kill_shim(at) : attempt_send_command(at, &stop)) == 0;
}

/* Waits until the attempt's shim has ended. *lock is the descriptor of the attempt's lock, or -1 if
 * the lock file was replaced. False if the shim did not end in time. */
static bool stop_shim(int at, int64_t patience, int *lock)
{
    int64_t start = clock_boot_us();

    for (;;) {
        int64_t waited = clock_boot_us() - start;
        bool unlocked;

        *lock = attempt_lock(at, ATTEMPT_LOCK, false);
        unlocked = *lock >= 0 || own_file_is_fault(errno);
        if (!unlocked && errno != EAGAIN)
            return false;
        if (unlocked && !has_shim_without_lock(at))
            return true;
        fd_close(lock);
        if (waited > patience)
            return false;
        ask_to_end(at, waited > patience / 2);
        clock_sleep_us(POLL_PAUSE);
    }
}

/* Kills what is left of an attempt without a shim. `known` is the result of reading its record:
 * without the record, processes are found by `tree` and by their environment. */
static bool kill_remains(const struct end_all *all, int at, int known,
                         const struct attempt_shim *shim)
{
    bool alive = attempt_kill_remains(at, shim) > 0 || attempt_is_locked(at, ATTEMPT_TREE);

    return (known != 1 && attempt_kill_strays(all->path, all->execution, all->attempt)) || alive;
}

/* Ends one attempt; when this returns 0, none of its processes runs any more. */
static int end_attempt(const struct end_all *all, int at)
{
    int64_t patience = all->patience;
    struct attempt_shim shim = {0};
    int64_t deadline = clock_boot_us() + patience;
    AUTO_FD lock = -1;
    AUTO(undo_release) struct undo undo = {0};
    int known;

    if (!stop_shim(at, patience, &lock) || attempt_write_tombstone(at))
        return -1;
    known = record_read(at, &RECORD_SHIM, &shim);
    while (kill_remains(all, at, known, &shim)) {
        if (clock_boot_us() > deadline)
            return -1;
        clock_sleep_us(POLL_PAUSE);
    }
    /* Most attempts have no undo command. If it exists and can't be read, a person must decide. */
    if (!undo_load(&undo, at) && faccessat(at, ATTEMPT_UNDO, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
        return -1;
    return undo_run(&undo, patience) ? 0 : -1;
}

static int end_and_remove(void *arg, int64_t execution, int attempt, bool locked)
{
    struct end_all *all = arg;
    char name[ATTEMPT_NAME_SIZE];
    int at = attempt_open_folder(all->dir, execution, attempt), rc;

    (void)locked;
    attempt_name(execution, attempt, name);
    if (at < 0)
        return errno == ENOENT
                   ? 0
                   : err_set(all->err, E_UNAVAILABLE, "the folder %s/%s can't be opened: %s",
                             all->path, name, strerror(errno));
    all->execution = execution;
    all->attempt = attempt;
    rc = end_attempt(all, at);
    close(at);
    if (rc)
        return err_set(all->err, E_BUSY,
                       "the processes of %s/%s could not be ended; end them, then try again",
                       all->path, name);
    if (attempt_remove_folder(all->dir, name))
        return err_set(all->err, E_UNAVAILABLE, "the folder %s/%s can't be removed: %s", all->path,
                       name, strerror(errno));
    return 0;
}

int attempt_end_all(const char *dir, int64_t patience, struct err *err)
{
    AUTO_FD fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct end_all all = {.dir = fd, .patience = patience, .err = err, .path = dir};

    if (fd < 0)
        return errno == ENOENT ? 0
                               : err_set(err, E_UNAVAILABLE, "the folder %s can't be opened: %s",
                                         dir, strerror(errno));
    return attempt_each(dir, end_and_remove, &all, err);
}
