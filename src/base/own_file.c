/* own_file.c - opens files in a folder that others may have changed; see own_file.h.
 *
 * Files with several hard links are accepted: the owner of a file can write to it without a second
 * link too, and a copy of the folder made by cp -al consists of hard links. */
#include "base/own_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* O_NONBLOCK is needed because opening a FIFO would otherwise wait for a peer. */
#define GUARDS (O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY)

/* A file of the folder's owner is accepted, too, because root may take over another user's
 * attempts. */
static bool is_owned(int at, const struct stat *st)
{
    struct stat folder;

    return st->st_uid == geteuid() ||
           (at != AT_FDCWD && fstat(at, &folder) == 0 && folder.st_uid == st->st_uid);
}

static int error_of(const struct stat *st, int64_t max)
{
    if (S_ISDIR(st->st_mode))
        return EISDIR;
    if (S_ISLNK(st->st_mode))
        return ELOOP;
    if (!S_ISREG(st->st_mode))
        return ENOSTR;
    return st->st_size > max ? EOVERFLOW : 0;
}

static int open_checked(int at, const char *name, int flags, int64_t max, bool given)
{
    int fd = openat(at, name, (flags & ~O_TRUNC) | GUARDS, 0600), error;
    struct stat st;

    if (fd < 0) {
        /* Opening a FIFO without a reader, or a socket, for writing fails with ENXIO. */
        if (errno == ENXIO)
            errno = ENOSTR;
        return -1;
    }
    if (fstat(fd, &st))
        error = errno;
    else if (!(error = error_of(&st, max)) && !given && !is_owned(at, &st))
        error = EPERM;
    else if (!error && (flags & O_TRUNC) && ftruncate(fd, 0)) /* only after the checks */
        error = errno;
    if (!error)
        return fd;
    close(fd);
    errno = error;
    return -1;
}

int own_file_open(int at, const char *name, int flags, int64_t max)
{
    return open_checked(at, name, flags, max, false);
}

int own_file_open_given(int at, const char *name, int flags, int64_t max)
{
    return open_checked(at, name, flags, max, true);
}

bool own_file_is_fault(int error)
{
    return error == EISDIR || error == ELOOP || error == ENOSTR || error == EPERM ||
           error == EOVERFLOW || error == EACCES;
}

const char *own_file_fault(int at, const char *name, int64_t max)
{
    struct stat st;

    if (fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW))
        return NULL;
    switch (error_of(&st, max)) {
    case 0:
        return NULL;
    case EISDIR:
        return "it is a folder";
    case ELOOP:
        return "it is a symbolic link";
    case EOVERFLOW:
        return "it is too large";
    default:
        return S_ISFIFO(st.st_mode)   ? "it is a FIFO"
               : S_ISSOCK(st.st_mode) ? "it is a socket"
                                      : "it is a device";
    }
}

const char *own_file_why(int at, const char *name, int64_t max)
{
    int error = errno;
    const char *fault = own_file_fault(at, name, max);

    return fault ? fault : strerror(error);
}
