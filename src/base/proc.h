/* proc.h - reads the state of a process from /proc. A pid alone does not identify a process: the
 * kernel reuses it, and in another pid namespace it refers to another process. */
#ifndef BASE_PROC_H
#define BASE_PROC_H

#include "base/buf.h"
#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct proc_stat {
    char state;
    int64_t start_time; /* clock ticks since boot */
    pid_t session;
};

/* Reads a file of /proc/PID; `at` is a descriptor of that folder. Reading stops once there are
 * `max` bytes, so `out` may be up to 64 kB longer. False if the file can't be read. */
bool proc_read(int at, const char *name, size_t max, struct buf *out);

/* Parses the text of /proc/PID/stat; false if it is malformed. */
bool proc_parse_stat(const char *text, struct proc_stat *out);
bool proc_stat(pid_t pid, struct proc_stat *out); /* false if the process does not exist */
int64_t proc_start_time(pid_t pid);               /* -1 if the process does not exist */

/* Whether the errno of a failed open means that this process or the host has run out of descriptors
 * or memory. The failure then says nothing about the inspected process. */
bool proc_is_shortage(int error);

/* The pid namespace of this process; 0 if it can't be read. */
uint64_t proc_pid_namespace(void);
/* A number that identifies this pid namespace and this boot of the host. A recorded pid is valid
 * only where the number is the same. 0 if the number can't be read. */
uint64_t proc_place(void);

/* The id of this boot of the host; false if it can't be read. */
#define BOOT_ID_SIZE 40
MUST_USE bool proc_boot_id(char out[BOOT_ID_SIZE]);

#endif
