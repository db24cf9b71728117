/* worker_file.h - a worker's file in the state folder: locked while the worker lives. The file also
 * identifies the worker's process, so that other workers can kill a worker that hangs. */
#ifndef ENGINE_WORKER_FILE_H
#define ENGINE_WORKER_FILE_H

#include <stdbool.h>
#include <stdint.h>

struct worker_file {
    bool is_locked;         /* the worker is alive */
    int pid;                /* 0 if unknown; valid only in the worker's pid namespace */
    int64_t foreground;     /* root of the worker's foreground tree; 0 if none */
    int64_t start_time;     /* when the process started */
    uint64_t pid_namespace; /* 0 if unknown */
};

/* Writes this process and its foreground tree, in place. Returns 0, or -1 with errno set. */
int worker_file_write(int fd, int64_t foreground);
/* Returns 0, or -1 if the file does not exist. A file that can't be opened counts as locked. */
int worker_file_read(const char *path, struct worker_file *out);
/* Kills the process that holds the lock, if it can be identified with certainty. */
void worker_file_kill(const char *path);

#endif
