/* shim.h - pawl-shim, which runs each process attempt so that it outlives the worker.
 *
 *     worker ── socket ── helper ──fork──> shim ──fork──> the task and all that it starts
 *
 * Each worker starts one helper early. The helper forks a shim for each request and ends with its
 * worker. A shim has its own session and none of the worker's descriptors, and continues without
 * the worker: it knows the attempt folder and nothing else. It never opens the database. */
#ifndef EXEC_SHIM_SHIM_H
#define EXEC_SHIM_SHIM_H

#include "exec/attempt/attempt.h"
#include "exec/mask.h"
#include "exec/process/request.h"

#include <sys/types.h>

/* Kills or stops this process if PAWL_SHIM_POINT names this point; for tests. */
void test_point(const char *where);
/* From now on only points with the prefix "resumed:" apply to this process. */
void test_points_are_resumed(void);

int helper_run(int sock);

/* Runs the requested attempt in its folder to the end. `folder` and `request` are descriptors;
 * `cgroup` is the path of the parent cgroup, "" if none. Returns the exit code of the shim. */
int shim_run(int folder, int request, const char *cgroup);

/* A private copy of a request, wiped when it is no longer needed. */
struct loaded_request {
    struct request r;
    char *bytes;
    size_t len;
};
MUST_USE bool load_request(int memfd, struct loaded_request *out);
void wipe_request(struct loaded_request *l);

/* ---- the task: from fork to exec ---- */

struct launch {
    const struct request *r;
    int folder, tree, cgroup;        /* descriptors; tree and cgroup may be -1 */
    bool limits_memory, limits_pids; /* the cgroup enforces the limit */
    int lock;                        /* the shim's lock, which the child closes */
};

struct launched {
    pid_t pid;
    bool in_cgroup;
    int output; /* read end of the task's output, non-blocking */
    int report; /* read end; gives a struct launch_failure if the task could not be executed */
};

struct launch_failure {
    int step, error;
};

/* 0, or -1 and `why`. */
MUST_USE int launch(struct launch *l, struct launched *out, struct launch_failure *why);

/* ---- the log ---- */

struct log {
    int folder, fd; /* fd is -1 until something is written */
    int64_t head, tail, total, unwritten;
};
void log_append(struct log *l, const char *text, size_t len);

/* ---- ending the tree ---- */

/* Sends a signal to the main process's group, and to the shim's other children. */
void signal_tree(pid_t main_pid, int sig);
/* Kills and reaps all descendants of the shim. If the main process was not reaped before, stores
 * its status and sets *main_pid to 0. */
void kill_tree(pid_t *main_pid, int *status, const char *cgroup);

/* ---- ending the container: container_stop.c ---- */

struct shim;
/* Ends the attempt's container, however long that takes: until it is gone, the attempt has not
 * ended. Call it when no process is left that could start the container. */
void end_container(struct shim *s);
/* END_EXITED if the exit status of the engine's client is that of the command, else END_CLIENT. */
int64_t container_exit_kind(const struct shim *s);

/* ---- one attempt ---- */

struct shim {
    int folder, lock, cgroup;
    int exit_room, ending_room;    /* descriptors of the reserved records; -1 if none */
    struct loaded_request request; /* wiped once the task runs */
    struct taken_token token;
    struct attempt_shim self;
    struct mask mask;
    struct log log;
    struct launched task;
    struct undo undo;
    struct buf masked;
    struct buf output; /* the task's output, masked */
    bool has_output;

    int64_t epoch;        /* the highest epoch seen */
    int64_t until, fence; /* end of the lease; µs after it until the task is killed, < 0 if never */
    int64_t grace;
    int64_t timeout_at, kill_at; /* CLOCK_BOOTTIME, µs; 0 if never */
    int64_t kind;                /* enum attempt_end: why the attempt is being ended; 0 if it is
                                    not */
    bool ended;                  /* the main process has ended */
    bool in_container;           /* the main process is the client of a container engine */
    bool resumed;                /* another shim started the container and died */
    bool has_ended;              /* resumed: the container has ended and keeps its outcome */
    int64_t skip, first_skip;    /* resumed: printed bytes that the log already has: still to be
                                    skipped, and in total */
    int64_t printed;             /* resumed: bytes that the client has printed, masked */
    int status;
    struct attempt_exit end;     /* the content of the exit record, for each try to write it */
    struct launch_failure why;   /* why the task could not be executed; step 0 if it was */
    int signals, timer, control; /* descriptors */
    int tree;                    /* to test the lock on `tree`; -1 if there is no such file */
    int64_t timer_set;
};

/* Returns when the main process has ended or everything must be killed. */
void watch_task(struct shim *s);
/* Reads and logs one piece of the task's output; only one, so that a flood of output does not block
 * the loop. False if there is no more for now. */
bool read_task_output(struct shim *s);

/* ---- an attempt whose shim died: resumed.c ---- */

/* Whether this shim may continue the attempt; loads the records that the dead shim left. The caller
 * holds `lock`. */
MUST_USE bool may_resume(struct shim *s);
/* Appends masked output to the log, except for what the log has already. */
void append_output(struct shim *s, const char *text, size_t len);
/* Asks the engine to send TERM to the container, and does not wait for it. */
void terminate_container(const struct shim *s);
/* Logs the output that the container has printed and its client has not. Call it when no client
 * runs. */
void read_rest_of_output(struct shim *s);

/* ---- the exit record: exit_record.c ----
 *
 * The space for the records is reserved before anything starts. Once the end of the task is known,
 * the shim tries to write it until that succeeds, and holds its lock meanwhile: a known outcome is
 * never given up because a disk is full or fails for a while. */

/* False and errno if there is no space; then nothing may be started. */
MUST_USE bool reserve_records(struct shim *s);
/* Frees the space; nothing was started. */
void release_records(struct shim *s);
/* Tries once to record the end of a task whose container is not gone yet. False if not written. */
bool write_ending(struct shim *s);
/* Writes the exit record, however long that takes. If the task replaced the file by something other
 * than a plain file, nothing is written, and the worker fails the attempt. */
void write_exit(struct shim *s);
/* Records that the task was not started, and why; if there is no space for that, withdraws the
 * record of this shim, which also means that nothing was started. */
void write_not_started(struct shim *s);
/* Repeats the step until it succeeds or the folder is removed. */
void keep_trying(struct shim *s, bool (*step)(struct shim *s));
/* Masks and logs a text; an empty text marks the end of the output. */
void log_masked(struct shim *s, const char *text, size_t len);

#endif
