/* proc_search.h - searches /proc for processes of an attempt. A process that can't be inspected for
 * want of descriptors or memory may be one of them, so the search notes that. */
#ifndef EXEC_ATTEMPT_PROC_SEARCH_H
#define EXEC_ATTEMPT_PROC_SEARCH_H

#include "base/buf.h"

#include <stdbool.h>
#include <sys/stat.h>
#include <sys/types.h>

/* The first member of the structure of each search; starts zeroed. */
struct proc_search {
    struct buf text; /* contents of the last file read */
    int error;       /* errno if a process could not be inspected for now; else 0 */
};

/* Calls `each` with a descriptor of /proc/PID for every process except the calling one, until it
 * returns true. The descriptor keeps referring to the process that it was opened for. Returns
 * whether `each` returned true. */
bool proc_search(struct proc_search *s, bool (*each)(struct proc_search *s, int proc, pid_t pid));
/* Calls `each` for one process. */
bool proc_search_one(struct proc_search *s, pid_t pid,
                     bool (*each)(struct proc_search *s, int proc, pid_t pid));

/* Notes errno if the last call failed for want of descriptors or memory. */
void proc_search_note_error(struct proc_search *s);
/* Reads a file below `proc` into s->text. */
bool proc_search_read(struct proc_search *s, int proc, const char *name, size_t max);
/* Whether the process has `file` open, or any file if NULL; with `locked`, one that it has
 * locked. */
bool proc_search_has_open(struct proc_search *s, int proc, const struct stat *file, bool locked);

#endif
