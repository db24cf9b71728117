/* own_file.h - opens files in folders that the commands of tasks can change, too: they run as the
 * same user. Whatever stands under a name, the open never waits, never follows a link, and gives a
 * handle to a plain file of a sane size only. */
#ifndef BASE_OWN_FILE_H
#define BASE_OWN_FILE_H

#include <stdbool.h>
#include <stdint.h>

#define OWN_FILE_ANY_SIZE INT64_MAX

/* A handle, or -1 and errno: EISDIR for a folder, ELOOP for a link, ENOSTR for a FIFO, a socket or
 * a device, EPERM for a file that belongs to neither us nor the owner of the folder, EOVERFLOW for
 * one of more than `max` bytes. `flags` are those of open(2), O_CREAT included (mode 0600). `at`
 * may be AT_FDCWD; then `name` is a path of which only the last part is checked. */
int own_file_open(int at, const char *name, int flags, int64_t max);
/* The same for a file that a task is given, which may belong to the user of the task. */
int own_file_open_given(int at, const char *name, int flags, int64_t max);

/* Whether errno, after one of the above, says that something else than our file stands there. */
bool own_file_is_fault(int error);

/* How it differs from the file that we made: "it is a FIFO". NULL if it doesn't, or is not there.
 */
const char *own_file_fault(int at, const char *name, int64_t max);
/* The same if there is something, else what errno says, which is that of an open that failed. */
const char *own_file_why(int at, const char *name, int64_t max);

#endif
