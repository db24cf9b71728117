/* folders.h - creates a folder and those above it. */
#ifndef BASE_FOLDERS_H
#define BASE_FOLDERS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* mkdir -p; folders that exist keep their mode. If one can't be created: false, errno, and *failed
 * is the length of its path. */
bool folders_make(const char *path, mode_t mode, size_t *failed);

#endif
