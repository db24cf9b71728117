/* proc.h - what /proc says of a process. A pid alone says little: it is given again, and means
 * another process in another pid namespace. */
#ifndef BASE_PROC_H
#define BASE_PROC_H

#include "base/buf.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct proc_stat {
    char state;
    int64_t start_time; /* clock ticks since boot */
    pid_t session;
};

/* All that a file below the handle of a process's folder says, at most some bytes more than `max`.
 * False: it can't be read. */
bool proc_read(int at, const char *name, size_t max, struct buf *out);

/* Reads the text of /proc/PID/stat. */
bool proc_parse_stat(const char *text, struct proc_stat *out);
bool proc_stat(pid_t pid, struct proc_stat *out); /* false: no such process */
int64_t proc_start_time(pid_t pid);               /* -1: no such process */

/* The pid namespace that we are in; 0: it can't be told. */
uint64_t proc_pid_namespace(void);

#endif
