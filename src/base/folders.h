/* folders.h - creates a folder and its missing parents. */
#ifndef BASE_FOLDERS_H
#define BASE_FOLDERS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Like mkdir -p; existing folders keep their mode. If a folder can't be created, returns false with
 * errno set, and *failed is the length of that folder's path. */
bool folders_make(const char *path, mode_t mode, size_t *failed);

#endif
