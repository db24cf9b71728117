/* program.c - finds the programs that are installed together with this one. */
#include "base/program.h"

#include "base/mem.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

char *program_next_to_this(const char *name)
{
    char path[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);
    char *slash, *found;

    if (n <= 0)
        return NULL;
    path[n] = '\0';
    slash = strrchr(path, '/');
    if (!slash)
        return NULL;
    *slash = '\0';
    found = mem_printf("%s/%s", path, name);
    if (access(found, X_OK) == 0)
        return found;
    free(found);
    return NULL;
}
