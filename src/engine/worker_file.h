/* worker_file.h - a worker's file in the state folder: locked for as long as the worker lives; it
 * also says which process that is, so that one that hangs can be killed. */
#ifndef ENGINE_WORKER_FILE_H
#define ENGINE_WORKER_FILE_H

#include <stdbool.h>
#include <stdint.h>

struct worker_file {
    bool is_locked;     /* its lock: it lives */
    int pid;            /* 0: it can't be told; means something in its namespace alone */
    int64_t foreground; /* its own tree; 0: none */
    int64_t start_time;
    uint64_t pid_namespace;
};

/* Writes who we are, in place; 0, or -1 and errno. */
int worker_file_write(int fd, int64_t foreground);
/* 0, or -1: it is gone. */
int worker_file_read(const char *path, struct worker_file *out);
/* Kills the holder of the lock, if it is sure which process that is. */
void worker_file_kill(const char *path);

#endif
