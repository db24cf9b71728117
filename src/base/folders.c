/* folders.c - creates a folder and its missing parents; see folders.h. */
#include "base/folders.h"

#include "base/mem.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

bool folders_make(const char *path, mode_t mode, size_t *failed)
{
    AUTO_FREE char *copy = mem_strdup(path);
    size_t n = 0;
    bool ok = true;
    int error = 0;

    while (ok && path[n]) {
        n += strspn(path + n, "/");
        n += strcspn(path + n, "/");
        copy[n] = '\0';
        ok = !mkdir(copy, mode) || errno == EEXIST;
        error = errno;
        copy[n] = path[n];
    }
    if (!ok)
        *failed = n;
    errno = error;
    return ok;
}
