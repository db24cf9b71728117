/* attempt.c - folders, locks, leases and commands of attempts, see attempt.h. */
#include "exec/attempt/attempt.h"

#include "base/env.h"
#include "base/fd.h"
#include "base/own_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define DIR_FLAGS   (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
#define TOMBSTONE   "tombstone"
#define LEASE_TRIES 500  /* other processes lock the lease only briefly: half a second is enough */
#define LEASE_PAUSE 1000 /* µs between two tries */

char *attempt_name(int64_t execution, int attempt, char *out)
{
    snprintf(out, ATTEMPT_NAME_SIZE, "%" PRId64 ".%d", execution, attempt);
    return out;
}

bool attempt_parse_name(const char *name, int64_t *execution, int *attempt)
{
    char canonical[ATTEMPT_NAME_SIZE];
    char *dot = NULL;
    long long e;
    long n;

    if (*name < '1' || *name > '9')
        return false;
    e = strtoll(name, &dot, 10);
    if (*dot != '.')
        return false;
    n = strtol(dot + 1, NULL, 10);
    if (n < 1 || n > INT32_MAX)
        return false;
    /* Accept the canonical spelling only: Pawl gives an attempt folder no other name. */
    if (strcmp(attempt_name(e, (int)n, canonical), name) != 0)
        return false;
    *execution = e;
    *attempt = (int)n;
    return true;
}

int attempt_make_folder(int dir, int64_t execution, int attempt)
{
    char name[ATTEMPT_NAME_SIZE];

    if (mkdirat(dir, attempt_name(execution, attempt, name), 0700))
        return -1;
    return openat(dir, name, DIR_FLAGS);
}

/* Opens a folder; restores its permissions first if a task has removed them. */
static int open_folder(int dir, const char *name)
{
    int fd = openat(dir, name, DIR_FLAGS);

    if (fd < 0 && errno == EACCES && fchmodat(dir, name, 0700, 0) == 0)
        fd = openat(dir, name, DIR_FLAGS);
    return fd;
}

int attempt_open_folder(int dir, int64_t execution, int attempt)
{
    char name[ATTEMPT_NAME_SIZE];

    return open_folder(dir, attempt_name(execution, attempt, name));
}

/* ---- locks ----
 *
 * OFD locks belong to the open file description, as flock(2) locks do. Unlike flock(2) locks, they
 * can be tested without being taken: if a process took a lock only to test it, a third process
 * would believe that a shim holds it. */

static int lock_file(int at, const char *name, int flags, short type, bool wait)
{
    struct flock all = {.l_type = type, .l_whence = SEEK_SET};
    int fd = own_file_open(at, name, flags | O_CREAT, ATTEMPT_LOCK_MAX), rc;

    if (fd < 0)
        return -1;
    do {
        rc = fcntl(fd, wait ? F_OFD_SETLKW : F_OFD_SETLK, &all);
    } while (rc && errno == EINTR);
    if (!rc)
        return fd;
    if (errno == EACCES)
        errno = EAGAIN;
    fd_close(&fd);
    return -1;
}

int attempt_lock(int at, const char *name, bool wait)
{
    return lock_file(at, name, O_RDWR, F_WRLCK, wait);
}

int attempt_lock_shared(int at, const char *name)
{
    return lock_file(at, name, O_RDONLY, F_RDLCK, false);
}

bool attempt_is_locked(int at, const char *name)
{
    AUTO_FD fd = own_file_open(at, name, O_RDONLY, ATTEMPT_LOCK_MAX);

    return fd >= 0 && attempt_file_is_locked(fd);
}

bool attempt_file_is_locked(int fd)
{
    struct flock all = {.l_type = F_WRLCK, .l_whence = SEEK_SET};

    return fcntl(fd, F_OFD_GETLK, &all) == 0 && all.l_type != F_UNLCK;
}

/* The mark "end known": one byte of the exclusive lock is changed to a shared lock. It still
 * excludes every process that wants the whole lock; a process that tests this byte alone sees the
 * difference. */
#define END_KNOWN_BYTE 1

void attempt_mark_end_known(int lock)
{
    struct flock mark = {
        .l_type = F_RDLCK, .l_whence = SEEK_SET, .l_start = END_KNOWN_BYTE, .l_len = 1};

    (void)fcntl(lock, F_OFD_SETLK, &mark); /* if this fails, the worker may kill the shim as
                                              unresponsive */
}

