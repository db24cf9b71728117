/* own_file.h - opens Pawl's own files in folders that tasks can change, because tasks run as the
 * same user. Whatever a task put there, opening it never blocks, never follows a link, and returns
 * a descriptor only for a plain file of a plausible size. */
#ifndef BASE_OWN_FILE_H
#define BASE_OWN_FILE_H

#include <stdbool.h>
#include <stdint.h>

#define OWN_FILE_ANY_SIZE INT64_MAX

/* Opens a file of the folder `at`. Returns its descriptor, or -1 and errno: EISDIR for a folder,
 * ELOOP for a link, ENOSTR for a FIFO, a socket or a device, EPERM for a file that belongs to
 * neither this user nor the owner of the folder, EOVERFLOW for a file of more than `max` bytes.
 * `flags` are those of open(2), including O_CREAT (mode 0600). `at` may be AT_FDCWD; then `name` is
 * a path, and only its last component is checked. */
int own_file_open(int at, const char *name, int flags, int64_t max);
/* Like own_file_open, for a file that the task writes: the user that the task runs as may own
 * it. */
int own_file_open_given(int at, const char *name, int flags, int64_t max);

/* Whether an errno of the functions above means that Pawl's file was replaced by something else. */
bool own_file_is_fault(int error);

/* How the file differs from a file that Pawl creates, such as "it is a FIFO". NULL if it does not
 * differ or does not exist. */
const char *own_file_fault(int at, const char *name, int64_t max);
/* Why the file could not be opened: the text of own_file_fault, or else the text of errno. */
const char *own_file_why(int at, const char *name, int64_t max);

#endif
