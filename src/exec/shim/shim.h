/* shim.h - pawl-shim, which runs each process attempt so that it outlives the worker.
 *
 *     worker ── socket ── helper ──fork──> shim ──fork──> the task and all that it starts
 *
 * One helper a worker, started early; it forks a shim for each request and ends with its worker. A
 * shim has its own session, none of the worker's descriptors, and goes on alone: it knows the
 * attempt's folder and nothing else. It never opens the database. */
#ifndef EXEC_SHIM_SHIM_H
#define EXEC_SHIM_SHIM_H

#include "exec/attempt/attempt.h"
#include "exec/mask.h"
#include "exec/process/request.h"

#include <sys/types.h>

/* Dies or stops here if PAWL_SHIM_POINT names this place; for tests. */
void test_point(const char *where);

int helper_run(int sock);

/* Runs the attempt of that request in that folder to its end. `cgroup` is the path of the cgroup
 * in which to make others; "": none. Returns the shim's own exit code. */
int shim_run(int folder, int request, const char *cgroup);

/* A request in memory of our own, wiped when it is no longer needed. */
struct loaded_request {
    struct request r;
    char *bytes;
    size_t len;
};
MUST_USE bool load_request(int memfd, struct loaded_request *out);
void wipe_request(struct loaded_request *l);

/* --- the task: from fork to exec ----------------------------------------------------------------
 */

struct launch {
    const struct request *r;
    int folder, tree, cgroup;        /* tree, cgroup: -1: none */
    bool limits_memory, limits_pids; /* the cgroup does that */
    int lock;                        /* the shim's, to be closed */
};

struct launched {
    pid_t pid;
    bool in_cgroup;
    int output; /* what it says, non-blocking */
    int report; /* why it could not be executed, if so: struct launch_failure */
};

struct launch_failure {
    int step, error;
};

/* 0, or -1 and `why`. */
MUST_USE int launch(struct launch *l, struct launched *out, struct launch_failure *why);

/* --- the log ------------------------------------------------------------------------------------
 */

struct log {
    int folder, fd; /* -1: nothing was said yet */
    int64_t head, tail, total, unwritten;
};
void log_append(struct log *l, const char *text, size_t len);

/* --- ending the tree ----------------------------------------------------------------------------
 */

/* Sends a signal to the main process's group, and to those children of ours that are not in it. */
void signal_tree(pid_t main_pid, int sig);
/* Kills and reaps everything that is left below us. Keeps the main process's status, if it was not
 * reaped before (*main_pid is set to 0 then). */
void kill_tree(pid_t *main_pid, int *status, const char *cgroup);

/* --- ending what is outside of it: container_stop.c
 * -----------------------------------------------------
 */

struct shim;
/* Ends the attempt's container. For as long as it takes: what may still run has not ended. Nobody
 * may be left who could begin it. */
void end_container(struct shim *s);
/* How it ended, if it did by itself. */
int64_t container_exit_kind(const struct shim *s);

/* --- one attempt --------------------------------------------------------------------------------
 */

struct shim {
    int folder, lock, cgroup;
    int exit_room, ending_room;    /* handles of the reserved records; -1: none */
    struct loaded_request request; /* gone once the task runs */
    struct attempt_shim self;
    struct mask mask;
    struct log log;
    struct launched task;
    struct undo undo;
    struct buf masked;
    struct buf output; /* the task's output, masked */
    bool has_output;

    int64_t epoch;        /* the highest seen */
    int64_t until, fence; /* of the lease; fence < 0: none */
    int64_t grace;
    int64_t timeout_at, kill_at; /* CLOCK_BOOTTIME, µs; 0: never */
    int64_t kind;                /* why it is being ended; 0: it is not */
    bool ended;                  /* the main process */
    bool in_container;           /* its work is in a container: the main process only asks for it */
    int status;
    struct attempt_exit end;     /* write_exit: what the record says */
    struct launch_failure why;   /* it could not be executed; step 0: it was */
    int signals, timer, control; /* handles */
    int tree;                    /* to look at its lock; -1: it has none */
    int64_t timer_set;
};

/* Until the main process has ended or everything must be killed. */
void watch_task(struct shim *s);
/* Takes a piece of what the task says, so that a flood does not keep us from the rest. False: no
 * more will come now. */
bool read_task_output(struct shim *s);

/* --- the end on the disk: exit_record.c
 * --------------------------------------------------------------
 *
 * The records have their space before anything begins. Once the end of the task is known, the shim
 * tries to write it down until that succeeds, and keeps its lock meanwhile: an end that is known is
 * never given up because a disk is full or fails for a while. */

/* False and errno: there is no room, so nothing may begin. */
MUST_USE bool reserve_records(struct shim *s);
/* Gives the space back: nothing has begun. */
void release_records(struct shim *s);
/* One try to write down how a task ended whose container is not gone yet. False: not written. */
bool write_ending(struct shim *s);
/* Writes the exit record, for as long as it takes. Not where the task put something else than a
 * file in its place: the worker fails such an attempt. */
void write_exit(struct shim *s);
/* Runs the step until it succeeds or the folder is removed. */
void keep_trying(struct shim *s, bool (*step)(struct shim *s));
/* Masks and logs; an empty text says that it was all. */
void log_masked(struct shim *s, const char *text, size_t len);

#endif