/* Whether no process of the task holds `tree`. True if the file does not exist, as for an attempt
 * in a container; false if it can't be opened. */
static bool is_tree_free(int at)
{
    AUTO_FD fd = own_file_open(at, ATTEMPT_TREE, O_RDONLY, ATTEMPT_LOCK_MAX);

    return fd < 0 ? errno == ENOENT : !attempt_file_is_locked(fd);
}

bool attempt_is_end_known(int at)
{
    struct flock mark = {
        .l_type = F_RDLCK, .l_whence = SEEK_SET, .l_start = END_KNOWN_BYTE, .l_len = 1};
    AUTO_FD fd = own_file_open(at, ATTEMPT_LOCK, O_RDONLY, ATTEMPT_LOCK_MAX);

    return fd >= 0 && fcntl(fd, F_OFD_GETLK, &mark) == 0 && mark.l_type == F_UNLCK &&
           attempt_file_is_locked(fd) && is_tree_free(at);
}

bool attempt_is_folder_removed(int at)
{
    struct stat st;

    return fstat(at, &st) == 0 && st.st_nlink == 0;
}

int attempt_write_tombstone(int at)
{
    int fd = own_file_open(at, TOMBSTONE, O_WRONLY | O_CREAT, OWN_FILE_ANY_SIZE);

    if (fd < 0) /* only the name counts: anything with this name is a tombstone */
        return attempt_has_tombstone(at) ? 0 : -1;
    return close(fd);
}

bool attempt_has_tombstone(int at)
{
    return faccessat(at, TOMBSTONE, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

/* ---- epoch and control ---- */

int64_t attempt_epoch(int at)
{
    struct attempt_shim s;
    struct attempt_lease l;
    int64_t highest = 0;

    if (record_read(at, &RECORD_SHIM, &s) == 1)
        highest = s.epoch;
    if (record_read(at, &RECORD_LEASE, &l) == 1 && l.epoch > highest)
        highest = l.epoch;
    return highest;
}

int attempt_lock_lease(int at)
{
    int fd = openat(at, ".", DIR_FLAGS), tries;

    for (tries = 0; fd >= 0 && flock(fd, LOCK_EX | LOCK_NB); tries++) {
        if (errno != EWOULDBLOCK || tries == LEASE_TRIES) { /* the process that holds the lock may
                                                               be suspended */
            close(fd);
            return -1;
        }
        clock_sleep_us(LEASE_PAUSE);
    }
    return fd;
}

int attempt_begin_lease(int at, const struct attempt_lease *l)
{
    AUTO_FD lock = attempt_lock_lease(at);
    struct attempt_lease old;

    if (lock < 0)
        return -1;
    return record_read(at, &RECORD_LEASE, &old) == 1 ? 0 : record_write(at, &RECORD_LEASE, l);
}

int attempt_renew(int at, const struct attempt_lease *l, struct err *err)
{
    AUTO_FD lock = attempt_lock_lease(at);

    if (lock < 0)
        return err_set(err, E_UNAVAILABLE, "the attempt's lease file can't be locked: %s",
                       strerror(errno));
    if (attempt_epoch(at) > l->epoch)
        return err_set(err, E_LEASE_LOST, "another worker has adopted this attempt");
    if (record_write(at, &RECORD_LEASE, l))
        return err_set(err, own_file_is_fault(errno) ? E_INVALID : E_UNAVAILABLE,
                       "the attempt's lease file can't be written: %s",
                       own_file_why(at, RECORD_LEASE.name, RECORD_MAX));
    return 0;
}

int attempt_send_command(int at, const struct attempt_control *c)
{
    char bytes[RECORD_MAX];
    size_t len = record_encode(&RECORD_CONTROL, c, bytes);
    struct stat st;
    AUTO_FD fd =
        openat(at, ATTEMPT_CONTROL, O_WRONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY);

    if (fd < 0)
        return -1;
    /* A plain file would accept the command, but no shim would ever read it. */
    if (fstat(fd, &st) == 0 && !S_ISFIFO(st.st_mode)) {
        errno = ENXIO;
        return -1;
    }
    return write(fd, bytes, len) == (ssize_t)len ? 0 : -1;
}
