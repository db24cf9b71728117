/* fd.h - closing descriptors. */
#ifndef BASE_FD_H
#define BASE_FD_H

#include <errno.h>
#include <unistd.h>

/* Closes *fd unless it is -1, and sets it to -1. Keeps errno. */
static inline void fd_close(int *fd)
{
    int saved = errno;

    if (*fd >= 0)
        close(*fd);
    *fd = -1;
    errno = saved;
}

/* Declares a descriptor that is closed at the end of its block: AUTO_FD fd = open(…); */
#define AUTO_FD __attribute__((cleanup(fd_close))) int

#endif
